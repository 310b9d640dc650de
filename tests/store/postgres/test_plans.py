"""The plan of every statement, on the distribution's PostgreSQL and with its own settings.

JIT is on there as it ships, and the tests' newer PostgreSQL has none. What the contract suite plays
there is watched too (`distribution_store`), with the plans that real values get.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ojs_server.store.postgres import connect
from ojs_server.store.postgres.bounded import BoundedConnection
from ojs_server.store.postgres.connect import address_of
from ojs_server.store.postgres.statements import STATEMENTS, Statement, claim_of
from ojs_server.store.postgres.store import PostgresStore
from tests.plans import WHOLE, Plan, Watched, amiss, telling
from tests.postgres import Database, uncounted
from tests.store.postgres.pooler import Pooler
from tests.store.records import EVERYTHING, a_job, claim, ids, put, whole

ROWS = 20_000
# Any statement that costs more than nothing would be worth compiling.
EAGER = "-cjit=on -cjit_above_cost=0"
STATES = ("available", "scheduled", "active", "retryable", "completed", "cancelled", "discarded")
# Single rows, which cannot be many, and what the server itself has put there.
LEFT_ALONE = {"event_tally", "maintenance", "nodes", "schema_versions", "settings"}
PLANNED = (b"SELECT", b"INSERT", b"UPDATE", b"DELETE", b"WITH")


@pytest.fixture(scope="module", params=["new", "counted while empty", "counted"])
def tables(request: pytest.FixtureRequest, distribution_database: Database) -> Iterator[str]:
    """A store that is empty and was never counted; with many rows in every table, of which the
    server knows nothing; or with many of which it knows."""
    with distribution_database.schema() as url:
        PostgresStore(url).close()
        uncounted(url)
        with psycopg.connect(url, autocommit=True) as connection:
            if request.param == "counted while empty":
                connection.execute("ANALYZE")
            if request.param != "new":
                fill(connection)
            if request.param == "counted":
                connection.execute("VACUUM (ANALYZE)")
        yield url


def fill(connection: psycopg.Connection[Any]) -> None:
    """Put rows into every table, by the types of its columns."""
    connection.execute("SET session_replication_role = replica")
    for (table,) in connection.execute(
        "SELECT relname FROM pg_class"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    ).fetchall():
        if table in LEFT_ALONE:
            continue
        columns = connection.execute(
            "SELECT attname, format_type(atttypid, NULL), attnotnull FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " AND attgenerated = ''",
            (table,),
        ).fetchall()
        insert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM generate_series(1, {}) AS n")
        connection.execute(
            insert.format(
                sql.Identifier(table),
                sql.SQL(", ").join(sql.Identifier(name) for name, *_ in columns),
                sql.SQL(", ").join(value_of(*column) for column in columns),
                ROWS,
            )
        )
    connection.execute("RESET session_replication_role")


def value_of(name: str, kind: str, required: bool) -> sql.Composable:
    """An expression of the row's number n; half of what may be missing is."""
    value: sql.Composable
    match name, kind:
        case "state", "text":
            value = sql.SQL("({}::text[])[1 + n % {}]").format(list(STATES), len(STATES))
        case "queue", "text":
            value = sql.SQL("'q' || n % 50 || CASE WHEN n > 50 THEN '' ELSE 'x' END")
        case _, "text":
            value = sql.SQL("'v' || n")
        case _, "bytea":
            value = sql.SQL("convert_to('v' || n, 'UTF8')")
        case _, "uuid":
            value = sql.SQL("('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid")
        case _, "boolean":
            value = sql.SQL("n % 2 = 0")
        case _:
            value = sql.SQL("n::{}").format(sql.SQL(kind))
    return value if required else sql.SQL("CASE WHEN n % 2 = 0 THEN {} END").format(value)


def statements() -> Iterator[Statement]:
    """Every statement that has a plan, as it is sent."""
    forms = {"claim": claim_of(1), "claim_types": claim_of(1, 2)}
    for name, statement in STATEMENTS.items():
        if statement.text.startswith(PLANNED):
            yield forms.get(name, statement)


def kept_plan(connection: psycopg.Connection[Any], statement: Statement) -> Plan:
    """The plan that the server keeps of a statement, whatever it is given."""
    connection.execute(b"PREPARE looked_at AS " + statement.text)
    count = len(statement.parameters)
    given = f"({', '.join(['NULL'] * count)})" if count else ""
    rows = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE looked_at{given}".encode())
    (((described,),),) = rows.fetchall()
    connection.execute("DEALLOCATE looked_at")
    return Plan(statement.name, described)


def kept_plans(url: str, *, local: bool) -> list[Plan]:
    """The plans of all statements, in a transaction that writes or a session that reads."""
    with closing(address_of(url).connect()) as connection:
        connection.execute("BEGIN")
        name = "begun" if local else "plan_by_index"
        connection.execute(STATEMENTS[name].sql.encode(), {"local": local, "lock_ms": 1000})
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        plans = [kept_plan(connection, statement) for statement in statements()]
        connection.execute("ROLLBACK")
    return plans


def test_the_distributions_postgresql_could_compile(distribution_database: Database) -> None:
    """Or nothing that is seen here would tell of JIT."""
    with distribution_database.schema() as url, psycopg.connect(url) as connection:
        ships = connection.execute("SELECT pg_jit_available(), current_setting('jit')").fetchall()
    assert ships == [(True, "on")], "install what brings JIT, such as postgresql-NN-jit"


@pytest.mark.parametrize("local", [True, False], ids=["writing", "reading"])
def test_no_statement_is_compiled_or_reads_the_whole_of_a_table_that_grows(
    tables: str, local: bool
) -> None:
    plans = kept_plans(tables, local=local)
    assert len(plans) > 200
    assert amiss(plans) == []


def complete_indexes(url: str) -> list[str]:
    """The indexes that have every row; others have only the rows that a statement is about."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NULL"
        ).fetchall()
    return [name for (name,) in found]


def test_no_statement_reads_the_whole_of_an_index(tables: str) -> None:
    assert amiss(kept_plans(tables, local=True), complete_indexes(tables)) == []


@pytest.mark.parametrize("tables", ["counted"], indirect=True)
def test_statements_that_may_read_a_whole_table_do_so(tables: str) -> None:
    """One that needs no leave any more loses it."""
    plans = {plan.statement: plan for plan in kept_plans(tables, local=True)}
    indexes = complete_indexes(tables)
    assert {name: plans[name].read_whole(indexes) for name in WHOLE} == {
        name: set(tables) for name, tables in WHOLE.items()
    }


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The plans of all connections that are made from now on."""
    watched = Watched()

    class Telling(BoundedConnection):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            self.add_notice_handler(watched.note)

    monkeypatch.setattr(connect, "DRIVER", Telling)
    return watched


@pytest.fixture
def eager_store(distribution_database: Database) -> Iterator[str]:
    """The URL of a store on a server that compiles all that it may, and tells what it does."""
    with distribution_database.store() as url:
        yield telling(url.replace("options=", f"options={EAGER.replace('=', '%3D')}%20"))


PLAYED = {"insert_jobs", "one_job", "events_after", "queues"}


def live(store: PostgresStore) -> None:
    """Write and read, more often than a plan is made for what is given."""
    for n in range(8):
        put(store, a_job(f"j{n}"))
        assert ids(claim(store)) == [f"j{n}"]
        assert whole(store, f"j{n}") is not None
        with store.reader() as reader:
            assert reader.events(0, EVERYTHING, 9).events == []
            assert reader.queues() == []


def test_nothing_is_compiled_where_all_would_be(eager_store: str, watched: Watched) -> None:
    with closing(PostgresStore(eager_store, node="a")) as store:
        live(store)
    plans = watched.taken()
    assert {plan.statement for plan in plans} >= PLAYED
    assert amiss(plans) == []


def test_nothing_is_compiled_behind_a_pooler(eager_store: str, watched: Watched) -> None:
    """No setting of a session is of use there; reading takes no more ways than it did."""
    with (
        closing(Pooler(eager_store)) as pooler,
        closing(PostgresStore(pooler.url, node="a", listen_url=eager_store)) as store,
    ):
        watched.taken()
        live(store)
    plans = watched.taken()
    assert {plan.statement for plan in plans} >= PLAYED
    # A statement that turns JIT off is planned before it does.
    assert amiss([plan for plan in plans if plan.statement not in ("begun", "plan_by_index")]) == []


def test_a_statement_that_is_compiled_would_be_seen(eager_store: str, watched: Watched) -> None:
    """Without the store's settings, a statement is compiled by JIT and the watch reports it."""
    with closing(connect.DRIVER.connect(eager_store, autocommit=True)) as connection:
        connection.execute("SELECT count(*) FROM jobs WHERE type = 'none'")
    (plan,) = watched.taken()
    assert amiss([plan]) == [f"compiled: {plan.statement}", f"reads jobs whole: {plan.statement}"]
