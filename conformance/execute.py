"""Plays cases against a server: setup, steps, teardown; the result of each is a verdict."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpx

from conformance.defects import contradictions
from conformance.exchange import Clock, Trouble, exchange
from conformance.judge import Answer, failed_checks
from conformance.model import Case, CaseFile, Step
from conformance.order import groups
from conformance.reset import Reset, ResetError
from conformance.template import Scope
from conformance.values import Missing
from conformance.verdict import CaseResult, FailedCheck, Verdict

Sleep = Callable[[float], Awaitable[object]]


async def run_cases(
    files: Iterable[CaseFile],
    client: httpx.AsyncClient,
    *,
    reset: Reset | None = None,
    sleep: Sleep = asyncio.sleep,
    clock: Clock = time.perf_counter,
    on_result: Callable[[CaseResult], None] = lambda _: None,
) -> list[CaseResult]:
    """Run the cases one after another and report each to ``on_result`` as it ends."""
    results = []
    for file in files:
        result = await run_case(file, client, reset=reset, sleep=sleep, clock=clock)
        on_result(result)
        results.append(result)
    return results


async def run_case(
    file: CaseFile,
    client: httpx.AsyncClient,
    *,
    reset: Reset | None = None,
    sleep: Sleep = asyncio.sleep,
    clock: Clock = time.perf_counter,
) -> CaseResult:
    """Run one case; a case that cannot be judged is an error, never a silent pass."""
    started = clock()
    verdict, reason, failures = await _judged(file, client, reset, sleep, clock)
    return CaseResult(
        path=file.path,
        test_id=file.test_id,
        name=file.case.name if file.case else "",
        level=file.level,
        category=file.case.category if file.case else "",
        verdict=verdict,
        reason=reason,
        failures=tuple(failures),
        duration_ms=int((clock() - started) * 1000),
    )


_Judgement = tuple[Verdict, str, list[FailedCheck]]


async def _judged(
    file: CaseFile, client: httpx.AsyncClient, reset: Reset | None, sleep: Sleep, clock: Clock
) -> _Judgement:
    case = file.case
    if case is None or file.problems:
        return Verdict.ERROR, "; ".join(file.problems), []
    if case.deprecated:
        return Verdict.SKIPPED, f"deprecated: {case.deprecated_reason or 'no reason given'}", []
    try:
        if reset is not None:
            await reset()
    except ResetError as error:
        return Verdict.ERROR, f"reset failed: {error}", []
    return await _Play(case, client, sleep, clock).run()


class _Play:
    """One case on stage: what its steps have received so far, and whether the server is there."""

    def __init__(self, case: Case, client: httpx.AsyncClient, sleep: Sleep, clock: Clock) -> None:
        names = frozenset(name for step in case.all_steps for name in step.all_captures)
        self._case = case
        self._client = client
        self._sleep = sleep
        self._clock = clock
        self._scope = Scope(names)
        self._unreachable = ""

    async def run(self) -> _Judgement:
        failures = await self._steps(self._case.setup.steps)
        setup_failed = bool(failures)
        if not setup_failed:
            failures = await self._steps(self._case.steps)
        if self._unreachable:
            return Verdict.ERROR, f"server unreachable: {self._unreachable}", failures
        await self._steps(self._case.teardown.steps)
        if setup_failed:
            return Verdict.ERROR, "setup failed", failures
        return self._verdict(failures)

    def _verdict(self, failures: list[FailedCheck]) -> _Judgement:
        if not failures:
            return Verdict.PASS, "", failures
        impossible = contradictions(self._case)
        # A history entry that is not there at all is the server's own failure.
        reasons = [
            impossible[failure.step_id, failure.field]
            for failure in failures
            if (failure.step_id, failure.field) in impossible and not failure.absent
        ]
        if len(reasons) == len(failures):
            return Verdict.DEFECTIVE, "; ".join(reasons), failures
        return Verdict.FAIL, "", failures

    async def _steps(self, steps: Sequence[Step]) -> list[FailedCheck]:
        failures: list[FailedCheck] = []
        for group in groups(steps):
            outcomes = await asyncio.gather(*map(self._act, group))
            # Answers are recorded before any is judged: siblings see each other all or not at all.
            for step, outcome in zip(group, outcomes, strict=True):
                self._record(step, outcome)
            for step, outcome in zip(group, outcomes, strict=True):
                failures.extend(self._judge(step, outcome))
            if self._unreachable:
                break
        return failures

    async def _act(self, step: Step) -> list[Answer | Trouble]:
        await self._pause(step.delay_ms)
        if step.action == "WAIT":
            await self._pause(step.duration_ms)
        if step.action in ("WAIT", "ASSERT"):
            return []
        return [
            await exchange(step, self._scope, self._client, self._clock) for _ in range(step.repeat)
        ]

    async def _pause(self, milliseconds: float) -> None:
        if milliseconds:
            await self._sleep(milliseconds / 1000)

    def _record(self, step: Step, outcomes: list[Answer | Trouble]) -> None:
        if not outcomes:
            return
        last = outcomes[-1]
        body = last.json if isinstance(last, Answer) else Missing(f"step {step.id!r} got no answer")
        self._scope.bodies[step.id] = body
        for name, path in step.all_captures.items():
            self._scope.capture(name, path, body, step.unwrap)

    def _judge(self, step: Step, outcomes: list[Answer | Trouble]) -> list[FailedCheck]:
        if step.action == "ASSERT":
            return failed_checks(step, None, self._scope)
        failures = []
        for outcome in outcomes:
            if isinstance(outcome, Trouble):
                failures.append(outcome.failure)
                if outcome.unreachable:
                    self._unreachable = outcome.failure.actual
            else:
                failures.extend(failed_checks(step, outcome, self._scope))
        return failures
