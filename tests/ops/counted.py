"""A PostgreSQL store that counts its transactions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ojs_server.store.base import Overtaken
from ojs_server.store.postgres.store import PostgresStore
from ojs_server.store.records import Preload


class Counted(PostgresStore):
    """Counts its transactions: one that another node made fail would be made again.

    Those that a later one has overtaken are not counted: they have to be made again.
    """

    transactions = 0

    @contextmanager
    def transaction(
        self, preload: Preload | None = None, *, long_wait: bool = True
    ) -> Iterator[Any]:
        """Count and begin."""
        self.transactions += 1
        try:
            with super().transaction(preload, long_wait=long_wait) as tx:
                yield tx
        except Overtaken:
            self.transactions -= 1
            raise
