"""The store contract: due jobs, and the time of the next housekeeping."""

from typing import Any

import pytest

from ojs_server.domain.jobs.job import StoredJob
from ojs_server.store.base import Store
from ojs_server.store.records import DueTimes, Preload
from tests.store.records import (
    ON_ALL_VERSIONS,
    START,
    HandClock,
    a_job,
    a_lease,
    a_worker,
    change,
    claim,
    hold,
    put,
    record,
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


def waiting(job_id: str, due: int, **fields: Any) -> StoredJob:
    """A job that is scheduled for so long after the start."""
    return a_job(job_id, **{"state": "scheduled", "due_at": START + due, **fields})


@ON_ALL_VERSIONS
def test_queues_in_which_a_job_waits_for_a_moment_that_has_come(
    store: Store, clock: HandClock
) -> None:
    put(
        store,
        waiting("a", 3, queue="later"),
        waiting("b", 2, queue="scheduled"),
        waiting("c", 9, queue="scheduled"),
        waiting("d", 1, queue="retries", state="retryable"),
        a_job("e", queue="expiring", due_at=START, expires_at=START),
        a_job("f", queue="final", state="completed", due_at=START),
    )
    clock.forward(2)
    names = ["later", "scheduled", "unknown", "expiring", "retries", "final", "scheduled"]
    for preload in (None, Preload([], [], names), Preload([], [], ["final"])):
        with store.transaction(preload) as tx:
            assert tx.due_queues(names) == ["scheduled", "retries"]
            assert tx.due_queues(["later"]) == tx.due_queues([]) == []


@ON_ALL_VERSIONS
def test_what_is_promoted_is_loaded_by_queue_earliest_first(store: Store, clock: HandClock) -> None:
    put(
        store,
        *(waiting(f"q{n}", 5 - n, queue="q") for n in range(4)),
        waiting("expired", 1, queue="q", expires_at=START + 1),
        waiting("in-time", 1, queue="q", expires_at=START + 9),
        waiting("r", 1, queue="r", state="retryable"),
        waiting("other", 1, queue="s"),
    )
    clock.forward(4)
    with store.transaction() as tx:
        found = tx.load_due_in(["r", "q"], 3)
        assert [job.id for job in found] == ["in-time", "r", "q3", "q2"]
        assert tx.load_due_in(["r"], 1) == [record(store, "r")]
        assert tx.load_due_in([], 1) == []


@pytest.mark.parametrize("preload", [None, Preload([], [], ["default"])])
def test_what_this_transaction_has_made_due_is_seen(store: Store, preload: Preload | None) -> None:
    put(store, waiting("j1", 5), a_job("j2"))
    with store.transaction(preload) as tx:
        held = tx.claim(["default"], None, 1)[0].job
        assert tx.due_queues(["default"]) == []
        tx.write_changes([change(held, state="retryable", due_at=START)])
        assert tx.due_queues(["default"]) == ["default"]
        tx.write_changes(
            [change(tx.load_due_in(["default"], 9)[0], state="available", due_at=None)]
        )
        assert tx.load_due_in(["default"], 9) == []


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
