"""Registered kinds of jobs, and the workers that run them."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.jobs.job import Job
from ojs_server.domain.workers.kind import Kind
from ojs_server.store.records import KindRun, KindWorkers
from ojs_server.store.tables.statements import Statements, Writing, by_name


class KindWrites(Writing):
    """Kinds in a write transaction."""

    def save_kinds(self, kinds: Sequence[Kind]) -> None:
        """Store kinds; an existing one keeps its type, and the members that the new one lacks."""
        ordered = sorted(kinds, key=lambda kind: (kind.room, kind.name))
        self.run_records("save_kinds", ordered)

    def reserve_kind(self, kind: Kind) -> tuple[Kind, bool]:
        """Store a kind unless it is there, and lock it; answers the stored one, deleted or not,
        and whether it is new."""
        is_new = self.run_records("add_kinds", [kind]) == 1
        (stored,) = self.read(Kind, "lock_kind", room=kind.room, name=kind.name)
        return stored, is_new

    def link_kinds(self, links: Iterable[tuple[str, str, str]]) -> None:
        """Note that workers run kinds, each (worker, room, name)."""
        columns = by_name(sorted(set(links)), "worker_id", "room", "name")
        self.run_columns("link_kinds", **columns)

    def unlink_kinds(self, worker_ids: Iterable[str]) -> None:
        """Remove the links of these workers to kinds."""
        self.run_ids("unlink_kinds", sorted(set(worker_ids)))

    def linked(self, worker_ids: Iterable[str]) -> set[tuple[str, str]]:
        """Return the (room, name) pairs of the kinds that these workers run."""
        return set(self.all_ids("linked", worker_ids))

    def retire_kinds(self, names: Iterable[tuple[str, str]]) -> None:
        """Delete those of these kinds that have no worker and no waiting job."""
        rows = [(self.now, room, name) for room, name in sorted(names)]
        self.run_columns("retire_kinds", **by_name(rows, "at", "room", "name"))


class KindReads(Statements):
    """Kinds outside of a transaction."""

    def kinds_in(self, room: str) -> list[KindWorkers]:
        """The kinds of a room by name, each with the workers that run it."""
        if not self.can_hold(room):
            return []
        found: dict[Kind, list[str]] = {}
        for row in self.read(KindRun, "kinds_in", room=room):
            workers = found.setdefault(row.kind, [])
            if row.worker_id is not None:
                workers.append(row.worker_id)
        return [KindWorkers(kind, tuple(workers)) for kind, workers in found.items()]

    def kinds_of(self, worker_id: str) -> list[Kind]:
        """Return the kinds that a worker runs, by room and name."""
        if not self.can_hold(worker_id):
            return []
        return self.read(Kind, "kinds_of", worker_id=worker_id)

    def kind_counts(self, worker_ids: Iterable[str]) -> dict[str, int]:
        """Return how many kinds each of these workers runs that runs any."""
        counts = self.all_ids("kind_counts", worker_ids)
        return {worker_id: int(count) for worker_id, count in counts}

    def waiting_before(self, job: Job, most: int) -> int:
        """Count the waiting jobs of its queue and type that come before a job, up to `most`."""
        rows = self.all(
            "waiting_before",
            queue=job.queue,
            type=job.type,
            priority=job.priority,
            seq=job.seq,
            most=most,
        )
        return int(rows[0][0])

    def kind_of_type(self, room: str, job_type: str) -> Kind | None:
        """Return the kind of a room that has a job type."""
        if not self.can_hold(room, job_type):
            return None
        return next(iter(self.read(Kind, "kind_of_type", room=room, type=job_type)), None)
