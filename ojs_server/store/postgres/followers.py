"""Track if other nodes follow the event log and must be notified of commits that add to it."""

from collections.abc import Callable


class Followers:
    """The latest request of other nodes; written by the listener, read by the writer's thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until = 0.0

    @property
    def listening(self) -> bool:
        """True if any other node wants to be notified."""
        return self._monotonic() < self._until

    def note(self, for_ms: int) -> None:
        """Note that another node wants to be notified for this long from now."""
        self._until = max(self._until, self._monotonic() + for_ms / 1000)
