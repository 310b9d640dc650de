"""Workers, and the leases that they hold."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.workers.worker import Worker
from ojs_server.store.records import WorkerLoad
from ojs_server.store.tables.statements import Statements, Writing


class WorkerWrites(Writing):
    """Workers in a write transaction."""

    def load_workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers."""
        return {worker.id: worker for worker in self.read_ids(Worker, "load_workers", ids)}

    def load_all_workers(self) -> list[Worker]:
        """Lock and read every worker that is not gone."""
        return self.read(Worker, "load_all_workers")

    def load_silent_workers(self, before: int, limit: int) -> list[Worker]:
        """Lock workers that are not gone and were not heard of after `before`, longest first.

        Workers that only fetch are never among them.
        """
        return self.read(Worker, "load_silent_workers", before=before, limit=limit)

    def load_dropped_workers(self, before: int, limit: int) -> list[Worker]:
        """Lock present workers that lost their session by `before` and were not heard of since."""
        return self.read(Worker, "load_dropped_workers", before=before, limit=limit)

    def load_changed_workers(
        self, unreachable: int, offline: int, deleted: int, limit: int
    ) -> list[Worker]:
        """Lock workers whose presence changed by one of these moments and was not announced yet."""
        since = {"unreachable": unreachable, "offline": offline, "deleted": deleted}
        return self.read(Worker, "load_changed_workers", **since, limit=limit)

    def load_offline_workers(self, silent: int, gone: int, limit: int) -> list[Worker]:
        """Lock workers not deleted yet that were not heard of after `silent`, or left by `gone`."""
        return self.read(Worker, "load_offline_workers", silent=silent, gone=gone, limit=limit)

    def save_workers(self, workers: Sequence[Worker]) -> None:
        """Insert or replace workers."""
        self.run_records("save_workers", sorted(workers, key=lambda worker: worker.id))

    def delete_workers(self, before: int, limit: int) -> int:
        """Remove workers that were deleted, or left without that, before a moment."""
        return self.run("delete_workers", before=before, limit=limit)


class WorkerReads(Statements):
    """Workers outside of a transaction."""

    def worker(self, worker_id: str) -> Worker | None:
        """Return a worker; None if it is not known."""
        found = self.read_ids(Worker, "some_workers", [worker_id])
        return found[0] if found else None

    def workers(self, ids: Sequence[str] | None = None) -> list[WorkerLoad]:
        """Return all workers by age, or only these, each with the jobs it holds."""
        if ids is None:
            workers = self.read(Worker, "list_workers")
        else:
            workers = self.read_ids(Worker, "some_workers", ids)
        held: dict[str, list[str]] = {}
        for worker_id, job_id in self.all_ids("held_by", [worker.id for worker in workers]):
            held.setdefault(worker_id, []).append(job_id)
        return [WorkerLoad(worker, tuple(held.get(worker.id, ()))) for worker in workers]
