"""A limit on the bytes of large request bodies that the server holds at a time.

The number of requests is bounded elsewhere, but ten thousand of the largest bodies would be more
than any machine has. Small bodies are not counted.
"""

from typing import Final

from ojs_server.domain.errors import Unavailable
from ojs_wire import codes

# Largest size of a small body, in bytes.
SMALL: Final = 64 * 1024


class BodyBudget:
    """Counts the bytes of large bodies whose requests are not answered yet."""

    def __init__(self, most: int, largest: int) -> None:
        # There must be room for one body of the largest size.
        self._most = max(most, largest)
        self._largest = largest
        self.held = 0

    def split(self, percent: int) -> "BodyBudget":
        """Return a budget with a part of this one, which keeps the rest."""
        part = self._most * percent // 100
        self._most = max(self._most - part, self._largest)
        return BodyBudget(part, self._largest)

    def take(self, size: int) -> None:
        """Count the bytes of a large body; raises Unavailable if they exceed the limit."""
        if self.held + size > self._most:
            raise Unavailable(
                f"the requests that are under way have {self._most} bytes already",
                code=codes.OVERLOADED,
                # The connection closes, so that the rest of the body need not be read.
                headers={"Retry-After": "1", "Connection": "close"},
            )
        self.held += size

    def give(self, size: int) -> None:
        """Subtract the bytes of a large body."""
        self.held -= size
