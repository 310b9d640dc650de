"""The ledger without limits: it counts, emits events, and informs its listeners."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Change, Job
from ojs_server.ops.jobs.enqueue import entered
from ojs_server.ops.ledger import Ledger
from ojs_server.ops.unit_of_work import Work
from tests.ops.bench import Bench, enqueue


class Ear:
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def added(self, job: Job) -> None:
        self.heard.append(f"added {job.id}")

    def moved(self, job: Job) -> None:
        self.heard.append(f"moved {job.queue}")

    def changed(self, changes: Sequence[Change]) -> None:
        self.heard += [f"{one.before.state} to {one.after.state}" for one in changes]

    def removed(self, job: Job) -> None:
        self.heard.append(f"removed {job.id}")

    def flush(self) -> None:
        self.heard.append("flush")


def test_a_ledger_counts_and_tells_without_limits(bench: Bench) -> None:
    ear = Ear()
    with bench.store.transaction() as tx:
        # Only the unit of work makes jobs; the ledger takes them from anybody.
        (draft,) = enqueue().drafts
        stored = Work(tx, bench.rules, bench.rng, Schedulers()).build_job(draft)
        ledger = Ledger(tx, bench.rules, bench.rng, Schedulers())
        ledger.listen(ear)
        ledger.add([stored], entered([stored]))
        cancelled = lifecycle.cancel(stored.job, ledger.now, ledger.keep("q"))
        ledger.apply([cancelled])
        ledger.flush()
    assert ear.heard == [f"added {stored.job.id}", "available to cancelled", "flush"]
    assert ledger.ended == [stored.job.id]
    assert bench.counts() == {"cancelled": 1}


def test_jobs_that_go_elsewhere_are_heard_of(bench: Bench) -> None:
    job_id = bench.put()
    ear = Ear()
    with bench.store.transaction() as tx:
        ledger = Ledger(tx, bench.rules, bench.rng, Schedulers())
        ledger.listen(ear)
        (job, _) = tx.load_jobs([job_id])[job_id]
        moved = msgspec.structs.replace(job, queue="r")
        ledger.transfer([Change(job, moved, ())])
        ledger.remove([moved])
        ledger.flush()
    assert ear.heard == ["moved r", f"removed {job_id}", "flush"]
    assert bench.counts() == {}
