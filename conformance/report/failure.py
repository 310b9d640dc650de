"""The first thing that went wrong in a case, by the operation and the member of its answer."""

import re
from typing import Final
from urllib.parse import urlsplit

import msgspec

from conformance.verdicts.exchanges import Exchange, parse_body
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict

MANIFEST: Final = "GET /ojs/manifest"
WITHOUT: Final = "without"
# Texts that vary between failures of one cause: names made by cases, ids, times.
_VARYING: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "{id}"),
    (re.compile(r"\b[a-z]+-[0-9a-f]{8}-\d+\b"), "{name}"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"), "{time}"),
    (re.compile(r"https?://[^/\s]+"), ""),
    (re.compile(r"\b\d{4,}\b"), "{number}"),
)
# A word of the protocol, such as a state, and what follows the name of a member in a label.
_WORD: Final = re.compile(r'"[a-z_]+"')
_MORE: Final = re.compile(r"^([a-z_.]+) (?:of|for|in|after|when|on) .*")
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


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The first failed check of a case, by what it has in common with those of other cases."""

    operation: str
    member: str  # of the answer, or the subject of the check
    answer: str = ""  # the answer in a few words; empty where the checked value says more
    expected: str = ""
    actual: str = ""

    @property
    def subject(self) -> str:
        """The member without what a case says about it, and without that of a list's entry."""
        if self.answer == WITHOUT and "[]" in self.member:
            return self.member[: self.member.rindex("[]") + 2]
        return _MORE.sub(r"\1", self.member)

    @property
    def key(self) -> tuple[str, ...]:
        """The cause without values, except for a word of the protocol in place of another. The
        manifest is one document, made in one place."""
        if self.operation == MANIFEST:
            return (MANIFEST,)
        values = (self.expected, self.actual)
        words = values if all(map(_WORD.fullmatch, values)) else ()
        return self.operation, self.subject, self.answer, *words


def first_failure(result: CaseResult) -> Failure:
    """Return the first failure of a case by operation and member."""
    if result.verdict is not Verdict.FAIL or not result.failures:
        return Failure(operation="", member="", answer=general(result.reason))
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
            member=general(member),
            expected=expected,
            actual=check.actual,
        )
    member = _INDEX.sub("[]", f"{check.field}{check.at}")
    missing = WITHOUT if check.absent or check.actual.startswith("nothing") else ""
    return Failure(
        operation=operation,
        member=general(member),
        answer=missing,
        expected=check.expected,
        actual=check.actual,
    )


def _status(check: FailedCheck, exchange: Exchange | None) -> str:
    """Say an unexpected status: what it is, and whether it is an error of the protocol."""
    status = exchange.status if exchange and exchange.status else _number(check.actual)
    body = exchange.body if exchange else check.actual.partition(" ")[2]
    code = _code(body)
    refused = re.search(r"\b4\d\d\b", check.expected)
    if status >= 400:
        media = (exchange.headers if exchange else {}).get("content-type", "")
        how = f" as {media.partition(';')[0]}, no JSON error" if media else ", no JSON error"
        answer = f"{status} {code}" if code else f"{status}{how}"
        if status in _MISSING or status >= 500:
            return answer
        return f"{answer}, not {refused[0]}" if refused else f"{answer} to what it has to take"
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
    name = general(f"{method} {path}".strip())
    return _OPERATIONS.get(name, name)


def _exchange_of(result: CaseResult, check: FailedCheck) -> Exchange | None:
    at = check.exchange
    return result.exchanges[at] if at is not None and at < len(result.exchanges) else None


def general(text: str) -> str:
    """Return a text without the names, ids and times of one case."""
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text
