"""A primary that is lost, and its standby that becomes the primary."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial

import pytest

from ojs_server.store.base import Callbacks, StoreUnavailable
from ojs_server.store.postgres import writer
from ojs_server.store.postgres.connect import address_of
from ojs_server.store.postgres.store import PostgresStore
from tests.postgres import Server
from tests.store.postgres.conftest import InThread
from tests.store.postgres.proxy import proxy_before
from tests.store.postgres.server import LIMIT_S
from tests.store.postgres.test_outcomes import ON_BOTH_DURABLE, add, carried_out, stored
from tests.store.postgres.test_standby import waiting
from tests.store.records import a_job, put


@pytest.fixture
def standby(durable_postgres: Server) -> Iterator[Server]:
    """A started standby of the test's server, for which every commit waits."""
    with closing(PostgresStore(durable_postgres.url, node="first")) as store:
        put(store, a_job("before"))
    standby = durable_postgres.standby("second")
    try:
        standby.start()
        durable_postgres.require_standby("second")
        yield standby
    finally:
        standby.destroy()


def hosts(*servers: Server) -> str:
    """A URL that names servers in the order in which they are to be tried."""
    return "postgresql://postgres@" + ",".join(server.address for server in servers) + "/postgres"


@ON_BOTH_DURABLE
def test_after_a_failover_the_new_primary_tells_the_outcome(
    durable_postgres: Server, standby: Server, threaded: InThread
) -> None:
    """A commit that did not reach the standby is undone there; one that did is known."""
    both = hosts(standby, durable_postgres)
    with closing(PostgresStore(both, node="a", patience_s=120)) as store:
        put(store, a_job("j1"))
        standby.stop()
        asked = threaded(carried_out, store, partial(add, job_id="lost"))
        waiting(durable_postgres.url)
        durable_postgres.stop("immediate")
        standby.start()
        standby.promote()
        standby.require_standby("")
        assert asked.result() is False
        put(store, a_job("j2"))
    assert stored(standby.url) == ["before", "j1", "j2"]


@ON_BOTH_DURABLE
@pytest.mark.parametrize("wanted", ["read-write", "any"])
def test_whoever_lands_on_a_standby_has_no_store(standby: Server, wanted: str) -> None:
    with pytest.raises(StoreUnavailable):
        PostgresStore(f"{standby.url}?target_session_attrs={wanted}", node="b")


@ON_BOTH_DURABLE
def test_a_transaction_at_a_standby_has_no_store_and_the_next_finds_the_primary(
    durable_postgres: Server, standby: Server
) -> None:
    with (
        proxy_before(durable_postgres.url) as proxy,
        closing(PostgresStore(f"{proxy.url}?target_session_attrs=any", node="a")) as store,
    ):
        put(store, a_job("j1"))
        proxy.lead_to(standby.url)
        proxy.cut()
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=r"recovery|read-only"):
                put(store, a_job("j2"))
        proxy.lead_to(durable_postgres.url)
        put(store, a_job("j3"))
    assert stored(durable_postgres.url) == ["before", "j1", "j3"]


def test_of_several_hosts_the_primary_is_chosen(durable_postgres: Server, standby: Server) -> None:
    with closing(PostgresStore(hosts(standby, durable_postgres), node="a")) as store:
        put(store, a_job("j1"))
        with store.reader() as reader:
            assert reader.job("j1") is not None
        heard = asyncio.run(hears(store))
    assert heard == [None]


async def hears(store: PostgresStore) -> list[object]:
    """Return the first notice of a listener, which shows that it listens."""
    told: list[object] = []
    listening = asyncio.Event()

    def wake(queues: object) -> None:
        told.append(queues)
        listening.set()

    task = asyncio.create_task(store.listener(Callbacks(wake)).run())
    async with asyncio.timeout(LIMIT_S):
        await listening.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return told


@pytest.mark.long
def test_hosts_that_are_silent_keep_nobody_from_the_others(durable_postgres: Server) -> None:
    with ExitStack() as stack:
        silent = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        first = ",".join(f"127.0.0.1:{one.getsockname()[1]}" for one in silent)
        url = f"postgresql://postgres@{first},{durable_postgres.address}/postgres"
        store = stack.enter_context(closing(PostgresStore(url, node="a")))
        put(store, a_job("j1"))
        with store.reader() as reader:
            assert reader.job("j1") is not None


def test_each_of_several_hosts_has_less_time() -> None:
    one, two = address_of("postgresql://a/d"), address_of("postgresql://a,b/d")
    own = address_of("postgresql://a,b,c/d?connect_timeout=10&target_session_attrs=any")
    assert [address.connect_s for address in (one, two, own)] == [5, 6, 30]
    wanted = [address.parameters["target_session_attrs"] for address in (one, two, own)]
    assert wanted == ["read-write", "read-write", "any"]


def test_a_standby_takes_no_changes_whatever_was_sent_before(
    durable_postgres: Server, standby: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each transaction begins with a statement before its BEGIN.
    monkeypatch.setattr(writer, "PLANS_KEPT_S", 0.0)
    with (
        proxy_before(durable_postgres.url) as proxy,
        closing(PostgresStore(f"{proxy.url}?target_session_attrs=any", node="a")) as store,
    ):
        put(store, a_job("j1"))
        proxy.lead_to(standby.url)
        proxy.cut()
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                put(store, a_job("j2"))
