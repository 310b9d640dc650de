"""Pauses between retries, which grow with the failures in a row."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ojs_worker.errors import Refused

log = logging.getLogger("ojs.worker")

FIRST_S: Final = 0.25
LONGEST_S: Final = 15.0
# A server may ask for more patience than this; who knows what it meant.
ASKED_S: Final = 60.0

Result = TypeVar("Result")


def pause(failures: int, luck: float, longest_s: float = LONGEST_S) -> float:
    """Return the seconds to wait after a number of failures in a row; `luck` is between 0 and 1.

    Half of the pause is random, so that a thousand workers do not all call at once when their
    server comes back.
    """
    whole = min(FIRST_S * 2.0 ** min(max(failures - 1, 0), 20), longest_s)
    return whole * (0.5 + luck / 2)


class Patience:
    """Counts the failures in a row of one operation that is retried. The first one is logged."""

    def __init__(self, what: str, dice: Callable[[], float]) -> None:
        self.failures = 0
        self._what = what
        self._dice = dice

    def next_s(self, reason: object, at_least_s: float | None = None) -> float:
        """Count a failure and return the seconds to wait before the next try."""
        self.failures += 1
        if self.failures == 1:
            log.warning("cannot %s yet, will try again: %s", self._what, reason)
        return max(min(at_least_s or 0.0, ASKED_S), pause(self.failures, self._dice()))

    async def wait(self, reason: object, at_least_s: float | None = None) -> None:
        """Count a failure and wait until the next try."""
        await asyncio.sleep(self.next_s(reason, at_least_s))

    async def keep_on(
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
