"""Runs the cases of framework adapters, one after the other, against one server."""

import random
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import httpx
import msgspec

from conformance.case import AdapterCase
from conformance.play.adapter_stage import ANSWER_S, SETTLE_S, AdapterStage
from conformance.play.wire import SECONDS_PER_REQUEST, Wire
from conformance.processes.adapter import Abilities
from conformance.processes.program import Spawn, StartError, spawn
from conformance.processes.server import ServerProcess
from conformance.verdicts.outcome import outcome_of, result_of
from conformance.verdicts.result import CaseResult, Verdict

OnResult = Callable[[CaseResult], None]


class AdapterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A run over an adapter: its program, the cases, the server, and the kills."""

    command: Sequence[str]
    cases: Sequence[AdapterCase]
    url: str = ""  # empty if `server` starts it
    server: str = ""
    spawn: Spawn = spawn  # starts the server
    rounds: int = 20
    seed: int = 0
    answer_s: float = ANSWER_S
    settle_s: float = SETTLE_S


async def run_adapter(plan: AdapterPlan, on_result: OnResult = lambda _: None) -> Abilities | None:
    """Run the plan; return what the program says of itself, None if it does not start.

    Whatever it does, every case has a result. Cases share its database and relay, so they are
    played one by one.
    """
    async with AsyncExitStack() as stack:
        process: ServerProcess | None = None
        try:
            if not plan.url:
                process = ServerProcess(plan.server, plan.spawn)
                stack.push_async_callback(process.close)
                await process.start()
            url = plan.url or (process.url if process else "")
            client = await stack.enter_async_context(
                httpx.AsyncClient(
                    base_url=url,
                    timeout=httpx.Timeout(SECONDS_PER_REQUEST, connect=5.0),
                    trust_env=False,
                    verify=url.startswith("https"),
                )
            )
            session = _Session(plan, client, process)
            abilities = await session.first()
        except StartError as error:
            for case in plan.cases:
                on_result(_result(case, verdict=Verdict.ERROR, reason=str(error)))
            return None
        for case in plan.cases:
            on_result(await session.play(case))
        return abilities


class _Session:
    """One run against a server that has started."""

    def __init__(
        self, plan: AdapterPlan, client: httpx.AsyncClient, process: ServerProcess | None
    ) -> None:
        self._plan = plan
        self._client = client
        self._process = process

    async def first(self) -> Abilities:
        """Start the program once, so that one that does not start is not tried for every case."""
        stage = self._stage(Wire(self._client), "")
        try:
            await stage.jobs.collect()
            await stage.start()
        finally:
            await stage.close()
        return stage.abilities

    async def play(self, case: AdapterCase) -> CaseResult:
        """Play one case; what keeps it from being judged is an error."""
        wire = Wire(self._client)
        stage = self._stage(wire, case.id)
        try:
            outcome = await outcome_of(case.play(stage), None, _unjudged)
        finally:
            await stage.close()
        return _result(case, exchanges=tuple(wire.exchanges), **outcome)

    def _stage(self, wire: Wire, case: str) -> AdapterStage:
        return AdapterStage(
            self._plan.command,
            wire,
            str(self._client.base_url).rstrip("/"),
            server=self._process,
            luck=random.Random(f"{self._plan.seed} {case}"),
            rounds=self._plan.rounds,
            answer_s=self._plan.answer_s,
            settle_s=self._plan.settle_s,
        )


def _unjudged(error: StartError) -> tuple[Verdict, str]:
    return Verdict.ERROR, str(error)


def _result(case: AdapterCase, **outcome: Any) -> CaseResult:
    return result_of(case, f"adapter/{case.suite}", **outcome)
