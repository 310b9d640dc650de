"""Kinds of jobs, and which worker runs which."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.job import Job
from ojs_server.domain.kind import Kind
from ojs_server.store.rows import kind_row
from ojs_server.store.tables.statements import Statements, Writing


class KindWrites(Writing):
    """Kinds in a write transaction."""

    def save_kinds(self, kinds: Sequence[Kind]) -> None:
        """Store kinds, or change those of the same room and name."""
        ordered = sorted(kinds, key=lambda kind: (kind.room, kind.name))
        self.run_rows("save_kinds", [kind_row(kind) for kind in ordered])

    def reserve_kind(self, kind: Kind) -> tuple[Kind, bool]:
        """Store a kind unless it is there; answers the stored one, and whether it is new."""
        is_new = self.run_rows("add_kinds", [kind_row(kind)]) == 1
        rows = self.all("lock_kind", room=kind.room, name=kind.name)
        return Kind(*rows[0]), is_new

    def link_kinds(self, links: Iterable[tuple[str, str, str]]) -> None:
        """Note that workers run kinds, each (worker, room, name)."""
        self.run_rows("link_kinds", sorted(set(links)))

    def unlink_kinds(self, worker_ids: Iterable[str]) -> None:
        """These workers run nothing any more."""
        self.run_rows("unlink_kinds", [(one,) for one in sorted(set(worker_ids))])


class KindReads(Statements):
    """Kinds outside of a transaction."""

    def kinds_of(self, worker_id: str) -> list[Kind]:
        """What a worker runs, by room and name."""
        if not self.can_hold(worker_id):
            return []
        return [Kind(*row) for row in self.all("kinds_of", worker_id=worker_id)]

    def kind_counts(self) -> dict[str, int]:
        """How many kinds each worker runs."""
        return {worker_id: int(count) for worker_id, count in self.all("kind_counts")}

    def waiting_before(self, job: Job, most: int) -> int:
        """How many jobs of its queue and type are claimed before a job."""
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
        """The kind of a room that jobs of a type are of."""
        if not self.can_hold(room, job_type):
            return None
        rows = self.all("kind_of_type", room=room, type=job_type)
        return Kind(*rows[0]) if rows else None
