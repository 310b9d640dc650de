"""A run: blocks of rounds, each block on a fresh backend, until so many kills are counted."""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from conformance.guarantees.backend import Backend
from conformance.guarantees.calls import Caller, calling
from conformance.guarantees.check import Checks
from conformance.guarantees.claims import read_claims
from conformance.guarantees.ledger import Ledger
from conformance.guarantees.load import Load, Moments
from conformance.guarantees.plan import Kind, Round, plan_round
from conformance.guarantees.records import Kill
from conformance.guarantees.store import Commands
from conformance.guarantees.totals import Setting, Totals
from conformance.processes.program import Spawn, StartError, spawn
from conformance.verdicts.features import backend_name


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is to be made."""

    setting: Setting
    kinds: tuple[Kind, ...]
    commands: Commands = Commands()
    kills: int
    start_s: float
    call_s: float
    settle_s: float
    spawn: Spawn = spawn


class RoundResult(msgspec.Struct, frozen=True, kw_only=True):
    """The course of one round."""

    plan: Round
    answers: int
    back_s: float
    violations: int


OnRound = Callable[[RoundResult], None]
OnBlock = Callable[[Totals], None]


async def run_guarantees(
    plan: Plan, totals: Totals, on_round: OnRound, on_block: OnBlock
) -> Totals:
    """Add blocks to the totals until there are as many kills as planned; return them.

    What keeps the backend from being judged to the end is the reason in `stopped`.
    """
    while totals.number < plan.kills and not totals.stopped:
        block = _Block(plan, totals)
        try:
            await block.play(on_round)
        except StartError as error:
            totals.stopped = str(error)
        finally:
            block.add_up()
        on_block(totals)
    return totals


class _Block:
    """Some rounds in a row on one backend, whose folder is empty at the beginning."""

    def __init__(self, plan: Plan, totals: Totals) -> None:
        setting = plan.setting
        self._plan = plan
        self._totals = totals
        self._ledger = Ledger(lease_s=setting.lease_s, tolerance_s=setting.tolerance_s)
        self._moments = Moments()
        self._first = totals.number + 1
        self._last = min(totals.number + setting.block, plan.kills)

    async def play(self, on_round: OnRound) -> None:
        """Play the rounds, and have all jobs delivered at the end."""
        plan = self._plan
        setting = plan.setting
        async with AsyncExitStack() as stack:
            backend = Backend(
                setting.command, plan.commands, start_s=plan.start_s, spawn=plan.spawn
            )
            stack.push_async_callback(backend.close)
            await backend.start()
            queue = f"guarantees-{secrets.token_hex(4)}"
            moments = (self._moments.sent, self._moments.answered)
            caller = await stack.enter_async_context(
                calling(backend.url, queue, setting.lease_s, plan.call_s, *moments)
            )
            probe = await stack.enter_async_context(
                calling(backend.url, f"{queue}-probe", setting.lease_s, plan.call_s, _no, _no)
            )
            load = Load(caller, self._ledger, setting.lease_s, time.monotonic)
            checks = Checks(caller, self._ledger, settle_s=plan.settle_s)
            await backend.revive("none", lambda: _works(probe))
            self._introduce((await caller.manifest()).json)
            await self._without_kill(load, checks)
            for number in range(self._first, self._last + 1):
                round_ = self._round(number, plan.kinds)
                try:
                    on_round(await self._round_of(round_, backend, load, checks, probe))
                finally:
                    self._totals.restarts += backend.restarts
                    backend.restarts = 0
            await checks.delivered(load)
            await checks.after_kill(everything=True)

    def add_up(self) -> None:
        """Add the counts of the block to the totals."""
        totals = self._totals
        totals.jobs += self._ledger.jobs
        totals.left += self._ledger.left
        totals.violations += self._ledger.violations
        for requirement, count in self._ledger.kept.items():
            totals.kept[requirement] = totals.kept.get(requirement, 0) + count

    def _round(self, number: int, kinds: tuple[Kind, ...]) -> Round:
        setting = self._plan.setting
        return plan_round(
            setting.seed, number, kinds, clients=setting.clients, operations=setting.operations
        )

    def _introduce(self, manifest: Any) -> None:
        self._totals.claims = read_claims(manifest)
        if isinstance(manifest, dict):
            self._totals.backend = backend_name(manifest.get("implementation"))

    async def _without_kill(self, load: Load, checks: Checks) -> None:
        """Play a round without a kill, to know what the backend does then."""
        await load.play(self._round(0, ("none",)), self._moments, _nothing)
        if not load.answers:
            raise StartError(f"the backend carries out no call even without a kill: {load.last}")
        if not self._ledger.jobs:
            raise StartError("the backend answers no enqueue with a job that has an id")
        await checks.without_kill()
        await checks.after_kill(everything=True)
        self._totals.answers += load.answers
        load.answers = 0

    async def _round_of(
        self, plan: Round, backend: Backend, load: Load, checks: Checks, probe: Caller
    ) -> RoundResult:
        broken = len(self._ledger.violations)

        async def kill() -> None:
            self._ledger.killed(Kill(plan.number, plan.kind, time.monotonic()))
            load.end()
            await backend.kill(plan.kind)

        async def strike() -> None:
            if plan.kind == "disk":
                await backend.fill_disk()
            elif plan.kind == "clock":
                await backend.set_clock(plan.shift_s)
                self._ledger.clock_changed()
            else:
                await kill()

        await load.play(plan, self._moments, strike)
        if not load.answers:
            raise StartError(f"the backend carried out no call of round {plan.number}: {load.last}")
        if plan.kind in ("disk", "clock"):
            await kill()
        if plan.kind == "disk":
            await backend.free_disk()
        try:
            back_s = await backend.revive(plan.kind, lambda: _works(probe))
        except StartError as error:
            raise StartError(f"after kill {plan.number} ({plan.kind}) {error}") from error
        self._count(plan, load, back_s)
        await checks.after_kill()
        result = RoundResult(
            plan=plan,
            answers=load.answers,
            back_s=back_s,
            violations=len(self._ledger.violations) - broken,
        )
        load.answers = 0
        return result

    def _count(self, plan: Round, load: Load, back_s: float) -> None:
        totals = self._totals
        totals.kills[plan.kind] = totals.kills.get(plan.kind, 0) + 1
        totals.answers += load.answers
        totals.slowest_s[plan.kind] = max(totals.slowest_s.get(plan.kind, 0.0), back_s)


async def _works(probe: Caller) -> str:
    """Return an empty text if the backend takes a job, and its answer otherwise."""
    answer = await probe.enqueue("probe")
    return "" if answer.call.is_promise else str(answer)


async def _nothing() -> None:
    await asyncio.sleep(0)


def _no() -> None:
    """Count nothing."""
