"""Kinds of jobs by room: their workers, the ones with the oldest jobs, and their clean-up."""

from collections.abc import Iterable

from ojs_server.domain.compat.kind import Kind
from ojs_server.domain.tenants.tenant import split_name
from ojs_server.store.records import KindRun, KindWorkers
from ojs_server.store.tables.statements import Statements, Writing, by_name


class RoomWrites(Writing):
    """Rooms in a write transaction."""

    def oldest_lanes(self, worker_id: str, tenant: str | None = None) -> list[tuple[str, str]]:
        """Return the (queue, type) pairs with waiting jobs that a worker is linked to,
        optionally of one tenant; the pair whose first job has waited longest comes first."""
        bound = {"worker_id": worker_id, "now": self.now}
        if tenant is None:
            rows = self.all("oldest_lanes", **bound)
        else:
            rows = self.all("oldest_lanes_of_tenant", **bound, tenant=tenant)
        return [(queue, job_type) for queue, job_type, _ in rows]

    def linked(self, worker_ids: Iterable[str]) -> set[tuple[str, str]]:
        """Return the (room, name) pairs of the kinds that these workers run."""
        return set(self.all_ids("linked", worker_ids))

    def retire_kinds(self, names: Iterable[tuple[str, str]]) -> None:
        """Delete those of these kinds that have no worker and no waiting job."""
        rows = [(self.now, room, name, split_name(room)[0]) for room, name in sorted(names)]
        self.run_columns("retire_kinds", **by_name(rows, "at", "room", "name", "tenant"))

    def start_lease(self, job_id: str) -> None:
        """Record that the holder of a locked job has begun to run it."""
        self.run("start_lease", job_id=job_id, now=self.now)


class RoomReads(Statements):
    """Rooms outside of a transaction."""

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

    def kind_named(self, room: str, name: str) -> Kind | None:
        """A kind of a room."""
        if not self.can_hold(room, name):
            return None
        return next(iter(self.read(Kind, "kind_named", room=room, name=name)), None)
