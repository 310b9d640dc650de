"""The store contract: cron entries, their histories, and due ones."""

from typing import Any

import msgspec
import pytest

from ojs_server.domain.cron.entry import CronEntry, CronRun
from ojs_server.store.base import StaleWrite, Store
from ojs_server.store.records import DueTimes
from tests.store.records import ON_ALL_VERSIONS, START, HandClock, a_job, put, undone

FULL = CronEntry(
    name="daily-report.1",
    expression="@every 1h30m",
    timezone="Asia/Tokyo",
    overlap="enqueue",
    enabled=False,
    definition=b'{"job_template":{"a":"\\u0000\\u2603"}}',
    created_at=START + 1,
    updated_at=START + 2,
    counted_from=START + 3,
    next_run_at=START + 4,
    last_run_at=START + 5,
    last_job_id="j1",
    run_count=7,
    held=2,
    owner="acme/shop",
    holder="shop-key",
)


def an_entry(name: str, **fields: Any) -> CronEntry:
    """An entry that has not run and is never due, unless told otherwise."""
    record: dict[str, Any] = {
        "expression": "* * * * *",
        "timezone": "UTC",
        "overlap": "skip",
        "enabled": True,
        "definition": b"{}",
        "created_at": START,
        "updated_at": START,
        "counted_from": START,
        **fields,
    }
    return CronEntry(name=name, **record)


def a_run(position: int, name: str = "a", **fields: Any) -> CronRun:
    """A run that made a job."""
    record = {"scheduled_at": START, "at": START, "outcome": "triggered", **fields}
    return CronRun(position=position, name=name, **record)


def keep(store: Store, *entries: CronEntry) -> None:
    with store.transaction() as tx:
        assert tx.insert_cron(entries) == set()


def note(store: Store, *runs: CronRun, at_most: int = 99) -> None:
    with store.transaction() as tx:
        tx.insert_cron_runs(runs, at_most)


def loaded(store: Store, *names: str) -> dict[str, CronEntry]:
    with store.transaction() as tx:
        return tx.load_cron(names)


def history(store: Store, name: str = "a") -> list[CronRun]:
    with store.reader() as reader:
        return reader.cron_runs(name)


def next_due(store: Store) -> DueTimes:
    with store.reader() as reader:
        return reader.due()


@ON_ALL_VERSIONS
def test_entries_come_back_as_they_were_stored(store: Store) -> None:
    bare = an_entry("bare")
    keep(store, FULL, bare)
    assert loaded(store, "bare", FULL.name, "unknown") == {FULL.name: FULL, "bare": bare}
    with store.reader() as reader:
        assert reader.cron([FULL.name]) == [FULL]
        assert reader.cron(["unknown"]) == []


@ON_ALL_VERSIONS
def test_a_name_that_exists_is_answered_and_stays_as_it_was(store: Store) -> None:
    keep(store, an_entry("a"))
    with store.transaction() as tx:
        assert tx.insert_cron([an_entry("a", timezone="Asia/Tokyo"), an_entry("b")]) == {"a"}
    assert loaded(store, "a")["a"].timezone == "UTC"
    assert "b" in loaded(store, "b")


@ON_ALL_VERSIONS
def test_an_update_replaces_everything_but_the_name(store: Store) -> None:
    keep(store, an_entry("a"), an_entry("b"))
    after = msgspec.structs.replace(FULL, name="a", enabled=True, next_run_at=None)
    with store.transaction() as tx:
        tx.update_cron([after])
    assert loaded(store, "a", "b") == {"a": after, "b": an_entry("b")}


def test_the_keys_of_an_owner_are_found(store: Store) -> None:
    entries = [an_entry(name, owner="shop", holder=name[0]) for name in ("a1", "a2", "b")]
    keep(store, *entries, an_entry("c", owner="shop"), an_entry("d", owner="other", holder="d"))
    with store.transaction() as tx:
        assert tx.cron_holders("shop") == {"a", "b", None}
        assert tx.cron_holders("nobody") == set()
        tx.delete_cron(["a1", "b", "c"])
        assert tx.cron_holders("shop") == {"a"}


def test_an_update_of_an_entry_that_is_gone_fails_whole(store: Store) -> None:
    keep(store, an_entry("a"))
    with pytest.raises(StaleWrite), store.transaction() as tx:
        tx.update_cron([an_entry("a", run_count=1), an_entry("gone")])
    assert loaded(store, "a")["a"].run_count == 0


@ON_ALL_VERSIONS
def test_due_entries_are_loaded_earliest_first(store: Store, clock: HandClock) -> None:
    keep(
        store,
        an_entry("c", next_run_at=START + 3),
        an_entry("a", next_run_at=START + 1),
        an_entry("later", next_run_at=START + 4),
        an_entry("off", enabled=False),
    )
    clock.forward(3)
    with store.transaction() as tx:
        assert [entry.name for entry in tx.load_due_cron(99)] == ["a", "c"]
        assert [entry.name for entry in tx.load_due_cron(1)] == ["a"]


@ON_ALL_VERSIONS
def test_held_entries_are_loaded_when_no_run_is_on(store: Store) -> None:
    put(
        store,
        *(
            a_job(f"j-{state}", state=state)
            for state in ("scheduled", "available", "pending", "active", "retryable")
        ),
        *(a_job(f"j-{state}", state=state) for state in ("completed", "cancelled", "discarded")),
    )
    for state in ("scheduled", "available", "pending", "active", "retryable"):
        keep(store, an_entry(state, held=1, last_job_id=f"j-{state}"))
    assert next_due(store).cron is None
    for state in ("completed", "cancelled", "discarded"):
        keep(store, an_entry(state, held=1, last_job_id=f"j-{state}"))
    keep(store, an_entry("removed", held=1, last_job_id="j-gone"), an_entry("free", held=0))
    with store.transaction() as tx:
        free = [entry.name for entry in tx.load_held_cron(99)]
    assert free == ["cancelled", "completed", "discarded", "removed"]
    assert next_due(store).cron == 0


@ON_ALL_VERSIONS
def test_the_next_due_moment_is_the_earliest_of_all_entries(store: Store) -> None:
    keep(store, an_entry("a", next_run_at=START + 7), an_entry("b", next_run_at=START + 3))
    assert next_due(store) == DueTimes(None, None, None, START + 3)


@ON_ALL_VERSIONS
def test_the_history_comes_back_newest_first(store: Store) -> None:
    full = a_run(3, scheduled_at=START + 1, at=START + 2, job_id="j1", manual=True, held=True)
    skipped = a_run(4, outcome="skipped", reason="overlap_skip")
    note(store, a_run(2), full, skipped, a_run(5, "b"))
    assert history(store) == [skipped, full, a_run(2)]
    assert history(store, "unknown") == []


@ON_ALL_VERSIONS
def test_of_a_history_the_newest_are_kept_and_those_held_back(store: Store) -> None:
    note(store, a_run(1, held=True), *(a_run(n) for n in range(2, 6)), a_run(9, "b"))
    note(store, a_run(6), at_most=2)
    assert [run.position for run in history(store)] == [6, 5, 1]
    assert [run.position for run in history(store, "b")] == [9]


@ON_ALL_VERSIONS
def test_held_runs_are_loaded_oldest_first_until_they_are_released(store: Store) -> None:
    note(store, *(a_run(n, held=n != 2) for n in (4, 2, 3)), a_run(5, "b", held=True))
    with store.transaction() as tx:
        assert [run.position for run in tx.load_held_runs("a")] == [3, 4]
        tx.release_cron_runs([3])
        assert tx.load_held_runs("a") == [a_run(4, held=True)]


@ON_ALL_VERSIONS
def test_a_deleted_entry_takes_its_history_along(store: Store) -> None:
    keep(store, an_entry("a"), an_entry("b"))
    note(store, a_run(1), a_run(2, "b"))
    with store.transaction() as tx:
        tx.delete_cron(["a", "unknown"])
    assert list(loaded(store, "a", "b")) == ["b"]
    assert history(store) == []
    assert len(history(store, "b")) == 1


@ON_ALL_VERSIONS
def test_entries_are_listed_newest_first(store: Store) -> None:
    keep(store, an_entry("old", created_at=START - 1), an_entry("b"), an_entry("a"))
    with store.reader() as reader:
        assert [entry.name for entry in reader.cron()] == ["a", "b", "old"]
        assert [entry.name for entry in reader.cron(["old", "b"])] == ["b", "old"]


@ON_ALL_VERSIONS
def test_the_states_of_jobs_can_be_read(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2", state="retryable"))
    with store.transaction() as tx:
        assert tx.load_states(["j2", "j1", "gone"]) == {"j1": "available", "j2": "retryable"}
        assert tx.load_states([]) == {}


def test_what_a_failed_transaction_did_is_undone(store: Store) -> None:
    keep(store, an_entry("a"))
    with undone(store) as tx:
        tx.update_cron([an_entry("a", run_count=1)])
        tx.insert_cron([an_entry("b")])
        tx.insert_cron_runs([a_run(1)], 99)
    assert loaded(store, "a", "b") == {"a": an_entry("a")}
    assert history(store) == []


def test_a_wipe_removes_entries_and_histories(store: Store) -> None:
    keep(store, an_entry("a"))
    note(store, a_run(1))
    with store.transaction() as tx:
        tx.wipe()
    assert loaded(store, "a") == {}
    assert history(store) == []
