"""Workers and what they hold."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.workers import Worker
from ojs_server.store.records import WorkerLoad
from ojs_server.store.tables.statements import Statements, Writing


class WorkerWrites(Writing):
    """Workers in a write transaction."""

    def load_workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers."""
        return {one.id: one for one in self.read_ids(Worker, "load_workers", ids)}

    def load_all_workers(self) -> list[Worker]:
        """Lock and read the workers that are not gone."""
        return self.read(Worker, "load_all_workers")

    def load_silent_workers(self, before: int, limit: int) -> list[Worker]:
        """Lock the workers without a recent sign of life."""
        return self.read(Worker, "load_silent_workers", before=before, limit=limit)

    def load_dropped_workers(self, before: int, limit: int) -> list[Worker]:
        """Lock the workers without their session and without a sign of life since."""
        return self.read(Worker, "load_dropped_workers", before=before, limit=limit)

    def load_changed_workers(
        self, unreachable: int, offline: int, deleted: int, limit: int
    ) -> list[Worker]:
        """Lock workers whose presence is not what was last told of it."""
        since = {"unreachable": unreachable, "offline": offline, "deleted": deleted}
        return self.read(Worker, "load_changed_workers", **since, limit=limit)

    def load_offline_workers(self, silent: int, gone: int, limit: int) -> list[Worker]:
        """Lock workers that are not deleted and silent, or gone, since a moment."""
        return self.read(Worker, "load_offline_workers", silent=silent, gone=gone, limit=limit)

    def save_workers(self, workers: Sequence[Worker]) -> None:
        """Insert or replace workers, in the order of ids, in which rows are locked."""
        self.run_records("save_workers", sorted(workers, key=lambda worker: worker.id))

    def delete_workers(self, before: int, limit: int) -> int:
        """Remove workers that were deleted or went long ago."""
        return self.run("delete_workers", before=before, limit=limit)


class WorkerReads(Statements):
    """Workers outside of a transaction."""

    def workers(self, ids: Sequence[str] | None = None) -> list[WorkerLoad]:
        """All workers, or some, with the jobs they hold."""
        if ids is None:
            workers = self.read(Worker, "list_workers")
        else:
            workers = self.read_ids(Worker, "some_workers", ids)
        held: dict[str, list[str]] = {}
        for worker_id, job_id in self.all_ids("held_by", [worker.id for worker in workers]):
            held.setdefault(worker_id, []).append(job_id)
        return [WorkerLoad(worker, tuple(held.get(worker.id, ()))) for worker in workers]
