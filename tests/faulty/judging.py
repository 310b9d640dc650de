"""Judges a target with a fault by the cases of its clause: a fault is caught, or a case is weak."""

import asyncio
import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Final

import msgspec

from conformance.case import OwnCase, ServerCase, server_cases, worker_cases
from conformance.processes.program import Running, spawn
from conformance.runs.runner import Plan, run
from conformance.runs.worker_runner import WorkerPlan, run_worker
from conformance.verdicts.contract import Contract
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.grpc_statuses import Status
from conformance.verdicts.result import CaseResult, Verdict
from tests.e2e.judged import TIMES, variants
from tests.faulty.fault import UNBROKEN, Fault, Kind, all_faults
from tests.forking import SERVER, fork

# Cases that nearly every server passes: one that fails them all is a wreck and proves nothing.
# A worker that is a wreck sends nothing, which the judge of workers tells by itself.
SMOKE: Final[dict[Kind, tuple[str, ...]]] = {
    "servers": ("queues.queues_apart", "errors.nearest_words", "jobs.cancelling"),
    "workers": (),
}
# Cases side by side. Each case of workers has a process, wasted once another has caught the fault.
AT_ONCE: Final[dict[Kind, int]] = {"servers": 6, "workers": 3}
# The BEAT interval of 5 s and the grace period of 25 s are a tenth of that here.
TIME_SCALE: Final = 0.1
_CONTRACT: Final = "contract"
SERVE: Final = "tests.faulty.serve"


class Found(StrEnum):
    """Outcome of judging a fault."""

    CAUGHT = "caught"
    MISSED = "missed"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True):
    """The result for one fault: the case that caught it, or the reason why none did."""

    fault: Fault
    found: Found
    case: str = ""
    why: str = ""
    used: tuple[str, ...] = ()
    seconds: float = 0.0


def server_commands(name: str, program: str = SERVE) -> dict[str, str]:
    """Return the commands that start the server with a fault, by variant; times are scaled where
    the variant has none of its own."""
    start = shlex.join((sys.executable, "-m", program, name, "--port", "{port}"))
    known = variants(f"{start} --database {{dir}}/ojs.db --log-level error")
    scaled = "--heartbeat-interval 1s --heartbeat-timeout 6s"
    return {name: each if TIMES in each else f"{each} {scaled}" for name, each in known.items()}


def worker_command(name: str) -> tuple[str, ...]:
    """Return the command that starts the worker with a fault and the handlers that cases need."""
    return (sys.executable, "-m", "tests.faulty.work", name, "demo", "--log-level", "error")


@cache
def _loaded() -> tuple[str, ...]:
    return (*SERVER, "ojs_worker.cli", *sorted({each.plant.__module__ for each in all_faults()}))


async def forked(parts: Sequence[str], environ: Mapping[str, str]) -> Running:
    """Start `env NAME=VALUE … python -m …` by a fork: hundreds are started, and loading the program
    would be most of each start."""
    python = parts.index(sys.executable)
    more = dict(each.split("=", 1) for each in parts[1:python])
    if any(name.startswith("PYTHON") for name in more):
        # Python itself reads them, as it starts.
        return await spawn(parts, environ)
    return await fork(parts[python + 2 :], {**environ, **more}, _loaded())


def cases_of(fault: Fault) -> Sequence[OwnCase]:
    """The cases that name the clause of a fault."""
    known: Sequence[OwnCase] = server_cases() if fault.kind == "servers" else worker_cases()
    return [case for case in known if fault.clause in case.clauses]


def shared_cases(faults: Iterable[Fault]) -> dict[Kind, set[str]]:
    """The cases that faults are judged by at once: all that start no servers of their own."""
    found: dict[Kind, set[str]] = {}
    for fault in faults:
        names = found.setdefault(fault.kind, set(SMOKE[fault.kind]))
        names.update(case.id for case in cases_of(fault) if not is_apart(case))
    return found


async def judged(fault: Fault, checker: Contract | None) -> Finding:
    """Judge one fault until it is caught; cases that start servers of their own come last."""
    started = time.monotonic()
    cases = cases_of(fault)
    apart = {case.id for case in cases if is_apart(case)}

    def caught(results: Sequence[CaseResult]) -> bool:
        return verdict_on(fault, results).found is Found.CAUGHT

    finding = Finding(fault, Found.ERROR, why=f"no case names {fault.clause}")
    if cases:
        names = shared_cases([fault])[fault.kind]
        results = await played(fault.kind, fault.name, names, checker, caught)
        finding = verdict_on(fault, results)
        if finding.found is Found.MISSED and apart:
            before = results
            more = await played(
                fault.kind, fault.name, apart, checker, lambda found: caught([*before, *found])
            )
            results = [*before, *more]
            finding = verdict_on(fault, results)
        finding = msgspec.structs.replace(finding, used=tuple(one.test_id for one in results))
    return msgspec.structs.replace(finding, seconds=time.monotonic() - started)


async def not_passed(
    kind: Kind, names: Collection[str], checker: Contract | None
) -> list[CaseResult]:
    """Play these cases against the target without a fault; return the results that are bad."""
    results = await played(kind, UNBROKEN, names, checker) if names else []
    return [result for result in results if result.is_bad]


def verdict_on(fault: Fault, results: Sequence[CaseResult]) -> Finding:
    """Read the results: only a case of the fault's own clause catches it, and no crash does."""
    if errors := [result for result in results if result.verdict is Verdict.ERROR]:
        return Finding(fault, Found.ERROR, errors[0].test_id, errors[0].reason)
    if SMOKE[fault.kind] and not any(_is_sound(result) for result in results):
        return Finding(fault, Found.ERROR, why="no case at all passes: the server is a wreck")
    mine = [result for result in results if fault.clause in result.clauses]
    for result in mine:
        if _is_catch(result, fault.kind):
            return Finding(fault, Found.CAUGHT, result.test_id, str(result.failures[0]))
    told = [f"{result.test_id}: {result.verdict} {result.reason}".strip() for result in mine]
    return Finding(fault, Found.MISSED, why="; ".join(told))


def _is_catch(result: CaseResult, kind: Kind) -> bool:
    """True if a check failed although the target answered every call, and none with a crash."""
    if result.verdict is not Verdict.FAIL or not result.failures:
        return False
    if kind == "servers" and any(map(_is_crash, result.exchanges)):
        return False
    return all(failure.field != "transport" for failure in result.failures)


def _is_crash(exchange: Exchange) -> bool:
    # A call of gRPC whose code raises ends with UNKNOWN.
    return exchange.status == (Status.UNKNOWN if exchange.method == "RPC" else 500)


def _is_sound(result: CaseResult) -> bool:
    return result.verdict is Verdict.PASS or (
        bool(result.failures) and all(each.field == _CONTRACT for each in result.failures)
    )


def is_apart(case: OwnCase) -> bool:
    return isinstance(case, ServerCase) and bool(case.own_server)


async def played(
    kind: Kind,
    name: str,
    cases: Collection[str],
    checker: Contract | None,
    enough: Callable[[Sequence[CaseResult]], bool] = lambda _: False,
    program: str = SERVE,
) -> list[CaseResult]:
    """Play cases against a target with a fault, until there are results enough."""
    results: list[CaseResult] = []
    ends = asyncio.Event()

    def note(result: CaseResult) -> None:
        results.append(result)
        if enough(results):
            ends.set()

    running = asyncio.ensure_future(_run(kind, name, cases, checker, note, program))
    ended = asyncio.create_task(ends.wait())
    await asyncio.wait({running, ended}, return_when=asyncio.FIRST_COMPLETED)
    if not ends.is_set():
        ended.cancel()
        await running
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    return results


async def _run(
    kind: Kind,
    name: str,
    cases: Collection[str],
    checker: Contract | None,
    note: Callable[[CaseResult], None],
    program: str,
) -> None:
    if kind == "servers":
        plan = Plan(
            own=[case for case in server_cases() if case.id in cases],
            commands=server_commands(name, program),
            spawn=forked,
            checker=checker,
            contract="fail",
            jobs=AT_ONCE[kind],
        )
        await run(plan, note)
    else:
        worker_plan = WorkerPlan(
            command=worker_command(name),
            spawn=forked,
            cases=[case for case in worker_cases() if case.id in cases],
            time_scale=TIME_SCALE,
            jobs=AT_ONCE[kind],
            checker=checker,
            contract="fail",
        )
        await run_worker(worker_plan, note)
