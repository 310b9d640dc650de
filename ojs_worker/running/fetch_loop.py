"""The fetch loop: asks for as many jobs as there are free places, and pauses if no jobs come."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from ojs_worker.environment import Environment
from ojs_worker.errors import Conflict, OjsError
from ojs_worker.job import Job
from ojs_worker.running.fetching import Fetched, Fetcher, Waker
from ojs_worker.transport.backoff import Backoff

log = logging.getLogger("ojs.worker")

RESTART_S: Final = 1.0


class FetchLoop:
    """Fetches jobs while there is room. Only one FETCH is under way at any time: a call of its own,
    or part of a call that settles jobs."""

    def __init__(
        self,
        fetcher: Fetcher,
        environment: Environment,
        *,
        free: Callable[[Sequence[Job]], int],
        accept: Callable[[Fetched], None],
        introduced: asyncio.Event,
        register_again: Callable[[], Awaitable[None]],
        poll_s: float,
        failed: Callable[[], None] = lambda: None,
        waker: Waker = asyncio.sleep,
    ) -> None:
        self._fetcher = fetcher
        self._environment = environment
        self._free = free
        self._accept = accept
        self._introduced = introduced
        # Registers this worker again after the server has refused its FETCH.
        self._register_again = register_again
        self._poll_s = poll_s
        # Called after a FETCH without an answer.
        self._failed = failed
        self._waker = waker
        self._room = asyncio.Event()
        self._enabled = True
        self._fetching = self._reserved = False
        self._task: asyncio.Task[None] | None = None
        # Set while no FETCH is in flight.
        self.stopped = asyncio.Event()
        self.stopped.set()

    def start(self) -> None:
        """Fetch, from now on."""
        self._enabled = True
        if self._task is None:
            self.stopped.clear()
            self._task = asyncio.get_running_loop().create_task(self._run())

    def room(self) -> None:
        """Note that there may be room for another job."""
        self._room.set()

    def reserve_fetch(self, settled: Sequence[Job]) -> dict[str, Any] | None:
        """Return the terms of a FETCH to include in a call that settles these jobs, which ends with
        `finish_fetch`; None if no job is wanted, or a FETCH is under way."""
        if self._task is None or not (self._enabled and self._introduced.is_set()):
            return None
        if self._fetching or self._reserved or (count := self._free(settled)) <= 0:
            return None
        self._reserved = True
        return self._fetcher.terms(count)

    def finish_fetch(self, fetched: Fetched | None) -> None:
        """Take the jobs that the call has fetched; after None the next FETCH asks for the same
        jobs."""
        self._reserved = False
        if fetched is not None:
            self._accept(self._fetcher.answered(fetched))
        else:
            self._failed()
        if self._task is None:
            self.stopped.set()
        self._room.set()

    def pause(self) -> None:
        """Start no further FETCH."""
        self._enabled = False

    async def quiesce(self, limit_s: float) -> None:
        """Wait until the FETCH that is under way was answered, or the time limit has passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.stopped.wait()

    def stop(self) -> None:
        """Cancel the FETCH that is under way. It keeps its `fetch_id` for the next start."""
        self._enabled = False
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            # The server must know the worker before its first FETCH.
            await self._introduced.wait()
            await self._fetch_all()
        except asyncio.CancelledError:
            pass
        except Exception:
            log.exception("fetching has a fault of its own, and begins anew")
            await asyncio.sleep(RESTART_S)
        finally:
            self._task = None
            if not self._reserved:
                self.stopped.set()
            if self._enabled:
                # Jobs were wanted again while the call was being cancelled.
                self.start()

    async def _fetch_all(self) -> None:
        loop = asyncio.get_running_loop()
        backoff = Backoff("fetch jobs", self._environment.random)
        while self._enabled:
            free = self._free(())
            if free <= 0 or self._reserved:
                self._room.clear()
                await self._room.wait()
                continue
            sent_at = loop.time()
            self._fetching = True
            try:
                fetched = await self._fetcher.fetch(free)
            except OjsError as error:
                self._failed()
                if isinstance(error, Conflict):
                    await self._register_again()
                await backoff.wait(error, getattr(error, "retry_after_s", None))
                continue
            finally:
                self._fetching = False
            if backoff.failures:
                log.info("jobs are fetched again")
                backoff.failures = 0
            self._accept(fetched)
            if not fetched.jobs and not fetched.unreadable:
                # A server that held the call has waited already.
                idle_s = self._poll_s - (loop.time() - sent_at)
                if idle_s > 0 and self._enabled:
                    await self._waker(idle_s)
