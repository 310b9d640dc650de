"""The transactions whose staged jobs were taken, so that no look begins at the front of the index.

Staged jobs are removed when a node stores them. While a foreign snapshot is held, the index keeps
the entries of all of them, and each look would walk over them again. A look that finds nothing has
seen every transaction that had ended before it. So the next one looks at those that had not, and at
those that have begun since. Now and then a look goes over the whole index, as behind a new
connection there may be another cluster, which counts transactions for itself.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

WHOLE_EVERY_S: Final = 60.0


class StagedLook(msgspec.Struct, frozen=True):
    """A look at the transactions from one on, and at those before it that had not ended."""

    since: int = 0
    unfinished: Sequence[int] = ()


class StagedFloor:
    """The floor of one node."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._whole_at = monotonic()
        self._look = StagedLook()

    def look(self) -> StagedLook:
        """Return where the next look begins."""
        if self._monotonic() - self._whole_at > WHOLE_EVERY_S:
            self._whole_at = self._monotonic()
            self._look = StagedLook()
        return self._look

    def passed(self, following: StagedLook) -> None:
        """Note that a look found nothing, and where the following one begins."""
        self._look = following
