"""Migrations of rows that an earlier version has stored, on both stores."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import apsw
import psycopg
import pytest
from psycopg import sql

from ojs_server.domain.jobs.dead_letter import error_type_of
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.store import migrations
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from ojs_server.store.postgres import migrate as on_postgres
from ojs_server.store.postgres.bounded import BoundedConnection
from ojs_server.store.postgres.statements import PACKAGE as POSTGRES
from ojs_server.store.sqlite import migrate as on_sqlite
from ojs_server.store.sqlite.statements import PACKAGE as SQLITE
from ojs_wire.codec import decode, encode
from tests.store.records import EVERYTHING, START

Fill = Callable[[str, Mapping[str, Any]], None]
# Text on SQLite, bytes on PostgreSQL.
JSON = ("spec", "args", "meta", "error", "data")

KEPT = '{"retry":{"max_attempts":1,"on_exhaustion":"dead_letter"},"note":"\\u0000"}'
DISCARDED = '{"retry":{"max_attempts":1,"on_exhaustion":"discard"}}'
JOB: Mapping[str, Any] = {
    "type": "t",
    "queue": "q",
    "state": "discarded",
    "priority": 0,
    "seq": 1,
    "attempt": 1,
    "releases": 0,
    "max_attempts": 1,
    "created_at": START,
    "finished_at": START,
    "completed_at": START,
    "spec": "{}",
    "args": "[]",
    "meta": "{}",
}
STATES = ("scheduled", "available", "pending", "active", "completed", "retryable", "cancelled")
COUNTS = {
    "queue": "q",
    "node": "a",
    "created_at": START,
    "discarded": 9,
    **dict.fromkeys(STATES, 0),
}


def error(kind: str) -> str:
    """An error as it is stored; what a worker says is no part of its type."""
    said = r"\"type\":\"not this\" \u0000"
    return f'{{"code":"c","type":"{kind}","message":"{said}","details":{{"type":"nor this"}}}}'


@pytest.fixture(
    params=[
        pytest.param("sqlite_path", marks=pytest.mark.store_sqlite),
        pytest.param("postgres_url", marks=pytest.mark.store_postgres),
    ]
)
def empty_url(request: pytest.FixtureRequest) -> str:
    """Return the URL of an empty database on each kind of store."""
    place = request.getfixturevalue(request.param)
    return f"sqlite:///{place}" if request.param == "sqlite_path" else str(place)


@contextmanager
def older(url: str, version: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fill]:
    """A database as the program of that schema left it; rows are put into it by hand."""
    with monkeypatch.context() as patched:
        for store in (on_sqlite, on_postgres):
            patched.setattr(
                store,
                "load_migrations",
                lambda package: [
                    one for one in migrations.load_migrations(package) if one.version <= version
                ],
            )
        if url.startswith("sqlite:///"):
            with closing(apsw.Connection(url.removeprefix("sqlite:///"))) as embedded:
                on_sqlite.migrate(embedded, SQLITE)
                yield lambda table, row: _into_sqlite(embedded, table, row)
        else:
            with closing(BoundedConnection.connect(url, autocommit=True)) as connection:
                on_postgres.migrate(connection, POSTGRES)
                yield lambda table, row: _into_postgres(connection, table, row)


def _into_sqlite(connection: apsw.Connection, table: str, row: Mapping[str, Any]) -> None:
    places = ", ".join("?" * len(row))
    connection.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values())
    )


def _into_postgres(connection: psycopg.Connection[Any], table: str, row: Mapping[str, Any]) -> None:
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(sql.Placeholder() * len(row)),
    )
    values = [
        value.encode() if name in JSON and isinstance(value, str) else value
        for name, value in row.items()
    ]
    connection.execute(statement, values)


def kept(store: Store) -> list[str]:
    """The dead letters that count towards their queue's limit."""
    with store.transaction() as tx:
        return sorted(job.id for job in tx.load_surplus(0, {}, 100))


def test_dead_letters_of_before_are_found_by_error_and_counted(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with older(empty_url, 6, monkeypatch) as fill:
        fill("queue_counts", COUNTS)
        fill("jobs", {**JOB, "id": "kept", "spec": KEPT, "error": error("boom")})
        fill("jobs", {**JOB, "id": "let go", "spec": DISCARDED, "error": error("boom")})
        fill("jobs", {**JOB, "id": "plain", "error": error("other")})
        fill("jobs", {**JOB, "id": "old", "spec": KEPT, "error": '{"code":"c","message":"m"}'})
        fill("jobs", {**JOB, "id": "silent", "spec": KEPT})
        fill("jobs", {**JOB, "id": "alive", "state": "available", "spec": KEPT})
        for number in range(3):
            event = {"at": START, "type": "x", "subject": "s", "data": "{}"}
            fill("events", {**event, "pos": number + 1})
    with closing(open_store(empty_url)) as store:
        with store.reader() as reader:
            found = {
                kind: {
                    stored.job.id
                    for stored in reader.dead_letters(JobFilter(error_type=kind), 100, 0, None).jobs
                }
                for kind in ("boom", "other", "not this", "nor this")
            }
            by_error = reader.dead_letter_stats().by_error_type
        with store.transaction() as tx:
            tally = tx.tally_events(100)
        assert found == {
            "boom": {"kept", "let go"},
            "other": {"plain"},
            "not this": set(),
            "nor this": set(),
        }
        assert by_error == {"boom": 2, "other": 1, None: 2}
        assert kept(store) == ["kept", "old", "silent"]
        assert tally is not None
        assert tally.total == 3


def test_types_of_errors_of_before_are_what_they_would_be_noted_as_now(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [
        'said "no"',
        r"C:\new\u0000",
        "two\nlines\tand\x01 more",
        "a\0\0b\\\0",
        "\0",
        "zażółć \U0001f600",
        "",
    ]
    with older(empty_url, 6, monkeypatch) as fill:
        fill("queue_counts", COUNTS)
        for number, kind in enumerate(kinds):
            said = {
                "code": kind,
                "type": kind,
                "message": kind,
                "details": {kind: kind, "n": 1e300},
            }
            fill("jobs", {**JOB, "id": str(number), "error": encode(said).decode()})
    with closing(open_store(empty_url)) as store, store.reader() as reader:
        found = reader.dead_letter_stats().by_error_type
        jobs = reader.dead_letters(JobFilter(), 100, 0, None).jobs
    assert found == Counter(error_type_of(stored.job) for stored in jobs)
    assert set(found) == {kind.replace("\0", "") for kind in kinds}


def test_jobs_that_were_dropped_before_are_counted_as_their_policy_says(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with older(empty_url, 7, monkeypatch) as fill:
        fill("queue_counts", COUNTS)
        dropped = {**JOB, "kept": False, "completed_at": None}
        for kind in ("rate_limited", "queue_full"):
            one = {**dropped, "error": error(kind), "error_type": kind}
            fill("jobs", {**one, "id": kind, "spec": KEPT})
            fill("jobs", {**one, "id": f"{kind} let go", "spec": DISCARDED})
            # Discarded by the handler, although the policy keeps the job.
            fill("jobs", {**one, "id": f"{kind} failed", "spec": KEPT, "completed_at": START})
    with closing(open_store(empty_url)) as store:
        assert kept(store) == ["queue_full", "rate_limited"]


def test_events_of_before_say_what_they_said(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    about: dict[str, Any] = {"job_id": "j1", "job_type": "t", "queue": "q"}
    said = [
        ("job.enqueued", "q", "t", {**about, "priority": 0}),
        ("job.failed", "q", "t", {**about, "error": {"message": 'a\0"b', "queue": "c"}}),
        ("job.activated", "q", "t", about),
        ("cron.triggered", "q", "t", {"cron_name": "c", "job_type": "t", "queue": "q"}),
        ("queue.paused", "q", None, {"queue": "q"}),
    ]
    with older(empty_url, 24, monkeypatch) as fill:
        for number, (kind, queue, job_type, data) in enumerate(said):
            event = {"pos": number + 1, "at": START, "type": kind, "subject": "j1"}
            more = {"queue": queue, "job_type": job_type, "data": encode(data).decode()}
            fill("events", {**event, **more})
    with closing(open_store(empty_url)) as store, store.reader() as reader:
        found = [placed.event for placed in reader.events(0, EVERYTHING, 9).events]
    assert [decode(event.data) for event in found] == [data for *_, data in said]
    assert [b"job_id" in event.own for event in found] == [False] * len(said)
