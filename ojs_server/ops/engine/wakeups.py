"""Wake waiting fetches: one for each job that becomes available.

    FETCH                     Wakeups                         a commit with new jobs
      │ enter ──────────▶ remembers the waiter
      │ claim: no job
      │ wait ...
      │ ◀──────────────── the first waiter of the queue ◀──── wake(queue: 1)
      │ claim: a job
      │ leave

A waiter enters before it looks, so that no job is missed. One that leaves with an unused wake-up
passes it on. Commits of other nodes wake waiters as well; as their notices can be lost,
housekeeping also compares waiting fetches with available jobs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping


class Waiter:
    """A waiting fetch and its queues (none: all queues); `picky` if not every job suits it."""

    def __init__(self, queues: tuple[str, ...], *, picky: bool = False) -> None:
        self.queues = queues
        self.picky = picky
        self._event = asyncio.Event()

    @property
    def woken(self) -> bool:
        """True if it was woken since the last `clear`."""
        return self._event.is_set()

    def wake(self) -> None:
        """Signal that there may be a job."""
        self._event.set()

    def clear(self) -> None:
        """Clear the signal before looking for jobs, so that a later one is not lost."""
        self._event.clear()

    async def wait(self) -> None:
        """Wait until there may be a job."""
        await self._event.wait()


class Wakeups:
    """All waiting fetches, by queue, in the order in which they came."""

    def __init__(self) -> None:
        # Ordered sets: `leave` must not search a list of a thousand waiters.
        self._by_queue: dict[str, dict[Waiter, None]] = {}
        # Waiters without queues, which are picky: they have other criteria.
        self._everywhere: dict[Waiter, None] = {}
        self._closing = asyncio.Event()
        # Called when a waiter enters and there is no other.
        self.on_first: Callable[[], None] = lambda: None

    @property
    def closed(self) -> bool:
        """True if no fetch may wait any more."""
        return self._closing.is_set()

    async def until_closed(self) -> None:
        """Wait until no fetch may wait any more."""
        await self._closing.wait()

    @property
    def everywhere(self) -> bool:
        """True if a fetch waits for jobs of any queue."""
        return bool(self._everywhere)

    def queues(self) -> list[str]:
        """Return the queues that are waited for by name."""
        return list(self._by_queue)

    def __bool__(self) -> bool:
        """True if any fetch waits."""
        return bool(self._by_queue or self._everywhere)

    def __len__(self) -> int:
        named = {waiter for waiters in self._by_queue.values() for waiter in waiters}
        return len(named) + len(self._everywhere)

    def enter(self, queues: tuple[str, ...], *, picky: bool = False) -> Waiter:
        """Start to wait; to be entered before looking, or a job could slip past."""
        waiter = Waiter(queues, picky=picky)
        if not self:
            self.on_first()
        for queue in queues:
            self._by_queue.setdefault(queue, {})[waiter] = None
        if not queues:
            self._everywhere[waiter] = None
        if self.closed:
            waiter.wake()
        return waiter

    def pass_on(self, waiter: Waiter) -> None:
        """Wake the next waiter of each queue: what this one was woken for did not suit it."""
        for queue in waiter.queues:
            behind = iter(self._by_queue.get(queue, ()))
            if waiter in behind:  # `in` advances the iterator past the waiter
                following = next((one for one in behind if not one.woken), None)
                if following is not None:
                    following.wake()

    def leave(self, waiter: Waiter) -> None:
        """Stop waiting. A wake that was not used is handed on, or a job would lie unseen."""
        self._everywhere.pop(waiter, None)
        for queue in waiter.queues:
            waiters = self._by_queue.get(queue, {})
            waiters.pop(waiter, None)
            if not waiters:
                self._by_queue.pop(queue, None)
        if waiter.woken:
            self.wake(dict.fromkeys(waiter.queues, 1))

    def wake(self, queues: Mapping[str, int]) -> None:
        """Jobs became available: this many in each of these queues.

        A picky waiter may not take the job, so it is woken in addition to one that takes any.
        """
        for queue, count in queues.items():
            waiters = self._by_queue.get(queue)
            if not waiters:
                continue
            left = count
            for waiter in waiters:
                if left <= 0:
                    break
                if not waiter.woken:
                    waiter.wake()
                    left -= not waiter.picky
        if self._everywhere and any(queues.values()):
            for waiter in self._everywhere:
                waiter.wake()

    def wake_all(self, queues: Iterable[str] | None = None) -> None:
        """Wake all waiters, as notices may have been missed."""
        for queue in list(self._by_queue) if queues is None else queues:
            for waiter in self._by_queue.get(queue, {}):
                waiter.wake()
        for waiter in self._everywhere:
            waiter.wake()

    def close(self) -> None:
        """End all waits, as the server is stopping."""
        self._closing.set()
        self.wake_all()


async def first(
    woken: Awaitable[None], left: "asyncio.Future[None] | None", within_s: float
) -> None:
    """Wait for a wake-up, the end of the caller's connection, or the time limit."""
    waking = asyncio.ensure_future(woken)
    try:
        waits = {waking} if left is None else {waking, left}
        await asyncio.wait(waits, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waking.cancel()
