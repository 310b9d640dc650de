"""The fetch loop: asks for as many jobs as there are free places, and waits where none are."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable

import msgspec

from ojs_worker.backoff import pause
from ojs_worker.errors import Refused, Unreachable
from ojs_worker.fetching import Fetched, Fetcher, Waker

log = logging.getLogger("ojs.worker")


class Feed:
    """Fetches while it may. There is never more than one FETCH on its way."""

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        free: Callable[[], int],
        accept: Callable[[Fetched], None],
        introduced: asyncio.Event,
        poll_s: float,
        waker: Waker = asyncio.sleep,
    ) -> None:
        self._fetcher = fetcher
        self._free = free
        self._accept = accept
        self._introduced = introduced
        self._poll_s = poll_s
        self._waker = waker
        self._room = asyncio.Event()
        self._wanted = True
        self._task: asyncio.Task[None] | None = None
        # Set while no FETCH is on its way.
        self.stopped = asyncio.Event()
        self.stopped.set()

    def start(self) -> None:
        """Fetch, from now on."""
        self._wanted = True
        if self._task is None:
            self.stopped.clear()
            self._task = asyncio.get_running_loop().create_task(self._run())

    def room(self) -> None:
        """A place may have become free."""
        self._room.set()

    def pause(self) -> None:
        """Begin no other FETCH."""
        self._wanted = False

    async def quiesce(self, limit_s: float) -> None:
        """Wait until the FETCH that is on its way was answered, for so long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.stopped.wait()

    def stop(self) -> None:
        """Hang up. A FETCH without an answer keeps its `fetch_id` for the next start."""
        self._wanted = False
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            # The server hears of the worker before the worker asks for jobs.
            await self._introduced.wait()
            await self._fetch_all()
        except asyncio.CancelledError:
            pass
        finally:
            self._task = None
            self.stopped.set()
            if self._wanted:
                # It was wanted again while it was being hung up.
                self.start()

    async def _fetch_all(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while self._wanted:
            free = self._free()
            if free <= 0:
                self._room.clear()
                await self._room.wait()
                continue
            asked = loop.time()
            try:
                fetched = await self._fetcher.fetch(free)
            except (Unreachable, Refused, msgspec.DecodeError) as error:
                failures += 1
                if failures == 1:
                    log.warning("cannot fetch jobs yet, trying on: %s", error)
                after_s = getattr(error, "retry_after_s", None) or 0.0
                await asyncio.sleep(max(after_s, pause(failures, random.random())))
                continue
            if failures:
                log.info("jobs are fetched again")
                failures = 0
            self._accept(fetched)
            if not fetched.jobs and not fetched.unreadable:
                # A server that holds the call has waited already.
                idle_s = self._poll_s - (loop.time() - asked)
                if idle_s > 0 and self._wanted:
                    await self._waker(idle_s)
