"""The store contract: leases, their holders and their expiry."""

import msgspec
import pytest

from ojs_server.store.base import Store
from tests.store.records import ON_ALL_VERSIONS, START, HandClock, a_job, a_lease, hold, put


def lapsed(
    store: Store, reachable_since: int = 0, limit: int = 99, until: int | None = None
) -> list[str]:
    with store.transaction() as tx:
        found = tx.load_lapsed(reachable_since, tx.now if until is None else until, limit)
    assert all(job.id == lease.job_id for job, lease in found)
    return sorted(job.id for job, _ in found)


@ON_ALL_VERSIONS
def test_a_lease_comes_back_as_it_was_stored(store: Store) -> None:
    full = a_lease("j1", deadline_at=START + 5, fetch_id="f\U0001f600")
    bare = a_lease("j2", worker_id=None)
    hold(store, full, bare)
    with store.transaction() as tx:
        assert tx.load_leases(["j2", "j1", "unknown"]) == {"j1": full, "j2": bare}
        assert tx.load_leases([]) == {}


@ON_ALL_VERSIONS
def test_a_dropped_lease_is_gone_and_its_job_is_not(store: Store) -> None:
    hold(store, a_lease("j1"), a_lease("j2"))
    with store.transaction() as tx:
        tx.drop_leases(["j1", "unknown"])
        tx.drop_leases([])
    with store.transaction() as tx:
        assert list(tx.load_leases(["j1", "j2"])) == ["j2"]
        ((_, lease),) = tx.load_jobs(["j1"]).values()
        assert lease is None


@ON_ALL_VERSIONS
def test_a_lease_follows_its_job_into_another_queue(store: Store) -> None:
    first, second, other = (a_lease(name) for name in ("j1", "j2", "j3"))
    hold(store, first, second, other)
    with store.transaction() as tx:
        tx.move_leases("to", ["j1", "j2", "unknown"])
        tx.move_leases("to", [])
    with store.transaction() as tx:
        assert tx.load_leases(["j1", "j2", "j3"]) == {
            "j1": msgspec.structs.replace(first, queue="to"),
            "j2": msgspec.structs.replace(second, queue="to"),
            "j3": other,
        }


@ON_ALL_VERSIONS
def test_a_lease_is_extended_and_nothing_else_of_it_changes(store: Store) -> None:
    first = a_lease("j1", deadline_at=START + 5, fetch_id="f")
    hold(store, first, a_lease("j2"))
    longer = msgspec.structs.replace(first, expires_at=START + 99)
    with store.transaction() as tx:
        tx.extend_leases([msgspec.structs.replace(longer, worker_id="other", attempt=9)])
        tx.extend_leases([])
    with store.transaction() as tx:
        assert tx.load_leases(["j1", "j2"]) == {"j1": longer, "j2": a_lease("j2")}


def test_a_lease_that_has_gone_is_not_brought_back(store: Store) -> None:
    put(store, a_job("j1"))
    with store.transaction() as tx:
        tx.extend_leases([a_lease("j1", expires_at=START + 99)])
    with store.transaction() as tx:
        assert tx.load_leases(["j1"]) == {}


def test_a_thousand_leases_are_extended_at_once(store: Store) -> None:
    leases = [a_lease(f"j{n}") for n in range(1000)]
    hold(store, *leases)
    longer = [msgspec.structs.replace(one, expires_at=START + n) for n, one in enumerate(leases)]
    with store.transaction() as tx:
        tx.extend_leases(longer)
        assert tx.load_leases([one.job_id for one in leases]) == {one.job_id: one for one in longer}


@ON_ALL_VERSIONS
def test_leases_are_found_by_the_fetch_they_answered(store: Store) -> None:
    hold(
        store,
        a_lease("j1", fetch_id="one"),
        a_lease("j2", fetch_id="two"),
        a_lease("j3", fetch_id="one"),
        a_lease("j4"),
    )
    with store.transaction() as tx:
        found = tx.load_fetches(["one", "unknown"])
        assert sorted(lease.job_id for lease in found) == ["j1", "j3"]
        tx.drop_leases(["j1"])
        assert [lease.job_id for lease in tx.load_fetches(["one"])] == ["j3"]
        assert tx.load_fetches([]) == []


@ON_ALL_VERSIONS
def test_what_workers_hold_is_loaded_with_the_jobs(store: Store) -> None:
    leases = [a_lease("j1"), a_lease("j2", worker_id="w2"), a_lease("j3", worker_id=None)]
    hold(store, *leases, a_lease("j4", worker_id="w3"))
    with store.transaction() as tx:
        found = sorted(tx.load_held(["w1", "w2", "unknown"]), key=lambda held: held[0].id)
        assert tx.load_held([]) == []
    assert [lease for _, lease in found] == leases[:2]
    assert [job for job, _ in found] == [
        a_job(name, state="active", attempt=1).job for name in ("j1", "j2")
    ]


@ON_ALL_VERSIONS
def test_a_lease_is_over_when_its_time_has_come(store: Store, clock: HandClock) -> None:
    hold(store, a_lease("j1", expires_at=START + 100), a_lease("j2", expires_at=START + 101))
    clock.forward(99)
    assert lapsed(store) == []
    clock.forward(1)
    assert lapsed(store) == ["j1"]
    clock.forward(1)
    assert lapsed(store) == ["j1", "j2"]


@ON_ALL_VERSIONS
def test_a_run_time_is_over_however_long_the_lease_lasts(store: Store, clock: HandClock) -> None:
    hold(store, a_lease("j1", deadline_at=START + 10), a_lease("j2", deadline_at=START + 11))
    clock.forward(10)
    assert lapsed(store) == ["j1"]


def test_a_job_that_is_over_in_both_ways_is_loaded_once(store: Store, clock: HandClock) -> None:
    hold(store, a_lease("j1", expires_at=START + 5, deadline_at=START + 5))
    clock.forward(5)
    assert lapsed(store) == ["j1"]


@ON_ALL_VERSIONS
@pytest.mark.parametrize(
    ("duration_ms", "heard_for_ms", "judged"),
    [
        (1_000, 999, False),
        (1_000, 1_000, True),
        (30_000, 29_999, False),
        (30_000, 30_000, True),
        (1_800_000, 29_999, False),
        (1_800_000, 30_000, True),
    ],
)
def test_a_lease_is_judged_after_it_could_have_been_renewed(
    store: Store, clock: HandClock, duration_ms: int, heard_for_ms: int, judged: bool
) -> None:
    hold(
        store,
        a_lease("j1", duration_ms=duration_ms, expires_at=START),
        a_lease("j2", duration_ms=duration_ms, deadline_at=START),
    )
    clock.forward(500_000)
    assert lapsed(store, clock.now - heard_for_ms) == (["j1", "j2"] if judged else [])


@ON_ALL_VERSIONS
@pytest.mark.parametrize(("started_after_ms", "judged"), [(0, True), (-1, False)])
@pytest.mark.parametrize("over", ["expires_at", "deadline_at"])
def test_what_was_handed_out_while_the_store_was_reachable_is_judged_at_once(
    store: Store, clock: HandClock, over: str, started_after_ms: int, judged: bool
) -> None:
    """A heartbeat may have asked for a lease that ends before its usual duration."""
    since = START + 5_000
    put(store, a_job("j1", state="active", attempt=1, started_at=since + started_after_ms))
    with store.transaction() as tx:
        tx.insert_leases([a_lease("j1", **{over: since + 10})])
    clock.now = since + 10
    assert lapsed(store, since) == (["j1"] if judged else [])


def test_the_longest_lapsed_come_first_when_there_are_too_many(
    store: Store, clock: HandClock
) -> None:
    hold(store, *(a_lease(f"j{n}", expires_at=START - n) for n in range(9)))
    assert lapsed(store, limit=3) == ["j6", "j7", "j8"]


def test_lapsed_jobs_come_with_their_leases(store: Store, clock: HandClock) -> None:
    lease = a_lease("j1", expires_at=START, fetch_id="f")
    hold(store, lease)
    with store.transaction() as tx:
        assert tx.load_lapsed(0, tx.now, 9) == [(a_job("j1", state="active", attempt=1).job, lease)]
