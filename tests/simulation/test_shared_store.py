"""Several nodes over one simulated database: notices, caches, faults, and what is true of them."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from ojs_server.domain.admin.server_node import Announcement, ServerNode
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.environment import machine
from ojs_server.store.base import (
    Callbacks,
    OutcomeUnknown,
    StaleWrite,
    Store,
    StoreBusy,
    StoreUnavailable,
    StoreUnreachable,
    Tx,
)
from ojs_server.store.postgres.silence import SILENCE_S
from ojs_server.store.records import MAX_POSITIONS, Contended, Preload
from tests.simulation.shared_store import NodeStore, SharedDatabase, StoreFaults
from tests.store.records import EVERYTHING, START, HandClock, a_job, an_event, log, put, whole

SAID = Announcement("host", 1, "1.0")


class Net:
    """Carries notices at once, until it is told to keep them."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.kept: list[Callable[[], None]] | None = None

    def send(self, from_node: str, to_node: str, deliver: Callable[[], None]) -> None:
        self.sent.append((from_node, to_node))
        if self.kept is None:
            deliver()
        else:
            self.kept.append(deliver)


class Heard:
    """The notices that a node has received."""

    def __init__(self, store: NodeStore) -> None:
        self.wakes: list[dict[str, int] | None] = []
        self.log: list[int | None] = []
        self.due: list[int] = []
        self._listener = store.listener(
            Callbacks(
                lambda queues: self.wakes.append(None if queues is None else dict(queues)),
                self.log.append,
                self.due.append,
            )
        )

    async def listening(self) -> "asyncio.Task[None]":
        """Listen in a task that has begun."""
        task = asyncio.create_task(self._listener.run())
        await asyncio.sleep(0)
        return task


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def net() -> Net:
    return Net()


@pytest.fixture
def database(sqlite_store: Path, net: Net, clock: HandClock) -> Iterator[SharedDatabase]:
    database = SharedDatabase(sqlite_store, machine(), random.Random(1), net.send, clock=clock)
    with closing(database):
        yield database


@pytest.fixture
def nodes(database: SharedDatabase, clock: HandClock) -> Iterator[list[NodeStore]]:
    """Three nodes, whose own clocks go with the database's."""
    with ExitStack() as opened:
        yield [
            opened.enter_context(closing(NodeStore(database, name, lambda: clock.now / 1000)))
            for name in "abc"
        ]


def announce(store: Store, **queues: int) -> None:
    with store.transaction() as tx:
        tx.announce(queues)


def store_and_announce(store: Store, name: str) -> None:
    with store.transaction() as tx:
        tx.insert_jobs([a_job(name)])
        tx.announce({name: 1})


def too_many(tx: Tx) -> None:
    """Announce a queue, and ask for more positions than there are."""
    tx.announce({"q": 1})
    tx.positions(MAX_POSITIONS)


def listened(nodes: list[NodeStore], then: Callable[[list[Heard]], None]) -> list[Heard]:
    """Return all that the nodes have heard while something was done."""

    async def listen() -> list[Heard]:
        heard = [Heard(node) for node in nodes]
        tasks = [await one.listening() for one in heard]
        then(heard)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return heard

    return asyncio.run(listen())


def test_a_node_is_a_store_whose_place_is_that_of_postgres(nodes: list[NodeStore]) -> None:
    store: Store = nodes[0]
    assert (store.kind, store.embedded, store.node, store.is_open) == ("postgres", False, "a", True)
    assert (store.displaced(), store.vacuum_holders(), store.durability_warnings()) == (
        None,
        [],
        [],
    )


def test_every_node_sees_what_another_has_committed(nodes: list[NodeStore]) -> None:
    a, b, _ = nodes
    put(a, a_job("j1"))
    assert whole(b, "j1") == a_job("j1")
    with a.transaction() as tx:
        tx.save_config("q", QueueConfig())
    with b.transaction() as tx:
        assert "q" in tx.configs


def test_each_node_writes_under_its_own_name(nodes: list[NodeStore]) -> None:
    for node in nodes:
        with node.transaction() as tx:
            assert tx.node == node.node


def test_places_rise_from_node_to_node(nodes: list[NodeStore]) -> None:
    places = []
    for node in [*nodes, *nodes]:
        with node.transaction() as tx:
            places.append(tx.position())
    assert places == sorted(set(places))


def test_a_transaction_is_over_before_the_next_begins(nodes: list[NodeStore]) -> None:
    a, b, _ = nodes
    with a.transaction() as tx:
        tx.insert_jobs([a_job("j1")])
        with pytest.raises(StoreBusy):
            put(b, a_job("j2"))
        assert whole(b, "j1") is None
    put(b, a_job("j2"))
    assert whole(a, "j2") is not None


def test_jobs_are_announced_to_all_others_while_a_fetch_waits_at_one(
    nodes: list[NodeStore], clock: HandClock
) -> None:
    a, b, c = nodes

    def play(heard: list[Heard]) -> None:
        announce(a, q=1)
        a.note_waiting(clock.now + 10)
        announce(a, q=2)
        b.note_waiting(clock.now + 10)
        b.note_waiting(clock.now + 5)
        announce(a, q=3)
        clock.forward(9)
        announce(c, q=4, r=1)
        clock.forward(1)
        announce(a, q=5)

    heard = listened(nodes, play)
    four = {"q": 4, "r": 1}
    assert [one.wakes for one in heard] == [[None, four], [None, {"q": 3}, four], [None, {"q": 3}]]


def test_a_transaction_that_fails_announces_nothing(
    nodes: list[NodeStore], net: Net, clock: HandClock
) -> None:
    def play(heard: list[Heard]) -> None:
        nodes[1].note_waiting(clock.now + 1000)
        with pytest.raises(OverflowError), nodes[0].transaction() as tx:
            too_many(tx)

    listened(nodes, play)
    assert net.sent == []


def test_a_notice_that_would_be_too_long_names_no_queues(
    nodes: list[NodeStore], clock: HandClock
) -> None:
    def play(heard: list[Heard]) -> None:
        nodes[1].note_waiting(clock.now + 1000)
        announce(nodes[0], **{f"{'q' * 90}{number}": 1 for number in range(100)})

    assert listened(nodes, play)[1].wakes == [None, None]


def test_moments_are_told_to_all_others(nodes: list[NodeStore]) -> None:
    def play(heard: list[Heard]) -> None:
        with nodes[0].transaction() as tx:
            tx.announce_due(START + 5)
            tx.announce_due(START + 5)
            tx.announce_due(START + 4)

    heard = listened(nodes, play)
    assert [one.due for one in heard] == [[], [START + 5, START + 4], [START + 5, START + 4]]


def test_events_are_told_for_as_long_as_a_node_follows_them(
    nodes: list[NodeStore], clock: HandClock
) -> None:
    a, b, c = nodes

    def play(heard: list[Heard]) -> None:
        log(a, an_event())
        b.note_following(1000)
        clock.forward(999)
        log(a, an_event())
        log(b, an_event())
        clock.forward(1)
        log(a, an_event())

    heard = listened(nodes, play)
    with c.reader() as reader:
        last = reader.events(0, EVERYTHING, 2).events[-1].position
    assert [len(one.log) for one in heard] == [1, 2, 2]
    assert heard[1].log == heard[2].log == [None, last]


def test_a_notice_reaches_nobody_who_has_stopped_listening(
    nodes: list[NodeStore], net: Net, clock: HandClock
) -> None:
    def play(heard: list[Heard]) -> None:
        nodes[1].note_waiting(clock.now + 1000)
        net.kept = []
        announce(nodes[0], q=1)
        nodes[1].lose_listener()
        announce(nodes[0], q=2)
        for deliver in reversed(net.kept):
            deliver()
            deliver()

    heard = listened(nodes, play)
    assert heard[1].wakes == [None]
    assert heard[2].wakes == [None, {"q": 2}, {"q": 2}, {"q": 1}, {"q": 1}]
    assert net.sent == [("a", "b"), ("a", "c"), ("a", "c")]


def test_a_listener_that_has_lost_its_session_connects_again_and_wakes_all(
    nodes: list[NodeStore], database: SharedDatabase
) -> None:
    async def play() -> Heard:
        heard = Heard(nodes[0])
        task = await heard.listening()
        again = asyncio.Event()
        heard.wakes, wakes = Waking(again), heard.wakes
        assert wakes == [None]
        nodes[0].lose_listener()
        await asyncio.wait_for(again.wait(), 10)
        task.cancel()
        return heard

    assert asyncio.run(play()).wakes == [None]
    assert database.fired == {"listener lost": 1}


class Waking(list[Any]):
    """A list that tells when something is added."""

    def __init__(self, added: asyncio.Event) -> None:
        super().__init__()
        self._added = added

    def append(self, item: Any) -> None:
        super().append(item)
        self._added.set()


def test_nodes_are_listed_until_they_stop(nodes: list[NodeStore], clock: HandClock) -> None:
    a, b, _ = nodes
    a.announce(SAID)
    clock.forward(10)
    a.announce(SAID)
    b.announce(SAID)
    one = ServerNode("a", START, START + 10, SAID)
    assert b.nodes() == [one, ServerNode("b", START + 10, START + 10, SAID)]
    b.withdraw()
    assert a.nodes() == [one]


def test_a_database_that_is_away_is_reached_by_nobody(
    nodes: list[NodeStore], database: SharedDatabase
) -> None:
    a = nodes[0]
    unknown = doubt(a, database, carried_out=1.0)
    database.away = True
    late = NodeStore(database, "d", lambda: 0.0, at_once=False)
    for call in (a.ping, a.reader().__enter__, a.transaction().__enter__, a.nodes, late.open):
        with pytest.raises(StoreUnreachable):
            call()
    with pytest.raises(OutcomeUnknown):
        unknown.carried_out()
    database.away = False
    a.ping()
    assert not late.is_open
    with pytest.raises(StoreUnreachable):
        late.ping()
    late.open()
    late.ping()
    assert unknown.carried_out()


def doubt(store: NodeStore, database: SharedDatabase, **shares: float) -> OutcomeUnknown:
    """The error of a COMMIT that got no answer."""
    database.faults = StoreFaults(**shares)
    with pytest.raises(OutcomeUnknown) as raised:
        put(store, a_job("in doubt"))
    database.faults = StoreFaults()
    return raised.value


@pytest.mark.parametrize("carried_out", [True, False])
def test_the_outcome_that_is_told_is_the_true_one(
    nodes: list[NodeStore], database: SharedDatabase, net: Net, carried_out: bool
) -> None:
    share = "carried_out" if carried_out else "not_carried_out"
    error = doubt(nodes[0], database, **{share: 1.0})
    assert error.carried_out() is carried_out
    assert (whole(nodes[1], "in doubt") is not None) is carried_out
    database.faults = StoreFaults(unanswered=1.0)
    with pytest.raises(OutcomeUnknown):
        error.carried_out()
    name = "unknown, carried out" if carried_out else "unknown, not carried out"
    assert database.fired == {name: 1, "unanswered": 1}
    assert nodes[0].lost_connections == 1


def test_what_was_committed_is_announced_even_if_its_node_does_not_know(
    nodes: list[NodeStore], database: SharedDatabase, clock: HandClock
) -> None:
    def play(heard: list[Heard]) -> None:
        nodes[1].note_waiting(clock.now + 1000)
        for share in ("carried_out", "not_carried_out"):
            database.faults = StoreFaults(**{share: 1.0})
            with pytest.raises(OutcomeUnknown):
                store_and_announce(nodes[0], share)

    assert listened(nodes, play)[1].wakes == [None, {"carried_out": 1}]


@pytest.mark.parametrize(
    ("share", "error"),
    [
        ("busy", StoreBusy),
        ("unreachable", StoreUnreachable),
        ("lost", StoreUnavailable),
        ("stale", StaleWrite),
    ],
)
def test_a_transaction_that_fails_leaves_nothing(
    nodes: list[NodeStore], database: SharedDatabase, share: str, error: type[Exception]
) -> None:
    database.faults = StoreFaults(**{share: 1.0})
    with pytest.raises(error):
        put(nodes[0], a_job("j1"))
    assert whole(nodes[1], "j1") is None
    assert database.fired == {f"{share}, long wait" if share == "busy" else share: 1}


def test_what_has_changed_nothing_is_never_in_doubt(
    nodes: list[NodeStore], database: SharedDatabase
) -> None:
    for share in ("carried_out", "not_carried_out"):
        database.faults = StoreFaults(**{share: 1.0})
        with pytest.raises(StoreUnavailable), nodes[0].transaction() as tx:
            tx.load_jobs(["j1"])


def test_faults_come_as_often_as_they_are_asked_for(
    nodes: list[NodeStore], database: SharedDatabase
) -> None:
    database.faults = StoreFaults(busy=0.1, lost=0.1, stale=0.1, carried_out=0.1, reads_lost=0.2)
    done = 0
    for number in range(1000):
        try:
            put(nodes[number % 3], a_job(f"j{number}"))
            done += 1
        except (StoreUnavailable, StaleWrite, OutcomeUnknown):
            pass
        try:
            with nodes[0].reader() as reader:
                reader.ping()
        except StoreUnavailable:
            pass
    kinds = ("busy, long wait", "lost", "stale", "unknown, carried out")
    assert sum(database.fired[kind] for kind in kinds) == 1000 - done
    assert all(60 < database.fired[kind] < 140 for kind in kinds)
    assert 140 < database.fired["read lost"] < 260


def test_rows_of_a_silent_transaction_are_held_until_it_is_ended(
    nodes: list[NodeStore], database: SharedDatabase, clock: HandClock
) -> None:
    a, b, _ = nodes
    put(a, a_job("j1"), a_job("j2"))
    rows = Contended(("#queue:q", "k"), ("j1",), ("w1",))
    database.hold("a", rows)
    clock.forward(300)
    for needed in (Preload((), ("j1", "j2")), Preload(("w1",), ())):
        with pytest.raises(StoreBusy), b.transaction(needed, long_wait=False):
            raise AssertionError("it has the rows")
    with pytest.raises(StoreBusy), b.transaction() as tx:
        tx.load_limits(["k"])
    with b.transaction() as tx:
        assert set(tx.load_jobs(["j2"])) == {"j2"}
    assert b.held(Contended(jobs=("j1", "j2"), workers=("w2",)), 300) == Contended(
        {"#queue:q"}, {"j1"}, set()
    )
    assert b.held(rows, 301) == Contended(set(), set(), set())
    assert b.end_silent_transactions() == 0
    clock.forward(round(SILENCE_S * 1000))
    assert b.end_silent_transactions() == 1
    assert b.held(rows, 0) == Contended(set(), set(), set())
    with b.transaction() as tx:
        assert set(tx.load_jobs(["j1"])) == {"j1"}
    with pytest.raises(StoreUnavailable, match="terminating"):
        put(a, a_job("j3"))
    put(a, a_job("j3"))
    assert (database.fired["held up"], database.fired["hold ended"]) == (3, 1)


def test_the_log_ends_before_a_silent_transaction(
    nodes: list[NodeStore], database: SharedDatabase
) -> None:
    a, b, _ = nodes

    def seen() -> list[str]:
        with b.reader() as reader:
            return [placed.event.subject for placed in reader.events(0, EVERYTHING, 9).events]

    log(a, an_event(subject="before"))
    database.hold("a", Contended())
    log(b, an_event(subject="after"))
    assert seen() == ["before"]
    with b.transaction() as tx:
        first = tx.log_end()
    log(a, an_event(subject="last"))
    assert seen() == ["before", "after", "last"]
    with b.transaction() as tx:
        assert tx.log_end() > first


def test_a_node_that_goes_on_in_time_is_not_ended(
    nodes: list[NodeStore], database: SharedDatabase, clock: HandClock
) -> None:
    a, b, _ = nodes
    database.hold("a", Contended(jobs=("j1",)))
    assert b.end_silent_transactions() == 0
    put(a, a_job("j1"))
    clock.forward(10_000)
    assert b.end_silent_transactions() == 0
    with b.transaction() as tx:
        assert set(tx.load_jobs(["j1"])) == {"j1"}


def test_the_dead_hold_and_hear_nothing(
    nodes: list[NodeStore], database: SharedDatabase, net: Net
) -> None:
    def play(heard: list[Heard]) -> None:
        database.hold("b", Contended(jobs=("j1",)))
        database.disconnect("b")
        put(nodes[0], a_job("j1"))
        with nodes[0].transaction() as tx:
            tx.load_jobs(["j1"])
            tx.announce_due(START)

    listened(nodes, play)
    assert net.sent == [("a", "c")]
