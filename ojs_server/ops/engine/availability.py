"""The availability of the store as this node sees it, and the error for callers meanwhile.

Once the store has refused a batch, readiness and the log say so, and housekeeping writes a probe
twice a second until one is on disk.
"""

import logging
from collections.abc import Callable

from ojs_server.domain.errors import Unavailable
from ojs_server.store.base import OutcomeUnknown, StaleWrite, StoreBusy

log = logging.getLogger("ojs.store")


class Availability:
    """State of the store: whether it takes changes, and counts of refused or uncertain batches.

    The first refused change marks it as lost. For callers the next commit ends that; the log
    reports it once a probe has found out which database takes changes now.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        # The reason why the last change was refused, such as a full disk; None while changes are
        # taken.
        self.reason: str | None = None
        # Number of refused operations that record or judge signs of life. Counted by the writer's
        # thread.
        self.refused_signs = 0
        # Number of batches whose COMMIT got no answer, so that their outcome was looked up.
        self.doubts = 0
        # Number of changes whose outcome is unknown.
        self.unknown = 0
        # Number of batches that committed changes.
        self.written = 0
        self.on_lost: Callable[[], None] = lambda: None
        self._monotonic = monotonic
        self._lost_at: float | None = None

    @property
    def lost(self) -> bool:
        """Tell whether a probe has to find out if the store is back."""
        return self._lost_at is not None

    def signs_refused_since(self, count: int) -> bool:
        """Tell whether a worker was refused since a count of refusals, or may still be."""
        return self.refused_signs != count or self.doubts > 0

    def lose(self, reason: str) -> None:
        """Note that the store has refused a change, or does not answer."""
        self.reason = reason
        if self._lost_at is None:
            self._lost_at = self._monotonic()
            log.error("the store is lost: %s", reason)
            self.on_lost()

    def wrote(self) -> None:
        """Note that a change is on disk."""
        self.reason = None
        self.written += 1

    def probed(self, where: str) -> None:
        """Note that a probe was committed; `where` describes the database that took it."""
        self.wrote()
        if self._lost_at is not None:
            away_s = self._monotonic() - self._lost_at
            self._lost_at = None
            log.warning("the store is back after %.1f s: %s", away_s, where)


def refusal(error: Exception) -> Unavailable:
    """Return the error for a caller whose operation the store did not carry out.

    Details are only logged: they may name hosts behind the server.
    """
    if isinstance(error, OutcomeUnknown):
        message = "the database did not confirm the commit: look this up, or repeat the request"
    elif isinstance(error, StoreBusy):
        message = "the store is busy: another transaction held a lock for too long"
    elif isinstance(error, StaleWrite):
        message = "write conflict: other servers changed the same rows at each attempt"
    else:
        message = "the store cannot be reached"
    return unavailable(message)


def unavailable(message: str) -> Unavailable:
    """Return the error that tells a caller to try again shortly."""
    return Unavailable(message, headers={"Retry-After": "1"})
