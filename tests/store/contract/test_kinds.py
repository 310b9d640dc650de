"""The store contract: kinds of jobs by room, their workers, and the order of their oldest jobs."""

from ojs_server.domain.workers.kind import Kind
from ojs_server.store.base import Store
from ojs_server.systems.jobmanager.tables import oldest_lanes
from tests.store.records import ON_ALL_VERSIONS, START, a_job, a_lease, claim, hold, put


def kind(room: str, name: str) -> Kind:
    """A kind whose queue and type are called as it is."""
    return Kind(
        room, name, f"t.{name}", queue=f"q.{room}", schema=b"{}", created_at=START, updated_at=START
    )


def linked(store: Store, *links: tuple[str, Kind]) -> None:
    """Workers run kinds."""
    with store.transaction() as tx:
        tx.save_kinds(list({one for _, one in links}))
        tx.link_kinds([(worker, one.room, one.name) for worker, one in links])


@ON_ALL_VERSIONS
def test_a_room_shows_its_kinds_and_who_runs_them(store: Store) -> None:
    a, b, other = kind("r", "a"), kind("r", "b"), kind("s", "a")
    linked(store, ("w2", a), ("w1", a), ("w1", b), ("w1", other))
    with store.reader() as reader:
        assert reader.kinds_in("r") == [(a, ("w1", "w2")), (b, ("w1",))]
        assert reader.kinds_in("none") == reader.kinds_in("\0") == []
        assert reader.kinds_in("s") == [(other, ("w1",))]


@ON_ALL_VERSIONS
def test_the_lane_with_the_oldest_job_comes_first(store: Store) -> None:
    linked(store, ("w", kind("r", "a")), ("w", kind("s", "b")), ("x", kind("r", "b")))
    put(
        store,
        a_job("new", queue="q.r", type="t.a", seq=5),
        a_job("old", queue="q.s", type="t.b", seq=3),
        # No pair of this worker's, not waiting, or too late.
        a_job("cross", queue="q.r", type="t.b", seq=1),
        a_job("later", queue="q.r", type="t.a", seq=1, state="scheduled", due_at=START),
        a_job("late", queue="q.r", type="t.a", seq=2, expires_at=START - 1),
    )
    with store.transaction() as tx:
        assert oldest_lanes(tx, "w") == [("q.s", "t.b"), ("q.r", "t.a")]
        assert oldest_lanes(tx, "x") == [("q.r", "t.b")]
        assert oldest_lanes(tx, "nobody") == []
    claim(store, ("q.s",))
    with store.transaction() as tx:
        assert oldest_lanes(tx, "w") == [("q.r", "t.a")]


@ON_ALL_VERSIONS
def test_kinds_that_nobody_runs_or_waits_for_retire(store: Store) -> None:
    shared, waited, gone = kind("r", "a"), kind("r", "b"), kind("r", "c")
    linked(store, ("w", shared), ("x", shared), ("w", waited), ("w", gone))
    put(store, a_job("j1", queue="q.r", type="t.b"))
    with store.transaction() as tx:
        names = tx.linked(["w"])
        assert names == {("r", "a"), ("r", "b"), ("r", "c")}
        tx.unlink_kinds(["w"])
        tx.retire_kinds(names)
        assert tx.linked(["w"]) == set()
    with store.reader() as reader:
        assert reader.kinds_in("r") == [(shared, ("x",)), (waited, ())]
    claim(store, ("q.r",))
    linked(store, ("w", gone))
    with store.reader() as reader:
        assert reader.kinds_in("r") == [(shared, ("x",)), (gone, ("w",))]


@ON_ALL_VERSIONS
def test_the_first_word_of_a_beginning_counts(store: Store) -> None:
    hold(store, a_lease("j1"), a_lease("j2"))
    with store.transaction() as tx:
        tx.start_lease("j1")
        began = tx.now
    with store.transaction() as tx:
        tx.start_lease("j1")
        leases = tx.load_leases(["j1", "j2"])
    assert (leases["j1"].running_at, leases["j2"].running_at) == (began, None)


@ON_ALL_VERSIONS
def test_a_reserved_kind_is_stored_once_and_keeps_what_it_has(store: Store) -> None:
    first, other = kind("r", "a"), Kind("r", "a", "t.other", queue="q.r", schema=b"[]")
    with store.transaction() as tx:
        assert tx.reserve_kind(first) == (first, True)
        assert tx.reserve_kind(other) == (first, False)
        tx.retire_kinds([("r", "a")])
    with store.transaction() as tx:
        gone, is_new = tx.reserve_kind(other)
        assert not is_new
        assert gone.deleted_at is not None


@ON_ALL_VERSIONS
def test_kinds_are_counted_by_worker(store: Store) -> None:
    linked(store, ("w", kind("r", "a")), ("w", kind("s", "a")), ("x", kind("r", "a")))
    with store.reader() as reader:
        assert reader.kind_counts(["w", "x", "nobody"]) == {"w": 2, "x": 1}
        assert reader.kind_counts(["x"]) == {"x": 1}


@ON_ALL_VERSIONS
def test_waiting_jobs_before_one_are_counted_up_to_a_bound(store: Store) -> None:
    last = a_job("last", seq=5)
    put(
        store,
        last,
        a_job("first", seq=1),
        a_job("urgent", seq=9, priority=1),
        a_job("later", seq=6),
        a_job("lower", seq=2, priority=-1),
        a_job("other-type", type="t.other", seq=2),
        a_job("other-queue", queue="q.other", seq=2),
        a_job("held", seq=3, state="scheduled", due_at=START),
    )
    with store.reader() as reader:
        assert reader.waiting_before(last.job, 10) == 2
        assert reader.waiting_before(last.job, 1) == 1
