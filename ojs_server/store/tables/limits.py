"""Rate limits of keys and queues, and the release of jobs that wait for them.

Limits are locked after all jobs and leases, those of queues (which sort first) before those of
keys; a transaction that holds one waits for no job.
"""

from collections.abc import Iterable, Sequence

from ojs_server.domain.limits.limit_state import Limit
from ojs_server.store.records import LimitLoad, LimitPage
from ojs_server.store.tables.statements import Statements, Writing, by_name


class LimitWrites(Writing):
    """Limits in a write transaction."""

    def insert_limits(self, limits: Sequence[Limit]) -> None:
        """Store new limits; those that exist stay as they are."""
        self.run_records("insert_limits", sorted(limits, key=lambda limit: limit.name))

    def load_limits(self, names: Iterable[str]) -> dict[str, Limit]:
        """Lock and read limits."""
        return {
            limit.name: limit for limit in self.read_ids(Limit, "load_limits", sorted(set(names)))
        }

    def load_opening(self, limit: int) -> list[Limit]:
        """Lock the limits whose `opens_at` has come."""
        return self.read(Limit, "load_opening", now=self.now, limit=limit)

    def save_limits(self, limits: Sequence[Limit]) -> None:
        """Store locked limits as they are now."""
        self.run_records("save_limits", limits)

    def gated_keys(self, names: Iterable[str]) -> set[str]:
        """Return those of these keys that have jobs which may not be claimed yet."""
        return {name for (name,) in self.all_ids("gated_keys", names)}

    def keep_taken(self, job_ids: Sequence[str]) -> None:
        """Confirm claims of jobs with a rate key; until then they can be sent back."""
        self.run_columns("keep_taken", id=job_ids, started_at=(self.now,) * len(job_ids))

    def send_back(self, jobs: Sequence[tuple[str, bool]]) -> None:
        """Undo the claim of jobs with a rate key, each gated or not."""
        self.run_columns("send_back", **by_name(jobs, "id", "gated"))

    def prune_limits(self, before: int, limit: int) -> int:
        """Look at limits not used since a moment, and remove those that no job names.

        Answers how many were looked at.
        """
        gone = self.run("prune_limits", before=before, now=self.now, limit=limit)
        return gone + self.run("put_off_limits", before=before, now=self.now, limit=limit)


class LimitReads(Statements):
    """Limits outside of a transaction."""

    def limit(self, name: str) -> LimitLoad | None:
        """One limit, and how many available jobs have its key."""
        found = self.read(LimitLoad, "one_limit", name=name) if self.can_hold(name) else []
        return found[0] if found else None

    def limits(self, limit: int, offset: int, prefix: str = "") -> LimitPage:
        """The limits of keys, by name; of those that begin so."""
        span = {"low": prefix or "$", "high": prefix + "{"}
        limits = self.read(LimitLoad, "list_limits", **span, limit=limit, offset=offset)
        return LimitPage(limits, self.all("count_limits", **span)[0][0])
