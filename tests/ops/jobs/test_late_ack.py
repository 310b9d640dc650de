"""Late completion on both stores: who may, the next holder's outcome, and the cost."""

from typing import Any

import pytest

from ojs_server.domain.errors import Conflict
from ojs_server.domain.profile import PROFILES
from ojs_server.ops.jobs.settle import Ack, Repeated, Revive
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from tests.ops.bench import Bench

MINUTE = 60_000


def taken(bench: Bench, worker: str = "w", **given: Any) -> None:
    """The only job, in the hands of a worker that may complete it late."""
    given.setdefault("late_ack", "accept_unfinished")
    assert len(bench.take(worker, lease_ms=MINUTE, **given)) == 1


def lapse(bench: Bench) -> None:
    """Let the lease of whoever has the job run out."""
    bench.clock.advance(MINUTE)
    assert bench.sweep().lapsed == 1


def lost(bench: Bench, **given: Any) -> str:
    """A job that `w` has lost and may still complete."""
    job_id = bench.put(**given)
    taken(bench)
    lapse(bench)
    return job_id


def test_a_job_that_waits_is_completed_by_who_lost_it(bench: Bench) -> None:
    job_id = lost(bench)
    assert bench.counts() == {"available": 1}
    bench.ack(job_id, "w", 1)
    job = bench.job(job_id)
    assert (job.state, job.attempt, job.error) == ("completed", 1, None)
    assert job.started_at is not None
    assert bench.counts() == {"completed": 1}
    kind, told = bench.events_of(job_id)[-1]
    assert (kind, told["worker_id"], told["duration_ms"]) == ("job.completed", "w", MINUTE)


def test_the_lease_of_the_next_holder_is_over(bench: Bench) -> None:
    job_id = lost(bench)
    taken(bench, "x")
    bench.ack(job_id, "w")
    assert bench.lease(job_id) is None
    beaten = bench.beat("x", [job_id])
    assert (beaten.lost, beaten.extended) == ((job_id,), ())
    for attempt in (2, None):
        with pytest.raises(Conflict, match="is completed"):
            bench.ack(job_id, "x", attempt)


def test_the_next_holder_does_not_take_a_late_ack_for_its_own(bench: Bench) -> None:
    job_id = lost(bench)
    taken(bench, "x")
    first = Ack(job_id, "w", 1, b"1")
    assert bench.do(SettleAndFetch((first,))).settled[0].after.state == "completed"
    (again,) = bench.do(SettleAndFetch((first,))).settled
    assert isinstance(again, Repeated)
    assert isinstance(bench.do(Ack(job_id, "w", 1)), Repeated)
    (other,) = bench.do(SettleAndFetch((Ack(job_id, "x", 2, b"2"),))).settled
    assert isinstance(other, Conflict)


@pytest.mark.parametrize(
    ("worker", "attempt"), [("x", 1), ("x", None), (None, 1), ("w", 2), ("w", 0)]
)
def test_nobody_else_completes_late(bench: Bench, worker: str | None, attempt: int | None) -> None:
    job_id = lost(bench)
    with pytest.raises(Conflict):
        bench.ack(job_id, worker, attempt)
    assert bench.state(job_id) == "available"


@pytest.mark.parametrize("mode", [None, "reject"])
def test_without_the_mode_a_late_ack_is_refused(bench: Bench, mode: Any) -> None:
    job_id = bench.put(retry={"max_attempts": 1})
    taken(bench, late_ack=mode)
    lapse(bench)
    with pytest.raises(Conflict):
        bench.ack(job_id, "w", 1)
    assert bench.state(job_id) == "discarded"


def test_the_server_may_set_the_mode(with_rules: Any) -> None:
    bench: Bench = with_rules(Rules(profile=PROFILES["zeebe"]))
    job_id = bench.put()
    taken(bench, late_ack=None)
    lapse(bench)
    bench.ack(job_id, "w", 1)


def test_a_late_fail_is_refused_in_every_mode(bench: Bench) -> None:
    job_id = lost(bench)
    taken(bench, "x")
    with pytest.raises(Conflict):
        bench.fail(job_id, worker_id="w", attempt=1)
    assert bench.lease(job_id) is not None


def test_slow_workers_finish_eventually(bench: Bench) -> None:
    """200 seconds of work, leases of 60, three attempts: the first worker's ACK completes it."""
    job_id = bench.put(retry={"max_attempts": 3})
    for worker in ("first", "second", "third"):
        taken(bench, worker)
        lapse(bench)
    taken(bench, "fourth")
    bench.clock.advance(20_000)
    job = bench.job(job_id)
    assert (job.attempt, job.releases) == (4, 3)
    bench.ack(job_id, "first", 1)
    assert bench.job(job_id).attempt == 1


def test_a_failure_still_counts(bench: Bench) -> None:
    job_id = lost(bench, retry={"max_attempts": 1})
    taken(bench, "x")
    bench.fail(job_id, worker_id="x", attempt=2)
    with pytest.raises(Conflict, match="is discarded"):
        bench.ack(job_id, "w", 1)


def test_who_died_may_complete_late_but_its_attempt_counts(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 3})
    bench.beat("w")
    taken(bench)
    bench.clock.advance(30_000)
    assert bench.sweep().dead == 1
    assert bench.job(job_id).releases == 0
    bench.ack(job_id, "w", 1)


def test_who_gave_a_job_back_does_not_complete_it(bench: Bench) -> None:
    job_id = bench.put()
    taken(bench)
    bench.fail(job_id, requeue=True, worker_id="w", attempt=1)
    with pytest.raises(Conflict):
        bench.ack(job_id, "w", 1)


def test_a_new_start_forgets_who_lost_the_job(bench: Bench) -> None:
    job_id = lost(bench)
    taken(bench, "x")
    bench.fail(job_id, {"retryable": False}, worker_id="x", attempt=2)
    bench.do(Revive(job_id))
    with pytest.raises(Conflict):
        bench.ack(job_id, "w", 1)


def test_what_was_noted_goes_with_the_job(bench: Bench) -> None:
    job_id = lost(bench)
    bench.ack(job_id, "w", 1)
    bench.clock.advance(bench.rules.keep.completed_ms)
    bench.sweep()
    assert not bench.exists(job_id)
    with bench.store.transaction() as tx:
        assert tx.load_earlier(job_id) == []


def test_a_beat_may_leave_leases_as_they_are(bench: Bench) -> None:
    kept, done = bench.put(), bench.put()
    bench.take("w", 2, lease_ms=MINUTE)
    bench.ack(done, "w", 1)
    before = bench.lease(kept)
    bench.clock.advance(MINUTE // 2)
    beaten = bench.beat("w", [kept, done], extend=False)
    assert (beaten.extended, beaten.lost) == ((), (done,))
    assert bench.lease(kept) == before
    assert bench.beat("w", [kept]).extended == (kept,)
    assert bench.lease(kept) != before


def test_only_leases_of_that_mode_are_written_down(bench: Bench) -> None:
    job_id = bench.put()
    taken(bench, late_ack="reject")
    lapse(bench)
    assert bench.job(job_id).attached == 0
