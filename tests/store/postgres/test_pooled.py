"""Behind a connection pooler in transaction mode, with the database itself named for LISTEN."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from ojs_server.store.base import Callbacks, StaleWrite, StoreUnavailable
from ojs_server.store.postgres.store import PostgresStore
from tests.store.postgres.pooler import Pooler
from tests.store.postgres.server import query
from tests.store.records import (
    EVERYTHING,
    START,
    HandClock,
    a_job,
    a_lease,
    an_event,
    change,
    claim,
    ids,
    log,
    put,
    whole,
)

# More than the driver waits for before it prepares a statement.
ROUNDS = 12


@pytest.fixture
def careless_url(postgres_store: str) -> str:
    """A database whose sessions do not wait for durable commits by themselves."""
    return postgres_store.replace("options=", "options=-csynchronous_commit%3Doff%20")


@pytest.fixture
def pooler(careless_url: str) -> Iterator[Pooler]:
    with closing(Pooler(careless_url)) as pooler:
        yield pooler


@pytest.fixture
def store(pooler: Pooler, careless_url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(pooler.url, node="a", listen_url=careless_url)) as store:
        yield store


def live(store: PostgresStore) -> None:
    """Jobs from their arrival to their end, over and over."""
    for n in range(ROUNDS):
        name = f"j{n}"
        put(store, a_job(name, due_at=START))
        log(store, an_event(subject=name))
        with store.transaction() as tx:
            (claimed,) = tx.claim(["default"], ["mail.send"], 1)
            tx.insert_leases([a_lease(name)])
            tx.add_counts({"default": {"active": 1}})
        with store.transaction() as tx:
            assert tx.load_jobs([name]) == {name: (claimed.job, a_lease(name))}
            tx.write_changes([change(claimed.job, b"{}", state="completed")])
            tx.drop_leases([name])
        done = whole(store, name)
        assert done is not None
        assert done.job.state == "completed"


def test_jobs_live_as_they_do_without_a_pooler(store: PostgresStore) -> None:
    live(store)
    with store.reader() as reader:
        assert len(reader.events(0, EVERYTHING, 99).events) == ROUNDS
        assert reader.queues()[0].counts["active"] == ROUNDS


def test_nothing_is_left_on_the_servers_sessions(store: PostgresStore, pooler: Pooler) -> None:
    live(store)
    for _ in range(6):
        state = (
            "SELECT current_setting('synchronous_commit'), current_setting('enable_seqscan'),"
            " (SELECT count(*) FROM pg_prepared_statements)"
        )
        assert query(pooler.url, state) == [("off", "on", 0)]


def test_every_transaction_still_waits_for_a_durable_commit(store: PostgresStore) -> None:
    for _ in range(4):
        with store.transaction() as tx:
            assert tx.synchronous_commit() == "on"


def test_prepared_statements_would_not_survive_here(pooler: Pooler, careless_url: str) -> None:
    """The pooler is one that finds out: with statements kept on sessions the store breaks."""
    url = f"{pooler.url}?prepare=true"
    with (
        closing(PostgresStore(url, node="a", listen_url=careless_url)) as store,
        pytest.raises((StaleWrite, StoreUnavailable), match="prepared statement"),
    ):
        live(store)


def test_notices_pass_by_the_pooler(pooler: Pooler, careless_url: str) -> None:
    clock = HandClock()
    with (
        closing(PostgresStore(pooler.url, clock=clock, node="a", listen_url=careless_url)) as near,
        closing(PostgresStore(pooler.url, clock=clock, node="b", listen_url=careless_url)) as far,
    ):
        near.note_waiting(START + 1)

        async def body() -> None:
            heard: asyncio.Queue[object] = asyncio.Queue()
            task = asyncio.create_task(near.listener(Callbacks(heard.put_nowait)).run())
            async with asyncio.timeout(10):
                assert await heard.get() is None
                await asyncio.to_thread(announce, far)
                assert await heard.get() == {"mail": 1}
            task.cancel()

        asyncio.run(body())


def announce(store: PostgresStore) -> None:
    with store.transaction() as tx:
        tx.announce({"mail": 1})


def test_a_transaction_that_was_given_up_leaves_nothing(store: PostgresStore) -> None:
    with pytest.raises(InterruptedError):
        give_up(store)
    assert ids(claim(store)) == []
    live(store)


def give_up(store: PostgresStore) -> None:
    with store.transaction() as tx:
        tx.insert_jobs([a_job("j1")])
        raise InterruptedError
