"""Several nodes on one database: no job is handed out twice, and none is lost."""

from contextlib import ExitStack, suppress

from ojs_server.domain.admin.server_node import Announcement
from ojs_server.domain.jobs.job import State
from ojs_server.store.base import Store, StoreUnavailable
from ojs_server.store.records import POSITION_BITS, EventTally
from tests.store.conftest import OpenNode
from tests.store.postgres.conftest import InThread
from tests.store.postgres.server import end_connections, query
from tests.store.records import (
    EVERYTHING,
    START,
    HandClock,
    a_job,
    a_lease,
    a_receipt,
    a_worker,
    an_event,
    claim,
    hold,
    ids,
    log,
    put,
)


def subjects(store: Store, after: int = 0) -> list[str]:
    with store.reader() as reader:
        return [placed.event.subject for placed in reader.events(after, EVERYTHING, 99).events]


def test_events_wait_until_every_earlier_transaction_has_ended(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    log(first, an_event(subject="before"))
    with first.transaction() as early:
        early.insert_events([an_event(subject="early")])
        log(second, an_event(subject="late"))
        assert subjects(first) == subjects(second) == ["before"]
        with second.reader() as reader:
            cursor = reader.events(0, EVERYTHING, 99).cursor
            assert reader.log_span().last == cursor
    assert subjects(second, cursor) == ["early", "late"]


def test_events_wait_for_a_transaction_that_has_written_none_yet(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    with first.transaction() as early:
        log(second, an_event(subject="late"))
        assert subjects(second) == []
        early.insert_events([an_event(subject="early")])
    assert subjects(second) == ["early", "late"]


def test_a_log_is_complete_once_its_end_reaches_what_was_its_head(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    with first.transaction():
        log(second, an_event(subject="late"))
        with second.reader() as reader:
            head = reader.log_head()
            assert reader.log_end() < head
    with second.reader() as reader:
        assert reader.log_end() >= head
    assert subjects(second) == ["late"]


def test_an_earlier_transaction_that_fails_holds_nothing_up(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    with ExitStack() as open_:
        open_.enter_context(first.transaction()).insert_events([an_event(subject="early")])
        log(second, an_event(subject="late"))
        open_.pop_all().__exit__(InterruptedError, InterruptedError(), None)
    assert subjects(second) == ["late"]


def test_two_nodes_claim_different_jobs_without_waiting(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    put(first, *(a_job(f"j{n}", seq=n, type=f"t.{n % 2}") for n in range(10)))
    with first.transaction() as one, second.transaction() as other:
        assert ids(one.claim(["default"], None, 2)) == ["j0", "j1"]
        assert ids(other.claim(["default"], None, 2)) == ["j2", "j3"]
        assert ids(one.claim(["default"], ["t.1", "t.0"], 2)) == ["j4", "j5"]
        assert ids(other.claim(["default"], ["t.1", "t.0"], 9)) == ["j6", "j7", "j8", "j9"]


def test_a_claim_locks_no_more_than_it_takes(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    put(
        first,
        *(a_job(f"{q}{n}", queue=q, seq=n, type=f"t.{n % 3}") for q in "xy" for n in range(6)),
    )
    with first.transaction() as one:
        assert len(one.claim(["x", "y"], ["t.0", "t.1", "t.2"], 2)) == 2
        assert len(one.claim(["x", "y"], None, 2)) == 2
        assert len(claim(second, ["x", "y"])) == 8


def test_jobs_claimed_by_many_nodes_at_once_go_out_once(node: OpenNode, threaded: InThread) -> None:
    stores = [node(name) for name in "abcd"]
    put(stores[0], *(a_job(f"j{n}", seq=n) for n in range(400)))

    def drain(store: Store) -> list[str]:
        taken: list[str] = []
        while part := claim(store, n=7):
            taken += ids(part)
        return taken

    drained = [threaded(drain, store) for store in stores]
    taken = [job_id for part in drained for job_id in part.result()]
    assert sorted(taken) == sorted(f"j{n}" for n in range(400))


def test_a_beat_for_a_lease_that_another_node_ended_since_extends_nothing(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    hold(first, a_lease("j1"))
    with first.transaction() as tx:
        tx.drop_leases(["j1"])
    with second.transaction() as tx:
        tx.extend_leases([a_lease("j1", expires_at=START + 99)])
        assert tx.load_leases(["j1"]) == {}


def test_a_sweep_leaves_what_other_nodes_are_busy_with(node: OpenNode, clock: HandClock) -> None:
    first, second = node("a"), node("b")
    hold(first, *(a_lease(f"j{n}", expires_at=START) for n in range(3)))
    put(first, a_job("d1", due_at=START), a_job("d2", due_at=START + 1))
    with first.transaction() as tx:
        tx.save_workers([a_worker("w1"), a_worker("w2", alive_at=START + 1)])
    clock.forward(60_000)
    with first.transaction() as busy, second.transaction() as sweep:
        busy.load_leases(["j0"])
        busy.load_jobs(["j1"])
        assert [job.id for job in busy.load_due(1)] == ["d1"]
        assert [worker.id for worker in busy.load_silent_workers(clock.now, 1)] == ["w1"]
        assert [job.id for job, _ in sweep.load_lapsed(0, sweep.now, 9)] == ["j2"]
        assert [job.id for job in sweep.load_due(9)] == ["d2"]
        assert [worker.id for worker in sweep.load_silent_workers(clock.now, 9)] == ["w2"]


def test_a_lease_that_was_renewed_meanwhile_is_not_swept(node: OpenNode, clock: HandClock) -> None:
    first, second = node("a"), node("b")
    hold(first, a_lease("j1", expires_at=START))
    clock.forward(60_000)
    with second.transaction() as sweep:
        with first.transaction() as beat:
            beat.extend_leases([a_lease("j1", expires_at=clock.now + 60_000)])
        assert sweep.load_lapsed(0, sweep.now, 9) == []


def test_pruning_nodes_take_different_rows(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    log(first, *(an_event() for _ in range(4)))
    with first.transaction() as tx:
        tx.insert_receipts({("p", "o", f"k{n}"): a_receipt() for n in range(4)})
        tx.save_workers([a_worker(f"w{n}", gone_at=START) for n in range(4)])
    with first.transaction() as one, second.transaction() as other:
        assert one.tally_events(9) == EventTally(4, behind=False)
        assert one.delete_events(START + 1, 0, 2) == 2
        # The log is one: while a node is at it, the others leave it alone.
        assert other.tally_events(9) is None
        for tx in (one, other):
            assert tx.prune_receipts(START + 1, 2) == 2
            assert tx.delete_workers(START, 2) == 2


def test_two_nodes_count_one_queue_without_waiting(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    for store in (first, second):
        with store.transaction() as tx:
            tx.add_counts({"q": {"available": 1}})
    with first.transaction() as one, second.transaction() as other:
        one.add_counts({"q": {"available": 1}})
        other.add_counts({"q": {"available": 1}})
    with first.reader() as reader:
        (queue,) = reader.queues()
    assert queue.counts[State.AVAILABLE] == 4


def test_counters_of_nodes_that_are_gone_are_taken_over(
    node: OpenNode, postgres_store: str
) -> None:
    for name in ("a", "b", "c"):
        with node(name).transaction() as tx:
            tx.add_counts({"q": {"available": 2}, name: {"active": 1}})
    query(postgres_store, "UPDATE nodes SET seen_at = 0 WHERE node IN ('a', 'b')")
    with node("d").reader() as reader:
        counts = {queue.name: queue.counts for queue in reader.queues()}
    assert counts["q"][State.AVAILABLE] == 6
    assert [counts[name][State.ACTIVE] for name in "abc"] == [1, 1, 1]
    rows = query(postgres_store, "SELECT DISTINCT node FROM queue_counts ORDER BY 1")
    assert rows == [("c",), ("d",)]
    assert query(postgres_store, "SELECT node FROM nodes ORDER BY 1") == [("c",), ("d",)]


def test_places_rise_on_in_a_cluster_that_has_counted_fewer_transactions(
    node: OpenNode, postgres_store: str
) -> None:
    first = node("a")
    put(first, a_job("old", seq=9))
    log(first, an_event(subject="old"))
    far = 10**9 << POSITION_BITS
    query(postgres_store, f"UPDATE events SET pos = pos + {far}")
    query(postgres_store, f"UPDATE jobs SET seq = {2 * far}")
    restored = node("b")
    log(restored, an_event(subject="new"))
    with restored.transaction() as tx:
        assert tx.position() > 2 * far
    assert subjects(restored) == ["old", "new"]
    # A node that was connected all along continues from there, too.
    log(first, an_event(subject="newer"))
    assert subjects(restored) == ["old", "new", "newer"]


def test_places_rise_on_after_a_connection_that_was_lost_with_its_cluster(
    node: OpenNode, postgres_store: str
) -> None:
    first = node("a")
    log(first, an_event(subject="old"))
    far = 10**9 << POSITION_BITS
    query(postgres_store, f"UPDATE events SET pos = pos + {far}")
    end_connections(postgres_store)
    with suppress(StoreUnavailable):
        log(first, an_event(subject="new"))
    with first.transaction() as tx:
        assert tx.position() > far
    log(first, an_event(subject="newer"))
    assert subjects(first)[0] == "old"
    assert subjects(first)[-1] == "newer"


def test_a_place_that_was_raised_is_not_raised_again(node: OpenNode, postgres_store: str) -> None:
    log(node("a"), an_event())
    log(node("b"), an_event())
    offset = "SELECT value FROM settings WHERE name = 'position_offset'"
    assert query(postgres_store, offset) == [(0,)]


def test_nodes_see_each_other_and_who_has_stopped(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    first.announce(Announcement("web-1", 1, "1.0"))
    second.announce(Announcement("web-2", 2, "1.1"))
    assert {one.id: one.announcement.host for one in first.nodes()} == {"a": "web-1", "b": "web-2"}
    assert sorted(one.id for one in second.nodes()) == ["a", "b"]
    first.withdraw()
    assert [one.id for one in second.nodes()] == ["b"]
    # A fetch that still waited there does not bring it back.
    first.note_waiting(1)
    assert [one.id for one in second.nodes()] == ["b"]
