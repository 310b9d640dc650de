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
from ojs_server.store.records import Foreseen, Leased


class Reads:
    """Requested rows of workers and jobs, whether their answers have come or not."""

    def __init__(self, pipe: Pipe, foreseen: Foreseen | None) -> None:
        self._pipe = pipe
        self._workers: set[str] = set()
        # Jobs that are locked and read, and that nobody has come back to.
        self.ahead: set[str] = set()
        self._queues: set[str] = set()
        self._told_due: Callable[[], list[Any]] = list
        self._told_workers: Callable[[], list[Worker]]
        self._told_jobs: Callable[[], list[Job]]
        self._told_leases: Callable[[], list[Lease]]
        if foreseen is not None:
            self._look_into(set(foreseen.queues))
            self.lock_workers(foreseen.workers)
            self._lock_jobs(set(foreseen.jobs))

    def lock_workers(self, ids: Iterable[str]) -> None:
        """Lock and request these workers, so that `workers` need not."""
        wanted = set(ids)
        if not wanted <= self._workers:
            self._workers, self._told_workers = wanted, self._ask("load_workers", wanted)

    def workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers, once where that was done."""
        wanted = set(ids)
        if not wanted:
            return {}
        self.lock_workers(wanted)
        return {one.id: one for one in self._told_workers() if one.id in wanted}

    def jobs(self, ids: Iterable[str]) -> dict[str, Leased]:
        """Lock and read jobs with their leases.

        Rows that were read ahead are used only once, as the transaction may change them afterwards.
        """
        wanted = set(ids)
        if not wanted:
            return {}
        if not wanted <= self.ahead:
            self._lock_jobs(wanted)
        self.ahead = set()
        held = {lease.job_id: lease for lease in self._told_leases()}
        return {
            job.id: Leased(job, held.get(job.id)) for job in self._told_jobs() if job.id in wanted
        }

    def take(self) -> None:
        """Receive the answer that came with BEGIN; later it would cost a round trip of its own."""
        self._told_due()

    def next_due(self, queues: Iterable[str]) -> dict[str, int]:
        """Return the time of the first scheduled job or retry of each queue that has one."""
        wanted = set(queues)
        if not wanted:
            return {}
        self._look_into(wanted)
        found = self._told_due()
        return {queue: due for queue, due in found if queue in wanted and due is not None}

    def forget_due(self) -> None:
        """Discard the times read so far: something has become due since."""
        self._queues = set()

    def forget(self) -> None:
        """Discard the rows read so far, which may have changed."""
        self._workers, self.ahead = set(), set()

    def _look_into(self, queues: set[str]) -> None:
        if not queues <= self._queues:
            self._queues, self._told_due = queues, self._ask("next_due_in", queues)

    def _lock_jobs(self, ids: set[str]) -> None:
        if ids:
            self.ahead = ids
            self._told_jobs = self._ask("load_jobs", ids)
            # By then a lock was waited for, if there was one: only now are they what they are.
            self._told_leases = self._ask("leases_of", ids)

    def _ask(self, name: str, ids: set[str]) -> Callable[[], list[Any]]:
        """Send a statement; the returned function gives its records or rows."""
        column = [item for item in ids if can_hold(item)]
        if not column:
            return list
        statement = STATEMENTS[name]
        told = self._pipe.ask(statement, statement.packed([column]))
        read = statement.read
        return told if read is None else lambda: list(map(read, told()))
