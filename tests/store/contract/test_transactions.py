"""The store contract: atomicity, one time and ascending positions for each transaction."""

from collections import deque
from pathlib import Path

import pytest

from ojs_server.store.base import Store, StoreUnavailable
from ojs_server.store.records import MAX_POSITIONS, POSITION_BITS, Preload
from tests.store.postgres.server import query
from tests.store.records import (
    EVERYTHING,
    ON_ALL_VERSIONS,
    START,
    HandClock,
    a_job,
    a_lease,
    a_receipt,
    a_worker,
    an_event,
    hold,
    put,
    record,
    undone,
    whole,
)


def fill(store: Store) -> None:
    """Something of everything."""
    hold(store, a_lease("held", fetch_id="f"))
    with store.transaction() as tx:
        tx.insert_jobs([a_job("j1", due_at=START)])
        tx.save_workers([a_worker("w1")])
        tx.set_paused("q", True)
        tx.add_counts({"default": {"available": 1}})
        tx.insert_events([an_event()])
        tx.insert_receipts({("p", "o", "k"): a_receipt("j1")})


def assert_empty(store: Store) -> None:
    with store.reader() as reader:
        assert reader.job("held") is None
        assert reader.job("j1") is None
        assert reader.workers() == []
        assert reader.queues() == []
        assert list(reader.events(0, EVERYTHING, 9).events) == []
        due = reader.due()
        assert (due.job, due.lease, due.worker) == (None, None, None)
    with store.transaction() as tx:
        assert tx.load_leases(["held"]) == {}
        assert tx.insert_receipts({("p", "o", "k"): a_receipt("j1")}) == {}


@ON_ALL_VERSIONS
def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    with undone(store) as tx:
        tx.insert_jobs([a_job("j1", due_at=START), a_job("held", state="active")])
        tx.insert_leases([a_lease("held")])
        tx.save_workers([a_worker("w1")])
        tx.set_paused("q", True)
        tx.add_counts({"default": {"available": 1}})
        tx.insert_events([an_event()])
        tx.insert_receipts({("p", "o", "k"): a_receipt("j1")})
        tx.announce({"default": 1})
    assert_empty(store)


@ON_ALL_VERSIONS
def test_what_is_foreseen_is_read_as_it_is(store: Store) -> None:
    hold(store, a_lease("held"))
    put(store, a_job("j1"))
    with store.transaction() as tx:
        tx.save_workers([a_worker("w1"), a_worker("w2")])
    both = Preload(["w1", "unknown", "w\0"], ["held", "j1", "unknown", "j\0"])
    with store.transaction(both) as tx:
        assert tx.load_workers(["w1", "unknown", "w\0"]) == {"w1": a_worker("w1")}
        assert tx.load_jobs(["held", "unknown", "j\0"]) == {
            "held": (record(store, "held"), a_lease("held"))
        }
        tx.drop_leases(["held"])
        tx.save_workers([a_worker("w1", seen_at=START + 1)])
        assert tx.load_jobs(["held", "j1"]) == {
            "held": (record(store, "held"), None),
            "j1": (record(store, "j1"), None),
        }
        assert tx.load_workers(["w1", "w2"]) == {
            "w1": a_worker("w1", seen_at=START + 1),
            "w2": a_worker("w2"),
        }


@ON_ALL_VERSIONS
def test_what_is_foreseen_need_not_be_asked_for(store: Store) -> None:
    hold(store, a_lease("held"))
    preload = Preload(["w1"], ["held"])
    with store.transaction(preload) as tx:
        tx.insert_jobs([a_job("j1")])
    with undone(store, preload) as tx:
        tx.insert_jobs([a_job("j2")])
    with store.transaction(preload) as tx:
        tx.wipe()
        assert tx.load_jobs(["held", "j1", "j2"]) == {}
    assert_empty(store)


def test_a_transaction_that_fails_undoes_changes_and_removals(store: Store) -> None:
    fill(store)
    with undone(store) as tx:
        tx.delete_jobs(["j1"])
        tx.drop_leases(["held"])
        tx.tally_events(9)
        tx.delete_events(START + 1, 0, 9)
        tx.wipe()
    with store.reader() as reader:
        assert reader.job("j1") == (a_job("j1", due_at=START), None)
        assert len(reader.events(0, EVERYTHING, 9).events) == 1
    with store.transaction() as tx:
        assert list(tx.load_leases(["held"])) == ["held"]


def test_the_store_works_on_after_a_failed_transaction(store: Store) -> None:
    for _ in range(3):
        with undone(store) as tx:
            tx.insert_jobs([a_job("j1")])
    put(store, a_job("j1"))
    assert whole(store, "j1") is not None


@ON_ALL_VERSIONS
def test_nothing_is_seen_before_the_commit(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert_jobs([a_job("j1")])
        assert whole(store, "j1") is None
        assert list(tx.load_jobs(["j1"])) == ["j1"]
    assert whole(store, "j1") is not None


@ON_ALL_VERSIONS
def test_wiping_removes_everything(store: Store) -> None:
    fill(store)
    with store.transaction() as tx:
        tx.wipe()
    assert_empty(store)


def test_places_rise_on_after_a_wipe(store: Store) -> None:
    fill(store)
    with store.reader() as reader:
        end = reader.events(0, EVERYTHING, 9).cursor
    with store.transaction() as tx:
        tx.wipe()
        tx.insert_events([an_event(subject="new")])
    with store.reader() as reader:
        found = reader.events(end, EVERYTHING, 9).events
    assert [placed.event.subject for placed in found] == ["new"]


@ON_ALL_VERSIONS
def test_a_transaction_has_one_moment(store: Store, clock: HandClock) -> None:
    with store.transaction() as tx:
        clock.forward(10)
        assert tx.now == START
    with store.transaction() as tx:
        assert tx.now == START + 10
    with store.reader() as reader:
        assert reader.now() == START + 10


@ON_ALL_VERSIONS
def test_places_rise_from_one_transaction_to_the_next(store: Store) -> None:
    places: list[int] = []
    for _ in range(3):
        with store.transaction() as tx:
            places += [tx.position() for _ in range(5)]
    assert places == sorted(set(places))
    assert places[0] >> POSITION_BITS < places[-1] >> POSITION_BITS < 2**45


def test_the_places_of_one_transaction_run_out_loudly(store: Store) -> None:
    with pytest.raises(OverflowError), store.transaction() as tx:
        deque((tx.position() for _ in range(MAX_POSITIONS)), maxlen=0)


def test_jobs_and_events_share_the_places(store: Store) -> None:
    with store.transaction() as tx:
        before = tx.position()
        tx.insert_jobs([a_job("j1", seq=tx.position())])
        tx.insert_events([an_event(), an_event()])
        after = tx.position()
    with store.reader() as reader:
        events = [placed.position for placed in reader.events(0, EVERYTHING, 9).events]
    places = [before, record(store, "j1").seq, *events, after]
    assert places == sorted(set(places))


@ON_ALL_VERSIONS
def test_locking_first_changes_nothing(store: Store) -> None:
    fill(store)
    with store.transaction() as tx:
        tx.lock(["w1", "unknown"], ["j1", "held", "unknown"], {"held"}, leaving=["w1"])
        tx.lock([], [], [])
        assert list(tx.load_workers(["w1"])) == ["w1"]
        assert sorted(tx.load_jobs(["j1", "held"])) == ["held", "j1"]
        assert list(tx.load_leases(["held"])) == ["held"]
    assert record(store, "j1") == a_job("j1", due_at=START).job


@ON_ALL_VERSIONS
def test_announcing_and_waiting_are_taken_by_every_store(store: Store) -> None:
    store.note_waiting(START + 1000)
    with store.transaction() as tx:
        tx.announce({f"queue.{n}": n for n in range(1000)})
        tx.announce({})


def test_a_store_that_answers_can_be_pinged(store: Store) -> None:
    store.ping()
    with store.reader() as reader:
        reader.ping()


def test_a_closed_store_is_unavailable(store: Store) -> None:
    store.ping()
    store.close()
    with pytest.raises(StoreUnavailable):
        store.ping()
    with pytest.raises(StoreUnavailable), store.transaction():
        pytest.fail("a transaction began")
    store.close()


def test_nobody_who_goes_on_is_taken_for_silent(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert_jobs([a_job("j1")])
        assert store.end_silent_transactions() == 0
    assert store.end_silent_transactions() == 0
    assert whole(store, "j1") is not None


@ON_ALL_VERSIONS
def test_a_touch_changes_nothing_and_tells_who_takes_it(store: Store) -> None:
    with store.transaction() as tx:
        where = tx.touch()
    assert where == store.location if store.embedded else "127.0.0.1" in where
    assert_empty(store)


def test_a_touch_has_to_reach_the_disk(store: Store, store_url: str) -> None:
    """Otherwise a full disk would take it."""
    before = written(store, store_url)
    with store.transaction():
        pass
    assert written(store, store_url) == before
    with store.transaction() as tx:
        tx.touch()
    assert written(store, store_url) > before


def written(store: Store, store_url: str) -> int:
    """A number that rises with what is written."""
    if store.embedded:
        return Path(f"{store.location}-wal").stat().st_size
    return int(query(store_url, "SELECT max(xmin::text::int8) FROM nodes")[0][0])
