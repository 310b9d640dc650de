"""`ojs outbox`: the outbox of a program, and a relay in a process of its own."""

import asyncio
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import httpx
import pytest

from conformance.processes.ports import reserve_port
from ojs_worker.outbox import enqueue_blocking
from tests.http.waiting import until
from tests.terminal.conftest import ROOT, Call, Ojs


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def words(path: Path) -> tuple[str, str]:
    return "--database", f"sqlite:///{path}"


def write(path: Path, count: int, queue: str) -> None:
    with closing(connect(path)) as connection, connection:
        for number in range(count):
            enqueue_blocking(connection, "t", [number], queue=queue)


def test_an_outbox_is_created_counted_and_retried(
    run: Ojs, path: Path, words: tuple[str, str]
) -> None:
    assert run("outbox", "create", *words).code == 0
    write(path, 3, "q")
    with closing(connect(path)) as connection, connection:
        connection.execute("UPDATE ojs_outbox SET status = 'failed', error = 'no' WHERE id > 1")
    shown = json.loads(run("outbox", "status", *words, "-o", "json").out)
    assert (shown["pending"], shown["failed"]) == (1, 2)
    assert 0 <= shown["oldest_s"] < 600
    assert run("outbox", *words).rows == [["2", "t", "no"], ["3", "t", "no"]]
    assert run("outbox", "retry", "3", *words).err == "ojs: 1 row waits again\n"
    assert run("outbox", "retry", "3", *words).code == 5
    assert run("outbox", "retry", *words).err == "ojs: 1 row waits again\n"
    assert run("outbox", "list", *words).out == ""


@pytest.mark.parametrize("verb", ["list", "status", "retry"])
def test_a_missing_table_is_named_with_the_way_to_make_it(
    run: Ojs, words: tuple[str, str], verb: str
) -> None:
    failed = run("outbox", verb, *words)
    assert failed.code == 1
    assert "no such table: ojs_outbox" in failed.err
    assert "ojs outbox create" in failed.err


def test_a_wrong_setting_is_named(run: Ojs, path: Path, words: tuple[str, str]) -> None:
    for line, code, message in (
        (("status", "--database", "shop.db"), 2, "the outbox's database"),
        (("status", "--database", "sqlite+nothing://"), 2, "the outbox's database"),
        (("status", "--database", "oracle://x"), 1, "pip install"),
        (("run", "--database", "shop.db"), 2, "the outbox's database"),
        (("run", *words, "--poll", "soon"), 2, "`--poll`"),
        (("run", *words, "--url", "elsewhere"), 2, "http://"),
    ):
        failed = run("outbox", *line)
        assert (failed.code, message in failed.err) == (code, True), failed.err


async def test_a_relay_sends_shows_its_figures_and_ends_at_sigterm(
    run: Ojs, path: Path, words: tuple[str, str], server_url: str, call: Call
) -> None:
    run("outbox", "create", *words)
    write(path, 3, "relayed")
    port = reserve_port()
    relay = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ojs_cli", "outbox", "run", *words, "--url", server_url),
        *("--health-port", str(port), "--health-host", "127.0.0.1"),
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    try:
        assert relay.stderr is not None
        said = (await relay.stderr.readline()).decode()
        assert said.endswith(f"sends the outbox of sqlite:///{path}\n")
        sent = "pending   0"
        await until(lambda: run("outbox", "status", *words).out.startswith(sent), within_s=60)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            shown = (await client.get("/metrics")).text.splitlines()
            assert "ojs_outbox_sent_total 3" in shown
            assert "ojs_outbox_sending 1" in shown
            assert (await client.get("/ready")).status_code == 200
    finally:
        relay.terminate()
        _, more = await relay.communicate()
    assert (relay.returncode, more) == (0, b"")
    assert len(call("GET", "/jobs?queue=relayed")["jobs"]) == 3
