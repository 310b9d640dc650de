"""Plays cases against a server: setup, steps, teardown; the result of each is a verdict."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpx

from conformance.language.model import Case, CaseFile, Step
from conformance.language.order import groups
from conformance.language.template import Scope
from conformance.language.values import Missing
from conformance.play.published_step import Trouble, exchange
from conformance.play.reset import Reset, ResetError
from conformance.play.wire import Clock, Wire
from conformance.published.requirements import published_of
from conformance.verdicts.assertions import Answer, failed_checks
from conformance.verdicts.defects import reasons_of
from conformance.verdicts.result import CaseResult, FailedCheck, SkipReason, Verdict
from conformance.verdicts.strength import (
    clauses_of_file,
    dispute_of,
    level_of_file,
    profile_of_file,
    strength_of,
)

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
        wire = Wire(client, clock=clock)
        result = await run_case(file, wire, reset=reset, sleep=sleep, clock=clock)
        on_result(result)
        results.append(result)
    return results


async def run_case(
    file: CaseFile,
    wire: Wire,
    *,
    reset: Reset | None = None,
    sleep: Sleep = asyncio.sleep,
    clock: Clock = time.perf_counter,
) -> CaseResult:
    """Run one case; a case that cannot be judged is an error, never a silent pass."""
    started = clock()
    verdict, reason, failures = await _play_steps(file, wire, reset, sleep)
    await wire.check()
    return described(
        file,
        verdict=verdict,
        skipped=SkipReason.DEPRECATED if verdict is Verdict.SKIPPED else None,
        reason=reason,
        failures=tuple(failures),
        findings=tuple(wire.findings),
        exchanges=tuple(wire.exchanges),
        duration_ms=int((clock() - started) * 1000),
    )


def described(file: CaseFile, **outcome: Any) -> CaseResult:
    """Make the result of a case file, with the name, level and other facts of the file."""
    case = file.case
    clauses = clauses_of_file(file)
    return CaseResult(
        path=file.path,
        test_id=file.test_id,
        name=case.name if case else "",
        suite=file.suite,
        level=level_of_file(file),
        category=case.category if case else "",
        spec_ref=str(case.spec_ref) if case else "",
        clauses=clauses,
        strength=strength_of(clauses),
        profile=profile_of_file(file),
        published=published_of(clauses),
        dispute=dispute_of(clauses),
        **outcome,
    )


_Outcome = tuple[Verdict, str, list[FailedCheck]]


async def _play_steps(file: CaseFile, wire: Wire, reset: Reset | None, sleep: Sleep) -> _Outcome:
    case = file.case
    if case is None or file.problems:
        return Verdict.ERROR, "; ".join(file.problems), []
    if case.deprecated:
        return Verdict.SKIPPED, f"{case.deprecated_reason or 'no reason given'}", []
    try:
        if reset is not None:
            await reset()
    except ResetError as error:
        return Verdict.ERROR, f"reset failed: {error}", []
    return await _Play(case, wire, sleep).run()


class _Play:
    """One run of a case: the answers so far, and whether the server is reachable."""

    def __init__(self, case: Case, wire: Wire, sleep: Sleep) -> None:
        names = frozenset(name for step in case.all_steps for name in step.all_captures)
        self._case = case
        self._wire = wire
        self._sleep = sleep
        self._scope = Scope(names)
        self._unreachable = ""

    async def run(self) -> _Outcome:
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

    def _verdict(self, failures: list[FailedCheck]) -> _Outcome:
        if not failures:
            return Verdict.PASS, "", failures
        reasons = reasons_of(self._case, failures)
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
                failures.extend(self._check(step, outcome))
            if self._unreachable:
                break
        return failures

    async def _act(self, step: Step) -> list[Answer | Trouble]:
        await self._pause(step.delay_ms)
        if step.action == "WAIT":
            await self._pause(step.duration_ms)
        if step.action in ("WAIT", "ASSERT"):
            return []
        return [await exchange(step, self._scope, self._wire) for _ in range(step.repeat)]

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

    def _check(self, step: Step, outcomes: list[Answer | Trouble]) -> list[FailedCheck]:
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
