"""Causes of failures: cases that fail alike, by the operation and the member of its answer."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import msgspec

from conformance.verdicts.exchanges import Exchange, parse_body
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict

_WIDEST: Final = 200
_WIDEST_VALUE: Final = 40
# Texts that vary between failures of one cause: names made by cases, ids, times.
_VARYING: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "{id}"),
    (re.compile(r"\b[a-z]+-[0-9a-f]{8}-\d+\b"), "{name}"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"), "{time}"),
    (re.compile(r"https?://[^/\s]+"), ""),
    (re.compile(r"\b\d{4,}\b"), "{number}"),
)
_INDEX: Final = re.compile(r"\[\d+\]")
_LABEL: Final = re.compile(r"(?P<name>[^:\"\[{]{1,80}): ")
_PREFIX: Final = "/ojs/v1/"
_OPERATIONS: Final = {
    "POST workers/fetch": "FETCH",
    "POST workers/ack": "ACK",
    "POST workers/nack": "FAIL",
    "POST workers/heartbeat": "BEAT",
}
# Statuses of a call that a server does not have.
_MISSING: Final = (404, 405, 501)


class Mending(msgspec.Struct, frozen=True, kw_only=True):
    """One cause of failures, and the cases that fail by it first."""

    cause: str
    level: int  # the lowest level of its cases
    cases: tuple[str, ...]

    def __str__(self) -> str:
        return f"up to {len(self.cases)} case{'' if len(self.cases) == 1 else 's'}: {self.cause}"


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The first failed check of a case, by what it has in common with those of other cases."""

    operation: str
    member: str  # of the answer, or the subject of the check
    answer: str = ""  # the answer in a few words; empty where the checked value says more
    expected: str = ""
    actual: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The cause without values."""
        return self.operation, self.member, self.answer


def mendings(results: Iterable[CaseResult]) -> list[Mending]:
    """Group failures by the first thing that went wrong: the most frequent first, then core."""
    found: dict[tuple[str, str, str], list[tuple[CaseResult, Failure]]] = {}
    for result in results:
        if result.is_bad:
            failure = first_failure(result)
            found.setdefault(failure.key, []).append((result, failure))
    made = [
        Mending(
            cause=_text_of([failure for _, failure in group]),
            level=min(_level(result) for result, _ in group),
            cases=tuple(result.test_id for result, _ in group),
        )
        for group in found.values()
    ]
    return sorted(made, key=lambda each: (-len(each.cases), each.level, each.cause))


def first_failure(result: CaseResult) -> Failure:
    """Return the first failure of a case by operation and member."""
    if result.verdict is not Verdict.FAIL or not result.failures:
        return Failure(operation="", member="", answer=_general(result.reason))
    check = result.failures[0]
    if check.field == "contract":
        return Failure(
            operation=_operation(check.step_id.partition(" -> ")[0]),
            member=check.expected,
            actual=check.actual,
        )
    exchange = _exchange_of(result, check)
    if exchange is None:
        operation = "" if check.step_id == "check" else _operation(check.step_id)
    else:
        operation = _operation(f"{exchange.method} {exchange.url}")
    if check.field == "status":
        return Failure(operation=operation, member="status", answer=_status(check, exchange))
    if check.field == "claim":
        label = _LABEL.match(check.expected)
        member = label["name"] if label else check.expected
        expected = check.expected[label.end() :] if label else ""
        return Failure(
            operation=operation if label else "",
            member=_general(member),
            expected=expected,
            actual=check.actual,
        )
    member = _INDEX.sub("[]", f"{check.field}{check.at}")
    missing = "without" if check.absent or check.actual.startswith("nothing") else ""
    return Failure(
        operation=operation,
        member=_general(member),
        answer=missing,
        expected=check.expected,
        actual=check.actual,
    )


def _text_of(failures: list[Failure]) -> str:
    """Say a cause: with the value, where all cases saw the same one."""
    first = failures[0]
    place = f"{first.operation} " if first.operation else ""
    same = len({each.actual for each in failures}) == 1
    all_expected = {each.expected for each in failures}
    if first.answer == "without":
        text = f"{place}answers without `{first.member}`"
    elif first.answer:
        text = f"{place}{'answers ' if place else ''}{first.answer}"
    elif same and len(first.actual) <= _WIDEST_VALUE and first.expected:
        text = f"{place}answers `{first.member}: {first.actual}`"
        text += f" instead of {first.expected}" if len(all_expected) == 1 else ""
    elif first.expected:
        text = f"{place or 'some '}{'answers another ' if place else ''}`{first.member}`"
    elif first.member.startswith("#/"):
        text = f"{place}breaks {first.member}: {first.actual}"
    else:
        text = f"{place}{first.member}: {first.actual}"
    text = _general(text)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ..."


def _status(check: FailedCheck, exchange: Exchange | None) -> str:
    """Say an unexpected status: what it is, and whether it is an error of the protocol."""
    status = exchange.status if exchange and exchange.status else _number(check.actual)
    body = exchange.body if exchange else check.actual.partition(" ")[2]
    code = _code(body)
    if status >= 400:
        media = (exchange.headers if exchange else {}).get("content-type", "")
        how = f" as {media.partition(';')[0]}, no JSON error" if media else ", no JSON error"
        answer = f"{status} {code}" if code else f"{status}{how}"
        return answer if status in _MISSING or status >= 500 else f"{answer} to what it has to take"
    refused = re.search(r"\b4\d\d\b", check.expected)
    return f"{status} to what it has to refuse" if refused else f"{status}"


def _code(body: str) -> str:
    answer = parse_body(body.encode(errors="replace"))
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("code", "")) if isinstance(error, dict) else ""


def _number(text: str) -> int:
    found = re.match(r"\d{3}", text)
    return int(found[0]) if found else 0


def _operation(label: str) -> str:
    """Return a method and a path without what differs from case to case."""
    method, _, target = label.partition(" ")
    path = urlsplit(target).path.removeprefix(_PREFIX)
    name = _general(f"{method} {path}".strip())
    return _OPERATIONS.get(name, name)


def _exchange_of(result: CaseResult, check: FailedCheck) -> Exchange | None:
    at = check.exchange
    return result.exchanges[at] if at is not None and at < len(result.exchanges) else None


def _general(text: str) -> str:
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text


def _level(result: CaseResult) -> int:
    return 99 if result.level is None else result.level
