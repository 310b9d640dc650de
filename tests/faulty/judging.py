"""Judges a target with a fault by the cases of its clause: a fault is caught, or a case is weak."""

import shlex
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from conformance.case import OwnCase, own_cases
from conformance.runner import Plan, run
from conformance.verdict import CaseResult, Verdict
from conformance.wire import Checker
from tests.e2e.judged import variants
from tests.faulty.fault import UNBROKEN, Fault

# Cases that nearly every server passes: one that fails them all is a wreck and proves nothing.
SMOKE: Final = ("queues.queues_apart", "errors.nearest_words", "jobs.cancelling")
AT_ONCE: Final = 6
_CONTRACT: Final = "contract"


class Found(StrEnum):
    """What became of a fault."""

    CAUGHT = "caught"
    MISSED = "missed"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True):
    """One fault after its run: the case that caught it, or why none did."""

    fault: Fault
    found: Found
    case: str = ""
    why: str = ""
    used: tuple[str, ...] = ()
    seconds: float = 0.0


def server_commands(name: str) -> dict[str, str]:
    """How the judge starts the server with a fault, in every variant; times are scaled."""
    start = shlex.join((sys.executable, "-m", "tests.faulty.serve", name, "--port", "{port}"))
    scaled = "--heartbeat-interval 1s --heartbeat-timeout 6s --log-level error"
    return variants(f"{start} --database {{dir}}/ojs.db {scaled}")


def cases_of(clause: str) -> list[OwnCase]:
    """The cases that name a clause."""
    return [case for case in own_cases() if clause in case.clauses]


def shared_cases(faults: Iterable[Fault]) -> set[str]:
    """The cases that these faults are judged by in any case: those that can share a server."""
    found = {case.id for each in faults for case in cases_of(each.clause) if not case.own_server}
    return found | set(SMOKE)


async def judged(fault: Fault, checker: Checker | None) -> Finding:
    """Judge one fault; cases that need servers of their own come last, and only if they must."""
    started = time.monotonic()
    chosen = cases_of(fault.clause)
    smoke = [case for case in own_cases() if case.id in SMOKE and case not in chosen]
    shared = [case for case in chosen if not case.own_server]
    apart = [case for case in chosen if case.own_server]
    used = tuple(case.id for case in shared + smoke)
    finding = Finding(fault, Found.ERROR, why=f"no case names {fault.clause}")
    if chosen:
        results = await _played(fault.name, [*shared, *smoke], checker)
        finding = verdict_on(fault, results)
        if finding.found is Found.MISSED and apart:
            results += await _played(fault.name, apart, checker)
            finding = verdict_on(fault, results)
            used = (*used, *(case.id for case in apart))
    seconds = time.monotonic() - started
    return msgspec.structs.replace(finding, used=used, seconds=seconds)


async def not_passed(names: Collection[str], checker: Checker | None) -> list[CaseResult]:
    """Which of these cases the server without a fault does not pass."""
    cases = [case for case in own_cases() if case.id in names]
    results = await _played(UNBROKEN, cases, checker) if cases else []
    return [result for result in results if result.verdict is not Verdict.PASS]


def verdict_on(fault: Fault, results: Sequence[CaseResult]) -> Finding:
    """Read the results: only a case of the fault's own clause catches it, and no crash does."""
    if errors := [result for result in results if result.verdict is Verdict.ERROR]:
        return Finding(fault, Found.ERROR, errors[0].test_id, errors[0].reason)
    if not any(_is_sound(result) for result in results):
        return Finding(fault, Found.ERROR, why="no case at all passes: the server is a wreck")
    mine = [result for result in results if fault.clause in result.clauses]
    for result in mine:
        if _is_catch(result):
            return Finding(fault, Found.CAUGHT, result.test_id, str(result.failures[0]))
    told = [f"{result.test_id}: {result.verdict} {result.reason}".strip() for result in mine]
    return Finding(fault, Found.MISSED, why="; ".join(told))


def _is_catch(result: CaseResult) -> bool:
    """A demand that was not met, by a server that went on answering."""
    crashed = any(exchange.status == 500 for exchange in result.exchanges)
    if result.verdict is not Verdict.FAIL or not result.failures or crashed:
        return False
    return all(failure.field != "transport" for failure in result.failures)


def _is_sound(result: CaseResult) -> bool:
    return result.verdict is Verdict.PASS or (
        bool(result.failures) and all(each.field == _CONTRACT for each in result.failures)
    )


async def _played(name: str, cases: Sequence[OwnCase], checker: Checker | None) -> list[CaseResult]:
    plan = Plan(
        own=cases,
        commands=server_commands(name),
        checker=checker,
        contract="fail",
        jobs=AT_ONCE,
    )
    return (await run(plan)).results
