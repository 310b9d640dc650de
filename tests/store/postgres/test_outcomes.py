"""The outcome of a COMMIT without an answer, found by the token of its transaction."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import msgspec
import psycopg
import pytest

from ojs_server.domain.errors import Unavailable
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.rules import Rules
from ojs_server.store.base import OutcomeUnknown, Store, StoreUnavailable, Tx
from ojs_server.store.postgres import outcome
from ojs_server.store.postgres.statements import STATEMENTS
from ojs_server.store.postgres.store import PostgresStore
from tests.ops.bench import enqueue, environment
from tests.postgres import Server
from tests.store.postgres.conftest import InThread
from tests.store.postgres.proxy import Fault, Proxy, proxy_before
from tests.store.postgres.server import LIMIT_S, query, wait_until
from tests.store.records import a_job, put, whole

DISTRIBUTION = (pytest.mark.store_postgres, pytest.mark.store_distribution)
# On the chosen PostgreSQL and on the distribution's.
ON_BOTH = pytest.mark.parametrize(
    "url", ["postgres_store", pytest.param("distribution_store", marks=DISTRIBUTION)], indirect=True
)
ON_BOTH_DURABLE = pytest.mark.parametrize(
    "durable_postgres",
    ["chosen", pytest.param("distribution", marks=DISTRIBUTION)],
    indirect=True,
)
OURS = "FROM pg_stat_activity WHERE application_name = 'ojs-server'"


def add(tx: Tx, job_id: str) -> None:
    tx.insert_new_jobs([a_job(job_id)])


def carried_out(store: Store, work: Callable[[Tx], Any]) -> bool:
    """Make a transaction, and ask for its outcome where that is needed."""
    try:
        with store.transaction() as tx:
            work(tx)
    except OutcomeUnknown as lost:
        return lost.carried_out()
    return True


def stored(url: str) -> list[str]:
    return [row[0] for row in query(url, "SELECT id FROM jobs ORDER BY id")]


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """An empty store, on the version of PostgreSQL that the test is for."""
    return str(request.getfixturevalue(getattr(request, "param", "postgres_store")))


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    with proxy_before(url) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: Proxy) -> Iterator[PostgresStore]:
    with closing(PostgresStore(proxy.url, node="a", patience_s=120)) as store:
        put(store, a_job("before"))
        yield store


@ON_BOTH
def test_what_was_committed_is_known_without_its_answer(
    store: PostgresStore, proxy: Proxy, url: str
) -> None:
    proxy.fault = Fault.ANSWER_LOST
    assert carried_out(store, partial(add, job_id="j1"))
    put(store, a_job("j2"))
    assert stored(url) == ["before", "j1", "j2"]


@ON_BOTH
def test_what_never_arrived_is_known_not_to_be_committed(
    store: PostgresStore, proxy: Proxy, url: str
) -> None:
    proxy.fault = Fault.REQUEST_LOST
    assert not carried_out(store, partial(add, job_id="j1"))
    put(store, a_job("j2"))
    assert stored(url) == ["before", "j2"]


@ON_BOTH
def test_what_arrives_after_it_was_asked_for_fails(
    store: PostgresStore, proxy: Proxy, url: str
) -> None:
    proxy.fault = Fault.HELD
    assert not carried_out(store, partial(add, job_id="j1"))
    held = f"SELECT 1 {OURS} AND datname = current_database() AND backend_xid IS NOT NULL"
    assert query(url, held) == [(1,)]
    proxy.let_through()
    wait_until(lambda: query(url, held) == [])
    put(store, a_job("j2"))
    assert stored(url) == ["before", "j2"]


def test_what_changed_nothing_writes_no_token_and_leaves_no_doubt(
    store: PostgresStore, proxy: Proxy, url: str
) -> None:
    def tokens() -> int:
        return int(query(url, "SELECT count(*) FROM outcomes")[0][0])

    def work(tx: Tx) -> None:
        assert list(tx.load_jobs(["before"])) == ["before"]
        assert tx.claim(["empty"], None, 1) == []

    before = tokens()
    assert carried_out(store, work)
    assert tokens() == before
    proxy.fault = Fault.REQUEST_LOST
    with pytest.raises(StoreUnavailable):
        carried_out(store, work)


def test_a_database_that_cannot_be_asked_leaves_the_outcome_unknown(url: str) -> None:
    with (
        proxy_before(url) as proxy,
        closing(PostgresStore(proxy.url, node="a", patience_s=0.3)) as store,
    ):
        store.ping()
        proxy.fault, proxy.refusing = Fault.ANSWER_LOST, True
        with pytest.raises(OutcomeUnknown):
            carried_out(store, partial(add, job_id="j1"))
        proxy.refusing = False
        wait_until(lambda: stored(url) == ["j1"])
        put(store, a_job("j2"))
    assert stored(url) == ["j1", "j2"]


def test_the_answer_to_whoever_asks_may_be_lost_too(
    store: PostgresStore, proxy: Proxy, url: str
) -> None:
    """The first to ask has made the transaction impossible; the second must not take its row for
    the transaction's own."""
    for fault, expected in ((Fault.REQUEST_LOST, False), (Fault.ANSWER_LOST, True)):
        # A new connection commits once before it is used.
        put(store, a_job(f"before-{expected}"))
        proxy.fault = fault
        with pytest.raises(OutcomeUnknown) as lost, store.transaction() as tx:
            add(tx, f"j-{expected}")
        proxy.fault = Fault.ANSWER_LOST
        assert lost.value.carried_out() is expected
        assert proxy.fault is Fault.NONE
    assert stored(url) == ["before", "before-False", "before-True", "j-True"]


def test_it_may_be_too_late_to_ask(
    store: PostgresStore, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the database's clock: what has been forgotten must not pass for what never was."""
    proxy.fault = Fault.ANSWER_LOST
    with pytest.raises(OutcomeUnknown) as lost, store.transaction() as tx:
        add(tx, "j1")
    ask = STATEMENTS["ask_outcome"]
    later = ask.sql.replace("clock_timestamp()", "clock_timestamp() + interval '1 hour'")
    monkeypatch.setitem(STATEMENTS, "ask_outcome", msgspec.structs.replace(ask, sql=later))
    with pytest.raises(OutcomeUnknown, match="its outcome is not kept any more"):
        lost.value.carried_out()


def test_a_transaction_may_be_too_old_to_commit(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "VALID_MS", 0)
    with pytest.raises(Exception, match="took too long"), store.transaction() as tx:
        add(tx, "j1")
    assert stored(url) == ["before"]


def test_tokens_go_when_nobody_can_ask_any_more(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "FORGET_EVERY", 2)
    query(
        url,
        "INSERT INTO outcomes SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,"
        " true FROM generate_series(1, 200) AS n",
    )
    left = []
    with closing(PostgresStore(url, node="a")) as store:
        for number in range(6):
            put(store, a_job(f"j{number}"))
            left.append(query(url, "SELECT count(*) FROM outcomes")[0][0])
    assert left == [201, 74, 75, 4, 5, 6]


NUMBER = f"SELECT backend_xid::text::int8 {OURS} AND backend_xid IS NOT NULL"


def commit_up_to(url: str, number: int) -> int:
    """Commit transactions until one has this number or a higher one, which is answered."""
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            with connection.transaction():
                found = connection.execute("SELECT pg_current_xact_id()::text::int8").fetchone()
                connection.execute("UPDATE settings SET value = value WHERE name = 'queue_configs'")
            assert found is not None
            if found[0] >= number:
                return int(found[0])


@ON_BOTH_DURABLE
def test_what_a_crash_undid_is_not_taken_for_the_next_transaction_of_its_number(
    durable_postgres: Server, threaded: InThread
) -> None:
    url, numbers = durable_postgres.url, list[int]()
    # Nothing else takes numbers, or writes to the log which come next; and nothing has the log on
    # disk before its COMMIT, however long that is away.
    for setting in (
        *("autovacuum = off", "wal_level = minimal", "max_wal_senders = 0"),
        *("wal_writer_delay = '10s'", "full_page_writes = off", "bgwriter_lru_maxpages = 0"),
    ):
        query(url, f"ALTER SYSTEM SET {setting}")
    durable_postgres.stop()
    durable_postgres.start()

    def work(tx: Tx) -> None:
        numbers.append(query(url, NUMBER)[0][0])
        add(tx, "lost")

    with (
        proxy_before(url) as proxy,
        closing(PostgresStore(proxy.url, node="a", patience_s=120)) as store,
    ):
        put(store, a_job("before"))
        proxy.fault, proxy.refusing = Fault.REQUEST_LOST, True
        asked = threaded(carried_out, store, work)
        assert proxy.refused.wait(LIMIT_S)
        durable_postgres.stop("immediate")
        durable_postgres.start()
        committed = commit_up_to(url, numbers[0])
        proxy.refusing = False
        assert committed == numbers[0]
        assert asked.result() is False
    assert stored(url) == ["before"]


async def test_callers_are_answered_when_the_outcome_is_known(
    store: PostgresStore, proxy: Proxy
) -> None:
    """And only what was carried out is told of."""
    told: list[str] = []
    engine = Engine(store, Rules(), environment())
    engine.on_events.append(lambda events: told.append("logged"))
    proxy.fault = Fault.ANSWER_LOST
    (made,) = (await engine.run(enqueue())).jobs
    assert (whole(store, made.job.id) is not None, told) == (True, ["logged"])
    # A new connection commits once before it is used.
    put(store, a_job("between"))
    proxy.fault = Fault.REQUEST_LOST
    with pytest.raises(Unavailable, match="before this was stored"):
        await engine.run(enqueue())
    assert told == ["logged"]
    await engine.close()
