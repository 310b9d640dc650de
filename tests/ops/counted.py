"""A PostgreSQL store that counts its transactions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ojs_server.store.postgres.store import PostgresStore
from ojs_server.store.records import Foreseen


class Counted(PostgresStore):
    """Counts its transactions: one that another node made fail would be made again."""

    transactions = 0

    @contextmanager
    def transaction(
        self, foreseen: Foreseen | None = None, *, patient: bool = True
    ) -> Iterator[Any]:
        """Count and begin."""
        self.transactions += 1
        with super().transaction(foreseen, patient=patient) as tx:
            yield tx
