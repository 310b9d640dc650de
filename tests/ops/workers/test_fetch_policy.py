"""FETCH by the state of its worker: dead ones are revived, ones that left refused, others held."""

from collections.abc import Callable

import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.profile import PROFILES
from ojs_server.domain.workers.fetch_policy import Withheld
from ojs_server.domain.workers.worker import Presence, WorkerState
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.presence import Delete, Deregister, Register
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from tests.ops.bench import Bench

OTHERS = ["ojs", "jobmanager", "zeebe"]
WithRules = Callable[[Rules], Bench]


def under(with_rules: WithRules, profile: str) -> Bench:
    """A node under a profile."""
    return with_rules(Rules(profile=PROFILES[profile]))


def die(bench: Bench, worker: str = "w") -> None:
    """A worker that was heard of falls silent, and is declared dead."""
    silence_ms = bench.rules.profile.dead_after_ms
    assert silence_ms is not None
    bench.clock.advance(silence_ms)
    assert bench.sweep().dead == 1


@pytest.mark.parametrize("profile", ["ojs", "jobmanager"])
@pytest.mark.parametrize("heard", ["beat", "registration"])
def test_a_worker_that_was_declared_dead_comes_back_by_a_fetch(
    with_rules: WithRules, profile: str, heard: str
) -> None:
    bench = under(with_rules, profile)
    if heard == "beat":
        bench.beat()
    else:
        bench.do(Register("w", {"hostname": "h"}))
    before = bench.worker()
    die(bench)
    job_id = bench.put()
    assert bench.take_ids() == [job_id]
    worker = bench.worker()
    assert (worker.state, worker.incarnation) == ("running", before.incarnation + 1)
    assert (worker.gone_at, worker.deleted_at, worker.died) == (None, None, False)
    assert (worker.beat_at, worker.profile) == (before.beat_at, before.profile)
    assert bench.event_types("w")[-2:] == ["worker.started", "worker.online"]
    # It is judged by its silence like any other.
    assert bench.sweep().dead == 0
    die(bench)
    assert bench.error(job_id)["type"] == "worker_death"


def test_a_worker_that_came_back_gets_nothing_back_of_what_it_held(bench: Bench) -> None:
    lost = bench.put(retry={"max_attempts": 1})
    bench.beat()
    bench.take()
    die(bench)
    assert bench.take_ids() == []
    assert bench.state(lost) == "discarded"
    with pytest.raises(Conflict):
        bench.ack(lost, "w")


def test_the_dead_come_back_by_a_beat_or_a_registration_too(with_rules: WithRules) -> None:
    bench = under(with_rules, "jobmanager")
    for comes_back in (bench.beat, lambda: bench.do(Register("w", {}))):
        bench.beat()
        die(bench)
        comes_back()
        job_id = bench.put()
        assert bench.take_ids() == [job_id]


def test_where_beats_alone_count_the_dead_have_to_ping(with_rules: WithRules) -> None:
    bench = under(with_rules, "blackboard")
    bench.beat()
    die(bench)
    bench.put()
    before = bench.worker()
    with pytest.raises(Conflict, match="declared dead"):
        bench.take()
    assert bench.worker() == before
    bench.beat()
    assert len(bench.take()) == 1


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("how", ["deregister", "delete"])
def test_who_left_or_was_deleted_is_refused_and_stays_away(
    with_rules: WithRules, profile: str, how: str
) -> None:
    bench = under(with_rules, profile)
    bench.put()
    bench.beat()
    bench.do(Deregister("w") if how == "deregister" else Delete("w"))
    before = bench.worker()
    for _ in range(2):
        bench.clock.advance(60_000)
        with pytest.raises(Conflict, match="worker w"):
            bench.take()
    assert bench.worker() == before
    assert bench.counts() == {"available": 1}


# Under other profiles workers do not die, or are not deleted by dying.
@pytest.mark.parametrize("profile", ["ojs", "blackboard"])
def test_a_death_is_over_once_the_worker_is_deleted(with_rules: WithRules, profile: str) -> None:
    bench = under(with_rules, profile)
    bench.beat()
    die(bench)
    bench.clock.advance(bench.rules.profile.thresholds.deleted_ms)
    assert bench.sweep(check=True).noticed == 1
    with pytest.raises(Conflict, match="deleted"):
        bench.take()


def test_others_of_the_same_transaction_are_served_beside_a_refusal(bench: Bench) -> None:
    first, second = bench.put(), bench.put()
    bench.beat("gone")
    bench.do(Deregister("gone"))
    claims = [Claim(("q",), 1, worker) for worker in ("gone", "w", "v")]
    refused, *served = bench.commit(*claims).outcomes
    assert isinstance(refused, Conflict)
    assert [one[0].claimed.job.id for one in served] == [first, second]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_quiet_worker_hears_that_it_is_quiet(with_rules: WithRules, profile: str) -> None:
    bench = under(with_rules, profile)
    bench.put()
    bench.beat(reported=WorkerState.QUIET)
    found = bench.do(Claim(("q",), 1, "w"))
    assert (found, found.withheld) == ((), Withheld(WorkerState.QUIET))
    bench.beat()
    found = bench.do(Claim(("q",), 1, "w"))
    assert (len(found), found.withheld) == (1, None)


def test_where_beats_alone_count_a_fetch_is_none(with_rules: WithRules) -> None:
    bench = under(with_rules, "blackboard")
    bench.put()
    nothing = Withheld(presence=Presence.UNREACHABLE)
    assert bench.do(Claim(("q",), 1, "stranger")).withheld == nothing
    bench.do(Register("w", {}))
    assert bench.do(Claim(("q",), 1, "w")).withheld == nothing
    bench.beat()
    beaten = bench.worker()
    bench.clock.advance(119_999)
    assert len(bench.take()) == 1
    bench.clock.advance(1)
    assert bench.do(Claim(("q",), 1, "w")).withheld == nothing
    worker = bench.worker()
    assert (worker.alive_at, worker.beat_at) == (beaten.alive_at, beaten.beat_at)


@pytest.mark.parametrize("profile", OTHERS)
def test_a_fetch_is_a_sign_of_life_and_no_beat(with_rules: WithRules, profile: str) -> None:
    bench = under(with_rules, profile)
    bench.beat()
    beaten = bench.worker()
    for _ in range(20):
        bench.clock.advance(25_000)
        bench.take()
        bench.sweep(check=True)
    worker = bench.worker()
    assert (worker.alive_at, worker.seen_at) == (bench.clock.now, bench.clock.now)
    assert (worker.beat_at, worker.incarnation) == (beaten.beat_at, 1)
    assert (worker.state, worker.presence) == ("running", "online")


def test_settlements_are_done_beside_a_fetch_that_is_refused(bench: Bench) -> None:
    job_id = bench.put()
    bench.take("x")
    bench.beat()
    bench.do(Deregister("w"))
    done = bench.do(SettleAndFetch((Ack(job_id, "x", 1),), Claim(("q",), 1, "w")))
    assert bench.state(job_id) == "completed"
    assert (done.settled[0].after.state, done.jobs) == ("completed", ())
    assert isinstance(done.refusal, Conflict)


def test_a_call_that_asks_for_a_known_worker_makes_none(bench: Bench) -> None:
    bench.put()
    claims = [Claim(("q",), 1, "w", known=True), Claim(("q",), 1, "w")]
    refused, served = bench.commit(*claims).outcomes
    assert isinstance(refused, NotFound)
    assert len(served) == 1
