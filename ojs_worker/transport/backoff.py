"""Operations that are tried again until they succeed, with pauses in between."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ojs_worker.errors import Refused
from ojs_worker.transport.pauses import pause

log = logging.getLogger("ojs.worker")

# Upper limit of a Retry-After.
MAX_RETRY_AFTER_S: Final = 60.0

Result = TypeVar("Result")


class Backoff:
    """Counts the failures in a row of one operation that is retried. The first one is logged."""

    def __init__(self, what: str, random: Callable[[], float]) -> None:
        self.failures = 0
        self._what = what
        self._random = random

    def next_s(self, reason: object, at_least_s: float | None = None) -> float:
        """Count a failure and return the seconds to wait before the next try."""
        self.failures += 1
        if self.failures == 1:
            log.warning("cannot %s yet, will try again: %s", self._what, reason)
        return max(min(at_least_s or 0.0, MAX_RETRY_AFTER_S), pause(self.failures, self._random()))

    async def wait(self, reason: object, at_least_s: float | None = None) -> None:
        """Count a failure and wait until the next try."""
        await asyncio.sleep(self.next_s(reason, at_least_s))

    async def retry(
        self, call: Callable[[], Awaitable[Result]], failures: tuple[type[Exception], ...]
    ) -> Result:
        """Call until it succeeds: after these exceptions, and after refusals that are not final."""
        while True:
            wait_s = None
            try:
                return await call()
            except Refused as error:
                if error.is_final:
                    raise
                reason: Exception = error
                wait_s = error.retry_after_s
            except failures as error:
                reason = error
            await self.wait(reason, wait_s)
