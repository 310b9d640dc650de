"""The store contract: workers that are silent, gone or deleted, and their leases."""

import msgspec
import pytest

from ojs_server.domain.workers.worker import Worker
from ojs_server.store.base import Store
from tests.store.records import ON_ALL_VERSIONS, START, a_lease, a_worker, hold

FULL = Worker(
    id="w☃ 1",
    state="quiet",
    draining=True,
    directive="terminate",
    incarnation=3,
    alive_at=START + 1,
    beat_at=START + 2,
    seen_at=START + 3,
    created_at=START + 4,
    gone_at=START + 5,
    profile=b'{"hostname":"a\\u0000b"}',
    session=7,
    dropped_at=START + 6,
    died=True,
)
BARE = Worker(id="w2")


def save(store: Store, *workers: Worker) -> None:
    with store.transaction() as tx:
        tx.save_workers(workers)


def loaded(store: Store, *names: str) -> dict[str, Worker]:
    with store.transaction() as tx:
        return tx.load_workers(names)


@ON_ALL_VERSIONS
def test_workers_come_back_as_they_were_saved(store: Store) -> None:
    save(store, FULL, BARE)
    assert loaded(store, "w2", FULL.id, "unknown") == {FULL.id: FULL, "w2": BARE}
    assert loaded(store) == {}


@ON_ALL_VERSIONS
def test_saving_again_replaces_all_but_the_moment_of_creation(store: Store) -> None:
    save(store, BARE)
    save(store, msgspec.structs.replace(FULL, id="w2"), a_worker("w3"))
    assert loaded(store, "w2")["w2"] == msgspec.structs.replace(
        FULL, id="w2", created_at=BARE.created_at
    )


@ON_ALL_VERSIONS
def test_workers_that_a_batch_has_locked_are_read_as_they_are(store: Store) -> None:
    save(store, a_worker("w1"), a_worker("w2"), a_worker("w3", gone_at=START - 1))
    with store.transaction() as tx:
        tx.lock(["w1", "w3", "unknown"], [], [])
        assert tx.load_workers(["w1", "unknown"]) == {"w1": a_worker("w1")}
        assert tx.load_workers(["w2", "w1"]) == {"w1": a_worker("w1"), "w2": a_worker("w2")}
        tx.save_workers([a_worker("w1", seen_at=START + 1)])
        assert tx.load_workers(["w1"]) == {"w1": a_worker("w1", seen_at=START + 1)}
        tx.lock(["w3"], [], [])
        tx.delete_workers(START, 9)
        assert tx.load_workers(["w3"]) == {}
        tx.lock(["w1"], [], [])
        tx.wipe()
        assert tx.load_workers(["w1"]) == {}


@ON_ALL_VERSIONS
def test_silent_workers_are_those_not_heard_of_since_a_moment(store: Store) -> None:
    save(
        store,
        a_worker("late", alive_at=START - 1),
        a_worker("latest", alive_at=START - 9),
        a_worker("just", alive_at=START),
        a_worker("fresh", alive_at=START + 1),
        a_worker("gone", alive_at=START - 9, gone_at=START),
        a_worker("fetch-only", alive_at=None, seen_at=START - 9),
    )
    with store.transaction() as tx:
        silent = tx.load_silent_workers(START, 99)
        assert [worker.id for worker in silent] == ["latest", "late", "just"]
        assert silent[0] == a_worker("latest", alive_at=START - 9)
        assert [worker.id for worker in tx.load_silent_workers(START, 2)] == ["latest", "late"]


@ON_ALL_VERSIONS
def test_dropped_workers_are_those_not_heard_of_since_they_lost_their_session(store: Store) -> None:
    save(
        store,
        a_worker("late", alive_at=START - 9, dropped_at=START - 1),
        a_worker("latest", alive_at=START - 5, dropped_at=START - 5),
        a_worker("just", alive_at=START - 9, dropped_at=START),
        a_worker("fresh", alive_at=START - 9, dropped_at=START + 1),
        a_worker("heard", alive_at=START - 1, dropped_at=START - 2),
        a_worker("held", alive_at=START - 9),
        a_worker("gone", alive_at=START - 9, dropped_at=START - 2, gone_at=START),
        a_worker("fetch-only", alive_at=None, dropped_at=START - 2),
    )
    with store.transaction() as tx:
        dropped = tx.load_dropped_workers(START, 99)
        assert [worker.id for worker in dropped] == ["latest", "late", "just"]
        assert [worker.id for worker in tx.load_dropped_workers(START, 1)] == ["latest"]


@ON_ALL_VERSIONS
def test_the_fleet_is_everyone_who_is_not_gone(store: Store) -> None:
    fleet = [a_worker("a"), a_worker("b", alive_at=None), a_worker("c", state="terminated")]
    save(store, *reversed(fleet), a_worker("gone", gone_at=START))
    with store.transaction() as tx:
        assert tx.load_all_workers() == fleet


@ON_ALL_VERSIONS
def test_workers_that_went_long_ago_are_removed(store: Store) -> None:
    save(
        store,
        a_worker("old", gone_at=START - 1),
        a_worker("recent", gone_at=START + 1),
        a_worker("here", alive_at=START - 9),
        a_worker("old-fetcher", alive_at=None, seen_at=START - 1),
        a_worker("fetcher", alive_at=None, seen_at=START + 1),
    )
    with store.transaction() as tx:
        assert tx.delete_workers(START, 99) == 2
        assert [worker.id for worker in tx.load_all_workers()] == ["fetcher", "here"]
    assert "recent" in loaded(store, "recent")


def test_workers_are_removed_in_steps(store: Store) -> None:
    save(store, *(a_worker(f"w{n}", gone_at=START) for n in range(5)))
    with store.transaction() as tx:
        assert [tx.delete_workers(START, 2) for _ in range(4)] == [2, 2, 1, 0]


@ON_ALL_VERSIONS
def test_workers_are_listed_newest_first_with_what_they_hold(store: Store) -> None:
    save(
        store,
        a_worker("old", created_at=START - 1),
        a_worker("b", gone_at=START),
        a_worker("a"),
    )
    hold(
        store,
        a_lease("j2", worker_id="old"),
        a_lease("j1", worker_id="old"),
        a_lease("j3", worker_id="a"),
        a_lease("j4", worker_id=None),
    )
    with store.reader() as reader:
        found = reader.workers()
    assert [(load.worker.id, load.job_ids) for load in found] == [
        ("a", ("j3",)),
        ("b", ()),
        ("old", ("j1", "j2")),
    ]


@pytest.mark.parametrize(
    ("names", "found"),
    [(["old", "unknown"], ["old"]), (["old", "new"], ["new", "old"]), ([], [])],
    ids=str,
)
def test_some_workers_are_listed_by_id(store: Store, names: list[str], found: list[str]) -> None:
    save(store, a_worker("old", created_at=START - 1), a_worker("new"), a_worker("other"))
    with store.reader() as reader:
        assert [load.worker.id for load in reader.workers(names)] == found
