"""The command against servers of other kinds, and against what is no server of OJS."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ojs_cli.failures import MISUSED, NO_ACCESS, NOT_FOUND, OK, REFUSED, UNREACHABLE
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
