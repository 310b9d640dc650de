"""A follower of the event log, which reads on between the steps of both sides."""

import re
from typing import Final

from ojs_server.store.postgres.store import PostgresStore
from ojs_server.store.records import EventFilter
from tests.simulation.postgres.world import Rows

_POSITION: Final = re.compile(r'"pos":(\d+)')
_MOST: Final = 1000


class Follower:
    """A node that reads every event once."""

    def __init__(self, url: str) -> None:
        self._store = PostgresStore(url, node="node-r", migrations=False, readers=1)
        self._cursor = 0
        self._seen: list[int] = []

    def begin(self) -> None:
        """Read up to where the log ends."""
        self.read()
        self._seen = []

    def read(self) -> None:
        """Read what is new."""
        with self._store.reader() as reader:
            page = reader.events(self._cursor, EventFilter(), _MOST)
        self._cursor = page.cursor
        self._seen += [event.position for event in page.events]

    def complaints(self, rows: Rows, before: Rows) -> list[str]:
        """Compare what was read with what is there."""
        old = {*before["events"]}
        added = [row for row in rows["events"] if row not in old]
        expected = sorted(int(found[1]) for row in added if (found := _POSITION.search(row)))
        if self._seen == expected:
            return []
        return [f"the follower read the events {self._seen}, and the log has {expected}"]

    def close(self) -> None:
        """End its connections."""
        self._store.close()
