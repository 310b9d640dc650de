"""The tries of one call within its deadline: the time for each, and the pauses between them."""

from typing import Final

from ojs_worker.environment import Environment
from ojs_worker.transport.pauses import pause

# The longest pause, unless a server asks for more.
PAUSE_S: Final = 2.0
# Statuses after which a call may be repeated: it was not carried out, or that is unknown.
NOT_NOW: Final = frozenset({408, 429, 502, 503, 504})
# The status among these after which the call was certainly not carried out.
NOT_DONE: Final = frozenset({429})


class Tries:
    """The tries of one call. Without a deadline there is one."""

    def __init__(self, deadline_s: float, environment: Environment) -> None:
        self._environment = environment
        self._once = deadline_s <= 0
        self._ends_at = environment.monotonic() + deadline_s
        self._failures = 0

    def within_s(self, usual_s: float, *, repeatable: bool) -> float:
        """Return the time that the next try may take; the only one of a call may take it all."""
        left_s = self._ends_at - self._environment.monotonic()
        if self._once:
            return usual_s
        return min(usual_s, left_s) if repeatable else left_s

    def pause_s(self, retry_after_s: float | None = None) -> float | None:
        """Count a failure, and return the pause before the next try, at least what the server asks
        for; None if the deadline comes first."""
        self._failures += 1
        wait_s = max(
            retry_after_s or 0.0, pause(self._failures, self._environment.random(), PAUSE_S)
        )
        return wait_s if self._environment.monotonic() + wait_s < self._ends_at else None
