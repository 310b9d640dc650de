"""Cases and backends that a change of the specification touches, as lines to show."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import httpx
import msgspec

from conformance.case import OwnCase, ServerCase
from conformance.clauses import Spec
from conformance.report.document import ADAPTER_MODE, WORKER_MODE, Report
from conformance.spec.code import calls_of, is_path
from conformance.spec.diff import Change, cases_by_clause
from conformance.spec.facts import Call, facts_of
from conformance.verdicts.contract import Contract
from conformance.verdicts.exchanges import Exchange, Finding, Received
from conformance.verdicts.result import CaseResult, Verdict

_SHOWN = 8


class Backend(msgspec.Struct, frozen=True):
    """A judged server, worker or adapter, by its report."""

    name: str
    cases: Mapping[str, CaseResult]
    is_worker: bool = False  # its requests are judged instead of answers


def backend_of(path: Path, report: Report) -> Backend:
    """Return the backend that a report is about, under its own name or that of the file."""
    name = str(report.implementation.get("name") or path.stem)
    cases = {case.test_id: case for case in report.cases}
    if report.mode == ADAPTER_MODE:
        # The recorded answers are those of a server, which was not judged.
        cases = {id: msgspec.structs.replace(case, exchanges=()) for id, case in cases.items()}
    return Backend(f"{name} ({path.name})", cases, report.mode == WORKER_MODE)


class Touched:
    """Finds the cases of clauses and operations."""

    def __init__(self, cases: Iterable[OwnCase], calls: Iterable[Call]) -> None:
        cases = list(cases)
        self._by_clause = cases_by_clause((case.id, case.clauses) for case in cases)
        documented = list(calls)
        self._by_call: dict[Call, set[str]] = {}
        for case in cases:
            for method, path in calls_of(case.play) if isinstance(case, ServerCase) else ():
                for call in documented:
                    if method in ("", call.method) and is_path(path, call.path):
                        self._by_call.setdefault(call, set()).add(case.id)

    def cases(self, change: Change) -> list[str]:
        """Return the cases that a change touches: those of its clauses, else of its operations."""
        found = set().union(*(self._by_clause.get(name, set()) for name in change.clauses))
        if not change.clauses:
            found.update(*(self._by_call.get(call, set()) for call in change.calls))
        return sorted(found)


def change_lines(
    change: Change, touched: Touched, backends: Sequence[Backend] = ()
) -> Iterator[str]:
    """Yield the lines about one change: what it is, what it touches and whom it breaks."""
    yield change.head
    yield from (f"    {line}" for line in change.lines)
    cases = touched.cases(change)
    of_clause = any(name in change.head for name in change.clauses)
    if change.clauses and not of_clause:
        yield f"    clauses: {_listed(sorted(change.clauses))}"
    if change.calls and not any(str(call) in change.head for call in change.calls):
        yield f"    operations: {_listed(sorted(map(str, change.calls)))}"
    if cases:
        yield f"    cases: {_listed(cases)}"
    for backend in backends:
        affected = [backend.cases[name] for name in cases if name in backend.cases]
        if affected:
            passed = sum(case.verdict is Verdict.PASS for case in affected)
            yield f"    {backend.name}: passes {passed} of these {len(affected)} cases"
    if change.breaks:
        yield f"    breaks: {', '.join(sorted(change.breaks))}"


def proposal_lines(
    old: tuple[Spec, Contract], new: tuple[Spec, Contract], backends: Iterable[Backend]
) -> Iterator[str]:
    """Yield what each backend would do wrong by the new version and does right by the old one."""
    statuses = list(_statuses(old[0], new[0]))
    for backend in backends:
        found = dict[str, list[str]]()
        for case in backend.cases.values():
            for reason in (
                *_by_contract(case, old[1], new[1], is_worker=backend.is_worker),
                *_by_status(case, statuses),
            ):
                found.setdefault(reason, []).append(case.test_id)
        kept = sum(bool(case.exchanges) for case in backend.cases.values())
        of_cases = f"{kept} of {len(backend.cases)} cases have exchanges"
        yield f"{backend.name}: would fail in {len(found)} ways ({of_cases})"
        for reason, cases in found.items():
            yield f"    {reason}"
            yield f"        cases: {_listed(sorted(set(cases)))}"


def _by_contract(
    case: CaseResult, old: Contract, new: Contract, *, is_worker: bool
) -> Iterator[str]:
    for exchange in case.exchanges:
        sent, received = _replayed(exchange)
        if sent is None or received is None:
            continue

        def findings(
            contract: Contract, sent: httpx.Request = sent, received: Received = received
        ) -> list[Finding]:
            if is_worker:
                return contract.request_findings(sent)
            found = contract.findings(sent, received)
            return [each for each in found if each.side == "response"]

        was = {(each.at, each.message) for each in findings(old)}
        for finding in findings(new):
            if (finding.at, finding.message) not in was:
                place = f" at {finding.at}" if finding.at else ""
                answer = "" if is_worker else f" -> {received.status}"
                yield f"{_operation(new, sent)}{answer}{place}: {finding.message}"


def _operation(contract: Contract, sent: httpx.Request) -> str:
    return f"{sent.method} {contract.path_of(sent.url.path) or sent.url.path}"


def _by_status(
    case: CaseResult, statuses: Iterable[tuple[str, set[int], set[int]]]
) -> Iterator[str]:
    answered = {exchange.status for exchange in case.exchanges}
    for clause, gone, come in statuses:
        if clause in case.clauses and not answered.isdisjoint(gone) and answered.isdisjoint(come):
            was, now = (" or ".join(map(str, sorted(each))) for each in (gone, come))
            yield f"{clause}: answers {was} where {now} is demanded"


def _statuses(old: Spec, new: Spec) -> Iterator[tuple[str, set[int], set[int]]]:
    """Yield the clauses that require other statuses than before: those gone, and those in place."""
    before = old.by_id()
    for clause in new.clauses:
        if clause.binds_servers and clause.id in before:
            sides = (before[clause.id].text, clause.text)
            was, now = ({each.status for each in facts_of(text).statuses} for text in sides)
            if was - now and now - was:
                yield clause.id, was - now, now - was


def _replayed(exchange: Exchange) -> tuple[httpx.Request | None, Received | None]:
    """Return a recorded exchange as the contract checks it; None where its body was cut."""
    cut = " bytes)"
    if exchange.status is None or exchange.body.endswith(cut):
        return None, None
    content = b"" if exchange.request_body.endswith(cut) else exchange.request_body.encode()
    try:
        sent = httpx.Request(
            exchange.method, exchange.url, headers=exchange.request_headers, content=content
        )
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return None, None
    return sent, Received(
        status=exchange.status,
        headers=exchange.headers,
        content=exchange.body.encode(),
        duration_ms=exchange.duration_ms,
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
