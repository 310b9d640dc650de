"""Time limits of jobs: a handler that runs over its time is stopped."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from ojs_worker.context import StopReason
from ojs_worker.running.delivery import Delivery

log = logging.getLogger("ojs.worker")

# Time for a cancelled handler to clean up.
UNWIND_S: Final = 1.0


class TimeLimits:
    """Stops handlers that run over their time. One that cannot be stopped, such as a thread, is
    given up after the grace period of its job."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, give_up: Callable[[Delivery], None]
    ) -> None:
        self._loop = loop
        self._give_up = give_up

    def begin(self, delivery: Delivery) -> None:
        """Let the time of a delivery begin, if its job has a limit."""
        if (limit_s := delivery.job.limit_s) is not None:
            delivery.timer = self._loop.call_later(limit_s, self._passed, delivery)

    def _passed(self, delivery: Delivery) -> None:
        log.warning("job %s ran over its %g s", delivery.job.id, delivery.job.limit_s or 0)
        delivery.context.stop_reason = StopReason.TIMEOUT
        runs = delivery.handler.runs if delivery.handler else "loop"
        grace_s = delivery.job.grace_period or 0.0
        if runs == "loop":
            delivery.cancel()
            grace_s = max(grace_s, UNWIND_S)
        delivery.timer = self._loop.call_later(grace_s, self._overdue, delivery)

    def _overdue(self, delivery: Delivery) -> None:
        if delivery.handler is not None and delivery.handler.runs == "process":
            delivery.cancel()
        elif not delivery.settling:
            self._give_up(delivery)
