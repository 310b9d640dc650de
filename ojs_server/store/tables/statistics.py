"""Statistics of queues by minute and hour."""

from collections.abc import Iterable, Sequence
from typing import Final

from ojs_server.domain.admin.statistics import ALL, KEPT, KINDS, Count, by_steps
from ojs_server.domain.fairness.sharing import Sharing
from ojs_server.store.tables.statements import Statements, Writing, by_name

# Number of queues whose depth is sampled: each takes rows for a month.
SAMPLED: Final = 100


class StatisticsWrites(Writing):
    """Statistics in a write transaction."""

    sharing: Sharing

    def count_happenings(self, upto: int, last: int) -> None:
        """Add the events of a part of the log to the statistics, under the lock of the counter."""
        sums = by_steps(self._happenings("what_happened", upto, last))
        if self.sharing.tenancy:
            of_tenants = self._happenings("what_tenants_did", upto, last)
            sums |= by_steps(of_tenants, totals=False)
        rows = [(*key, count) for key, count in sorted(sums.items())]
        names = ("step", "queue", "at", "kind", "bucket", "count")
        self.run_columns("add_statistics", **by_name(rows, *names))

    def _happenings(self, name: str, upto: int, last: int) -> list[Count]:
        return [
            Count(name_, int(at), KINDS[kind], int(bucket), int(count))
            for name_, at, kind, bucket, count in self.all(name, upto=upto, last=last)
            if name_ is not None
        ]

    def sample_depths(self) -> None:
        """Keep how many jobs the deepest queues hold now; the count of events holds the lock."""
        for step in KEPT:
            at = self.now // step * step
            self.run("sample_depths", step=step, at=at, all=ALL, limit=SAMPLED)

    def prune_statistics(self, step: int, before: int, limit: int) -> int:
        """Remove the statistics of spans from before a moment."""
        return self.run("prune_statistics", step=step, before=before, limit=limit)


class StatisticsReads(Statements):
    """Statistics outside of a transaction."""

    def statistics(
        self, step: int, queues: Iterable[str], since: int, until: int
    ) -> Sequence[Count]:
        """Return the counts of queues by spans of a step, oldest first."""
        named = self.holdable(queues)
        span = {"step": step, "since": since, "until": until}
        columns = {name: (value,) * len(named) for name, value in span.items()}
        return self.made(
            Count, "statistics", self.all_columns("statistics", queue=named, **columns)
        )
