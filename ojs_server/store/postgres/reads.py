"""Lock and read a transaction's workers and jobs as early as their ids are known.

A round trip to the database costs more than most statements do. Rows that are known beforehand are
requested together with BEGIN, all others with the next statement whose answer is needed.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ojs_server.domain.jobs.job import Job, Lease
from ojs_server.domain.workers.worker import Worker
from ojs_server.store.postgres.pipe import Pipe
from ojs_server.store.postgres.statements import STATEMENTS, can_hold
from ojs_server.store.records import Leased, Preload


class Reads:
    """Requested rows of workers and jobs, whether their answers have come or not."""

    def __init__(self, pipe: Pipe, preload: Preload | None) -> None:
        self._pipe = pipe
        self._workers: set[str] = set()
        # Jobs that are locked and read ahead, and have not been asked for yet.
        self.ahead: set[str] = set()
        self._queues: set[str] = set()
        self._due_result: Callable[[], list[Any]] = list
        self._workers_result: Callable[[], list[Worker]]
        self._jobs_result: Callable[[], list[Job]]
        self._leases_result: Callable[[], list[Lease]]
        if preload is not None:
            self._look_into(set(preload.queues))
            self.lock_workers(preload.workers)
            self._lock_jobs(set(preload.jobs))

    def lock_workers(self, ids: Iterable[str]) -> None:
        """Lock and request these workers, so that `workers` need not."""
        new_ids = set(ids)
        if not new_ids <= self._workers:
            self._workers, self._workers_result = new_ids, self._ask("load_workers", new_ids)

    def workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers, once where that was done."""
        new_ids = set(ids)
        if not new_ids:
            return {}
        self.lock_workers(new_ids)
        return {worker.id: worker for worker in self._workers_result() if worker.id in new_ids}

    def jobs(self, ids: Iterable[str]) -> dict[str, Leased]:
        """Lock and read jobs with their leases.

        Rows that were read ahead are used only once, as the transaction may change them afterwards.
        """
        new_ids = set(ids)
        if not new_ids:
            return {}
        if not new_ids <= self.ahead:
            self._lock_jobs(new_ids)
        self.ahead = set()
        held = {lease.job_id: lease for lease in self._leases_result()}
        return {
            job.id: Leased(job, held.get(job.id))
            for job in self._jobs_result()
            if job.id in new_ids
        }

    def take(self) -> None:
        """Receive the answer that came with BEGIN; later it would cost a round trip of its own."""
        self._due_result()

    def next_due(self, queues: Iterable[str]) -> dict[str, int]:
        """Return the time of the first scheduled job or retry of each queue that has one."""
        names = set(queues)
        if not names:
            return {}
        self._look_into(names)
        found = self._due_result()
        return {queue: due for queue, due in found if queue in names and due is not None}

    def forget_due(self) -> None:
        """Discard the times read so far: something has become due since."""
        self._queues = set()

    def forget(self) -> None:
        """Discard the rows read so far, which may have changed."""
        self._workers, self.ahead = set(), set()

    def _look_into(self, queues: set[str]) -> None:
        if not queues <= self._queues:
            self._queues, self._due_result = queues, self._ask("next_due_in", queues)

    def _lock_jobs(self, ids: set[str]) -> None:
        if ids:
            self.ahead = ids
            self._jobs_result = self._ask("load_jobs", ids)
            # By then a lock was waited for, if there was one: only now are they what they are.
            self._leases_result = self._ask("leases_of", ids)

    def _ask(self, name: str, ids: set[str]) -> Callable[[], list[Any]]:
        """Send a statement; the returned function gives its records or rows."""
        column = [item for item in ids if can_hold(item)]
        if not column:
            return list
        statement = STATEMENTS[name]
        result = self._pipe.ask(statement, statement.packed([column]))
        read = statement.read
        return result if read is None else lambda: list(map(read, result()))
