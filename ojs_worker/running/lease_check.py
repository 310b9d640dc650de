"""Check that a job is still held by this worker, before its handler begins.

A process that was suspended, or whose machine slept, may resume with an old answer to a FETCH, or
with a job that waits for a child process. Meanwhile the server may have given the job to another
worker. So the server's last word on a job counts only until the server may have taken it back.
After that a BEAT asks, and the handler begins only if the answer says that the job is held.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from ojs_worker.job import Job
from ojs_worker.running.delivery import Delivery

log = logging.getLogger("ojs.worker")

# The values of the worker protocol, for servers that do not report theirs.
DEAD_AFTER_S: Final = 30.0
LEASE_S: Final = 1800.0


class Bounds:
    """The times after which the server may have given a job of this worker to another one."""

    def __init__(self, requested_lease_s: float | None = None) -> None:
        self._requested_lease_s = requested_lease_s
        self._dead_after_s = DEAD_AFTER_S
        self._lease_s = LEASE_S

    def learn(self, *, dead_after_s: Any = None, lease_s: Any = None) -> None:
        """Take over the times after which a server takes a worker for dead and ends a lease;
        servers may leave out either."""
        self._dead_after_s = _seconds(dead_after_s) or self._dead_after_s
        self._lease_s = _seconds(lease_s) or self._lease_s

    def of(self, job: Job) -> float:
        """Return the shortest of these times for one job, in seconds."""
        lease_s = _lease_of(job) or self._requested_lease_s or self._lease_s
        return min(lease_s, self._dead_after_s, _seconds(job.heartbeat_timeout) or math.inf)


class LeaseCheck:
    """Starts a handler if its job is certainly still held, and otherwise asks the server first."""

    def __init__(
        self,
        bounds: Bounds,
        request_beat: Callable[[], None],
        elapsed: Callable[[], float],
    ) -> None:
        self._bounds = bounds
        self._request_beat = request_beat
        self._elapsed = elapsed

    async def await_for(self, delivery: Delivery) -> bool:
        """Wait until the job is certainly held; False if it is lost or was cancelled."""
        while not self._sure(delivery):
            log.info("job %s has waited for long, the server is asked for it", delivery.job.id)
            delivery.confirmation = asyncio.Event()
            self._request_beat()
            try:
                await delivery.confirmation.wait()
            finally:
                delivery.confirmation = None
            if delivery.closed or delivery.context.stop_reason is not None:
                return False
        return True

    def beat_answered(self, delivery: Delivery, sent_at: float, *, confirmed: bool) -> bool:
        """Handle the answer to a BEAT that was sent at `sent_at` and listed the job; return False
        if a waiting job is lost.

        `confirmed` is True if the answer lists lost jobs, or this one as held.
        """
        # If the server confirms no jobs, a BEAT within the bounds has kept the job.
        if confirmed or self._sure(delivery):
            delivery.held_at = sent_at
        elif delivery.confirmation is not None:
            return False
        if delivery.confirmation is not None:
            delivery.confirmation.set()
        return True

    def _sure(self, delivery: Delivery) -> bool:
        return self._elapsed() - delivery.held_at <= self._bounds.of(delivery.job)


def _lease_of(job: Job) -> float | None:
    """Return the lease of a job in seconds, as it was fetched."""
    if job.started_at is None or job.lease_expires_at is None:
        return None
    try:
        until, since = map(datetime.fromisoformat, (job.lease_expires_at, job.started_at))
        return _seconds((until - since).total_seconds())
    except (TypeError, ValueError):
        return None


def _seconds(value: Any) -> float | None:
    return value if isinstance(value, int | float) and value > 0 else None
