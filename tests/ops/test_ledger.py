"""The ledger without limits: it counts, emits events, and says which jobs have changed."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Change, Job
from ojs_server.ops.jobs.enqueue import entered
from ojs_server.ops.ledger import Ledger
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.base import Tx
from tests.ops.bench import Bench, enqueue


class NotingLedger(Ledger):
    """Lists the changes of jobs."""

    def __init__(self, bench: Bench, tx: Tx) -> None:
        super().__init__(tx, bench.rules, bench.rng, Schedulers())
        self.noted: list[str] = []

    def added(self, job: Job) -> None:
        self.noted.append(f"added {job.id}")

    def moved(self, job: Job) -> None:
        self.noted.append(f"moved {job.queue}")

    def changed(self, changes: Sequence[Change]) -> None:
        self.noted += [f"{one.before.state} to {one.after.state}" for one in changes]

    def removed(self, job: Job) -> None:
        self.noted.append(f"removed {job.id}")


def test_a_ledger_counts_without_limits(bench: Bench) -> None:
    with bench.store.transaction() as tx:
        # Only the unit of work makes jobs; the ledger takes them from anybody.
        (draft,) = enqueue().drafts
        stored = Work(tx, bench.rules, bench.rng, Schedulers()).build_job(draft)
        ledger = NotingLedger(bench, tx)
        ledger.add([stored], entered([stored]))
        cancelled = lifecycle.cancel(stored.job, ledger.now, ledger.keep("q"))
        ledger.apply([cancelled])
        ledger.flush()
    assert ledger.noted == [f"added {stored.job.id}", "available to cancelled"]
    assert ledger.ended == [stored.job.id]
    assert bench.counts() == {"cancelled": 1}


def test_jobs_that_move_are_noted(bench: Bench) -> None:
    job_id = bench.put()
    with bench.store.transaction() as tx:
        ledger = NotingLedger(bench, tx)
        (job, _) = tx.load_jobs([job_id])[job_id]
        moved = msgspec.structs.replace(job, queue="r")
        ledger.transfer([Change(job, moved, ())])
        ledger.remove([moved])
        ledger.flush()
    assert ledger.noted == ["moved r", f"removed {job_id}"]
    assert bench.counts() == {}
