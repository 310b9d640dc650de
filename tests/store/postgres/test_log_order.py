"""The order of the event log: only transactions of servers decide how far it can be read."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ojs_server.store.base import Store, Tx
from ojs_server.store.postgres.store import PostgresStore
from tests.store.postgres.conftest import InThread
from tests.store.postgres.server import query
from tests.store.records import EVERYTHING, an_event

BOTH_VERSIONS = pytest.mark.parametrize("store_url", ["postgres", "distribution"], indirect=True)
NODES = ("a", "b")
TRANSACTIONS = 150
PLAYED = 200
PREPARED_MOST = 3

Placed = tuple[int, str]


@pytest.fixture
def nodes(store_url: str) -> Iterator[dict[str, Store]]:
    """Two servers of one database."""
    with ExitStack() as opened:
        yield {
            name: opened.enter_context(closing(PostgresStore(store_url, node=name)))
            for name in NODES
        }


def read(store: Store, after: int) -> list[Placed]:
    """All events after a position, with their positions."""
    with store.reader() as reader:
        page = reader.events(after, EVERYTHING, 10_000)
    assert not page.has_more
    return [(placed.position, placed.event.subject) for placed in page.events]


class Application:
    """Sessions of an application in the same database, with transactions of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = psycopg.connect(url)
        self._prepared: list[str] = []

    def turn(self) -> None:
        """Take a transaction number, or end the transaction that has one."""
        if self._connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._connection.execute("SELECT pg_current_xact_id()")
        else:
            self._connection.rollback()

    def prepare(self) -> None:
        """Prepare a transaction, which no session has from then on; or end the oldest such."""
        if len(self._prepared) == PREPARED_MOST:
            self._end_prepared()
            return
        name = f"foreign-{uuid4()}"
        with psycopg.connect(self._url) as connection:
            connection.execute("SELECT pg_current_xact_id()")
            connection.execute(f"PREPARE TRANSACTION '{name}'".encode())
        self._prepared.append(name)

    def _end_prepared(self) -> None:
        query(self._url, f"ROLLBACK PREPARED '{self._prepared.pop(0)}'")

    def close(self) -> None:
        """End all transactions."""
        self._connection.close()
        while self._prepared:
            self._end_prepared()


class Writing:
    """A transaction that is open on a node: its position, and the events that it has written."""

    def __init__(self, store: Store) -> None:
        self._end = ExitStack()
        self.tx: Tx = self._end.enter_context(store.transaction())
        self.position = self.tx.position()
        self.written: list[Placed] = []

    def write(self, subject: str) -> None:
        """Write one event."""
        self.written.append((self.tx.insert_events([an_event(subject=subject)]), subject))

    def commit(self) -> list[Placed]:
        """End the transaction; return what it has written."""
        self._end.close()
        return self.written

    def roll_back(self) -> None:
        """End the transaction, of which nothing stays."""
        with suppress(InterruptedError):
            self._end.__exit__(InterruptedError, InterruptedError(), None)


class Play:
    """Steps of two nodes, of an application and of a reader, and what the reader has to see."""

    def __init__(self, nodes: dict[str, Store], application: Application) -> None:
        self._nodes = nodes
        self._application = application
        self._open: dict[str, Writing] = {}
        self._committed: list[Placed] = []
        self._numbers = iter(range(10_000))
        with nodes["a"].reader() as reader:
            self._cursor = reader.log_span().last

    def step(self, name: str, node: str) -> None:
        """Carry a step out, as far as there is something to do."""
        steps: dict[str, Callable[[str], None]] = {
            "begin or write": self._write,
            "commit": self._commit,
            "roll back": self._roll_back,
            "application": lambda _: self._application.turn(),
            "prepare": lambda _: self._application.prepare(),
            "read": self.read,
        }
        steps[name](node)

    def _write(self, node: str) -> None:
        if node not in self._open:
            self._open[node] = Writing(self._nodes[node])
        else:
            self._open[node].write(f"{node}{next(self._numbers)}")

    def _commit(self, node: str) -> None:
        if node in self._open:
            self._committed += self._open.pop(node).commit()

    def _roll_back(self, node: str) -> None:
        if node in self._open:
            self._open.pop(node).roll_back()

    def read(self, node: str) -> None:
        """Read on: all that was committed before the first transaction which is open."""
        first = min((one.position for one in self._open.values()), default=2**63)
        due = sorted(one for one in self._committed if self._cursor < one[0] < first)
        assert read(self._nodes[node], self._cursor) == due
        last = max((one[0] for one in self._committed if one[0] < first), default=self._cursor)
        if node in self._open:
            # A transaction sees the sessions as they were when it first looked at them.
            assert self._open[node].tx.log_span().last <= last
        self._cursor = last

    def close(self) -> None:
        """Commit what is open on the nodes; the transactions of the application stay open."""
        for node in list(self._open):
            self._commit(node)

    def end(self) -> None:
        """Read the rest, which is all that was committed."""
        self.read("a")
        assert all(position <= self._cursor for position, _ in self._committed)


STEPS = (
    *("begin or write",) * 4,
    *("commit",) * 2,
    "roll back",
    "application",
    "prepare",
    *("read",) * 3,
)


@BOTH_VERSIONS
@pytest.mark.parametrize("seed", range(3))
def test_a_reader_sees_each_event_once_and_at_once(
    nodes: dict[str, Store], store_url: str, seed: int
) -> None:
    chance = random.Random(seed)
    with closing(Application(store_url)) as application:
        play = Play(nodes, application)
        try:
            for _ in range(PLAYED):
                step, node = chance.choice(STEPS), chance.choice(NODES)
                # Shown where it fails.
                print(step, node)
                play.step(step, node)
        finally:
            play.close()
        play.end()


@contextmanager
def busy(work: Callable[[], Any], threaded: InThread) -> Iterator[None]:
    """Do something over and over, beside the block."""
    over = threading.Event()

    def repeat() -> None:
        while not over.is_set():
            work()

    running = threaded(repeat)
    try:
        yield
    finally:
        over.set()
    running.result()


@BOTH_VERSIONS
def test_readers_miss_nothing_while_nodes_commit_at_the_same_time(
    nodes: dict[str, Store], store_url: str, threaded: InThread
) -> None:
    pause = threading.Event()

    def write(name: str) -> list[Placed]:
        chance, written = random.Random(name), list[Placed]()
        for number in range(TRANSACTIONS):
            one = Writing(nodes[name])
            pause.wait(chance.choice((0, 0, 0.001, 0.004)))
            one.write(f"{name}{number}")
            if chance.random() < 0.1:
                one.roll_back()
            else:
                written += one.commit()
        return written

    def follow(name: str) -> list[Placed]:
        seen, cursor, over = list[Placed](), 0, False
        while not over:
            # Before the last read: it has to see all that was written by now.
            over = all(one.done() for one in writers)
            page = read(nodes[name], cursor)
            cursor = page[-1][0] if page else cursor
            seen += page
        return seen

    with (
        closing(Application(store_url)) as held,
        closing(Application(store_url)) as restless,
    ):
        held.turn()
        held.prepare()
        with busy(restless.turn, threaded):
            writers = [threaded(write, name) for name in NODES]
            followers = [threaded(follow, name) for name in (*NODES, *NODES)]
            written = sorted(placed for one in writers for placed in one.result())
            assert [one.result() for one in followers] == [written] * len(followers)
