"""What happened in spans of time."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.statistics import KINDS, Count, with_totals
from ojs_server.store.tables.statements import Statements, Writing


class StatisticsWrites(Writing):
    """Statistics in a write transaction."""

    def count_happenings(self, upto: int, last: int) -> None:
        """Add what a stretch of the event log holds; the count of events holds the lock."""
        rows = self.all("what_happened", upto=upto, last=last)
        counts = [
            Count(queue, int(at), KINDS[kind], int(bucket), int(count))
            for queue, at, kind, bucket, count in rows
            if queue is not None
        ]
        sums = sorted(with_totals(counts).items())
        self.run_rows("add_statistics", [(*key, count) for key, count in sums])

    def prune_statistics(self, step: int, before: int, limit: int) -> int:
        """Remove spans from before a moment."""
        return self.run("prune_statistics", step=step, before=before, limit=limit)


class StatisticsReads(Statements):
    """Statistics outside of a transaction."""

    def statistics(
        self, step: int, queues: Iterable[str], since: int, until: int
    ) -> Sequence[Count]:
        """What happened in queues from one moment to another, by spans of a step."""
        rows = [(step, queue, since, until) for queue in queues if self.can_hold(queue)]
        return [Count(*row) for row in self.all_rows("statistics", rows)]
