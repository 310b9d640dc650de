"""Databases that servers of commit 24a89b05 have filled (dumps/README.md): migrated, and used."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from ojs_server.store.base import SchemaError, Store
from ojs_server.store.columns import RECORDS
from ojs_server.store.open import open_store, sqlite_path
from ojs_server.store.postgres.statements import DIALECT as POSTGRES
from ojs_server.store.postgres.statements import STATEMENTS, statement_of
from ojs_server.store.queries import queries_of
from ojs_server.store.records import Held, Leased, Staged, StagedOutcome, WholeJob
from ojs_server.store.sqlite.statements import DIALECT as SQLITE
from ojs_server.store.sqlite.statements import QUERIES
from tests.ops.bench import Bench, HandClock
from tests.postgres import Database
from tests.store.postgres.server import query
from tests.store.records import EVERYTHING

DUMPS: Final = Path(__file__).with_name("dumps")
# A moment after all that happened in them.
LATER: Final = 1_795_870_000_000
# Tables whose rows go with the transaction, or soon after it.
FLEETING: Final = {"unique_locks", "outcomes"}
# Records of tables that came later.
LATER_RECORDS: Final = (Staged, StagedOutcome)
# Each record that has a table, with all of its columns in it.
ALL: Final = {
    one.type: f"-- name: all_{name}\n-- returns: {name}\nSELECT {{{name}}} FROM {one.table}\n"
    for name, one in RECORDS.items()
    if one.table is not None and one.type not in (Held, Leased, WholeJob, *LATER_RECORDS)
}

MakeDatabase = Callable[[], str]


@pytest.fixture(
    params=[
        pytest.param("sqlite", marks=pytest.mark.store_sqlite),
        pytest.param("postgres", marks=pytest.mark.store_postgres),
        pytest.param(
            "distribution", marks=(pytest.mark.store_postgres, pytest.mark.store_distribution)
        ),
    ]
)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeDatabase]:
    """Makes empty databases of one kind."""
    with ExitStack() as made:

        def make() -> str:
            if request.param == "sqlite":
                return f"sqlite:///{tmp_path}/{len(list(tmp_path.iterdir()))}.db"
            database: Database = request.getfixturevalue(f"{request.param}_database")
            return made.enter_context(database.schema())

        yield make


@pytest.fixture
def old(empty: MakeDatabase) -> str:
    """The URL of the old database."""
    url = empty()
    run(url, dump_of(url))
    return url


@pytest.fixture
def store(old: str) -> Iterator[Store]:
    """The old database, opened by this version."""
    clock = HandClock()
    clock.now = LATER
    with closing(open_store(old, clock=clock, node="a")) as store:
        yield store


def dump_of(url: str) -> str:
    name = "sqlite.sql" if url.startswith("sqlite:") else "postgres.sql"
    return (DUMPS / name).read_text(encoding="utf-8")


def run(url: str, text: str) -> list[Any]:
    """Run statements, and return the rows of the last one."""
    if not url.startswith("sqlite:"):
        return query(url, text)
    with closing(apsw.Connection(sqlite_path(url))) as connection:
        return connection.execute(text).fetchall()


def schema_of(url: str) -> set[Any]:
    """Tables, columns, indexes and constraints, whatever their order."""
    if url.startswith("sqlite:"):
        tables = "pragma_table_list AS t WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'"
        return {
            *run(url, f"SELECT t.name, t.wr, t.strict FROM {tables}"),
            *run(
                url,
                'SELECT t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk'
                f" FROM pragma_table_info(t.name) AS c, {tables}",
            ),
            *(
                " ".join(sql.split())
                for (sql,) in run(url, "SELECT sql FROM sqlite_master WHERE type = 'index'")
                if sql is not None
            ),
        }
    tables = "pg_class AS t WHERE t.relnamespace = current_schema()::regnamespace"
    return {
        *query(
            url,
            "SELECT t.relname, t.relkind::text, t.relpersistence::text, t.reloptions::text"
            f" FROM {tables}",
        ),
        *query(
            url,
            "SELECT t.relname, c.attname, format_type(c.atttypid, c.atttypmod), c.attnotnull,"
            " c.attcollation, pg_get_expr(d.adbin, d.adrelid)"
            " FROM pg_attribute AS c LEFT JOIN pg_attrdef AS d"
            f" ON d.adrelid = c.attrelid AND d.adnum = c.attnum, {tables}"
            " AND t.relkind = 'r' AND c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped",
        ),
        *query(
            url,
            "SELECT replace(pg_get_indexdef(i.indexrelid), current_schema() || '.', '')"
            f" FROM pg_index AS i, {tables} AND i.indrelid = t.oid",
        ),
        *query(
            url,
            "SELECT t.relname, c.conname, pg_get_constraintdef(c.oid)"
            f" FROM pg_constraint AS c, {tables} AND c.conrelid = t.oid",
        ),
    }


def test_an_old_database_gets_the_schema_of_a_new_one(old: str, empty: MakeDatabase) -> None:
    new = empty()
    for url in (old, new):
        open_store(url).close()
    assert schema_of(old) == schema_of(new)


def test_an_old_database_has_rows_in_every_table(old: str) -> None:
    made, filled = (
        set(re.findall(rf"^{words} (\w+)", dump_of(old), re.MULTILINE))
        for words in ("CREATE (?:UNLOGGED )?TABLE", "INSERT INTO")
    )
    assert made - FLEETING == filled - FLEETING


def test_the_records_of_an_old_database_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for record, text in ALL.items():
        name = f"all_{record.__name__}"
        monkeypatch.setitem(QUERIES, name, queries_of([text], SQLITE)[name])
        monkeypatch.setitem(STATEMENTS, name, statement_of(queries_of([text], POSTGRES)[name]))
        with store.reader() as reader:
            assert reader.read(record, name), name


def test_the_settings_of_an_old_database_are_read(store: Store) -> None:
    with store.transaction() as tx:
        assert tx.configs.keys() == {"email", "limited"}
        assert tx.sharing.tenants.keys() == {"acme"}
        assert tx.sharing.pools.keys() == {"mail"}
        assert tx.routings.keys() == {"report.build"}
        assert tx.maintenance is not None
    with store.reader() as reader:
        assert [one.name for one in reader.queues() if one.paused] == ["held", "paused"]
        assert reader.events(0, EVERYTHING, 10).events


def test_jobs_of_an_old_database_are_handed_out(store: Store) -> None:
    bench = Bench(store, HandClock())
    with store.transaction() as tx:
        tx.save_maintenance(None)
        (held,) = (one.job.id for one in tx.load_held(["worker-1"]) if one.job.queue == "reports")
    (taken,) = bench.take_ids(queues=("waiting",))
    bench.ack(taken, "w")
    assert bench.state(taken) == "completed"
    # A worker from before goes on with its job.
    bench.ack(held, "worker-1")
    assert bench.state(held) == "completed"


def test_a_database_from_before_the_first_migration_is_refused(old: str) -> None:
    if old.startswith("sqlite:"):
        run(old, "PRAGMA user_version = 36")
    else:
        run(old, "DELETE FROM schema_versions WHERE version > 36")
    with pytest.raises(SchemaError, match=r"schema 36, .* ojs-server of commit 24a89b05"):
        open_store(old)
