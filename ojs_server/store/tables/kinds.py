"""Kinds of jobs, and which worker runs which."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.kind import Kind
from ojs_server.store.rows import kind_row
from ojs_server.store.tables.statements import Statements, Writing


class KindWrites(Writing):
    """Kinds in a write transaction."""

    def save_kinds(self, kinds: Sequence[Kind]) -> None:
        """Store kinds, or change those of the same room and name."""
        ordered = sorted(kinds, key=lambda kind: (kind.room, kind.name))
        self.run_rows("save_kinds", [kind_row(kind) for kind in ordered])

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

    def kind_of_type(self, room: str, job_type: str) -> Kind | None:
        """The kind of a room that jobs of a type are of."""
        if not self.can_hold(room, job_type):
            return None
        rows = self.all("kind_of_type", room=room, type=job_type)
        return Kind(*rows[0]) if rows else None
