"""Whether other nodes follow the event log, and so must hear of each commit that adds to it."""

import time


class Followers:
    """What the other nodes last said; written by the listener, read by the writer's thread."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def listening(self) -> bool:
        """Whether any other node wants to be told."""
        return time.monotonic() < self._until

    def note(self, for_ms: int) -> None:
        """Another node wants to be told for so long from now."""
        self._until = max(self._until, time.monotonic() + for_ms / 1000)
