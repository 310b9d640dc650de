"""Unique jobs: conflicts by state and period."""

from collections.abc import Callable
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, Duplicate
from ojs_server.domain.retention import DAY
from ojs_server.ops.jobs.settle import Activate, Cancel, Revive
from tests.ops.bench import Bench, enqueue

ID = "0190a0f0-0000-7000-8000-00000000000a"
Json = dict[str, Any]


def once(**policy: Any) -> Json:
    """The options of a job that is unique by its type, unless said otherwise."""
    return {"unique": policy}


def refused(bench: Bench, **given: Any) -> Json:
    """Return the details of a refused enqueue; nothing may be stored by it."""
    before = bench.counts()
    with pytest.raises(Duplicate) as error:
        bench.do(enqueue(**given))
    assert bench.counts() == before
    return dict(error.value.details or {})


def replaced(bench: Bench, old: str, **given: Any) -> str:
    """Enqueue a job that takes another's place; answers its id."""
    outcome = bench.do(enqueue(**given))
    assert outcome.created
    assert bench.state(old) == "cancelled"
    new: str = outcome.jobs[0].job.id
    assert new != old
    return new


def in_state(bench: Bench, state: str, **given: Any) -> str:
    """A job in any of the eight states."""
    if state == "scheduled":
        return bench.put(scheduled_at="+PT1H", **given)
    job_id = bench.put(pending=state == "pending", **given)
    if state in ("active", "completed", "retryable", "discarded"):
        bench.take()
    if state == "completed":
        bench.ack(job_id)
    elif state == "cancelled":
        bench.do(Cancel(job_id))
    elif state in ("retryable", "discarded"):
        bench.fail(job_id, {"retryable": state == "retryable"})
    assert bench.state(job_id) == state
    return job_id


def test_the_second_of_two_equal_jobs_is_refused(bench: Bench) -> None:
    first = bench.put(**once(keys=["args"]), args=[1])
    details = refused(bench, **once(keys=["args"]), args=[1])
    assert len(bytes.fromhex(details.pop("uniqueness_key"))) == 32
    assert details == {"existing_job_id": first, "existing_job_state": "available"}
    bench.put(**once(keys=["args"]), args=[2])
    bench.put(**once(keys=["args"]), args=[1], type="u")
    assert bench.event_types(first) == ["job.enqueued"]


def test_a_job_without_a_policy_meets_nobody(bench: Bench) -> None:
    bench.put(**once())
    bench.put()
    bench.put()
    assert bench.counts() == {"available": 3}


def test_equal_jobs_of_different_queues_meet_unless_the_queue_counts(bench: Bench) -> None:
    bench.put(**once())
    assert refused(bench, **once(), queue="r")
    bench.put(**once(keys=["queue"]))
    bench.put(**once(keys=["queue"]), queue="r")
    assert refused(bench, **once(keys=["queue"]))


def test_named_arguments_and_members_of_meta_decide(bench: Bench) -> None:
    policy = once(args_keys=["user"], meta_keys=["tenant"])
    bench.put(**policy, args=["x", {"user": 1, "at": 1}], meta={"tenant": "a", "trace": 1})
    assert refused(bench, **policy, args=[{"user": 1}], meta={"tenant": "a", "trace": 2})
    bench.put(**policy, args=[{"user": 2}], meta={"tenant": "a"})
    bench.put(**policy, args=[{"user": 1}], meta={"tenant": "b"})


@pytest.mark.parametrize("state", ["available", "active", "scheduled", "retryable", "pending"])
def test_by_default_every_unfinished_job_stands_in_the_way(bench: Bench, state: str) -> None:
    first = in_state(bench, state, **once())
    details = refused(bench, **once())
    assert (details["existing_job_id"], details["existing_job_state"]) == (first, state)


@pytest.mark.parametrize("state", ["completed", "cancelled", "discarded"])
def test_a_finished_job_stands_in_the_way_where_its_state_is_named(
    bench: Bench, state: str
) -> None:
    first = in_state(bench, state, **once())
    details = refused(bench, **once(states=[state]))
    assert (details["existing_job_id"], details["existing_job_state"]) == (first, state)
    bench.put(**once())


def test_the_state_that_counts_is_the_one_of_the_moment(bench: Bench) -> None:
    first = bench.put(**once(states=["available"]))
    assert refused(bench, **once(states=["available"]))
    bench.take()
    second = bench.put(**once(states=["available"]))
    assert refused(bench, **once(states=["active"]))["existing_job_id"] == first
    assert refused(bench, **once())["existing_job_id"] == second


def test_a_job_that_comes_back_is_not_asked_again(bench: Bench) -> None:
    first = in_state(bench, "discarded", **once())
    second = bench.put(**once())
    bench.do(Revive(first))
    assert bench.counts() == {"available": 2}
    assert refused(bench, **once())["existing_job_id"] in (first, second)


def test_a_period_ends_with_the_clock(bench: Bench) -> None:
    policy = once(period="PT2S")
    bench.put(**policy)
    bench.clock.advance(1999)
    assert refused(bench, **policy)
    bench.clock.advance(1)
    second = bench.put(**policy)
    bench.clock.advance(1999)
    assert refused(bench, **policy)["existing_job_id"] == second
    # Each policy has its own period; without one the oldest job counts, too.
    bench.clock.advance(10_000)
    assert refused(bench, **once(period="PT1H"))
    assert refused(bench, **once())
    assert bench.counts() == {"available": 2}


def test_a_period_covers_named_states_only(bench: Bench) -> None:
    policy = once(period="PT1M", states=["completed"])
    first = in_state(bench, "completed", **policy)
    assert refused(bench, **policy)["existing_job_id"] == first
    bench.put(**once())
    bench.clock.advance(60_000)
    bench.put(**policy)


def test_a_job_that_was_removed_is_forgotten(bench: Bench) -> None:
    in_state(bench, "completed", **once())
    everything = once(states=["available", "completed"])
    assert refused(bench, **everything)
    bench.clock.advance(7 * DAY)
    assert bench.sweep().removed == 1
    bench.put(**everything)


def test_ignore_answers_with_the_job_that_is_there(bench: Bench) -> None:
    policy = once(on_conflict="ignore")
    made = bench.do(enqueue(**policy, args=[1], meta={"a": 1}))
    again = bench.do(enqueue(**policy, args=[2]))
    assert (made.created, again.created) == (True, False)
    assert again.jobs == made.jobs
    bench.take()
    held = bench.do(enqueue(**policy))
    assert [stored.job.state for stored in held.jobs] == ["active"]
    assert bench.counts() == {"active": 1}


@pytest.mark.parametrize("state", ["available", "active", "scheduled", "retryable", "pending"])
def test_replace_cancels_the_job_that_is_there(bench: Bench, state: str) -> None:
    old = in_state(bench, state, **once())
    new = replaced(bench, old, **once(on_conflict="replace"), args=[2])
    assert bench.state(new) == "available"
    assert bench.event_types(old)[-1] == "job.cancelled"
    assert bench.counts() == {"available": 1, "cancelled": 1}
    assert bench.take_ids(count=9) == [new]


def test_the_worker_of_a_replaced_job_hears_of_it(bench: Bench) -> None:
    old = bench.put(**once())
    bench.take("w")
    replaced(bench, old, **once(on_conflict="replace"))
    assert bench.lease(old) is None
    assert bench.beat("w", [old]).cancelled == (old,)
    with pytest.raises(Conflict):
        bench.ack(old)


def test_replace_leaves_a_finished_job_as_it_is(bench: Bench) -> None:
    old = in_state(bench, "completed", **once())
    new = bench.put(**once(on_conflict="replace", states=["completed", "available"]))
    assert (bench.state(old), bench.state(new)) == ("completed", "available")
    replaced(bench, new, **once(on_conflict="replace", states=["completed", "available"]))


def test_replace_except_schedule_keeps_the_moment(bench: Bench) -> None:
    policy = once(on_conflict="replace_except_schedule")
    old = bench.put(**policy, args=[1], scheduled_at="+PT1H")
    moment = bench.job(old).scheduled_at
    bench.clock.advance(5000)
    new = replaced(bench, old, **policy, args=[2], meta={"b": 2}, scheduled_at="+PT9H")
    job = bench.job(new)
    assert (job.state, job.scheduled_at, job.due_at) == ("scheduled", moment, moment)
    with bench.store.reader() as reader:
        found = reader.job(new)
    assert found is not None
    assert (found[0].args, found[0].meta) == (b"[2]", b'{"b":2}')
    assert bench.event_types(new) == ["job.scheduled"]
    third = replaced(bench, new, **policy)
    assert bench.job(third).scheduled_at == moment


def test_replace_except_schedule_is_replace_where_nothing_is_scheduled(bench: Bench) -> None:
    policy = once(on_conflict="replace_except_schedule")
    old = bench.put(**policy)
    new = replaced(bench, old, **policy, scheduled_at="+PT1H")
    assert bench.job(new).scheduled_at == bench.clock.now + 3_600_000
    plain = replaced(bench, new, **once(on_conflict="replace"))
    assert bench.job(plain).scheduled_at is None


def test_a_batch_is_refused_whole_by_one_job_that_is_there(bench: Bench) -> None:
    first = bench.put(**once())
    details = refused(bench, jobs=[{"type": "u"}, once(), {"type": "v"}])
    assert (details["index"], details["existing_job_id"]) == (1, first)
    assert bench.counts() == {"available": 1}


@pytest.mark.parametrize("mode", ["reject", "replace", "replace_except_schedule"])
def test_a_batch_with_the_same_job_twice_is_refused(bench: Bench, mode: str) -> None:
    bench.put(type="other")
    details = refused(bench, jobs=[{"type": "u"}, once(), once(on_conflict=mode)])
    assert (details["index"], details["existing_index"]) == (2, 1)


def test_in_a_batch_ignore_is_answered_with_the_job_before(bench: Bench) -> None:
    policy = once(on_conflict="ignore")
    there = bench.put(**policy, type="there")
    outcome = bench.do(enqueue(jobs=[policy, {**policy, "type": "there"}, policy]))
    one, two, three = (stored.job.id for stored in outcome.jobs)
    assert outcome.created
    assert (one, two) == (three, there)
    again = bench.do(enqueue(jobs=[policy, policy]))
    assert not again.created
    assert [stored.job.id for stored in again.jobs] == [one, one]
    assert bench.counts() == {"available": 2}


def test_jobs_of_a_batch_that_do_not_meet_are_all_stored(bench: Bench) -> None:
    policy = once(states=["completed"])
    assert bench.do(enqueue(jobs=[policy, policy, {**once(keys=["args"]), "args": [1]}])).created
    assert bench.counts() == {"available": 3}


def test_a_job_is_replaced_once_in_a_batch(bench: Bench) -> None:
    old = bench.put(**once())
    policy = once(on_conflict="replace", states=["available"])
    outcome = bench.do(enqueue(jobs=[{**policy, "pending": True}, policy]))
    assert outcome.created
    assert bench.event_types(old) == ["job.enqueued", "job.cancelled"]
    assert bench.counts() == {"available": 1, "pending": 1, "cancelled": 1}


def test_equal_requests_of_one_breath_are_put_into_two_transactions(bench: Bench) -> None:
    one, other = enqueue(**once()), enqueue(**once(on_conflict="ignore", period="PT1S"))
    assert set(one.keys) & set(other.keys)
    assert not set(one.keys) & set(enqueue(**once(), type="u").keys)
    assert enqueue().keys == ()


def test_requests_of_one_transaction_do_not_disturb_each_other(bench: Bench) -> None:
    old = bench.put(**once(), type="u")
    bench.put(**once())
    plain, bad, good, ignored = bench.commit(
        enqueue(),
        enqueue(**once()),
        enqueue(**once(on_conflict="replace"), type="u"),
        enqueue(**once(on_conflict="ignore", keys=["queue"]), key="k"),
    ).outcomes
    assert isinstance(bad, Duplicate)
    assert plain.created
    assert good.created
    assert ignored.created
    assert bench.state(old) == "cancelled"
    assert bench.counts() == {"available": 4, "cancelled": 1}


def test_a_repetition_by_key_comes_before_the_policy(bench: Bench) -> None:
    made = bench.do(enqueue(**once(), key="k"))
    again = bench.do(enqueue(**once(), key="k"))
    assert (again.created, again.jobs) == (False, made.jobs)
    assert refused(bench, **once(), key="l")


def test_a_repetition_by_id_comes_before_the_policy(bench: Bench) -> None:
    bench.put(**once(on_conflict="replace"), id=ID)
    again = bench.do(enqueue(**once(on_conflict="replace"), id=ID))
    assert not again.created
    assert bench.state(ID) == "available"


def test_a_refused_request_leaves_its_key_free(bench: Bench) -> None:
    first = bench.put(**once())
    assert refused(bench, **once(), key="k")
    bench.do(Cancel(first))
    assert bench.do(enqueue(**once(), key="k")).created


def test_a_key_remembers_the_job_that_was_there(bench: Bench) -> None:
    policy = once(on_conflict="ignore")
    first = bench.put(**policy)
    assert not bench.do(enqueue(**policy, key="k")).created
    bench.do(Cancel(first))
    again = bench.do(enqueue(**policy, key="k"))
    assert [stored.job.id for stored in again.jobs] == [first]
    assert not again.created
    mixed: Json = {"key": "m", "jobs": [policy, policy, {"type": "u"}]}
    made = bench.do(enqueue(**mixed))
    repeated = bench.do(enqueue(**mixed))
    assert (made.created, repeated.created) == (True, False)
    assert repeated.jobs == made.jobs


def test_a_job_that_was_activated_still_stands_in_the_way(bench: Bench) -> None:
    first = bench.put(**once(), pending=True)
    bench.do(Activate(first))
    assert refused(bench, **once())["existing_job_state"] == "available"


def test_jobs_without_a_policy_cost_no_statement(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench.store.transaction() as tx:
        kind = type(tx)
    asked: list[str] = []

    def note(name: str) -> Callable[..., Json]:
        def called(*given: object) -> Json:
            asked.append(name)
            return {}

        return called

    for name in ("lock_unique", "find_unique", "load_jobs"):
        monkeypatch.setattr(kind, name, note(name))
    bench.put()
    bench.do(enqueue(jobs=[{}] * 3, key="k"))
    assert asked == []
    bench.put(**once())
    assert asked == ["lock_unique", "find_unique"]
