"""Run the sweep when something falls due: a timer for the next moment, and a slow poll."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Final, TypeVar

from ojs_server.domain.errors import OjsError
from ojs_server.loops.reachability import Reachability
from ojs_server.ops.cron.entries import Fire, Fired
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.probe import Probe
from ojs_server.ops.ledger import NEAR_MS
from ojs_server.ops.limits.reopening import Reopen, Reopened
from ojs_server.ops.sweep import Sweep, Swept
from ojs_server.ops.time_limit import at_most
from ojs_server.ops.workers.signs_of_life import SignsOfLife
from ojs_server.store.base import Clock, Reader
from ojs_server.store.records import DueTimes

# Other nodes announce only what falls due sooner, and a notice can be lost.
SLOW_POLL_S: Final = NEAR_MS / 1000
# Retry interval while due work may not be done yet, or another node does it.
PAUSE_S: Final = 0.1
PRUNE_EVERY_MS: Final = 60_000
# The store is probed if nothing was written for this long.
PROBE_EVERY_MS: Final = 5_000
# Time for which other nodes assume that fetches wait here; renewed while they do.
WAITING_MS: Final = 5_000
_NEVER: Final = 1 << 62

Answer = TypeVar("Answer")

log = logging.getLogger("ojs.housekeeping")


class Housekeeping:
    """One node's sweeper."""

    def __init__(self, engine: Engine, stopwatch: Clock, *, shared: bool) -> None:
        """`shared` is true if other nodes may write to the same store."""
        self._engine = engine
        self._stopwatch = stopwatch
        self._shared = shared
        self._reachability = Reachability()
        self._wake = asyncio.Event()
        self._sleeps_until = 0
        self._expected = _NEVER
        self._pruned_at = 0
        self._checked_at = 0
        self._signs_written_at = 0
        self._probed_at = 0
        self._written = 0
        self._refused = False
        self._waiting_until = 0
        self._background: asyncio.Task[None] | None = None

    @property
    def prunes_at(self) -> int:
        """Return when expired records are looked for next; zero before the first time."""
        return self._pruned_at and self._pruned_at + PRUNE_EVERY_MS

    def nudge(self) -> None:
        """Start a round now, as a fetch has begun to wait for jobs."""
        self._wake.set()

    def expect(self, moment: int) -> None:
        """Something falls due at this moment of the store's clock."""
        self._expected = min(self._expected, moment)
        if moment < self._sleeps_until:
            self._wake.set()

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            await self._rounds()
        finally:
            if self._background is not None:
                self._background.cancel()

    async def _rounds(self) -> None:
        while True:
            try:
                pause = await self._round()
                self._refused = False
            except OjsError as error:
                self._refuse(error)
                # Not woken early: while the store is lost, each round is a probe.
                await at_most(asyncio.Event().wait(), SLOW_POLL_S)
                continue
            except Exception:
                log.exception("a round of housekeeping failed; the next follows")
                pause = SLOW_POLL_S
            await at_most(self._wake.wait(), pause)

    async def _round(self) -> float:
        """Do all due work; return the seconds until the next round."""
        self._wake.clear()
        # The read below may miss what is announced from here on.
        self._expected = _NEVER
        now, read_at, due = await self._engine.read(self._look)
        now = await self._probe(now)
        refused_beats = self._engine.availability.refused_signs
        since = self._reachability.observe(now, self._stopwatch(), refused_beats)
        dying = self._is_one_dying(due, now)
        if dying:
            # The silent worker may be one whose fetches are not written yet.
            await self._write_signs(now)
        prune = now - self._pruned_at >= PRUNE_EVERY_MS
        check = now - self._checked_at >= self._engine.rules.profile.check_interval_ms
        self._sleeps_until = min(self._next(due, now), self._expected)
        if self._sleeps_until <= now or prune or check:
            sweep = Sweep(
                reachable_since=since,
                requested_at=now,
                missed=lambda: self._engine.availability.signs_refused_since(refused_beats),
                behind_ms=self._engine.behind_ms,
                prune=prune,
                check=check,
            )
            now, read_at = await self._do(due, sweep), self._stopwatch()
        if self._background is None or self._background.done():
            # In a task, so that it does not delay due work.
            self._background = asyncio.create_task(self._do_undated_work(now))
        passed = self._stopwatch() - read_at
        return max(0, self._sleeps_until - now - passed) / 1000

    async def _do_undated_work(self, now: int) -> None:
        """Do the work that is never due at a certain time."""
        try:
            if now - self._signs_written_at >= self._engine.rules.profile.sign_every_ms:
                await self._write_signs(now)
            await self._look_for_waiters(now)
        except OjsError as error:
            self._refuse(error)

    def _look(self, reader: Reader) -> tuple[int, int, DueTimes]:
        """Return the time of the store, that of the stopwatch, and what is due next."""
        return reader.now(), self._stopwatch(), reader.due()

    async def _do(self, due: DueTimes, sweep: Sweep) -> int:
        """Do what is due, in one transaction; return the time of the store after it."""
        now, run = sweep.requested_at, self._engine.run
        fires = due.cron is not None and due.cron <= now
        opens = due.limit is not None and due.limit <= now

        async def together() -> tuple[Fired | None, Reopened | None, Swept]:
            outcomes: tuple[Fired | None, Reopened | None, Swept] = await asyncio.gather(
                run(Fire()) if fires else _nothing(),
                run(Reopen()) if opens else _nothing(),
                run(sweep),
            )
            return outcomes

        fired, opened, swept = await self._awaited(together())
        if sweep.prune and not swept.more:
            self._pruned_at = now
        if sweep.check and not swept.more:
            self._checked_at = now
        done = (fired and fired.entries) or (opened and opened.limits) or swept != Swept(swept.now)
        self._sleeps_until = swept.now if done else swept.now + round(PAUSE_S * 1000)
        return swept.now

    async def _awaited(self, outcome: Coroutine[object, object, Answer]) -> Answer:
        """Wait for the writer's answer.

        Meanwhile the store is read, so that a long line of waiting requests does not look like a
        stall.
        """
        task = asyncio.create_task(outcome)
        # Retrieve the error even if the read below fails first, or asyncio would log it.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            while not (await asyncio.wait({task}, timeout=SLOW_POLL_S))[0]:
                now = await self._engine.read(lambda reader: reader.now())
                self._reachability.observe(now, self._stopwatch())
            return task.result()
        finally:
            task.cancel()

    async def _probe(self, now: int) -> int:
        """Check that the store takes changes, if it is lost or nothing was written for long;
        returns its time."""
        availability = self._engine.availability
        if availability.written != self._written:
            self._written, self._probed_at = availability.written, now
        if availability.lost or now - self._probed_at >= PROBE_EVERY_MS:
            probed = await self._awaited(self._engine.run(Probe()))
            availability.probed(probed.where)
            self._probed_at = now = probed.now
        return now

    def _refuse(self, error: OjsError) -> None:
        """Take note of a round that the store or the server has refused."""
        if error.__cause__ is not None:
            self._engine.availability.lose(str(error.__cause__) or error.message)
        elif not (self._refused or self._engine.availability.lost):
            log.warning("housekeeping is paused: %s", error.message)
        self._refused = True

    def _next(self, due: DueTimes, now: int) -> int:
        profile = self._engine.rules.profile
        moments = [at for at in (due.job, due.lease, due.cron, due.limit) if at is not None]
        for since, patience_ms in (
            (due.worker, profile.dead_after_ms),
            (due.dropped, profile.session_grace_ms),
        ):
            if since is not None and patience_ms is not None:
                moments.append(since + patience_ms)
        return min([*moments, now + round(SLOW_POLL_S * 1000)])

    def _is_one_dying(self, due: DueTimes, now: int) -> bool:
        silent_ms = self._engine.rules.profile.dead_after_ms
        return due.worker is not None and silent_ms is not None and due.worker + silent_ms <= now

    async def _write_signs(self, now: int) -> None:
        """Store the signs of life of fetching workers."""
        if self._engine.signs:
            self._signs_written_at = now
            for step in self._engine.signs.take():
                await self._awaited(self._engine.run(SignsOfLife(*step)))

    async def _look_for_waiters(self, now: int) -> None:
        """Have other nodes send their notices here, and wake fetches that wait although there are
        jobs: a notice can be lost with its connection, and a wake-up with its fetch."""
        wakeups, producers = self._engine.wakeups, self._engine.producers
        if not (wakeups or producers):
            return
        if self._shared:
            if self._waiting_until < now + WAITING_MS // 2:
                self._waiting_until = now + WAITING_MS
                await self._engine.note_waiting(self._waiting_until)
            producers.wake_all()
        if not wakeups:
            return
        names = None if wakeups.everywhere else wakeups.queues()
        queues = await self._engine.read(lambda reader: reader.queues(names))
        found = {
            # Wake only one fetch of a queue with limits: most of its jobs may have to wait.
            queue.name: 1 if queue.config and queue.config.limits else queue.counts["available"]
            for queue in queues
            if queue.counts["available"] > 0 and not queue.paused
        }
        wakeups.wake(found)


async def _nothing() -> None:
    """Take the place of an operation for which nothing is due."""
