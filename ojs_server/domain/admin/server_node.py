"""A server of a database, as it announces itself to the others."""

from typing import Final

import msgspec

# A node that has announced nothing for this long may have died, or has lost the database.
SILENT_MS: Final = 30_000


class Announcement(msgspec.Struct, frozen=True):
    """The place of a node, its version, and how much waits at it."""

    host: str
    process: int
    version: str
    waiting_fetches: int = 0
    event_streams: int = 0


class ServerNode(msgspec.Struct, frozen=True):
    """A node that has not been stopped, and its last announcement."""

    id: str
    started_at: int
    seen_at: int
    announcement: Announcement

    def is_silent(self, now: int) -> bool:
        """Tell whether the node has announced nothing for too long."""
        return now - self.seen_at >= SILENT_MS
