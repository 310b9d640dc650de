"""The details of the page, packed so that hundreds of failures take little space."""

import base64
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from conformance.report.document import Report
from conformance.spec.clauses import Clause
from conformance.verdict import CaseResult, FailedCheck
from conformance.wire import Exchange

_MOST_BYTES: Final = 110_000
_WIDEST: Final = 2_000
_WIDEST_WHEN_TIGHT: Final = 300

Again = Callable[[Exchange], str]


def packed(report: Report, clauses: Mapping[str, Clause], again: Again | None) -> str:
    """Return the details in packed form, as text without markup; the page unpacks them on demand.

    Where it would be too much, bodies are cut, and then only one case of each cause keeps its
    exchange; the JSON report has them all.
    """
    every = {case.test_id for case in report.cases}
    first = {each.cases[0] for each in report.mend}
    bounds = ((_WIDEST, every), (_WIDEST_WHEN_TIGHT, every), (_WIDEST_WHEN_TIGHT, first))
    for widest, kept in bounds:
        made = _packed(report, clauses, again, widest, kept)
        if len(made) <= _MOST_BYTES:
            return made
    return _packed(report, clauses, again, _WIDEST_WHEN_TIGHT, set())


def _packed(
    report: Report,
    clauses: Mapping[str, Clause],
    again: Again | None,
    widest: int,
    kept: Collection[str],
) -> str:
    told = {
        "cases": {
            case.test_id: _case(case, widest, again, keeps=case.test_id in kept)
            for case in report.cases
        },
        "clauses": dict(_clauses(report, clauses)),
    }
    return base64.b64encode(zlib.compress(msgspec.json.encode(told), 9)).decode()


def _case(case: CaseResult, widest: int, again: Again | None, *, keeps: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"path": case.path, "ms": case.duration_ms, "clauses": case.clauses}
    if case.reason:
        told["reason"] = _cut(case.reason, widest)
    if case.causes:
        told["causes"] = [str(cause) for cause in case.causes]
    if case.failures:
        told["failures"] = [
            _failure(case, failure, widest, again, keeps=keeps) for failure in case.failures
        ]
    return told


def _failure(
    case: CaseResult, failure: FailedCheck, widest: int, again: Again | None, *, keeps: bool
) -> dict[str, str]:
    told = {
        "where": f"[{failure.step_id}] {failure.field}{failure.at}",
        "expected": _cut(failure.expected, widest),
        "actual": _cut(failure.actual, widest),
    }
    at = failure.exchange
    if at is None or not 0 <= at < len(case.exchanges):
        return told
    if not keeps:
        return {**told, "left out": "the exchange: the JSON report has it"}
    exchange = case.exchanges[at]
    told["request"] = _message(
        f"{exchange.method} {exchange.url}",
        exchange.request_headers,
        _cut(exchange.request_body, widest),
    )
    told["answer"] = exchange.trouble or _message(
        f"{exchange.status} after {exchange.duration_ms} ms",
        exchange.headers,
        _cut(exchange.body, widest),
    )
    if again is not None:
        told["again"] = _cut(again(exchange), 2 * widest)
    return told


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
