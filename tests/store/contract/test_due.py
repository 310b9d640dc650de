"""The store contract: what time alone changes, and when housekeeping is needed next."""

from ojs_server.store.base import Store
from ojs_server.store.records import DueTimes
from tests.store.records import (
    ON_ALL_VERSIONS,
    START,
    HandClock,
    a_job,
    a_lease,
    a_worker,
    claim,
    hold,
    put,
)


def due(store: Store, limit: int = 99) -> list[str]:
    with store.transaction() as tx:
        return [job.id for job in tx.load_due(limit)]


def next_due(store: Store) -> DueTimes:
    with store.reader() as reader:
        return reader.due()


@ON_ALL_VERSIONS
def test_due_jobs_are_loaded_earliest_first(store: Store, clock: HandClock) -> None:
    put(
        store,
        a_job("c", state="scheduled", due_at=START + 3),
        a_job("a", state="retryable", due_at=START + 1),
        a_job("b", state="completed", due_at=START + 2),
        a_job("later", state="scheduled", due_at=START + 4),
        a_job("never", state="pending"),
    )
    clock.forward(3)
    assert due(store) == ["a", "b", "c"]
    assert due(store, limit=2) == ["a", "b"]


def test_a_due_job_is_loaded_as_it_is(store: Store) -> None:
    job = a_job("j1", state="scheduled", due_at=START, spec=b'{"x":1}', error=b"{}")
    put(store, job)
    with store.transaction() as tx:
        assert tx.load_due(1) == [job.job]


def test_a_job_that_is_held_is_never_due(store: Store, clock: HandClock) -> None:
    put(store, a_job("j1", due_at=START + 1, expires_at=START + 1))
    assert len(claim(store)) == 1
    clock.forward(1)
    assert due(store) == []


@ON_ALL_VERSIONS
def test_an_empty_store_needs_no_housekeeping(store: Store) -> None:
    assert next_due(store) == DueTimes(None, None, None)


@ON_ALL_VERSIONS
def test_the_next_moment_of_each_kind_is_known(store: Store) -> None:
    put(store, a_job("j1", due_at=START + 7), a_job("j2", due_at=START + 3), a_job("j3"))
    hold(store, a_lease("k1", expires_at=START + 20), a_lease("k2", expires_at=START + 10))
    with store.transaction() as tx:
        tx.save_workers(
            [
                a_worker("w1", alive_at=START - 5),
                a_worker("w2", alive_at=START - 9, gone_at=START),
                a_worker("w3", alive_at=None),
                a_worker("w4", alive_at=START - 4, dropped_at=START - 3),
                a_worker("w5", alive_at=START - 2, dropped_at=START - 4),
            ]
        )
    assert next_due(store) == DueTimes(
        job=START + 3, lease=START + 10, worker=START - 5, dropped=START - 3
    )


def test_a_run_time_may_be_over_before_any_lease(store: Store) -> None:
    hold(store, a_lease("j1", expires_at=START + 20, deadline_at=START + 4), a_lease("j2"))
    assert next_due(store).lease == START + 4
