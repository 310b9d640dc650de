"""The command against servers of other kinds, and against what is no server of OJS."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ojs_cli.failures import MISUSED, NO_ACCESS, NOT_FOUND, NOT_SO, OK, REFUSED, UNREACHABLE
from tests.terminal.conftest import Ojs
from tests.terminal.foreign import JOB, LEAST, answering


@pytest.fixture(scope="module")
def least() -> Iterator[str]:
    with answering(LEAST) as url:
        yield url


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("status", "least"),
        ("doctor", "unknown"),
        ("jobs", JOB["id"]),
        (f"jobs show {JOB['id']}", "active"),
        ("jobs search t", JOB["id"]),
        ("dead", JOB["id"]),
        ("queues", "q"),
        ("queues show q", "counts.available  3"),
        ("workers", "w1"),
        ("workers show w1", "far"),
        ("cron", "* * * * *"),
        ("cron show c", "* * * * *"),
        ("workflows", "chain"),
        ("workflows show w", "○ a"),
    ],
)
def test_what_can_be_read_there_is_read(run: Ojs, least: str, words: str, shown: str) -> None:
    said = run(*words.split(), "--url", least)
    assert (said.code, said.err) == (OK, "")
    assert shown in said.out


@pytest.mark.parametrize(
    "words",
    [
        *(
            "events",
            "events tail",
            "stats",
            "cron history c",
            "actions",
            "limits",
            "limits show k",
            "pools",
            "nodes",
        ),
        *("pools show p", "tenants", "tenants show t", "schemas", "schemas show t", "webhooks"),
        *("webhooks show w", "webhooks deliveries"),
    ],
)
def test_a_call_that_it_lacks_is_told(run: Ojs, least: str, words: str) -> None:
    said = run(*words.split(), "--url", least)
    assert said.code == NOT_FOUND
    assert "has no call GET /ojs/v1/" in said.err


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (200, "<h1>Welcome</h1>", REFUSED, "not as a server of Open Job Spec"),
        (200, "[]", REFUSED, "not as a server of Open Job Spec"),
        (200, "{}", REFUSED, "has no jobs"),
        (404, "<h1>?</h1>", NOT_FOUND, "is it a server of Open Job Spec?"),
        (502, "bad gateway", UNREACHABLE, "try again later"),
        (401, '{"error": {"code": "unauthenticated", "message": "?"}}', NO_ACCESS, "OJS_AUTH"),
        (403, '{"error": {"code": "denied", "message": "?"}}', NO_ACCESS, "with a role"),
        (500, "\x1b[2J", UNREACHABLE, "\\x1b[2J"),
    ],
)
def test_other_answers_are_a_sentence_with_the_next_step(
    run: Ojs, status: int, body: str, code: int, words: str
) -> None:
    with answering({}, status, body) as url:
        said = run("jobs", "--url", url)
        assert (said.code, said.out) == (code, "")
        assert words in said.err
        assert len(said.err.splitlines()) <= 2
        error = json.loads(run("-o", "json", "jobs", "--url", url).err)["error"]
        assert error["message"]


def test_a_server_that_is_not_there(run: Ojs) -> None:
    with answering({}) as url:
        pass
    said = run("jobs", "--url", url)
    assert said.code == UNREACHABLE
    assert "ojs server" in said.err
    assert run("jobs", "--url", "localhost:9").err.endswith("write http://localhost:9\n")
    assert run("jobs", "--url", "ftp://x").code == MISUSED


def test_servers_have_names_in_a_file(
    run: Ojs, least: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "servers.toml"
    file.write_text(
        f'server = "near"\n[servers.near]\nurl = "{least}"\nread_only = true\n'
        '[servers.far]\nurl = "http://127.0.0.1:9"\n'
    )
    monkeypatch.setenv("OJS_SERVERS", str(file))
    assert run("jobs").code == OK
    said = run("jobs", "cancel", JOB["id"])
    assert said.code == NO_ACCESS
    assert "near is read_only" in said.err
    assert run("jobs", "--server", "far").code == UNREACHABLE
    near = run("jobs", "--server", "fair")
    assert (near.code, 'did you mean "far"?' in near.err) == (MISUSED, True)
    assert run("--url", least, "jobs", "cancel", JOB["id"]).code != NO_ACCESS


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


@pytest.mark.parametrize(
    ("status", "code", "words"), [(401, NO_ACCESS, "OJS_AUTH"), (404, NOT_FOUND, "Open Job Spec")]
)
def test_the_doctor_needs_a_server_that_lets_it_in(
    run: Ojs, status: int, code: int, words: str
) -> None:
    with answering({}, status, "{}") as url:
        said = run("doctor", "--url", url)
    assert (said.code, words in said.err) == (code, True)
