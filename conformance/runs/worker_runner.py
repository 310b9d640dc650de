"""Runs the cases of workers: each with a played server and worker processes of its own."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from conformance.case import WorkerCase
from conformance.play.worker_stage import START_S, WorkerStage
from conformance.played.deviations import request_findings
from conformance.processes.program import Spawn, StartError, spawn
from conformance.processes.worker import PATIENCE_S, signals_for_children, times
from conformance.tasks import side_by_side
from conformance.verdicts.contract import Contract
from conformance.verdicts.exchanges import Finding
from conformance.verdicts.outcome import by_contract, outcome_of, result_of
from conformance.verdicts.result import CaseResult, Verdict

_MUTE_AFTER = 3  # cases in a row without any request, after which the worker counts as broken

OnResult = Callable[[CaseResult], None]


class WorkerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A run over workers: the cases, the command of the worker, and the times."""

    command: Sequence[str]
    cases: Sequence[WorkerCase]
    spawn: Spawn = spawn
    time_scale: float = 1.0
    jobs: int = 4
    start_s: float = START_S
    patience_s: float = PATIENCE_S
    checker: Contract | None = None
    contract: Literal["fail", "report"] = "report"


async def run_worker(plan: WorkerPlan, on_result: OnResult = lambda _: None) -> list[CaseResult]:
    """Run the plan; whatever the worker does, every case has a result."""
    session = _Session(plan, on_result)
    # The longest first, so that the run does not end with one long case.
    ordered = sorted(plan.cases, key=lambda case: -_seconds(case, plan.time_scale))
    with signals_for_children():
        await side_by_side([partial(session.play, case) for case in ordered], max(1, plan.jobs))
    return session.results


class _Session:
    """One run; it goes on unless the worker never sends a request."""

    def __init__(self, plan: WorkerPlan, on_result: OnResult) -> None:
        self.results: list[CaseResult] = []
        self._plan = plan
        self._on_result = on_result
        self._mute = 0
        self._was_used = False

    async def play(self, case: WorkerCase) -> None:
        """Play one case, unless the worker never says anything."""
        if self._mute >= _MUTE_AFTER and not self._was_used:
            reason = f"not run: the worker sent nothing in the {self._mute} cases before"
            result = _result(case, verdict=Verdict.ERROR, reason=reason)
        else:
            result = await self._played(case)
            self._was_used = self._was_used or bool(result.exchanges)
            self._mute = 0 if result.exchanges else self._mute + 1
        self.results.append(result)
        self._on_result(result)

    async def _played(self, case: WorkerCase) -> CaseResult:
        plan = self._plan
        kept = times(plan.time_scale, plan.patience_s)
        stage = WorkerStage(
            plan.command, kept, start_s=plan.start_s, checker=plan.checker, spawn=plan.spawn
        )
        try:
            outcome = await outcome_of(
                case.play(stage),
                _seconds(case, plan.time_scale),
                _unstarted,
                lambda: tuple(stage.server.record.exchanges(stage.server.url)),
            )
            if stage.server.fault is not None:
                raise stage.server.fault
        except Exception as error:
            reason = f"the case itself is at fault: {type(error).__name__}: {error}"
            outcome = {"verdict": Verdict.ERROR, "reason": reason}
        finally:
            await stage.close()
        exchanges = tuple(stage.server.record.exchanges(stage.server.url))
        findings: tuple[Finding, ...] = ()
        if plan.checker is not None:
            requests = stage.server.record.all
            findings = tuple(await asyncio.to_thread(request_findings, plan.checker, requests))
        result = _result(case, findings=findings, exchanges=exchanges, **outcome)
        return by_contract(result, "request") if plan.contract == "fail" else result


def _seconds(case: WorkerCase, scale: float) -> float:
    return case.seconds + case.scaled_s * scale


def _unstarted(error: StartError) -> tuple[Verdict, str]:
    return Verdict.ERROR, str(error)


def _result(case: WorkerCase, **outcome: Any) -> CaseResult:
    return result_of(case, f"worker/{case.suite}", **outcome)
