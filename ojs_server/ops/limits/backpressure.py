"""Bounded queues: admit new jobs, refuse them, or drop old ones to make room.

The queue's row among the limits is locked first, so that of all nodes one at a time looks at the
depth and adds to it. Queues without bounds are not looked at.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError, QueueFull
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import WAITING, Change, Job, StoredJob
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.limits.rate_limit import OF_QUEUE
from ojs_server.domain.queues.config import Bounds
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.base import StaleWrite
from ojs_server.store.records import BYTES

# Seconds after which a refused producer may try again.
RETRY_AFTER_S: Final = 1
# Most jobs that one request may drop.
MOST_DROPPED: Final = 2000

_PUSHED_OUT: Final = Fault(
    code="queue_full",
    type="queue_full",
    message="the queue was full, and its policy is to drop the oldest jobs for newer ones",
    retryable=False,
)


class Pressure(msgspec.Struct, frozen=True):
    """The fill level of a bounded queue, by the bound that it is closer to."""

    queue: str
    depth: int
    bound: int

    @property
    def ratio(self) -> float:
        """The fill level; 1.0 is full."""
        return self.depth / self.bound


class Newcomers(msgspec.Struct, frozen=True):
    """The new jobs of one request.

    `replaced` are waiting jobs that they replace; `later` are the tenants of jobs that the
    request's workflow enqueues later.
    """

    jobs: Sequence[StoredJob]
    replaced: Sequence[Change] = ()
    later: Sequence[str | None] = ()


class BoundedQueues:
    """The enqueues of one transaction into bounded queues."""

    def __init__(self, work: Work, queues: Iterable[str]) -> None:
        self._work = work
        configs = work.tx.configs
        bounds = {name: configs[name].bounds for name in queues if name in configs}
        self._bounds: dict[str, Bounds] = {
            n: bound for n, bound in bounds.items() if bound is not None
        }
        self._room: dict[str, Counter[str]] = {}
        if self._bounds:
            work.rate_limits.lock({OF_QUEUE + name for name in self._bounds}, {})
            loads = work.tx.queue_loads(self._bounds)
            for name in self._bounds:
                load = loads.get(name)
                self._room[name] = Counter({"depth": load.depth, BYTES: load.bytes} if load else {})
        # Jobs added by this transaction, which the stored counters do not include yet.
        self._added: dict[str, Counter[str]] = {name: Counter() for name in self._bounds}
        self._refused: Counter[str] = Counter()
        self._replaced: set[str] = set()

    def take(self, new: Newcomers) -> OjsError | Pressure | None:
        """Admit a whole request, or refuse it; returns the pressure if it is high."""
        if not self._bounds:
            return None
        sizes = _sizes(self._bounds, (job.job for job in new.jobs), 1)
        for change in new.replaced:
            _add(sizes, change.before, -1)
        self._replaced.update(change.before.id for change in new.replaced)
        for name, more in sizes.items():
            if (refusal := self._refusal(name, more)) is not None:
                self._refused[name] += 1
                return refusal
        highest: Pressure | None = None
        for name, more in sizes.items():
            self._added[name].update(more)
            found = self._watched(name)
            if found is not None and (highest is None or found.ratio > highest.ratio):
                highest = found
        return highest

    def close(self) -> None:
        """Emit one event for each queue with refused requests."""
        for name, count in sorted(self._refused.items()):
            depth, bound = self._measure(name, Counter())
            self._work.note(
                events.of_queue(
                    "backpressure.rejected", name, depth=depth, bound=bound, rejected=count
                )
            )

    def _refusal(self, name: str, more: Counter[str]) -> QueueFull | None:
        bounds = self._bounds[name]
        over = self._over(name, more)
        if over is None:
            return None
        fits = (bounds.depth is None or more["depth"] <= bounds.depth) and (
            bounds.bytes is None or more[BYTES] <= bounds.bytes
        )
        if fits and bounds.strategy == "drop_oldest":
            if self._push_out(name, more):
                return None
            if self._added[name]:
                # The jobs to drop are in this batch: retry its operations one by one.
                raise StaleWrite(f"queue {name} cannot take all of a batch at once")
        depth, bound = over
        error = QueueFull(
            f"queue {name} is full: {depth} of at most {bound} "
            + ("bytes" if self._by_bytes(name, more) else "jobs")
            + " are waiting",
            details={
                "queue": name,
                "depth": depth,
                "bound": bound,
                "strategy": bounds.strategy,
                "requested": more["depth"],
            },
            hint="try again after the time in Retry-After, or have the queue's bounds raised",
            headers={
                "Retry-After": str(RETRY_AFTER_S),
                "X-OJS-Queue-Depth": str(depth),
                "X-OJS-Queue-Bound": str(bound),
            },
        )
        # A request larger than the queue never fits.
        error.blocks = fits and bounds.strategy == "block"
        return error

    def _now(self, name: str, counter: str) -> int:
        stored = self._room[name][counter] + self._added[name][counter]
        if counter == BYTES:
            return stored + self._work.pending(name, BYTES)
        return stored + sum(self._work.pending(name, state) for state in WAITING)

    def _by_bytes(self, name: str, more: Counter[str]) -> bool:
        bounds = self._bounds[name]
        if bounds.depth is not None and self._now(name, "depth") + more["depth"] > bounds.depth:
            return False
        return bounds.bytes is not None and self._now(name, BYTES) + more[BYTES] > bounds.bytes

    def _over(self, name: str, more: Counter[str]) -> tuple[int, int] | None:
        """Return the bound that would be exceeded, and its use."""
        bounds = self._bounds[name]
        depth, size = self._now(name, "depth"), self._now(name, BYTES)
        if bounds.depth is not None and more["depth"] > 0 and depth + more["depth"] > bounds.depth:
            return depth, bounds.depth
        if bounds.bytes is not None and more[BYTES] > 0 and size + more[BYTES] > bounds.bytes:
            return size, bounds.bytes
        return None

    def _push_out(self, name: str, more: Counter[str]) -> bool:
        """Discard the oldest available jobs, as many as the new ones need, or none."""
        bounds = self._bounds[name]
        depth_over = 0
        if bounds.depth is not None:
            depth_over = self._now(name, "depth") + more["depth"] - bounds.depth
        bytes_over = 0
        if bounds.bytes is not None:
            bytes_over = self._now(name, BYTES) + more[BYTES] - bounds.bytes
        count = max(depth_over, 1)
        while True:
            limit = min(count + len(self._replaced), MOST_DROPPED)
            oldest = self._work.tx.oldest_waiting(name, limit)
            gone: list[Job] = []
            size = 0
            for job in oldest:
                if len(gone) >= depth_over and size >= bytes_over:
                    break
                if job.id not in self._replaced:
                    gone.append(job)
                    size += job.size
            if len(gone) >= depth_over and size >= bytes_over:
                break
            if len(oldest) < limit or limit == MOST_DROPPED:
                return False
            count *= 4
        self._work.apply([self._pushed_out(job, bounds) for job in gone])
        return True

    def _pushed_out(self, job: Job, bounds: Bounds) -> Change:
        depth, bound = self._measure(job.queue, Counter())
        return lifecycle.drop(
            job,
            _PUSHED_OUT,
            events.overflowed(job, depth, bound),
            self._work.now,
            self._work.keep(job.queue),
        )

    def _measure(self, name: str, more: Counter[str]) -> tuple[int, int]:
        """Return the fuller of the two measures, and its bound."""
        bounds = self._bounds[name]
        measures = [
            (self._now(name, counter) + more[counter], bound)
            for counter, bound in (("depth", bounds.depth), (BYTES, bounds.bytes))
            if bound is not None
        ]
        return max(measures, key=lambda measure: measure[0] / measure[1])

    def _watched(self, name: str) -> Pressure | None:
        """Return the pressure if it has reached the threshold; the first time it emits an event."""
        depth, bound = self._measure(name, Counter())
        if depth < self._bounds[name].warning * bound:
            return None
        row = self._work.rate_limits.row(OF_QUEUE + name)
        # A queue's row stores here the time since which its pressure is high.
        if row.waits_since is None:
            self._work.rate_limits.put(msgspec.structs.replace(row, waits_since=self._work.now))
            self._work.note(events.of_queue("backpressure.warning", name, depth=depth, bound=bound))
        return Pressure(name, depth, bound)


def _sizes(bounds: Mapping[str, Bounds], jobs: Iterable[Job], by: int) -> dict[str, Counter[str]]:
    sizes: dict[str, Counter[str]] = {name: Counter() for name in bounds}
    for job in jobs:
        _add(sizes, job, by)
    return {name: more for name, more in sizes.items() if any(more.values())}


def _add(sizes: dict[str, Counter[str]], job: Job, by: int) -> None:
    if job.queue in sizes and job.state in WAITING:
        sizes[job.queue]["depth"] += by
        sizes[job.queue][BYTES] += by * job.size
