"""A database that hangs but still acknowledges packets: every wait for it ends."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

from ojs_server.store.base import Callbacks, OutcomeUnknown, StoreUnavailable
from ojs_server.store.postgres.store import PostgresStore
from tests.store.postgres.conftest import InThread
from tests.store.postgres.proxy import Proxy, proxy_before
from tests.store.postgres.server import query, wait_until
from tests.store.records import a_job, put, whole

ANSWER_S = 2.0
# Far beyond the limits of the store, and far below never.
LIMIT_S = 60


@pytest.fixture
def proxy(postgres_store: str) -> Iterator[Proxy]:
    with proxy_before(postgres_store) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: Proxy) -> Iterator[PostgresStore]:
    url = f"{proxy.url}&connect_timeout=2"
    with closing(PostgresStore(url, node="a", answer_s=ANSWER_S, patience_s=0.3)) as store:
        put(store, a_job("before"))
        store.ping()
        yield store


def note_waiting(store: PostgresStore) -> None:
    store.note_waiting(1)


def note_following(store: PostgresStore) -> None:
    store.note_following(1)


def write(store: PostgresStore) -> None:
    put(store, a_job("j1"))


def read(store: PostgresStore) -> None:
    whole(store, "before")


@pytest.mark.parametrize(
    "wait",
    [PostgresStore.ping, read, write, note_waiting, note_following],
    ids=lambda f: f.__name__,
)
def test_every_wait_for_a_database_that_hangs_ends(
    store: PostgresStore, proxy: Proxy, threaded: InThread, wait: Callable[[PostgresStore], None]
) -> None:
    proxy.freeze()
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            threaded(wait, store).result(LIMIT_S)
    proxy.thaw()
    wait_until(lambda: _goes(store, wait))


def _goes(store: PostgresStore, wait: Callable[[PostgresStore], None]) -> bool:
    try:
        wait(store)
    except StoreUnavailable:
        return False
    return True


def test_readers_that_hang_come_back_all_of_them(
    store: PostgresStore, proxy: Proxy, threaded: InThread
) -> None:
    def several() -> None:
        for one in [threaded(read, store) for _ in range(6)]:
            one.result(LIMIT_S)

    several()
    proxy.freeze()
    waiting = [threaded(read, store) for _ in range(8)]
    assert [type(one.exception(LIMIT_S)) for one in waiting] == [StoreUnavailable] * 8
    proxy.thaw()
    wait_until(lambda: _goes(store, read))
    several()


def test_a_transaction_that_hangs_midway_is_undone(
    store: PostgresStore, proxy: Proxy, postgres_store: str, threaded: InThread
) -> None:
    def work() -> None:
        with store.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            proxy.freeze()
            tx.load_jobs(["j1"])

    with pytest.raises(StoreUnavailable, match="has not answered"):
        threaded(work).result(LIMIT_S)
    proxy.thaw()
    put(store, a_job("j2"))
    assert query(postgres_store, "SELECT id FROM jobs ORDER BY id") == [("before",), ("j2",)]


def test_a_commit_that_hangs_is_of_unknown_outcome(
    store: PostgresStore, proxy: Proxy, threaded: InThread
) -> None:
    def work() -> None:
        with store.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            tx.load_jobs(["j1"])
            proxy.freeze()

    with pytest.raises(OutcomeUnknown):
        threaded(work).result(LIMIT_S)
    proxy.thaw()
    put(store, a_job("j2"))


def test_a_store_is_not_opened_on_a_database_that_hangs(
    postgres_store: str, threaded: InThread
) -> None:
    with proxy_before(postgres_store) as proxy:
        proxy.freeze()
        opening = threaded(PostgresStore, f"{proxy.url}&connect_timeout=2", answer_s=ANSWER_S)
        with pytest.raises(StoreUnavailable):
            opening.result(LIMIT_S)


def test_a_listener_that_hears_nothing_of_its_database_connects_anew(
    store: PostgresStore, proxy: Proxy
) -> None:
    async def body() -> None:
        heard: asyncio.Queue[object] = asyncio.Queue()
        task = asyncio.create_task(store.listener(Callbacks(heard.put_nowait)).run())
        try:
            async with asyncio.timeout(LIMIT_S):
                # After connecting, the listener reports that anything may have changed.
                assert await heard.get() is None
                proxy.freeze()
                await asyncio.sleep(2 * ANSWER_S)
                assert heard.empty()
                proxy.thaw()
                assert await heard.get() is None
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(body())


def test_a_close_does_not_wait_for_a_database_that_hangs(proxy: Proxy, threaded: InThread) -> None:
    store = PostgresStore(f"{proxy.url}&connect_timeout=2", node="a", answer_s=ANSWER_S)
    store.ping()
    proxy.freeze()
    begun = time.monotonic()
    threaded(store.close).result(LIMIT_S)
    assert time.monotonic() - begun < LIMIT_S / 2
