"""The details of the page, packed so that hundreds of failures take little space."""

import base64
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from conformance.clauses import Clause
from conformance.report.document import Report
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.result import CaseResult, FailedCheck

_WIDEST: Final = 2_000
_WIDEST_WHEN_TIGHT: Final = 300

Again = Callable[[Exchange], str]
# Makes the details: bodies of at most this many characters, and exchanges of these cases only.
Make = Callable[[int, Collection[str]], Any]


def packed(
    report: Report, clauses: Mapping[str, Clause], again: Again | None, most_bytes: int
) -> str:
    """Return the details of a run in packed form, which its page unpacks on demand."""

    def make(widest: int, kept: Collection[str]) -> dict[str, Any]:
        cases = {
            case.test_id: case_details(case, widest, again, keeps=case.test_id in kept)
            for case in report.cases
        }
        return {"cases": cases, "clauses": dict(_clauses(report, clauses))}

    every = {case.test_id for case in report.cases}
    return fitted(make, every, {each.cases[0] for each in report.mend}, most_bytes)


def fitted(make: Make, every: Collection[str], first: Collection[str], most_bytes: int) -> str:
    """Return what is made as text without markup, of at most the given size.

    Where it would be too much, bodies are cut, and then only the first cases of each cause keep
    their exchanges; the JSON report has them all.
    """
    bounds = ((_WIDEST, every), (_WIDEST_WHEN_TIGHT, every), (_WIDEST_WHEN_TIGHT, first))
    for widest, kept in bounds:
        made = _pack(make(widest, kept))
        if len(made) <= most_bytes:
            return made
    return _pack(make(_WIDEST_WHEN_TIGHT, ()))


def _pack(details: Any) -> str:
    return base64.b64encode(zlib.compress(msgspec.json.encode(details), 9)).decode()


def case_details(
    case: CaseResult, widest: int, again: Again | None, *, keeps: bool
) -> dict[str, Any]:
    """Return the details of one case."""
    details: dict[str, Any] = {"path": case.path, "ms": case.duration_ms, "clauses": case.clauses}
    if case.published:
        details["published"] = ", ".join(case.published)
    if case.reason:
        details["reason"] = _cut(case.reason, widest)
    if case.causes:
        details["causes"] = [str(cause) for cause in case.causes]
    if case.failures:
        details["failures"] = [
            _failure(case, failure, widest, again, keeps=keeps) for failure in case.failures
        ]
    return details


def _failure(
    case: CaseResult, failure: FailedCheck, widest: int, again: Again | None, *, keeps: bool
) -> dict[str, str]:
    details = {
        "where": f"[{failure.step_id}] {failure.field}{failure.at}",
        "expected": _cut(failure.expected, widest),
        "actual": _cut(failure.actual, widest),
    }
    at = failure.exchange
    if at is None or not 0 <= at < len(case.exchanges):
        return details
    if not keeps:
        return {**details, "left out": "the exchange: the JSON report has it"}
    exchange = case.exchanges[at]
    details["request"] = _message(
        f"{exchange.method} {exchange.url}",
        exchange.request_headers,
        _cut(exchange.request_body, widest),
    )
    details["answer"] = exchange.trouble or _message(
        f"{exchange.status} after {exchange.duration_ms} ms",
        exchange.headers,
        _cut(exchange.body, widest),
    )
    if again is not None:
        details["again"] = _cut(again(exchange), 2 * widest)
    return details


def _message(first: str, headers: Mapping[str, str], body: str) -> str:
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    return "\n".join([*lines, "", body]) if body else "\n".join(lines)


def _clauses(report: Report, clauses: Mapping[str, Clause]) -> Iterator[tuple[str, Any]]:
    cases: dict[str, list[str]] = {}
    for case in report.cases:
        for clause in case.clauses:
            cases.setdefault(clause, []).append(case.test_id)
    for name, verdict in report.clauses.items():
        known = clauses.get(name)
        yield (
            name,
            {
                "verdict": verdict,
                "cases": cases[name],
                "strength": known.strength if known else "",
                "sources": ", ".join(known.sources) if known else "",
                "text": known.summary if known else "",
            },
        )


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else f"{text[:widest]} ... ({len(text)} characters)"
