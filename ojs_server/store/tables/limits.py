"""Limits of keys and queues, and the gates that jobs wait before."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.limit import Limit
from ojs_server.store.records import LimitPage
from ojs_server.store.rows import LIMIT_FIELDS, limit_of, limit_row
from ojs_server.store.tables.statements import Statements, Writing


class LimitWrites(Writing):
    """Limits in a write transaction."""

    def insert_limits(self, limits: Sequence[Limit]) -> None:
        """Store new limits, in the order of names, in which rows are locked."""
        ordered = sorted(limits, key=lambda limit: limit.name)
        self.run_rows("insert_limits", [limit_row(limit) for limit in ordered])

    def load_limits(self, names: Iterable[str]) -> dict[str, Limit]:
        """Lock and read limits."""
        return {row[0]: limit_of(row) for row in self.of_ids("load_limits", sorted(set(names)))}

    def load_opening(self, limit: int) -> list[Limit]:
        """Lock the limits that time has opened."""
        return [limit_of(row) for row in self.all("load_opening", now=self.now, limit=limit)]

    def save_limits(self, limits: Sequence[Limit]) -> None:
        """Locked limits as they are now."""
        self.run_rows("save_limits", [limit_row(limit) for limit in limits])

    def gated_keys(self, names: Iterable[str]) -> set[str]:
        """Which of these keys jobs wait for."""
        return {row[0] for row in self.of_ids("gated_keys", names)}

    def keep_taken(self, job_ids: Sequence[str]) -> None:
        """Jobs that were taken on trial stay taken."""
        self.run_rows("keep_taken", [(job_id, self.now) for job_id in job_ids])

    def send_back(self, jobs: Sequence[tuple[str, bool]]) -> None:
        """Jobs that were taken on trial wait again, behind their gate or before it."""
        self.run_rows("send_back", jobs)

    def prune_limits(self, before: int, limit: int) -> int:
        """Remove keys that no job names any more."""
        gone = self.run("prune_limits", before=before, now=self.now, limit=limit)
        return gone + self.run("put_off_limits", before=before, now=self.now, limit=limit)


class LimitReads(Statements):
    """Limits outside of a transaction."""

    def limit(self, name: str) -> tuple[Limit, int] | None:
        """One limit, and how many jobs wait with its key."""
        rows = self.all("one_limit", name=name) if self.can_hold(name) else []
        return (limit_of(rows[0]), rows[0][LIMIT_FIELDS]) if rows else None

    def limits(self, limit: int, offset: int, prefix: str = "") -> LimitPage:
        """The limits of keys, by name; those of queues and tenants sort before all of them."""
        span = {"low": prefix or "$", "high": prefix + "{"}
        rows = self.all("list_limits", **span, limit=limit, offset=offset)
        total = self.all("count_limits", **span)[0][0]
        return LimitPage([(limit_of(row), row[LIMIT_FIELDS]) for row in rows], total)
