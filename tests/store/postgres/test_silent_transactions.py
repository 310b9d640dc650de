"""A server that falls silent within a transaction: others end it, and it notices."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import msgspec
import psycopg
import pytest

from ojs_server.store.base import OutcomeUnknown, Store, StoreUnavailable
from ojs_server.store.open import open_store
from ojs_server.store.postgres import pipe, silence
from ojs_server.store.postgres.connect import address_of
from ojs_server.store.postgres.silence import GIVEN_UP_S, SILENCE_S, Silence, Silences
from ojs_server.store.postgres.statements import STATEMENTS
from ojs_server.store.postgres.writer import BOUNDS_TRANSACTIONS
from tests.store.postgres.conftest import InThread
from tests.store.postgres.server import blocked, query, wait_until
from tests.store.records import HandClock, a_job, a_worker, put, whole

BOTH_VERSIONS = pytest.mark.parametrize("store_url", ["postgres", "distribution"], indirect=True)


RUNNING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_xid IS NOT NULL"
)


def undone(work: Callable[[], None]) -> None:
    """Make a transaction that is ended from outside, and learn that it was not carried out."""
    with pytest.raises((StoreUnavailable, OutcomeUnknown)) as ended:
        work()
    assert not (isinstance(ended.value, OutcomeUnknown) and ended.value.carried_out())


@pytest.fixture
def nodes(store_url: str, clock: HandClock) -> Iterator[tuple[Store, Store]]:
    """Two servers of one database, of which the first has a name of its own in its URL."""
    urls = {"a": f"{store_url}&application_name=shop", "b": store_url}
    with ExitStack() as opened:
        one, other = (
            opened.enter_context(closing(open_store(url, clock=clock, node=name)))
            for name, url in urls.items()
        )
        yield one, other


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every silence lasts too long."""
    monkeypatch.setattr(silence, "SILENCE_S", 0.0)


def test_a_silence_lasts_from_where_it_was_first_seen_to_the_next_statement() -> None:
    silences = Silences()
    first, second, later = (Silence(1, "start", since) for since in ("1", "2", "3"))
    assert silences.over([first, second], 0.0) == []
    assert silences.over([second], SILENCE_S - 0.1) == []
    assert silences.over([first, second, later], SILENCE_S) == [second]
    assert silences.over([first, later], 2 * SILENCE_S - 0.1) == []
    assert silences.over([first, later], 2 * SILENCE_S) == [first, later]


def test_a_server_gives_up_later_than_others_do() -> None:
    assert GIVEN_UP_S > SILENCE_S


@BOTH_VERSIONS
@pytest.mark.parametrize("ahead", [False, True], ids=["asked", "sent ahead"])
@pytest.mark.usefixtures("impatient")
def test_a_silent_transaction_is_ended_and_leaves_nothing(
    nodes: tuple[Store, Store], ahead: bool
) -> None:
    frozen, healthy = nodes
    put(healthy, a_job("j1"))

    def fall_silent() -> None:
        with frozen.transaction() as tx:
            tx.save_workers([a_worker("w1")])
            if ahead:
                # The database waits in the middle of what it takes for one piece of work.
                tx.insert_new_jobs([a_job("j2")])
            tx.load_jobs(["j1"])
            # The database tells a moment later that it waits.
            wait_until(lambda: healthy.end_silent_transactions() == 1)
            with healthy.transaction() as other:
                assert set(other.load_jobs(["j1"])) == {"j1"}

    undone(fall_silent)
    assert whole(healthy, "j2") is None
    assert healthy.end_silent_transactions() == 0
    put(frozen, a_job("j3"))
    assert whole(healthy, "j3") is not None


@BOTH_VERSIONS
@pytest.mark.usefixtures("impatient")
def test_a_transaction_that_waits_for_the_database_is_not_silent(
    nodes: tuple[Store, Store], store_url: str, threaded: InThread
) -> None:
    busy, healthy = nodes
    put(healthy, a_job("j1"))

    def take() -> object:
        with busy.transaction() as tx:
            return set(tx.load_jobs(["j1"]))

    # Transactions of other programs are not ended.
    with psycopg.connect(store_url) as somebody:
        somebody.execute("SELECT pg_current_xact_id(), id FROM jobs FOR UPDATE")
        taken = threaded(take)
        wait_until(lambda: blocked(store_url) == 1)
        assert healthy.end_silent_transactions() == 0
    assert taken.result() == {"j1"}


@BOTH_VERSIONS
def test_a_server_that_was_held_up_gives_its_own_transaction_up(
    nodes: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen, healthy = nodes

    def be_held_up() -> None:
        with frozen.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            tx.insert_new_jobs([a_job("j2")])
            # The transaction was not ended by another node, but must not commit late.
            monkeypatch.setattr(pipe, "GIVEN_UP_S", -1.0)

    with pytest.raises(StoreUnavailable, match="held up for"):
        be_held_up()
    monkeypatch.undo()
    assert whole(healthy, "j1") is None
    put(frozen, a_job("j1"))


@BOTH_VERSIONS
def test_the_database_watches_its_clients(store_url: str) -> None:
    with closing(address_of(store_url).connect()) as connection:
        names = ["tcp_keepalives_idle", "tcp_user_timeout", "client_connection_check_interval"]
        set_to = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in names]
        assert set_to == [("5",), ("10000",), ("2s",)]
    # A pooler would keep the setting for the next client.
    with closing(address_of(store_url, pooled=True).connect()) as connection:
        assert connection.execute("SHOW client_connection_check_interval").fetchone() == ("0",)


def test_from_version_17_on_the_database_bounds_transactions_itself(
    postgres_store: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = STATEMENTS["bound_transaction"]
    soon = msgspec.structs.replace(bound, sql=bound.sql.replace("30s", "50ms"))
    monkeypatch.setitem(STATEMENTS, "bound_transaction", soon)
    ((version,),) = query(postgres_store, "SELECT current_setting('server_version_num')::int4")
    with closing(open_store(postgres_store, clock=clock)) as store:
        if version < BOUNDS_TRANSACTIONS:
            # Older versions do not know the setting, so it must not be sent.
            put(store, a_job("j1"))
            return

        def take_long() -> None:
            with store.transaction() as tx:
                tx.insert_jobs([a_job("j1")])
                wait_until(lambda: query(postgres_store, RUNNING) == [(0,)])

        undone(take_long)
        assert whole(store, "j1") is None
