"""Checkpoint the write-ahead log into the database file in a thread, beside the commits.

SQLite itself does this within a commit that finds the log long, which then takes long. Here a
thread does it each time the log has grown by some amount. But SQLite restarts the log only if all
of it was checkpointed and nothing was added meanwhile, which is rare under load; so a commit that
finds it very long still does the rest itself.
"""

from contextlib import suppress
from typing import Final

import apsw

from ojs_server.environment import Threads

# Pages of the log: where the thread begins, and where a commit does it.
STEP: Final = 1000
MOST: Final = 8000


class Backfill:
    """Checkpoints the log of a connection, by another connection in a thread."""

    def __init__(self, writer: apsw.Connection, own: apsw.Connection, threads: Threads) -> None:
        self._begun_at = 0
        self._inbox = threads.inbox("ojs-backfill", _carry_over)
        self._own = own
        writer.set_wal_hook(self.grown)

    def grown(self, writer: apsw.Connection, name: str, pages: int) -> int:
        """Note the length of the log after a commit."""
        if pages < self._begun_at:
            # It has begun anew.
            self._begun_at = 0
        if pages >= MOST:
            _carry_over(writer)
        elif pages >= self._begun_at + STEP:
            self._begun_at = pages
            self._inbox.put(self._own)
        return int(apsw.SQLITE_OK)

    def close(self) -> None:
        """End the thread after the current checkpoint."""
        self._inbox.close()


def _carry_over(connection: apsw.Connection) -> None:
    # If the disk is full or another checkpoint runs, the data in the log is as safe as before.
    with suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
