"""The schemas: equal tables and columns in both stores, and indexes for all calls."""

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import msgspec
import psycopg
import pytest

from ojs_server.store.base import Store
from ojs_server.store.columns import RECORDS, columns_of
from ojs_server.store.open import open_store
from ojs_server.store.postgres.arrays import Int8Array, TextArray, numbers, register, texts
from ojs_server.store.postgres.statements import STATEMENTS, claim_of
from ojs_server.store.records import Held, Leased, WholeJob
from ojs_server.store.sqlite.statements import QUERIES, of_lanes, of_rows
from ojs_server.store.sqlite.store import SqliteStore
from tests.postgres import Database, uncounted
from tests.store.postgres.server import query
from tests.store.records import START, a_job, a_lease, hold, put

LIMIT = 5
OF_SEVERAL_TABLES = (Held, Leased, WholeJob)


class Scan(msgspec.Struct, frozen=True):
    """A look into a table: by which index, and how many rows came of it."""

    table: str
    index: str | None
    rows: int


def fill(store: Store) -> None:
    """Enough that reading everything would be seen."""
    for batch in range(4):
        numbers = range(1000 * batch, 1000 * (batch + 1))
        waiting = (a_job(f"j{n}", queue=f"q{n % 2}", type=f"t.{n % 4}", seq=n) for n in numbers)
        later = (a_job(f"s{n}", state="scheduled", due_at=START + n) for n in numbers)
        put(store, *waiting, *later)
        hold(store, *(a_lease(f"l{n}", expires_at=START + n, deadline_at=n) for n in numbers))


# PostgreSQL: what each statement really read, with statistics of the tables and without.


@pytest.fixture(scope="module", params=["counted", "not counted"])
def filled(request: pytest.FixtureRequest, postgres_database: Database) -> Iterator[str]:
    """A store with many jobs, for tests that change nothing in it."""
    with postgres_database.schema() as url:
        with closing(open_store(url)) as store:
            uncounted(url)
            fill(store)
        if request.param == "counted":
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("ANALYZE")
        yield url


@pytest.fixture
def connection(filled: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that leaves nothing behind."""
    with closing(psycopg.connect(filled, autocommit=True)) as connection:
        register(connection)
        connection.execute(STATEMENTS["begin"].sql.encode())
        connection.execute(STATEMENTS["begun"].sql.encode(), {"local": True, "lock_ms": 10_000})
        yield connection
        # The server would come to it by itself, but perhaps after the next test has begun.
        connection.execute("ROLLBACK")


def explained(
    connection: psycopg.Connection[Any], sql: str, bound: dict[str, Any] | tuple[Any, ...]
) -> list[Scan]:
    cursor = connection.execute(("EXPLAIN (ANALYZE, FORMAT JSON) " + sql).encode(), bound)
    row = cursor.fetchone()
    assert row is not None
    return list(_scans(row[0][0]["Plan"]))


def _scans(plan: dict[str, Any]) -> Iterator[Scan]:
    if "Relation Name" in plan and "Scan" in plan["Node Type"]:
        rows = plan["Actual Rows"] * plan["Actual Loops"] + plan.get("Rows Removed by Filter", 0)
        yield Scan(plan["Relation Name"], plan.get("Index Name"), round(rows))
    for part in plan.get("Plans", ()):
        yield from _scans(part)


def claim_bound(**more: Any) -> dict[str, Any]:
    spans = {
        "queues": TextArray(texts(["q1", "q0"])),
        "tops": Int8Array(numbers([9, 0])),
        "bottoms": Int8Array(numbers([-9, 0])),
        "floors": Int8Array(numbers([None, 1])),
        "since": 0,
        "upto": 1 << 40,
    }
    return {**spans, "now": START, "limit": LIMIT, **more}


def test_a_claim_reads_what_it_takes_on_postgres(connection: psycopg.Connection[Any]) -> None:
    scans = explained(connection, claim_of(LIMIT).sql, claim_bound())
    assert Scan("jobs", "jobs_claim", LIMIT) in scans
    assert all(scan.index and scan.rows <= LIMIT for scan in scans)


def test_a_claim_by_type_reads_what_it_takes_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    sql = claim_of(LIMIT, 3).sql
    scans = explained(connection, sql, claim_bound(types=TextArray(texts(["t.3", "t.1", "none"]))))
    indexes = {"jobs_claim_type", "jobs_pkey", "queues_pkey", "returns_pos"}
    assert {scan.index for scan in scans} == indexes
    assert all(scan.rows <= LIMIT for scan in scans)


def test_the_next_types_are_found_by_index_on_postgres(connection: psycopg.Connection[Any]) -> None:
    types = sorted(["t.1", "t.3", *(f"none.{n}" for n in range(998))])
    bound = {
        "queues": TextArray(texts(["q1", "q0"])),
        "types": TextArray(texts(types)),
        "most": 100,
    }
    scans = explained(connection, STATEMENTS["next_types"].sql, bound)
    assert {scan.index for scan in scans} == {"jobs_claim_type", "queues_pkey"}
    assert sum(scan.rows for scan in scans if scan.table == "jobs") <= 2 * 5


@pytest.mark.parametrize(
    ("name", "more", "index"),
    [
        ("demanding", {"demand": "none"}, "jobs_demand"),
        ("undemanding", {"look_ahead": 10_000}, "jobs_claim"),
        ("undemanding_of_type", {"look_ahead": 10_000, "type": "t.1"}, "jobs_claim_type"),
    ],
)
def test_demands_are_found_by_index_on_postgres(
    connection: psycopg.Connection[Any], name: str, more: dict[str, Any], index: str
) -> None:
    bound = {"queue": "q1", "now": START, "limit": LIMIT, **more}
    scans = explained(connection, STATEMENTS[name].sql, bound)
    assert {scan.index for scan in scans if scan.table == "jobs"} == {index}
    assert all(scan.rows <= LIMIT for scan in scans)


def test_the_next_demand_is_found_by_index_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    demands = STATEMENTS["demands"]
    scans = explained(connection, demands.sql, demands.bound([("q1", "q0")]))
    assert {scan.index for scan in scans if scan.table == "jobs"} <= {"jobs_demand"}


def test_what_a_fetch_promotes_is_found_by_index_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    connection.execute(
        "UPDATE jobs SET state = 'scheduled', due_at = seq WHERE state = 'available'"
    )
    look = STATEMENTS["next_due_in"]
    scans = explained(connection, look.sql, look.bound([("q1", "q0")]))
    assert [scan for scan in scans if scan.table == "jobs"] == [Scan("jobs", "jobs_promotion", 2)]
    bound = {"queues": TextArray(texts(["q1", "q0"])), "now": START, "limit": LIMIT}
    scans = explained(connection, STATEMENTS["load_due_in"].sql, bound)
    assert [scan for scan in scans if scan.table == "jobs"] == [
        Scan("jobs", "jobs_promotion", 2 * LIMIT)
    ]


def test_claims_that_share_read_what_they_choose_from_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    connection.execute("UPDATE jobs SET tenant = 't' || seq % 3 WHERE state = 'available'")
    lanes = {
        "queues": TextArray(texts(["q1", "q0"])),
        "tenants": TextArray(texts(["t1", "t2"])),
        "types": TextArray(texts(["t.1", "t.2"])),
        "upto": 1 << 40,
        "now": START,
        "limit": LIMIT,
    }
    for name, index in (
        ("waiting", "jobs_claim"),
        ("waiting_of_type", "jobs_claim_type"),
        ("waiting_of_tenant", "jobs_tenant_claim"),
        ("waiting_of_tenant_and_type", "jobs_tenant_claim_type"),
    ):
        scans = explained(connection, STATEMENTS[name].sql, lanes)
        assert {scan.index for scan in scans if scan.table == "jobs"} == {index}
        assert all(scan.rows <= 2 * LIMIT for scan in scans)
    bound = {
        "queues": TextArray(texts(["q1", "q0"])),
        "after": TextArray(texts(["", ""])),
        "limit": LIMIT,
    }
    scans = explained(connection, STATEMENTS["tenants_waiting"].sql, bound)
    assert {scan.index for scan in scans} == {"jobs_tenant_claim"}
    assert sum(scan.rows for scan in scans) <= 8


def test_jobs_without_a_tenant_are_in_none_of_its_indexes_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    rows = connection.execute(
        "SELECT indexrelid::regclass::text, pg_get_expr(indpred, indrelid) FROM pg_index"
        " WHERE indexrelid::regclass::text LIKE '%tenant%'"
    ).fetchall()
    predicates = {name: text for name, text in rows if name.startswith("jobs_")}
    assert len(predicates) == 4
    assert all("tenant IS NOT NULL" in text for text in predicates.values())


def test_due_jobs_are_found_by_index_on_postgres(connection: psycopg.Connection[Any]) -> None:
    scans = explained(
        connection, STATEMENTS["load_due"].sql, {"since": 0, "now": START + 2000, "limit": LIMIT}
    )
    assert scans == [Scan("jobs", "jobs_due", LIMIT)]


def test_lapsed_leases_are_found_by_index_on_postgres(connection: psycopg.Connection[Any]) -> None:
    bound = {"from": 0, "until": START + 60_000, "since": 0, "grace": 30_000, "limit": LIMIT}
    scans = explained(connection, STATEMENTS["load_lapsed"].sql, bound)
    assert {"leases_expiry", "leases_deadline"} <= {scan.index for scan in scans}
    assert all(scan.index and scan.rows <= LIMIT for scan in scans)


def test_gates_are_opened_without_reading_who_waits_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    # Every waiting job stands before the gate of one of two keys, until the transaction ends.
    connection.execute(
        "UPDATE jobs SET rate_key = 'k' || seq % 2, on_limit = 'wait', gated = true"
        " WHERE state = 'available'"
    )
    for name, columns in (
        ("release_gated", [("k0", "k1"), (LIMIT,) * 2]),
        ("gated_keys", [("k0",)]),
    ):
        statement = STATEMENTS[name]
        bound = {**statement.bound(columns), "pos": 1, "now": START}
        scans = explained(connection, statement.sql, bound)
        # Looked up by id, a job is read again for each that was found.
        assert all(scan.index and scan.rows <= 4 * LIMIT for scan in scans if scan.table == "jobs")


def test_the_oldest_jobs_of_a_queue_are_found_by_index_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    bound = {"queue": "q1", "limit": LIMIT}
    for name in ("oldest_waiting", "priorities"):
        scans = explained(connection, STATEMENTS[name].sql, bound)
        assert all(scan.index and scan.rows <= 2 * LIMIT for scan in scans)
    statement = STATEMENTS["oldest_available"]
    scans = explained(connection, statement.sql, statement.bound([("q0", "q1")]))
    assert all(scan.index and scan.rows <= 2 * LIMIT for scan in scans)


def test_statistics_are_found_by_index_on_postgres(connection: psycopg.Connection[Any]) -> None:
    spans = "SELECT 60000, 'q' || n % 50, n, 'processed', 0, 1 FROM generate_series(1, 5000) AS n"
    connection.execute(f"INSERT INTO statistics {spans}".encode())
    statement = STATEMENTS["statistics"]
    bound = statement.bound([(60_000,) * 2, ("q1", "q2"), (4000,) * 2, (6000,) * 2])
    scans = [one for one in explained(connection, statement.sql, bound) if one.table]
    read = [one for one in scans if one.table == "statistics"]
    assert {one.index for one in read} == {"statistics_pkey"}
    assert sum(one.rows for one in read) == 40
    sql = STATEMENTS["prune_statistics"].sql
    scans = explained(connection, sql, {"step": 60_000, "before": 100, "limit": LIMIT})
    assert Scan("statistics", "statistics_age", LIMIT) in scans


NO_FILTER = dict.fromkeys(
    ("type", "prefix", "states", "priority", "since", "until", "ended_since", "ended_until")
)


# The first page of a list without a filter.
LISTED: dict[str, Any] = {
    **NO_FILTER,
    **dict.fromkeys(("queue", "tenant", "error_type")),
    "after": "~",
    "floor": "",
    **dict.fromkeys(("id_prefix", "tagged", "text")),
    "most": LIMIT,
    "with_meta": False,
    "limit": LIMIT,
    "offset": 0,
    "look": LIMIT - 1,
}


@pytest.mark.parametrize(
    ("name", "more", "index"),
    [
        ("jobs_by_state", {"state": "scheduled"}, "jobs_parked"),
        ("jobs_newest", {}, "jobs_pkey"),
        ("floor_by_state", {"state": "scheduled"}, "jobs_parked"),
    ],
)
def test_lists_of_jobs_are_read_by_index_on_postgres(
    connection: psycopg.Connection[Any], name: str, more: dict[str, Any], index: str
) -> None:
    scans = explained(connection, STATEMENTS[name].sql, {**LISTED, **more})
    assert scans == [Scan("jobs", index, LIMIT)]


@pytest.mark.parametrize("name", ["jobs_by_key", "floor_by_key"])
def test_unique_keys_are_found_by_index_on_postgres(
    connection: psycopg.Connection[Any], name: str
) -> None:
    connection.execute("UPDATE jobs SET unique_key = '1' WHERE seq % 100 = 0")
    scans = explained(connection, STATEMENTS[name].sql, LISTED)
    assert scans == [Scan("jobs", "jobs_unique_held", LIMIT)]


def test_the_newest_events_are_found_by_index_on_postgres(
    connection: psycopg.Connection[Any],
) -> None:
    connection.execute(
        "INSERT INTO events (pos, at, type, subject, data)"
        " SELECT n, n, 't', 's', '{}' FROM generate_series(1, 1000) AS n"
    )
    bound = {"after": 0, "before": 2**63 - 1, "limit": LIMIT}
    scans = explained(connection, STATEMENTS["events_before"].sql, bound)
    assert [scan for scan in scans if scan.table == "events"] == [
        Scan("events", "events_pkey", LIMIT)
    ]


# SQLite: the plan, which says by name what is searched, scanned and sorted.


@pytest.fixture(scope="module")
def plan_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("plans") / "ojs.db"
    with closing(SqliteStore(str(path))) as store:
        fill(store)
    with closing(apsw.Connection(str(path))) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)

        def plan(sql: str) -> list[str]:
            named = dict.fromkeys(re.findall(r":(\w+)", sql))
            unbound = named or [None] * sql.count("?")
            return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", unbound)]

        yield plan


def searches(plan: list[str], table: str) -> set[str]:
    """Return how a plan reads a table other than by primary key; a full scan shows as `SCAN …`."""
    read = {line for line in plan if re.match(rf"(SEARCH|SCAN) {table}\b", line)}
    return {line for line in read if "autoindex" not in line}


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("claim", "jobs_claim (queue=?)"),
        ("claim_types", "jobs_claim_type (queue=? AND type=?)"),
    ],
)
def test_a_claim_uses_its_index_on_sqlite(plan_of: Any, name: str, index: str) -> None:
    statement = QUERIES[name]
    plan = plan_of(of_lanes(statement, 3, 1))
    assert searches(plan, "jobs") == {f"SEARCH jobs USING INDEX {index}"}
    # Only what the lanes gave is sorted; each lane is read in the order of its index.
    assert [line for line in plan if "TEMP B-TREE" in line] == ["USE TEMP B-TREE FOR ORDER BY"]


@pytest.mark.parametrize(
    ("sql", "table", "index"),
    [
        (of_rows(QUERIES["demands"], 2), "first", "jobs_demand (queue=? AND demand>?)"),
        (of_rows(QUERIES["demands"], 2), "next", "jobs_demand (queue=? AND demand>?)"),
        (QUERIES["demanding"].sql, "jobs", "jobs_demand (queue=? AND demand=?)"),
        (QUERIES["undemanding"].sql, "jobs", "jobs_claim (queue=?)"),
        (QUERIES["undemanding_of_type"].sql, "jobs", "jobs_claim_type (queue=? AND type=?)"),
    ],
)
def test_demands_are_found_by_index_on_sqlite(
    plan_of: Any, sql: str, table: str, index: str
) -> None:
    plan = plan_of(sql)
    assert {line.partition("INDEX ")[2] for line in searches(plan, table)} == {index}


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("waiting", "jobs_claim (queue=?)"),
        ("waiting_of_type", "jobs_claim_type (queue=? AND type=?)"),
        ("waiting_of_tenant", "jobs_tenant_claim (queue=? AND tenant=?)"),
        ("waiting_of_tenant_and_type", "jobs_tenant_claim_type (queue=? AND type=? AND tenant=?)"),
    ],
)
def test_claims_that_share_use_their_index_on_sqlite(plan_of: Any, name: str, index: str) -> None:
    plan = plan_of(QUERIES[name].sql)
    assert searches(plan, "jobs") == {f"SEARCH jobs USING INDEX {index}"}
    assert not any("TEMP B-TREE" in line for line in plan)


def test_the_next_type_is_found_by_index_on_sqlite(plan_of: Any) -> None:
    plan = plan_of(QUERIES["type_from"].sql)
    assert searches(plan, "jobs") == {
        "SEARCH jobs USING COVERING INDEX jobs_claim_type (queue=? AND type>?)"
    }
    assert not any("TEMP B-TREE" in line for line in plan)


def test_tenants_that_wait_are_found_by_index_on_sqlite(plan_of: Any) -> None:
    plan = plan_of(QUERIES["tenants_waiting"].sql)
    read = "USING INDEX jobs_tenant_claim (queue=? AND tenant>?)"
    assert searches(plan, "jobs") == {f"SEARCH jobs {read}"}
    assert searches(plan, "later") == {f"SEARCH later {read}"}


def test_no_index_of_jobs_asks_for_a_list_on_sqlite(tmp_path: Path) -> None:
    # For a list of states, a statement that moves a row in or out makes a table first.
    with (
        closing(SqliteStore(str(tmp_path / "ojs.db"))) as store,
        closing(apsw.Connection(str(store.path))) as connection,
    ):
        asked = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'jobs'"
        texts = {name: sql for name, sql in connection.execute(asked) if sql}
    assert len(texts) > 10
    assert {name for name, sql in texts.items() if re.search(r"\bIN\b", sql)} == set()


def test_what_a_fetch_promotes_is_found_by_index_on_sqlite(plan_of: Any) -> None:
    for name in ("is_due_in", "load_due_in"):
        assert plan_of(QUERIES[name].sql) == [
            "SEARCH jobs USING INDEX jobs_promotion (queue=? AND due_at<?)"
        ]


def test_due_jobs_are_found_by_index_on_sqlite(plan_of: Any) -> None:
    assert plan_of(QUERIES["load_due"].sql) == ["SEARCH jobs USING INDEX jobs_due (due_at<?)"]


def test_lapsed_leases_are_found_by_index_on_sqlite(plan_of: Any) -> None:
    plan = plan_of(QUERIES["load_lapsed"].sql)
    assert searches(plan, "leases") == {
        "SEARCH leases USING INDEX leases_expiry (expires_at<?)",
        "SEARCH leases USING INDEX leases_deadline (deadline_at<?)",
        "SEARCH leases USING PRIMARY KEY (job_id=?)",
    }
    assert searches(plan, "jobs") == set()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("surplus_from", "INDEX jobs_dead_kept (queue=?)"),
        ("load_surplus", "INDEX jobs_dead_kept (queue=? AND (finished_at,id)<(?,?))"),
        ("dead_letters", "INDEX jobs_dead ((finished_at,id)<(?,?))"),
        ("dead_letters_of_queue", "INDEX jobs_dead_queue (queue=? AND (finished_at,id)<(?,?))"),
        (
            "dead_letters_of_error",
            "INDEX jobs_dead_error (error_type=? AND (finished_at,id)<(?,?))",
        ),
        ("dead_letters_by_queue", "COVERING INDEX jobs_dead_queue"),
        ("dead_letters_by_error", "COVERING INDEX jobs_dead_error"),
        ("jobs_newest", "INDEX sqlite_autoindex_jobs_1 (id>? AND id<?)"),
        ("jobs_by_state", "INDEX jobs_parked (state=? AND id>? AND id<?)"),
        ("jobs_by_queue", "INDEX jobs_parked_queue (queue=? AND state=? AND id>? AND id<?)"),
        ("jobs_held", "INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("jobs_held_by", "INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("jobs_by_key", "INDEX jobs_unique_held (id>? AND id<?)"),
        ("floor_by_key", "INDEX jobs_unique_held (id<?)"),
        ("floor_newest", "COVERING INDEX sqlite_autoindex_jobs_1 (id<?)"),
        ("floor_by_state", "COVERING INDEX jobs_parked (state=? AND id<?)"),
        ("floor_by_queue", "COVERING INDEX jobs_parked_queue (queue=? AND state=? AND id<?)"),
    ],
)
def test_lists_of_jobs_are_read_by_index_on_sqlite(plan_of: Any, name: str, read: str) -> None:
    plan = plan_of(QUERIES[name].sql)
    found = {line for line in plan if re.match(r"(SEARCH|SCAN) jobs\b", line)}
    assert {line.partition(" USING ")[2] for line in found} == {read}
    # Nothing is sorted but the few counts.
    assert name == "dead_letters_by_error" or not [line for line in plan if "TEMP B-TREE" in line]


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        (of_rows(QUERIES["statistics"], 2), "queue=? AND at>? AND at<?"),
        (QUERIES["prune_statistics"].sql, "statistics_age (step=? AND at<?)"),
        (QUERIES["what_happened"].sql, "SEARCH events USING INTEGER PRIMARY KEY"),
    ],
)
def test_statistics_are_found_by_index_on_sqlite(plan_of: Any, sql: str, read: str) -> None:
    plan = plan_of(sql)
    assert [line for line in plan if read in line]
    assert not [line for line in plan if re.match(r"SCAN (known|statistics|events)\b", line)]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("load_due_cron", {"SEARCH cron USING INDEX cron_due (next_run_at<?)"}),
        ("load_held_cron", {"SCAN cron USING INDEX cron_held"}),
        ("cron_holders", {"SEARCH cron USING COVERING INDEX cron_owner (owner=?)"}),
        ("load_held_runs", {"SEARCH cron_runs USING INDEX cron_runs_held (name=?)"}),
        ("list_cron_runs", {"SEARCH cron_runs USING INDEX cron_runs_name (name=?)"}),
    ],
)
def test_cron_is_found_by_index_on_sqlite(plan_of: Any, name: str, read: set[str]) -> None:
    plan = plan_of(QUERIES[name].sql)
    assert searches(plan, "cron") | searches(plan, "cron_runs") == read


@pytest.mark.parametrize(
    "sql",
    [
        *(QUERIES[name].sql for name in ("release_gated", "oldest_waiting", "priorities")),
        of_rows(QUERIES["oldest_available"], 3),
    ],
)
def test_gated_and_oldest_jobs_are_found_by_index_on_sqlite(plan_of: Any, sql: str) -> None:
    plan = plan_of(sql)
    assert not [line for line in plan if line.startswith("SCAN jobs")]
    assert not [line for line in plan if re.match(r"SCAN (later|same|here|first|lower)\b", line)]


def test_the_newest_events_are_found_by_index_on_sqlite(plan_of: Any) -> None:
    plan = plan_of(QUERIES["events_before"].sql)
    assert plan == ["SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]


def test_no_statement_of_a_batch_reads_a_table_whole_on_sqlite(plan_of: Any) -> None:
    for statement, filled in product(QUERIES.values(), (False, True)):
        if "{rows}" in statement.sql:
            plan = plan_of(of_rows(statement, 3, filled=filled))
            tables = (
                r"SCAN (jobs|leases|workers|queues|queue_counts|events|receipts|cron|cron_runs"
                r"|limits|statistics)\b"
            )
            assert not [line for line in plan if re.match(tables, line)], statement.name


def test_what_is_left_out_of_an_insert_is_null_on_sqlite(sqlite_path: Path) -> None:
    open_store(str(sqlite_path)).close()
    connection = apsw.Connection(str(sqlite_path))
    named = [statement for statement in QUERIES.values() if "{columns}" in statement.sql]
    for statement in named:
        (table,) = statement.changes
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        sound = {name for _, name, _, needed, default, _ in columns if needed or default is None}
        assert statement.rows is not None
        assert set(statement.rows.names) <= sound
    connection.close()
    assert named


# Both.


def test_both_stores_have_the_same_tables_and_columns(postgres_url: str, sqlite_path: Path) -> None:
    open_store(postgres_url).close()
    open_store(str(sqlite_path)).close()
    rows = query(
        postgres_url,
        "SELECT table_name, column_name, is_nullable FROM information_schema.columns"
        " WHERE table_schema = current_schema()"
        " AND table_name NOT IN"
        " ('nodes', 'settings', 'schema_versions', 'unique_locks', 'outcomes', 'returns',"
        " 'staging_roles')"
        " AND (table_name, column_name) <> ('staged_jobs', 'xact')",
    )
    with closing(apsw.Connection(str(sqlite_path))) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        embedded = {
            (table, column, "NO" if not_null else "YES")
            for table in tables
            for _, column, _, not_null, *_ in connection.execute(f"PRAGMA table_info({table})")
        }
    assert set(rows) == embedded


def test_each_field_of_a_record_has_a_column(sqlite_path: Path) -> None:
    open_store(str(sqlite_path)).close()
    with closing(apsw.Connection(str(sqlite_path))) as connection:
        for record in RECORDS.values():
            if record.table is not None and record.type not in OF_SEVERAL_TABLES:
                found = connection.execute(f"PRAGMA table_info({record.table})")
                named = {column.name for column in columns_of(record)}
                assert named <= {column for _, column, *_ in found}, record.type.__name__


def test_text_compares_bytewise_on_postgres(postgres_url: str) -> None:
    open_store(postgres_url).close()
    others = query(
        postgres_url,
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND data_type = 'text'"
        " AND table_name <> 'schema_versions' AND collation_name IS DISTINCT FROM 'C'",
    )
    assert others == []
