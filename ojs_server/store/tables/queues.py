"""Queues and their counters."""

from collections.abc import Mapping, Sequence

from ojs_server.store.base import QueueCounts
from ojs_server.store.rows import STATES, queue_of
from ojs_server.store.tables.statements import Statements, Writing


class QueueWrites(Writing):
    """Queues in a write transaction."""

    def set_paused(self, queue: str, paused: bool) -> None:
        """Pause or resume a queue."""
        self.run("set_paused", queue=queue, paused=paused, now=self.now)

    def add_counts(self, deltas: Mapping[str, Mapping[str, int]]) -> None:
        """Move the counters of queues, in the order of names, in which rows are locked."""
        self.run_rows(
            "add_counts",
            [
                (queue, self.node, self.now, *(delta.get(state, 0) for state in STATES))
                for queue, delta in sorted(deltas.items())
            ],
        )


class QueueReads(Statements):
    """Queues outside of a transaction."""

    def queues(self, names: Sequence[str] | None = None) -> list[QueueCounts]:
        """All queues, or some."""
        rows = self.all("queues") if names is None else self.of_ids("some_queues", names)
        return [queue_of(row) for row in rows]
