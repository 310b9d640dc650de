"""A server with its model: the conditions that must hold after every step of a history."""

from collections.abc import Iterator

from hypothesis.stateful import RuleBasedStateMachine, invariant

from ojs_server.domain.jobs.job import Job, Lease
from ojs_server.ops.admin.maintenance import Reset
from ojs_server.store.records import EventFilter
from tests.ops.bench import Bench
from tests.ops.model import LEASE_MS, Known, Model


class Watched(RuleBasedStateMachine):
    """The invariants; the steps are added by whoever derives from it."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.bench = bench
        self.model = Model()
        bench.do(Reset())
        bench.reachable_since = bench.clock.now - 3_600_000
        self._cursor = 0
        self._stories: dict[str, list[str]] = {}

    @property
    def now(self) -> int:
        """The store's time."""
        return self.bench.clock.now

    @invariant()
    def every_job_is_as_it_should_be(self) -> None:
        """Nothing answered is lost, nothing final moves, and nobody holds what he should not."""
        ids = list(self.model.jobs)
        with self.bench.store.transaction() as tx:
            stored = tx.load_jobs(ids)
            leases = tx.load_leases(ids)
        for known in self.model.jobs.values():
            found = stored.get(known.id)
            if known.removed:
                assert found is None, f"job {known.id} was removed and is still there"
                assert known.id not in leases, f"a lease is left of the removed job {known.id}"
                continue
            assert found is not None, f"job {known.id} ({known.state}) was answered and is lost"
            self._compare(known, *found)

    def _compare(self, known: Known, job: Job, lease: Lease | None) -> None:
        about = f"job {known.id} after {known.story}"
        assert job.state == known.state, f"{about} is {job.state}, not {known.state}"
        assert (job.attempt, job.releases) == (known.attempt, known.releases), (
            f"{about} counts {job.attempt} attempts and {job.releases} releases, "
            f"not {known.attempt} and {known.releases}"
        )
        assert job.attempt == known.deliveries, f"{about}: attempts are not the deliveries"
        assert job.due_at == known.due, f"{about} is due at {job.due_at}, not {known.due}"
        assert (lease is not None) == (known.state == "active"), f"{about}: lease {lease}"
        if lease is not None:
            held = (lease.worker_id, lease.attempt)
            assert held == (known.holder, known.attempt), f"{about} is held by {held}"
            # A BEAT may leave a lease alone while 98 % of it remain.
            short = known.lease_end - lease.expires_at
            assert 0 <= short <= LEASE_MS * 0.02, f"{about}: the lease ends {short} ms early"

    @invariant()
    def counters_equal_a_recount(self) -> None:
        """Jobs by queue and state."""
        with self.bench.store.reader() as reader:
            queues = reader.queues()
        counted = {
            queue.name: {str(state): n for state, n in queue.counts.items() if n}
            for queue in queues
        }
        wanted = self.model.counts()
        for name in {*counted, *wanted}:
            assert counted.get(name, {}) == dict(wanted.get(name, {})), (
                f"the counters of {name} say {counted.get(name)}, a recount says {wanted.get(name)}"
            )

    @invariant()
    def every_change_was_told_in_order(self) -> None:
        """The events of each job are its history."""
        for subject, kind in self._news():
            if subject in self.model.jobs and kind != "job.heartbeat":
                self._stories.setdefault(subject, []).append(kind)
        for job_id, known in self.model.jobs.items():
            told = self._stories.get(job_id, [])
            assert told == known.story, f"of job {job_id} was told {told}, not {known.story}"

    def _news(self) -> Iterator[tuple[str, str]]:
        more = True
        while more:
            with self.bench.store.reader() as reader:
                page = reader.events(self._cursor, EventFilter(), 1000)
            assert page.cursor >= self._cursor, "the cursor of the event log went back"
            self._cursor, more = page.cursor, page.has_more
            for placed in page.events:
                yield placed.event.subject, placed.event.type
