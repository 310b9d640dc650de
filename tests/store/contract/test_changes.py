"""The store contract: decided transitions, guarded by the state and attempt that they leave."""

import msgspec
import pytest

from ojs_server.store.base import StaleWrite, Store
from tests.store.records import ON_ALL_VERSIONS, START, a_job, change, put, record, whole

ACTIVE = a_job("j1", state="active", attempt=2, started_at=START, due_at=None)


@ON_ALL_VERSIONS
def test_a_change_writes_every_field_that_may_move(store: Store) -> None:
    put(store, ACTIVE)
    moved = change(
        ACTIVE.job,
        state="retryable",
        seq=77,
        attempt=3,
        releases=1,
        enqueued_at=START + 1,
        started_at=START + 2,
        finished_at=START + 3,
        completed_at=START + 4,
        scheduled_at=START + 5,
        expires_at=START + 6,
        due_at=START + 7,
        retry_delay_ms=8,
        error=b'{"type":"x\\u0000"}',
        errors=b"[1]",
    )
    with store.transaction() as tx:
        tx.write_changes([moved])
    assert record(store, "j1") == moved.after


def test_a_change_can_empty_every_field_that_may_be_empty(store: Store) -> None:
    full = a_job(
        "j1",
        enqueued_at=1,
        started_at=2,
        finished_at=3,
        completed_at=4,
        scheduled_at=5,
        expires_at=6,
        due_at=7,
        retry_delay_ms=8,
        error=b"{}",
        errors=b"[]",
    )
    put(store, full)
    emptied = change(
        full.job,
        enqueued_at=None,
        started_at=None,
        finished_at=None,
        completed_at=None,
        scheduled_at=None,
        expires_at=None,
        due_at=None,
        retry_delay_ms=None,
        error=None,
        errors=None,
    )
    with store.transaction() as tx:
        tx.write_changes([emptied])
    assert record(store, "j1") == emptied.after


@ON_ALL_VERSIONS
def test_a_result_is_stored_when_given_and_kept_when_not(store: Store) -> None:
    put(store, ACTIVE)
    with store.transaction() as tx:
        tx.write_changes([change(ACTIVE.job, b'{"n":1}', state="completed")])
    with store.transaction() as tx:
        tx.write_changes([change(record(store, "j1"), due_at=5)])
    stored = whole(store, "j1")
    assert stored is not None
    assert stored.result == b'{"n":1}'


@ON_ALL_VERSIONS
@pytest.mark.parametrize(
    "assumed", [{"state": "available"}, {"attempt": 1}, {"attempt": 3}, {"id": "unknown"}], ids=str
)
def test_a_change_of_another_state_or_attempt_is_stale(
    store: Store, assumed: dict[str, object]
) -> None:
    put(store, ACTIVE)
    stale = change(msgspec.structs.replace(ACTIVE.job, **assumed), state="completed")
    with pytest.raises(StaleWrite), store.transaction() as tx:
        tx.write_changes([stale])
    assert record(store, "j1") == ACTIVE.job


@pytest.mark.parametrize("differing", [{"releases": 9}, {"seq": 9}, {"due_at": 9}], ids=str)
def test_only_state_and_attempt_are_guarded(store: Store, differing: dict[str, object]) -> None:
    put(store, ACTIVE)
    with store.transaction() as tx:
        tx.write_changes(
            [change(msgspec.structs.replace(ACTIVE.job, **differing), state="completed")]
        )
    assert record(store, "j1").state == "completed"


@ON_ALL_VERSIONS
def test_one_stale_change_undoes_the_whole_transaction(store: Store) -> None:
    others = [a_job(f"k{n}", state="active", attempt=1) for n in range(3)]
    put(store, ACTIVE, *others)
    changes = [change(one.job, state="completed") for one in others]
    stale = change(msgspec.structs.replace(ACTIVE.job, attempt=9), state="completed")
    with pytest.raises(StaleWrite), store.transaction() as tx:
        tx.write_changes([*changes, stale])
    assert [record(store, f"k{n}").state for n in range(3)] == ["active"] * 3


def test_two_changes_of_one_job_are_stale(store: Store) -> None:
    put(store, ACTIVE)
    with pytest.raises(StaleWrite), store.transaction() as tx:
        tx.write_changes([change(ACTIVE.job, state="completed")] * 2)


def test_a_change_sees_what_its_own_transaction_wrote(store: Store) -> None:
    put(store, ACTIVE)
    with store.transaction() as tx:
        tx.write_changes([change(ACTIVE.job, state="available")])
        ((job, _),) = tx.load_jobs(["j1"]).values()
        tx.write_changes([change(job, state="cancelled")])
    assert record(store, "j1").state == "cancelled"


@ON_ALL_VERSIONS
def test_a_thousand_changes_are_written_at_once(store: Store) -> None:
    jobs = [a_job(f"j{n}", state="active", attempt=n) for n in range(1000)]
    put(store, *jobs)
    with store.transaction() as tx:
        tx.write_changes(
            [change(one.job, b"[%d]" % one.job.attempt, state="completed") for one in jobs]
        )
        stored = tx.load_whole([one.job.id for one in jobs])
    assert all(stored[f"j{n}"].result == b"[%d]" % n for n in range(1000))
    assert {one.job.state for one in stored.values()} == {"completed"}


def test_no_changes_are_no_error(store: Store) -> None:
    with store.transaction() as tx:
        tx.write_changes([])
