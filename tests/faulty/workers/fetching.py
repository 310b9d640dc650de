"""Faults of FETCH: number of jobs, order of queues, frequency, and handling of answers."""

import asyncio
import math
from typing import Any

import msgspec

from ojs_worker.running.delivery import Delivery, Ledger
from ojs_worker.running.engine import Engine
from ojs_worker.running.fetch_loop import FetchLoop
from ojs_worker.running.fetching import Fetched, Fetcher
from ojs_worker.running.lease_check import Bounds, LeaseCheck
from ojs_worker.running.lifetime import Running
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap


@fault("OJS-FET-033")
def fetches_ask_for_too_much() -> None:
    """A FETCH asks for as many jobs as the worker has places, free or not."""

    def make(fetch: Any) -> Any:
        async def all_places(self: FetchLoop) -> None:
            await fetch(self)

        return all_places

    wrap(FetchLoop, "_fetch_all", make)
    wrap(
        Fetcher,
        "fetch",
        lambda fetch: lambda self, count: fetch(self, 3),
    )


@fault("OJS-FET-013")
def full_workers_fetch() -> None:
    """A worker without a free place asks for jobs."""
    wrap(Ledger, "free", lambda free: property(lambda self: max(1, free.fget(self))))


@fault("OJS-FET-013")
def quiet_workers_fetch_once_more() -> None:
    """A worker that has become quiet sends one more FETCH."""
    begun: set[asyncio.Task[None]] = set()

    def make(pause: Any) -> Any:
        def late(self: FetchLoop) -> None:
            pause(self)
            task = asyncio.get_running_loop().create_task(once_more(self))
            begun.add(task)
            task.add_done_callback(begun.discard)

        return late

    async def once_more(fetch_loop: FetchLoop) -> None:
        await fetch_loop.stopped.wait()
        fetch_loop._accept(await fetch_loop._fetcher.fetch(1))

    wrap(FetchLoop, "pause", make)


@fault("OJS-WPR-051")
def surplus_is_done() -> None:
    """A worker that is given more jobs than it asked for does them all."""

    def accept(self: Engine, fetched: Fetched) -> None:
        for job in fetched.jobs:
            if self._is_new(job):
                self._begin(job, fetched.sent_at)

    put(Engine, "accept", accept)


@fault("OJS-WPR-008")
def queues_take_turns() -> None:
    """Each FETCH names the queues in another order than the one before."""

    def make(fetch: Any) -> Any:
        async def turned(self: Fetcher, count: int) -> Any:
            first, *rest = self._wants["queues"]
            self._wants["queues"] = [*rest, first]
            return await fetch(self, count)

        return turned

    wrap(Fetcher, "fetch", make)


@fault("OJS-WPR-010")
def idle_workers_never_rest() -> None:
    """A FETCH without jobs is followed by the next one at once."""

    def make(begin: Any) -> Any:
        def restless(self: FetchLoop, *arguments: Any, **named: Any) -> None:
            begin(self, *arguments, **{**named, "poll_s": 0.0})

        return restless

    wrap(FetchLoop, "__init__", make)


@fault("OJS-FET-022")
def lost_answers_are_forgotten() -> None:
    """A FETCH without an answer is followed by one with another fetch_id."""

    def make(fetch: Any) -> Any:
        async def anew(self: Fetcher, count: int) -> Any:
            self._pending = None
            return await fetch(self, count)

        return anew

    wrap(Fetcher, "fetch", make)


@fault("OJS-WRK-041")
def refusals_are_waited_out() -> None:
    """A worker whose FETCH is refused asks again and again, and never registers."""

    async def stay(self: Running) -> None:
        return None

    put(Running, "register_again", stay)


@fault("OJS-WPR-011")
def late_jobs_are_dropped() -> None:
    """Jobs that come when the worker has stopped fetching are forgotten."""

    def make(accept: Any) -> Any:
        def drop(self: Engine, fetched: Fetched) -> None:
            accept(self, fetched if self.machine.may_fetch else Fetched())

        return drop

    wrap(Engine, "accept", make)


@fault("OJS-WPR-040")
def old_answers_are_believed() -> None:
    """Jobs begin however long the worker slept before it read the answer that brought them."""
    put(Bounds, "of", lambda self, job: math.inf)


@fault("OJS-WPR-040")
def lost_jobs_begin() -> None:
    """A job that is asked about begins whatever the answer to the BEAT is."""

    def make(wait: Any) -> Any:
        async def anyway(self: LeaseCheck, delivery: Delivery) -> bool:
            await wait(self, delivery)
            delivery.closed, delivery.context.stop_reason = False, None
            return True

        return anyway

    wrap(LeaseCheck, "await_for", make)


@fault("OJS-VIS-008")
def known_jobs_are_not_done_again() -> None:
    """A job that the worker has had before is not done when it comes again."""
    seen: set[str] = set()

    def make(accept: Any) -> Any:
        def once(self: Engine, fetched: Fetched) -> None:
            new = [job for job in fetched.jobs if job.id not in seen]
            seen.update(job.id for job in new)
            accept(self, msgspec.structs.replace(fetched, jobs=new))

        return once

    wrap(Engine, "accept", make)
