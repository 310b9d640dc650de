"""Causes to fix first: failures that begin alike, with the number of cases that each affects."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from conformance.verdicts.result import CaseResult, FailedCheck, Verdict

_WIDEST: Final = 200
# Texts that vary between failures of one cause: names made by cases, ids, times.
_VARYING: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "{id}"),
    (re.compile(r"\b[a-z]+-[0-9a-f]{8}-\d+\b"), "{name}"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"), "{time}"),
    (re.compile(r"https?://[^/\s]+"), ""),
    (re.compile(r"\b\d{4,}\b"), "{number}"),
)
_CODE: Final = re.compile(r'"code":\s*"(\w+)"')


class Mending(msgspec.Struct, frozen=True, kw_only=True):
    """One way to fail, and the cases that fail in it first."""

    cause: str
    level: int  # the lowest level of its cases
    cases: tuple[str, ...]

    def __str__(self) -> str:
        return f"up to {len(self.cases)} case{'' if len(self.cases) == 1 else 's'}: {self.cause}"


def mendings(results: Iterable[CaseResult]) -> list[Mending]:
    """Group failures by the first thing that went wrong: core first, then the most frequent."""
    found: dict[str, list[CaseResult]] = {}
    for result in results:
        if result.is_bad:
            found.setdefault(first_cause(result), []).append(result)
    made = [
        Mending(
            cause=cause,
            level=min(_level(result) for result in bad),
            cases=tuple(result.test_id for result in bad),
        )
        for cause, bad in found.items()
    ]
    return sorted(made, key=lambda each: (each.level, -len(each.cases), each.cause))


def first_cause(result: CaseResult) -> str:
    """Return the first failure as text, without ids and names that differ from case to case."""
    if result.verdict is Verdict.FAIL and result.failures:
        text = _text_of(result.failures[0])
    else:
        text = result.reason
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ..."


def _text_of(failure: FailedCheck) -> str:
    actual = failure.actual
    if failure.field == "status":
        code = _CODE.search(actual)
        actual = f"{actual.split()[0]} {code[1]}" if code else actual.partition(" ")[0]
    if failure.field == "contract":
        return f"{failure.step_id}: {actual} ({failure.expected})"
    place = "" if failure.step_id == "check" else f"{failure.step_id}: "
    field = "" if failure.field == "claim" else f"{failure.field}{failure.at}: "
    return f"{place}{field}expected {failure.expected}, got {actual}"


def _level(result: CaseResult) -> int:
    return 99 if result.level is None else result.level
