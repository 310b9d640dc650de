"""The doctor, before real servers on both stores and before others."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ojs_cli.failures import MISUSED, NO_ACCESS, NOT_FOUND, NOT_SO, UNREACHABLE
from ojs_cli.session import Session
from ojs_server.http.access.keys import parse_keys
from ojs_server.store.open import open_store
from ojs_worker.environment import machine
from tests.terminal.conftest import Call, Ojs, serving
from tests.terminal.foreign import LEAST, answering


def test_the_doctor_says_what_is_wrong_and_how_to_mend_it(ojs: Ojs, call: Call) -> None:
    well = ojs("doctor", "-o", "json")
    results = {one["check"]: one["result"] for one in json.loads(well.out)["items"]}
    # The hooks that reset the server for tests are on.
    assert results.pop("switches") == "wrong"
    assert set(results.values()) == {"ok"}
    call("POST", "/jobs", type="t", args=[], options={"queue": "mail"})
    call("POST", "/jobs", type="t", args=[], options={"queue": "print"})
    call("POST", "/queues/print/pause")
    call("POST", "/admin/system/maintenance", enabled=True)
    said = ojs("doctor")
    call("POST", "/admin/system/maintenance", enabled=False)
    assert said.code == NOT_SO
    hints = [row[2:] for row in said.rows if row[1] == "wrong"]
    assert ["nobody serves mail, where 1 job waits", "start a worker with --queues mail"] in hints
    assert ["print is paused with 1 job waiting", "ojs queues resume print"] in hints
    assert ["maintenance is on: nothing is handed out", "turn it off in the dashboard"] in hints


def test_the_doctor_sees_cron_entries_that_fail(ojs: Ojs, call: Call) -> None:
    template = {"type": "t", "args": [], "options": {"retry": {"max_attempts": 1}}}
    call("POST", "/cron", name="night", expression="0 3 * * *", job_template=template)
    error = {"type": "Full", "message": "no room"}
    for _ in range(2):
        ojs("cron", "run", "night")
        (job,) = call("POST", "/workers/fetch", queues=["default"], worker_id="w1")["jobs"]
        call("POST", "/workers/nack", job_id=job["id"], worker_id="w1", error=error)
    (wrong,) = (row for row in ojs("doctor").rows if row[0] == "cron")
    assert wrong[1:3] == ["wrong", "the last 2 runs of night failed: no room"]
    assert wrong[3].startswith("ojs jobs show ")
    ojs("cron", "pause", "night")
    assert ["cron", "ok", "", ""] in ojs("doctor").rows


def test_the_doctor_sees_a_limit_that_lets_nothing_start(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[], options={"rate_limit": {"key": "k", "concurrency": 1}})
    ojs("limits", "set", "k", "--concurrency", "0")
    wrong = ["limits", "wrong", "the limit k is 0, and 1 job waits", "ojs limits unset k"]
    assert wrong in ojs("doctor").rows


def test_the_doctor_sees_what_has_failed(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[], options={"retry": {"max_attempts": 1}})
    (job,) = call("POST", "/workers/fetch", queues=["default"], worker_id="w1")["jobs"]
    call("POST", "/workers/nack", job_id=job["id"], worker_id="w1", error={"message": "no"})
    rows = ojs("doctor").rows
    assert ["failures", "wrong", "1 job failed for good in the last hour"] in [
        row[:3] for row in rows
    ]


def test_the_doctor_looks_at_a_server_without_its_database(run: Ojs) -> None:
    backend = {"connection": "disconnected", "error": "the store does not answer"}
    sick = json.dumps({"status": "unhealthy", "backend": backend})
    with answering({"/ojs/manifest": LEAST["/ojs/manifest"]}, 503, sick) as url:
        said = run("doctor", "--url", url)
        status = run("status", "--exit-code", "--url", url)
    assert (said.code, said.err) == (NOT_SO, "")
    rows = [row[:3] for row in said.rows]
    assert ["store", "wrong", "the database does not answer"] in rows
    assert rows[0] == [
        *("server", "wrong", "the server says that it is unhealthy: the store does not answer"),
    ]
    assert {row[1] for row in said.rows if row[0] in ("queues", "failures", "cron")} == {"unknown"}
    assert (status.code, "unhealthy" in status.out) == (NOT_SO, True)


def test_the_doctor_sees_webhooks_that_fail(run: Ojs) -> None:
    now = datetime.now(UTC).isoformat()
    failed = {"subscription_id": "sub_1", "error": "the target answered 503"}
    deliveries = [
        {**failed, "id": "dlv_1", "status": "dead", "attempts": 8, "finished_at": now},
        {**failed, "id": "dlv_2", "status": "dead", "attempts": 8, "finished_at": "2020-01-01Z"},
    ]
    answers = {
        **LEAST,
        "/ojs/v1/webhooks/subscriptions": {
            "subscriptions": [{"id": "sub_1", "url": "https://example.org/hook"}]
        },
        "/ojs/v1/webhooks/deliveries": {"deliveries": deliveries},
    }
    with answering(answers) as url:
        said = run("doctor", "--url", url)
    (wrong,) = (row for row in said.rows if row[0] == "webhooks")
    assert wrong[1] == "wrong"
    assert "to https://example.org/hook failed" in wrong[2]
    assert wrong[2].endswith("given up: the target answered 503")
    assert wrong[3] == "ojs webhooks test sub_1, then ojs webhooks redeliver --dead-of sub_1"


def test_the_doctor_names_what_holds_vacuum_back(run: Ojs) -> None:
    session = {"kind": "session", "name": "4711", "application": "reports", "user": "app"}
    slot = {"kind": "slot", "name": "stale", "application": None, "user": None}
    age = {"transactions": 9, "held_s": 600}
    held = [{**session, **age, "at_least": True}, {**slot, **age, "at_least": False}]
    store = {"writable": True, "vacuum_holders": held}
    with answering({**LEAST, "/ojs/v1/health/detail": {"store": store}}) as url:
        rows = [row[2:] for row in run("doctor", "--url", url).rows if row[0] == "store"]
    kept = "has kept PostgreSQL from removing old rows for"
    assert rows == [
        [
            f"the session 4711 (reports, user app) {kept} at least 10m",
            "have it end its transaction, or SELECT pg_terminate_backend(4711)",
        ],
        [
            f"the replication slot stale {kept} 10m",
            "bring its reader back, or SELECT pg_drop_replication_slot('stale')",
        ],
    ]


@pytest.mark.parametrize(
    ("status", "code", "words"), [(401, NO_ACCESS, "OJS_AUTH"), (404, NOT_FOUND, "Open Job Spec")]
)
def test_the_doctor_needs_a_server_that_lets_it_in(
    run: Ojs, status: int, code: int, words: str
) -> None:
    with answering({}, status, "{}") as url:
        said = run("doctor", "--url", url)
    assert (said.code, words in said.err) == (code, True)


KEYS = (
    "ada=operator:the-key-of-ada-01,bo=admin:the-key-of-an-admin,worker+producer:the-key-of-a-shop"
)


@pytest.mark.parametrize(
    ("key", "result"),
    [
        ("the-key-of-ada-01", ("ok", "")),
        ("the-key-of-a-shop", ("ok", "")),
        (
            "the-key-of-an-admin",
            ("wrong", "the key bo has the role admin and may do everything"),
        ),
    ],
)
def test_the_doctor_tells_a_caller_of_too_many_rights(
    run: Ojs, monkeypatch: pytest.MonkeyPatch, key: str, result: tuple[str, str]
) -> None:
    monkeypatch.setenv("OJS_AUTH_TOKEN", key)
    with serving(":memory:", keys=parse_keys(KEYS, {})) as url:
        (row,) = (row for row in run("doctor", "--url", url).rows if row[0] == "access")
    assert (row[1], row[2]) == result
    assert ("worker+producer for an application" in row[3]) is (result[0] == "wrong")


@pytest.mark.parametrize(
    ("settings", "reached"),
    [
        ({"host": "0.0.0.0", "insecure": True}, "0.0.0.0"),
        ({"allow_host": ("jobs.example.com", "jobs.localhost")}, "jobs.example.com"),
        ({"host": "::1"}, None),
    ],
)
def test_the_doctor_tells_a_caller_whom_nobody_asks_for_a_key(
    run: Ojs, settings: dict[str, Any], reached: str | None
) -> None:
    with serving(":memory:", **settings) as url:
        said = run("doctor", "--url", url)
    (row,) = (row for row in said.rows if row[0] == "access")
    wrong = ["wrong", f"whoever reaches {reached} may do everything without a key"]
    assert row[1:3] == (wrong if reached else ["ok", ""])


def test_the_doctor_tells_a_caller_without_a_key(run: Ojs) -> None:
    with serving(":memory:", keys=parse_keys(KEYS, {})) as url:
        said = run("doctor", "--url", url)
    assert (said.code, "OJS_AUTH_TOKEN" in said.err) == (NO_ACCESS, True)


NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database(request: pytest.FixtureRequest) -> str:
    """A database that no server has migrated, once for each kind."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    path: Path = request.getfixturevalue("sqlite_path")
    path.touch()
    return str(path)


def test_the_doctor_sees_migrations_that_are_pending(run: Ojs, empty_database: str) -> None:
    words = ("doctor", "--url", NOWHERE, "--database", empty_database)
    said = run(*words)
    schema, server, *others = said.rows
    assert schema[:2] == ["schema", "wrong"]
    assert schema[2].startswith("the database has schema 0, this program needs ")
    assert schema[3] == "run `ojs-server migrate` or start without --no-migrate"
    assert (server[:2], server[3]) == (["server", "wrong"], "start a server with `ojs server`")
    assert {row[1] for row in others} == {"unknown"}
    assert said.code == NOT_SO
    open_store(empty_database).close()
    assert run(*words).rows[0] == ["schema", "ok", "", ""]


def test_the_doctor_looks_at_the_schema_beside_a_server(
    run: Ojs, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OJS_DATABASE_URL", store_url)
    with serving(store_url) as url:
        said = run("doctor", "--url", url)
    assert {row[1] for row in said.rows[:5]} == {"ok"}
    assert said.rows[0][0] == "schema"


def test_a_database_that_is_none_is_told(run: Ojs) -> None:
    away = run("doctor", "--url", NOWHERE, "--database", "postgresql://u:hidden@127.0.0.1:9/n")
    assert (away.code, away.rows[0][:2]) == (NOT_SO, ["schema", "wrong"])
    assert "hidden" not in away.out
    said = run("doctor", "--url", NOWHERE, "--database", "mysql://x/y")
    assert (said.code, "postgresql://" in said.err) == (MISUSED, True)
    assert run("doctor", "--url", NOWHERE).code == UNREACHABLE


@pytest.mark.parametrize(
    ("ahead_ms", "told"),
    [(930_000, "15m behind"), (-930_000, "15m ahead of"), (1000, None), (-1000, None)],
)
def test_the_doctor_compares_clocks(
    ojs: Ojs, call: Call, monkeypatch: pytest.MonkeyPatch, ahead_ms: int, told: str | None
) -> None:
    call("POST", "/jobs", type="t", args=[])
    here = machine()
    shifted = msgspec.structs.replace(here, wall_ms=lambda: here.wall_ms() + ahead_ms)
    monkeypatch.setattr(Session, "environment", shifted)
    (row,) = (row for row in ojs("doctor").rows if row[0] == "clock")
    wrong = ["clock", "wrong", f"the server's clock is {told} this machine's"]
    assert row[:3] == (wrong if told else ["clock", "ok", ""])


def test_the_doctor_compares_the_clock_of_the_database(run: Ojs, store_url: str) -> None:
    wall_ms = machine().wall_ms
    store = open_store(store_url, clock=lambda: wall_ms() + 930_000)
    with serving(store) as url:
        assert run("enqueue", "t", "--url", url).code == 0
        (row,) = (row for row in run("doctor", "--url", url).rows if row[0] == "clock")
    told = "the database's clock is 15m ahead of this machine's"
    assert row == ["clock", "wrong", told, "let all machines follow NTP"]


def test_the_doctor_sees_servers_that_died_or_are_old(run: Ojs) -> None:
    now = datetime.now(UTC)

    def node(id: str, state: str, version: str, ago_s: int) -> dict[str, str]:
        seen = (now - timedelta(seconds=ago_s)).isoformat()
        return {"id": id, "host": "h", "state": state, "version": version, "last_seen_at": seen}

    items = [
        node("a", "online", "1.1.0", 2),
        node("b", "online", "1.0.0", 3),
        node("c", "online", "1.0.0", 4),
        node("d", "unreachable", "0.9.0", 930),
        node("e", "unreachable", "0.9.0", 7200),
    ]
    with answering({**LEAST, "/ojs/v1/admin/nodes": {"items": items}}) as url:
        said = run("doctor", "--url", url)
    assert [row[2:] for row in said.rows if row[0] == "nodes"] == [
        ["the server d was last seen 15m ago", "look at its process and log on h"],
        [
            "the servers are of different versions: 1.0.0 (2), 1.1.0 (1)",
            "upgrade those that are older",
        ],
    ]


def test_a_server_that_tells_no_time_has_no_clock_to_compare(run: Ojs) -> None:
    with answering(LEAST, dated=False) as url:
        (row,) = (row for row in run("doctor", "--url", url).rows if row[0] == "clock")
    assert row[:3] == ["clock", "unknown", "the server does not tell its time"]
