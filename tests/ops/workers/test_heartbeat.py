"""BEAT: extends leases, reports lost and cancelled jobs, delivers directives."""

from collections.abc import Callable
from typing import Any

import pytest

from ojs_server.domain.workers.worker import Directive, WorkerState
from ojs_server.ops.jobs.settle import Cancel
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.presence import Deregister, Direct, Register
from tests.ops.bench import Bench

NOBODY = "0190a0f0-0000-7000-8000-00000000000f"


def held(bench: Bench, worker: str | None = "w", **given: Any) -> str:
    """A job in a worker's hands, leased for 10 s."""
    job_id = bench.put(visibility_timeout=10, **given)
    assert bench.take_ids(worker) == [job_id]
    return job_id


def end_of(bench: Bench, job_id: str) -> int:
    """Return the remaining time of a job's lease."""
    lease = bench.lease(job_id)
    assert lease is not None
    return lease.expires_at - bench.clock.now


@pytest.mark.parametrize(
    ("waited", "left"), [(0, 10_000), (199, 9801), (200, 9800), (201, 10_000), (9_999, 10_000)]
)
def test_a_lease_is_written_again_once_two_percent_are_gone(
    bench: Bench, waited: int, left: int
) -> None:
    job_id = held(bench)
    bench.clock.advance(waited)
    assert bench.beat(ids=[job_id]).extended == (job_id,)
    assert end_of(bench, job_id) == left
    renewed = "job.heartbeat" in bench.event_types(job_id)
    assert renewed == (waited > 200)


def test_each_job_is_kept_for_its_own_full_duration(bench: Bench) -> None:
    short = held(bench)
    long = bench.put()
    bench.take_ids("w", lease_ms=60_000)
    bench.clock.advance(5000)
    bench.beat(ids=[short, long])
    assert (end_of(bench, short), end_of(bench, long)) == (10_000, 60_000)


def test_a_beat_may_ask_for_another_duration_this_time_only(bench: Bench) -> None:
    job_id = held(bench)
    bench.beat(ids=[job_id], lease_ms=90_000)
    assert end_of(bench, job_id) == 90_000
    bench.clock.advance(85_000)
    bench.beat(ids=[job_id])
    assert end_of(bench, job_id) == 10_000


def test_only_listed_jobs_are_kept(bench: Bench) -> None:
    listed, silent = held(bench), held(bench)
    bench.clock.advance(5000)
    for ids in ([listed], [listed, listed]):
        assert bench.beat(ids=ids).extended == (listed,)
    assert (end_of(bench, listed), end_of(bench, silent)) == (10_000, 5000)
    assert bench.beat(ids=None).extended == ()


def test_what_is_not_held_is_reported_as_lost(bench: Bench) -> None:
    mine, foreign, done, waiting = held(bench), held(bench, "x"), held(bench), bench.put()
    bench.ack(done)
    beaten = bench.beat(ids=[foreign, mine, done, waiting, NOBODY, "no id at all"])
    assert beaten.extended == (mine,)
    assert beaten.lost == (foreign, done, waiting, NOBODY, "no id at all")
    assert beaten.cancelled == ()
    assert end_of(bench, foreign) == 10_000
    assert bench.state(waiting) == "available"


def test_a_cancelled_job_is_told_as_such(bench: Bench) -> None:
    cancelled, mine = held(bench), held(bench)
    bench.do(Cancel(cancelled))
    beaten = bench.beat(ids=[cancelled, mine])
    assert (beaten.extended, beaten.lost, beaten.cancelled) == ((mine,), (), (cancelled,))


def test_an_anonymous_lease_is_kept_by_whoever_lists_it(bench: Bench) -> None:
    job_id = held(bench, None)
    bench.clock.advance(5000)
    assert bench.beat("anybody", [job_id]).extended == (job_id,)
    assert end_of(bench, job_id) == 10_000


def test_a_late_beat_keeps_a_job_that_nobody_took_back_yet(bench: Bench) -> None:
    job_id = held(bench)
    bench.clock.advance(20_000)
    assert bench.beat(ids=[job_id]).extended == (job_id,)
    bench.sweep()
    assert bench.state(job_id) == "active"


def test_the_first_beat_makes_the_worker_known(bench: Bench) -> None:
    beaten = bench.beat(profile={"hostname": "h", "queues": ["q"], "concurrency": 4})
    assert (beaten.state, beaten.registered) == (WorkerState.RUNNING, False)
    worker = bench.worker()
    assert (worker.alive_at, worker.beat_at, worker.seen_at) == (bench.clock.now,) * 3
    assert bench.beat().registered
    ((kind, said),) = bench.events_of("w")
    assert kind == "worker.started"
    assert (said["worker_id"], said["queues"], said["concurrency"]) == ("w", ["q"], 4)


def test_a_worker_that_fetched_before_its_first_beat_is_told_of_as_well(bench: Bench) -> None:
    bench.take("w")
    assert bench.event_types("w") == []
    bench.beat()
    bench.beat()
    assert bench.event_types("w") == ["worker.started"]
    assert bench.events_of("w")[0][1]["queues"] == []


def test_the_profile_keeps_the_newest_word(bench: Bench) -> None:
    bench.do(Register("w", {"hostname": "h", "concurrency": 1}))
    bench.beat(profile={"concurrency": 2})
    bench.beat()
    assert bench.worker().profile in (
        b'{"hostname":"h","concurrency":2}',
        b'{"concurrency":2,"hostname":"h"}',
    )


def test_a_directive_stands_and_a_resume_is_over_once_the_worker_runs(bench: Bench) -> None:
    bench.beat()
    bench.do(Direct(Directive.QUIET, "w"))
    assert bench.beat().state is WorkerState.QUIET
    assert bench.beat(reported=WorkerState.QUIET).state is WorkerState.QUIET
    bench.do(Direct(Directive.RESUME, "w"))
    assert bench.beat(reported=WorkerState.QUIET).state is WorkerState.RUNNING
    assert bench.worker().directive == "resume"
    assert bench.beat().state is WorkerState.RUNNING
    assert bench.worker().directive is None
    # The next quiet is the worker's own, and no resume is left over to lift it.
    assert bench.beat(reported=WorkerState.QUIET).state is WorkerState.QUIET


def test_terminate_is_the_furthest_and_is_never_taken_back(bench: Bench) -> None:
    bench.beat()
    bench.do(Direct(Directive.TERMINATE))
    assert bench.beat().state is WorkerState.TERMINATE
    assert bench.beat(reported=WorkerState.QUIET).state is WorkerState.TERMINATE
    assert bench.beat(reported=WorkerState.TERMINATE).state is WorkerState.TERMINATE


def test_going_quiet_is_told_once(bench: Bench) -> None:
    bench.beat(ids=[held(bench)])
    bench.beat(reported=WorkerState.QUIET, ids=[NOBODY], draining=True)
    bench.beat(reported=WorkerState.QUIET)
    kind, said = bench.events_of("w")[-1]
    assert (kind, said) == ("worker.quiet", {"worker_id": "w", "active_jobs": 1})
    assert bench.event_types("w") == ["worker.started", "worker.quiet"]


def test_a_worker_that_was_gone_returns_as_a_new_incarnation(bench: Bench) -> None:
    bench.do(Register("w", {}))
    bench.do(Direct(Directive.QUIET, "w"))
    bench.do(Deregister("w"))
    beaten = bench.beat()
    assert (beaten.state, beaten.registered) == (WorkerState.RUNNING, False)
    worker = bench.worker()
    assert (worker.incarnation, worker.gone_at, worker.state) == (2, None, "running")
    assert worker.directive is None
    assert bench.beat().registered
    gone, back = ["worker.offline", "worker.stopped"], ["worker.started", "worker.online"]
    assert bench.event_types("w") == ["worker.started", *gone, *back]


@pytest.mark.parametrize(("conformance", "told"), [(True, "terminate"), (False, "running")])
def test_the_test_directive_of_a_held_job_counts_only_in_conformance_runs(
    with_rules: Callable[[Rules], Bench], conformance: bool, told: str
) -> None:
    bench = with_rules(Rules(conformance=conformance))
    job_id = held(bench, meta={"test_directive": "terminate"})
    other = held(bench, meta={"test_directive": ["quiet"]})
    plain = held(bench)
    assert bench.beat(ids=[job_id, other, plain]).state == told
    # The directive goes only to the holder, and only with a BEAT that lists the job.
    assert bench.beat(ids=[plain]).state is WorkerState.RUNNING
    assert bench.beat("x", [job_id]).state is WorkerState.RUNNING


def test_many_workers_beat_in_one_transaction(bench: Bench) -> None:
    jobs = {worker: held(bench, worker) for worker in "abc"}
    bench.clock.advance(5000)
    outcomes = bench.commit(
        *(Beat(worker, WorkerState.RUNNING, False, tuple(jobs.values())) for worker in "abc")
    ).outcomes
    assert [outcome.extended for outcome in outcomes] == [(jobs[w],) for w in "abc"]
    assert [len(outcome.lost) for outcome in outcomes] == [2, 2, 2]
    assert {end_of(bench, job_id) for job_id in jobs.values()} == {10_000}
