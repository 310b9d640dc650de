"""A private server in a thread of the test's process: engine, routes, and a temporary store."""

from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from ojs_worker.running.blocking import LoopThread
from ojs_worker.testing.asgi import AsgiTransport
from ojs_worker.testing.clock import Clock

if TYPE_CHECKING:
    from ojs_server.app import Server
    from ojs_server.store.base import Reader

T = TypeVar("T")
AGES_MS: Final = 1000 * 365 * 86_400_000
MOST_STEPS: Final = 10_000


class ServerMissing(ImportError):
    """The package of the server is not installed."""


class PrivateServer:
    """A server whose time is a clock's, and that only this process can reach."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._thread = LoopThread()
        self._life = AsyncExitStack()
        self._server: Server
        self.transport: AsgiTransport

    def start(self) -> None:
        """Open the store and begin to answer."""
        self._thread.start()
        try:
            self.call(self._open())
        except BaseException:
            self._thread.close()
            raise

    def close(self) -> None:
        """Answer the calls that wait, and delete everything."""
        try:
            self.call(self._close())
        finally:
            self._thread.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the server's loop, and wait for it here."""
        return self._thread.call(work)

    def clear(self) -> None:
        """Remove all jobs, queues, workflows and entries."""
        self.call(self._clear())

    def turn(self, until: int) -> None:
        """Move the clock to a moment, and do what falls due on the way."""
        self.call(self._turn(until))

    def ready(self) -> list[str]:
        """Return the queues that have jobs to hand out."""
        return self.call(self._ready())

    def next_start(self) -> int | None:
        """Return the time of the next job that is delayed or held back by a limit; None without
        one."""
        return self.call(self._next_start())

    async def _open(self) -> None:
        try:
            from ojs_server.app import Application, Server
            from ojs_server.domain.profile import OJS
            from ojs_server.domain.retention import Retention
            from ojs_server.settings import Settings
            from ojs_server.store.open import open_store
        except ImportError as error:
            raise ServerMissing(
                "the testing tools start a server, and ojs_server cannot be imported here "
                f"({error}): pip install 'ojs-reference[testing]'"
            ) from error
        # A test may move the clock far ahead: finished jobs are kept, and workers lose jobs only by
        # limits of the jobs themselves, as if their heartbeats had continued.
        keep = Retention(
            completed_ms=AGES_MS,
            cancelled_ms=AGES_MS,
            discarded_ms=AGES_MS,
            dead_letter_ms=AGES_MS,
            events_ms=AGES_MS,
            workflows_ms=AGES_MS,
        )
        store = open_store(":memory:", clock=lambda: self._clock.ms)
        settings = Settings(
            database=":memory:",
            keep=keep,
            profile=msgspec.structs.replace(OJS, lease_ms=AGES_MS, dead_after_ms=AGES_MS),
        )
        self._server = Server(settings, store)
        await self._life.enter_async_context(self._server.running())
        self.transport = AsgiTransport(Application(self._server), loop=self._thread.loop)

    async def _close(self) -> None:
        self._server.begin_stop()
        await self._life.aclose()

    async def _clear(self) -> None:
        from ojs_server.ops.admin.maintenance import Reset

        await self._server.engine.run(Reset())

    async def _ready(self) -> list[str]:
        queues = await self._server.engine.read(lambda reader: reader.queues())
        return [
            queue.name for queue in queues if queue.counts["available"] > 0 and not queue.paused
        ]

    async def _next_start(self) -> int | None:
        from ojs_server.domain.jobs.filter import JobFilter
        from ojs_server.domain.jobs.job import State

        waiting = JobFilter(states=(State.SCHEDULED, State.RETRYABLE))

        def moments(reader: "Reader") -> Iterator[int | None]:
            yield reader.due().limit
            after: str | None = None
            while True:
                page = reader.find_jobs(waiting, 1000, after)
                yield from (stored.job.due_at for stored in reader.whole_jobs(page.ids))
                if (after := page.after) is None:
                    return

        starts = await self._server.engine.read(lambda reader: list(moments(reader)))
        return min((at for at in starts if at is not None), default=None)

    async def _turn(self, until: int) -> None:
        """Move the clock from one due moment to the next, and do at each what is due."""
        for _ in range(MOST_STEPS):
            at = await self._next_due()
            if at is None or at > until:
                break
            self._clock.set(max(at, self._clock.ms))
            if not await self._do_due() and await self._next_due() == at:
                # Due, but waiting for something other than time.
                break
        else:
            raise RuntimeError(
                f"more than {MOST_STEPS} things fall due on the way; let less time pass at once"
            )
        self._clock.set(until)
        while await self._do_due():
            pass

    async def _next_due(self) -> int | None:
        due = await self._server.engine.read(lambda reader: reader.due())
        silent_ms = self._server.engine.rules.profile.dead_after_ms or 0
        dead = None if due.worker is None else due.worker + silent_ms
        moments = (due.job, due.lease, dead, due.cron, due.limit)
        return min((at for at in moments if at is not None), default=None)

    async def _do_due(self) -> bool:
        """Do the housekeeping that is due; return True if there was any.

        A test's clock jumps, so leases are judged over all time: no worker was kept from sending
        heartbeats.
        """
        from ojs_server.ops.cron.entries import Fire
        from ojs_server.ops.limits.reopening import Reopen
        from ojs_server.ops.sweep import Sweep, Swept

        engine, now = self._server.engine, self._clock.ms
        fired = await engine.run(Fire())
        due = await engine.read(lambda reader: reader.due())
        opens = due.limit is not None and due.limit <= now
        opened = await engine.run(Reopen()) if opens else None
        swept = await engine.run(Sweep(reachable_since=0, requested_at=now))
        return bool(fired.entries or (opened and opened.limits)) or swept != Swept(swept.now)
