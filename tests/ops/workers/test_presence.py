"""Registration, directives, removal and death of workers."""

import pytest

from ojs_server.domain.errors import NotFound
from ojs_server.domain.workers.worker import Directive
from ojs_server.ops.workers.presence import Deregister, Direct, Register
from tests.ops.bench import Bench
from tests.ops.model import DEAD_LETTERED

PROFILE = {"hostname": "h", "queues": ["q"], "concurrency": 4}


def test_registering_counts_for_the_sweeper_but_is_no_beat(bench: Bench) -> None:
    known = bench.do(Register("w", PROFILE))
    worker = bench.worker()
    assert known.worker == worker
    assert known.now == bench.clock.now
    assert (worker.alive_at, worker.beat_at, worker.incarnation) == (bench.clock.now, None, 1)
    ((kind, said),) = bench.events_of("w")
    assert kind == "worker.started"
    assert (said["queues"], said["concurrency"], said["registered"]) == (["q"], 4, True)


def test_registering_again_starts_a_new_incarnation_without_directive(bench: Bench) -> None:
    bench.do(Register("w", PROFILE))
    bench.do(Direct(Directive.TERMINATE, "w"))
    bench.clock.advance(1000)
    bench.do(Register("w", {"hostname": "new"}))
    worker = bench.worker()
    assert (worker.incarnation, worker.directive, worker.state) == (2, None, "running")
    assert worker.profile == b'{"hostname":"new"}'
    assert worker.created_at == bench.clock.now - 1000


def test_a_commit_expects_the_death_of_who_registered(bench: Bench) -> None:
    assert bench.commit(Register("w", {})).due_at == bench.clock.now + 30_000


def test_deregistering_returns_the_jobs_and_says_why(bench: Bench) -> None:
    first, second, foreign = bench.put(), bench.put(), bench.put()
    bench.beat()
    bench.take("w", 2)
    bench.take("x")
    bench.do(Deregister("w"))
    for job_id in (first, second):
        assert bench.state(job_id) == "available"
        assert bench.error(job_id)["type"] == "shutdown"
        assert bench.lease(job_id) is None
    assert bench.state(foreign) == "active"
    worker = bench.worker()
    assert (worker.state, worker.gone_at) == ("terminated", bench.clock.now)
    kind, said = bench.events_of("w")[-1]
    assert (kind, said["reason"], said["jobs_returned"]) == ("worker.stopped", "shutdown", 2)
    assert bench.take_ids("x", 5) == [first, second]
    assert bench.job(first).attempt == 2


def test_deregistering_twice_or_unknown(bench: Bench) -> None:
    bench.do(Register("w", {}))
    bench.do(Deregister("w"))
    gone = bench.worker()
    bench.clock.advance(1000)
    assert bench.do(Deregister("w")).worker == gone
    assert bench.event_types("w") == ["worker.started", "worker.offline", "worker.stopped"]
    with pytest.raises(NotFound) as refused:
        bench.do(Deregister("nobody"))
    assert refused.value.details == {"resource_type": "worker", "resource_id": "nobody"}


def test_operators_direct_one_worker_or_all_that_are_there(bench: Bench) -> None:
    for worker in ("a", "b", "gone"):
        bench.do(Register(worker, {}))
    bench.do(Deregister("gone"))
    assert bench.do(Direct(Directive.QUIET, "a")).updated == 1
    assert (bench.worker("a").directive, bench.worker("b").directive) == ("quiet", None)
    assert bench.do(Direct(Directive.TERMINATE)).updated == 2
    assert (bench.worker("a").directive, bench.worker("b").directive) == ("terminate",) * 2
    assert bench.worker("gone").directive is None
    for worker in ("gone", "nobody"):
        with pytest.raises(NotFound):
            bench.do(Direct(Directive.QUIET, worker))


def test_a_silent_worker_is_dead_and_its_jobs_are_for_others(bench: Bench) -> None:
    listed, unlisted = bench.put(), bench.put()
    bench.beat()
    bench.take("w", 2)
    bench.beat(ids=[listed])
    bench.clock.advance(29_999)
    assert bench.sweep().dead == 0
    bench.clock.advance(1)
    assert bench.sweep().dead == 1
    for job_id in (listed, unlisted):
        assert bench.state(job_id) == "available"
        assert bench.error(job_id)["type"] == "worker_death"
        assert bench.job(job_id).attempt == 1
    assert bench.worker().state == "terminated"
    kind, said = bench.events_of("w")[-1]
    assert (kind, said["reason"]) == ("worker.stopped", "error")
    assert bench.sweep().dead == 0


def test_a_death_that_uses_up_the_attempts_discards(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 1})
    bench.beat()
    bench.take("w")
    bench.clock.advance(30_000)
    bench.sweep()
    assert bench.state(job_id) == "discarded"
    assert bench.error(job_id)["type"] == "worker_death"
    assert bench.event_types(job_id)[-3:] == ["job.failed", *DEAD_LETTERED]


def test_a_registered_worker_that_never_beats_dies_as_well(bench: Bench) -> None:
    bench.do(Register("w", {}))
    bench.clock.advance(30_000)
    assert bench.sweep().dead == 1


def test_a_worker_that_only_fetches_never_dies(bench: Bench) -> None:
    job_id = bench.put()
    bench.take("w")
    bench.clock.advance(1_799_999)
    assert bench.sweep().dead == 0
    assert bench.state(job_id) == "active"
    # Its job relies on its lease.
    bench.clock.advance(1)
    assert bench.sweep().lapsed == 1
    assert bench.error(job_id)["type"] == "visibility_timeout"


def test_a_beating_worker_keeps_its_jobs_for_ever(bench: Bench) -> None:
    job_id = bench.put(visibility_timeout=10)
    bench.take("w")
    for _ in range(50):
        bench.beat(ids=[job_id])
        bench.clock.advance(9_000)
        bench.sweep()
    assert bench.state(job_id) == "active"
    assert bench.job(job_id).attempt == 1


def test_a_worker_thought_dead_comes_back_without_its_jobs(bench: Bench) -> None:
    job_id = bench.put()
    bench.beat()
    bench.take("w")
    bench.clock.advance(30_000)
    bench.sweep()
    beaten = bench.beat(ids=[job_id])
    assert (beaten.lost, beaten.registered) == ((job_id,), False)
    assert bench.worker().incarnation == 2
    assert bench.take_ids("w") == [job_id]
