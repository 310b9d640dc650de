"""The store contract: queues, their counters, and pausing."""

from contextlib import closing

from ojs_server.domain.jobs.job import STATES
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from ojs_server.store.records import QueueCounts
from tests.store.records import ON_ALL_VERSIONS, START, HandClock, a_job, put

NONE = dict.fromkeys(STATES, 0)


def add(store: Store, deltas: dict[str, dict[str, int]]) -> None:
    with store.transaction() as tx:
        tx.add_counts(deltas)


def listed(store: Store, names: list[str] | None = None) -> list[QueueCounts]:
    with store.reader() as reader:
        return list(reader.queues(names))


@ON_ALL_VERSIONS
def test_every_counter_moves_by_what_is_added(store: Store) -> None:
    first = {state: 10 + n for n, state in enumerate(STATES)}
    second = {state: -n for n, state in enumerate(STATES)}
    add(store, {"q": first})
    add(store, {"q": second})
    add(store, {})
    (queue,) = listed(store)
    assert queue == QueueCounts("q", False, START, None, dict.fromkeys(STATES, 10))


def test_counters_that_are_not_named_stay(store: Store) -> None:
    add(store, {"q": {"available": 5}, "p": {"active": 1}})
    add(store, {"q": {"available": -2, "active": 2}})
    counts = {queue.name: dict(queue.counts) for queue in listed(store)}
    assert counts == {
        "p": {**NONE, "active": 1},
        "q": {**NONE, "available": 3, "active": 2},
    }


@ON_ALL_VERSIONS
def test_the_counters_of_all_nodes_are_summed(
    store: Store, store_url: str, clock: HandClock
) -> None:
    add(store, {"q": {"available": 5}})
    store.close()
    clock.forward(10)
    with closing(open_store(store_url, clock=clock, node="b")) as other:
        add(other, {"q": {"available": -3, "active": 3}})
        (queue,) = listed(other)
    assert queue.counts == {**NONE, "available": 2, "active": 3}
    assert queue.created_at == START


@ON_ALL_VERSIONS
def test_a_queue_is_paused_and_resumed(store: Store, clock: HandClock) -> None:
    add(store, {"q": {"available": 5}})
    clock.forward(10)
    with store.transaction() as tx:
        tx.set_paused("q", True)
    expected = QueueCounts("q", True, START, START + 10, {**NONE, "available": 5})
    assert listed(store) == [expected]
    clock.forward(10)
    with store.transaction() as tx:
        tx.set_paused("q", False)
    assert listed(store) == [QueueCounts("q", False, START, START + 20, {**NONE, "available": 5})]


def test_a_queue_can_be_paused_before_it_is_used(store: Store, clock: HandClock) -> None:
    with store.transaction() as tx:
        tx.set_paused("q", True)
    assert listed(store) == [QueueCounts("q", True, START, START, NONE)]
    clock.forward(10)
    add(store, {"q": {"available": 1}})
    (queue,) = listed(store)
    assert (queue.created_at, queue.counts["available"]) == (START, 1)


@ON_ALL_VERSIONS
def test_queues_are_listed_by_name(store: Store) -> None:
    names = ["b", "a.b", "a-b", "a_b", "a", "B", "a1"]
    add(store, {name: {"available": 1} for name in names})
    assert [queue.name for queue in listed(store)] == sorted(names)


def test_some_queues_are_listed(store: Store) -> None:
    add(store, {name: {"available": 1} for name in "abc"})
    with store.transaction() as tx:
        tx.set_paused("d", True)
    assert [queue.name for queue in listed(store, ["d", "unknown", "b"])] == ["b", "d"]
    assert listed(store, []) == []


def test_priorities_are_counted_up_to_a_limit(store: Store) -> None:
    put(
        store,
        *(a_job(f"n{number}", queue="q", seq=number) for number in range(4)),
        a_job("high", queue="q", priority=7),
        a_job("gated", queue="q", priority=8, rate_key="k", on_limit="wait"),
        a_job("later", queue="q", priority=9, state="scheduled", due_at=START + 1),
        a_job("other", queue="p", priority=1),
    )
    with store.reader() as reader:
        assert list(reader.priorities("q", 3).items()) == [(7, 1), (0, 3)]
        assert reader.priorities("p", 3) == {1: 1}
        assert reader.priorities("none", 3) == {}


@ON_ALL_VERSIONS
def test_queues_know_since_when_their_first_job_waits(store: Store) -> None:
    put(
        store,
        a_job("new", queue="q", seq=3, priority=7, enqueued_at=START + 30),
        a_job("old", queue="q", seq=1, priority=-5, enqueued_at=START + 10),
        a_job("middle", queue="q", seq=2, enqueued_at=START + 20),
        a_job("gated", queue="p", rate_key="k", on_limit="wait", enqueued_at=START + 5),
        a_job("free", queue="p", seq=2, enqueued_at=START + 7),
        a_job("made", queue="r"),
        a_job("later", queue="later", state="scheduled", due_at=START + 1),
    )
    with store.reader() as reader:
        found = reader.oldest_available(["q", "p", "r", "later", "unknown"])
        assert found == {"q": START + 10, "p": START + 5, "r": START}
        assert reader.oldest_available([]) == {}
