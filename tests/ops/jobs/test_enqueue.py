"""Enqueue: all jobs of a request or none, and repeated requests."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import MagicMock

import msgspec
import pytest

from ojs_server.domain.errors import Duplicate, NotFound
from ojs_server.domain.tenants.tenant import DEFAULT
from ojs_server.ops.jobs.settle import Cancel, Remove
from ojs_server.store.base import Store
from ojs_server.store.records import Preload
from tests.ops.bench import Bench, enqueue

ID = "0190a0f0-0000-7000-8000-00000000000a"
OTHER = "0190a0f0-0000-7000-8000-00000000000b"


def ids(outcome: Any) -> list[str]:
    return [stored.job.id for stored in outcome.jobs]


def test_a_job_is_stored_with_its_event_and_counter(bench: Bench) -> None:
    outcome = bench.do(enqueue(priority=4, meta={"a": 1}))
    assert outcome.created
    (job_id,) = ids(outcome)
    assert bench.job(job_id) == outcome.jobs[0].job
    assert bench.events_of(job_id) == [
        ("job.enqueued", {"job_id": job_id, "job_type": "t", "queue": "q", "priority": 4})
    ]
    assert bench.counts() == {"available": 1}


def test_jobs_that_wait_are_told_and_counted_by_their_state(bench: Bench) -> None:
    waits = bench.put(scheduled_at="+PT5S")
    held = bench.put(pending=True)
    assert bench.event_types(waits) == ["job.scheduled"]
    assert bench.event_types(held) == []
    assert bench.counts() == {"scheduled": 1, "pending": 1}


def test_a_commit_says_who_to_wake_and_when_to_look_again(bench: Bench) -> None:
    committed = bench.commit(
        enqueue(), enqueue(), enqueue(queue="r"), enqueue(scheduled_at="+PT5S", queue="s")
    )
    assert committed.wakes == {"q": 2, "r": 1}
    assert committed.due_at == bench.clock.now + 5000
    assert committed.now == bench.clock.now
    assert committed.ended == []


def test_new_jobs_have_distinct_ids_and_rising_places(bench: Bench) -> None:
    first = [stored.job for stored in bench.do(enqueue(jobs=[{}] * 50)).jobs]
    second = [stored.job for stored in bench.do(enqueue(jobs=[{}] * 50)).jobs]
    jobs = first + second
    assert len({job.id for job in jobs}) == 100
    assert [job.seq for job in jobs] == sorted({job.seq for job in jobs})


MANY_ALIKE: list[dict[str, Any]] = [{"args": [number]} for number in range(60)]
MIXED: list[dict[str, Any]] = [
    *({"type": f"t.{chr(97 + number % 2)}", "args": [number]} for number in range(40)),
    *({"scheduled_at": "+PT5S"} for _ in range(30)),
    *({"pending": True, "meta": {"n": number}} for number in range(30)),
    *({"meta": {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}} for _ in range(30)),
    *({"rate_limit": {"key": "k", "max_concurrent": 1}} for _ in range(30)),
    {"queue": "r", "expires_at": "+PT9S"},
]


def test_jobs_that_come_together_are_stored_as_if_each_came_alone(bench: Bench) -> None:
    bodies: list[list[dict[str, Any]]] = [
        MANY_ALIKE,
        [{"priority": 9}],
        [{}],
        MIXED,
        MIXED[:3],
        MANY_ALIKE[:7],
    ]
    outcomes = bench.commit(*(enqueue(jobs=some) for some in bodies)).outcomes
    jobs = [stored for outcome in outcomes for stored in outcome.jobs]
    assert [len(outcome.jobs) for outcome in outcomes] == list(map(len, bodies))
    assert [one.job.seq for one in jobs] == sorted({one.job.seq for one in jobs})
    assert [one.job.id for one in jobs] == sorted({one.job.id for one in jobs})
    for stored, body in zip(jobs, (body for some in bodies for body in some), strict=True):
        alone = bench.do(enqueue(**body)).jobs[0]
        own = {"id": stored.job.id, "seq": stored.job.seq}
        assert msgspec.structs.replace(alone.job, **own) == stored.job
        assert (alone.args, alone.meta) == (stored.args, stored.meta)
        assert bench.job(stored.job.id) == stored.job
        told, told_alone = bench.events_of(stored.job.id), bench.events_of(alone.job.id)
        assert told == [(kind, {**data, "job_id": stored.job.id}) for kind, data in told_alone]
    # Each job was enqueued once more, alone; some are in other queues.
    elsewhere = {"pending", "scheduled_at", "queue"}
    waiting = sum(elsewhere.isdisjoint(body) for some in bodies for body in some)
    assert bench.counts() == {"available": 2 * waiting, "scheduled": 60, "pending": 60}


def test_uniform_jobs_get_the_tenant_that_all_have_once_there_is_one(bench: Bench) -> None:
    first = bench.do(enqueue(jobs=[{"meta": {"tenant_id": "acme"}}] * 30)).jobs
    second = bench.do(enqueue(jobs=[{}] * 30)).jobs
    assert {bench.job(one.job.id).tenant for one in first} == {"acme"}
    assert {bench.job(one.job.id).tenant for one in second} == {DEFAULT}


def test_a_key_repeats_the_same_request_and_refuses_another(bench: Bench) -> None:
    made = bench.do(enqueue(key="k", priority=1))
    again = bench.do(enqueue(key="k", priority=1))
    assert (made.created, again.created) == (True, False)
    assert ids(again) == ids(made)
    with pytest.raises(Duplicate) as refused:
        bench.do(enqueue(key="k", priority=2))
    assert dict(refused.value.details or {}) == {"existing_job_ids": tuple(ids(made))}
    assert bench.counts() == {"available": 1}
    assert bench.event_types(ids(made)[0]) == ["job.enqueued"]


def test_a_key_belongs_to_its_operation(bench: Bench) -> None:
    one = bench.do(enqueue(key="k"))
    many = bench.do(enqueue(key="k", jobs=[{}]))
    assert many.created
    assert ids(one) != ids(many)


def test_a_repetition_answers_with_the_job_as_it_is_now(bench: Bench) -> None:
    (job_id,) = ids(bench.do(enqueue(key="k")))
    bench.do(Cancel(job_id))
    again = bench.do(enqueue(key="k"))
    assert again.jobs[0].job.state == "cancelled"


def test_a_repetition_of_a_removed_job_creates_nothing(bench: Bench) -> None:
    (job_id,) = ids(bench.do(enqueue(key="k")))
    bench.take()
    bench.fail(job_id, {"retryable": False})
    bench.do(Remove(job_id))
    with pytest.raises(NotFound, match="has been removed"):
        bench.do(enqueue(key="k"))
    assert bench.counts() == {}


def test_two_requests_with_one_key_in_one_breath_make_one_job(bench: Bench) -> None:
    """The writer puts them into two transactions; whichever is second finds the first."""
    one, other = enqueue(key="k"), enqueue(key="k")
    assert set(one.keys) & set(other.keys)
    outcomes = [bench.do(one), bench.do(other)]
    assert [outcome.created for outcome in outcomes] == [True, False]
    assert ids(outcomes[0]) == ids(outcomes[1])


def test_many_keys_in_one_transaction(bench: Bench) -> None:
    bench.do(enqueue(key="1"))
    outcomes = bench.commit(*(enqueue(key=str(n)) for n in range(5))).outcomes
    assert [outcome.created for outcome in outcomes] == [True, False, True, True, True]
    assert bench.counts() == {"available": 5}


def test_a_chosen_id_repeats_the_same_request_and_refuses_another(bench: Bench) -> None:
    made = bench.do(enqueue(id=ID, args=[1]))
    again = bench.do(enqueue(id=ID, args=[1]))
    assert (ids(made), ids(again)) == ([ID], [ID])
    assert (made.created, again.created) == (True, False)
    for other in ({"args": [2]}, {"args": [1], "queue": "other"}):
        with pytest.raises(Duplicate) as refused:
            bench.do(enqueue(id=ID, **other))
        assert refused.value.details == {"existing_job_id": ID}
    assert bench.counts() == {"available": 1}


def test_an_id_that_the_server_gave_cannot_be_chosen_again(bench: Bench) -> None:
    given = bench.put()
    with pytest.raises(Duplicate):
        bench.do(enqueue(id=given))


def test_a_batch_is_stored_whole_or_not_at_all(bench: Bench) -> None:
    bench.put(id=ID)
    with pytest.raises(Duplicate):
        bench.do(enqueue(jobs=[{"id": OTHER}, {"id": ID, "args": [9]}, {}]))
    assert not bench.exists(OTHER)
    assert bench.counts() == {"available": 1}
    made = bench.do(enqueue(jobs=[{"id": OTHER}, {}]))
    assert made.created
    assert bench.counts() == {"available": 3}


def test_a_batch_with_ids_may_be_repeated(bench: Bench) -> None:
    chosen = [{"id": ID}, {"id": OTHER}]
    made = bench.do(enqueue(jobs=chosen))
    again = bench.do(enqueue(jobs=chosen))
    assert ids(made) == ids(again) == [ID, OTHER]
    assert not again.created
    with pytest.raises(Duplicate):
        bench.do(enqueue(jobs=[*chosen, {}]))


def test_a_refused_request_leaves_its_key_free(bench: Bench) -> None:
    bench.put(id=ID)
    with pytest.raises(Duplicate):
        bench.do(enqueue(key="k", id=ID, args=[2]))
    assert bench.do(enqueue(key="k", args=[3])).created


def test_a_refusal_disturbs_no_other_request_of_its_transaction(bench: Bench) -> None:
    bench.put(id=ID)
    good, bad, fine = bench.commit(
        enqueue(args=[1]), enqueue(id=ID, args=[2]), enqueue(args=[3])
    ).outcomes
    assert isinstance(bad, Duplicate)
    assert good.created
    assert fine.created
    assert bench.counts() == {"available": 3}


class Hasty:
    """A store where another node takes ids between a transaction's look and its insert."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def transaction(self, preload: Preload | None, *, long_wait: bool) -> Iterator[Any]:
        """The first look at the ids finds none."""
        with self._store.transaction(preload, long_wait=long_wait) as tx:
            looks: Iterator[Any] = iter([lambda ids: {}])
            shown = MagicMock(wraps=tx, now=tx.now)
            shown.load_requests = lambda ids: next(looks, tx.load_requests)(ids)
            yield shown


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_ids_that_another_node_took_meanwhile(bench: Bench) -> None:
    bench.put(id=ID, args=[1])
    bench.store = cast(Store, Hasty(bench.store))
    again, other, batch, free = bench.commit(
        enqueue(id=ID, args=[1]),
        enqueue(key="k", id=ID, args=[2]),
        enqueue(key="j", jobs=[{"id": OTHER}, {"id": ID, "args": [3]}]),
        enqueue(),
    ).outcomes
    assert (again.created, ids(again)) == (False, [ID])
    assert isinstance(other, Duplicate)
    assert isinstance(batch, Duplicate)
    assert free.created
    assert bench.counts() == {"available": 2}
    assert not bench.exists(OTHER)
    assert bench.event_types(OTHER) == []
    assert bench.event_types(ID) == ["job.enqueued"]
    for key in "kj":
        assert bench.do(enqueue(key=key, args=[4])).created
