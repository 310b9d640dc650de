"""A SQLite database whose files are moved, removed, linked or cut."""

import asyncio
import os
import random
import shutil
import sys
from pathlib import Path

import httpx
import pytest

from tests.chaos.files import Files
from tests.e2e.node import Node, running, until

V1 = "/ojs/v1"
LIMIT_S = 60
JOB = {"type": "t", "args": []}


@pytest.fixture
def files(tmp_path: Path, new_sqlite_store: Path) -> Files:
    """A new database in a folder of its own."""
    files = Files(tmp_path / "files")
    shutil.copyfile(new_sqlite_store, files.database)
    return files


async def enqueue(client: httpx.AsyncClient, node: Node) -> str:
    answer = await client.post(f"{node.url}{V1}/jobs", json=JOB)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["job"]["id"])


async def require(client: httpx.AsyncClient, node: Node, ids: list[str]) -> None:
    for each in ids:
        assert (await client.get(f"{node.url}{V1}/jobs/{each}")).status_code == 200


async def says(client: httpx.AsyncClient, node: Node, path: str, status: int, state: str) -> bool:
    answer = await client.get(node.url + path)
    return (answer.status_code, answer.json()["status"]) == (status, state)


async def is_back(node: Node) -> bool:
    return any("the store is back" in line for line in node.output)


async def test_a_moved_database_takes_no_changes_until_it_is_back(files: Files) -> None:
    async with running(files.url) as node, httpx.AsyncClient(timeout=30) as client:
        ids = [await enqueue(client, node) for _ in range(3)]
        files.move()
        await until(lambda: says(client, node, "/ready", 503, "degraded"), LIMIT_S)
        await until(lambda: says(client, node, f"{V1}/health", 200, "degraded"), LIMIT_S)
        refused = await client.post(f"{node.url}{V1}/jobs", json=JOB)
        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == "1"
        assert files.existing() == []
        files.move_back()
        await until(lambda: is_back(node), LIMIT_S)
        await until(lambda: says(client, node, "/ready", 200, "ok"), LIMIT_S)
        ids.append(await enqueue(client, node))
        (line,) = (line for line in node.output if "refused until" in line)
        assert f"the store is lost: {files.database} is gone" in line
        await node.kill()
        await node.start()
        await require(client, node, ids)


async def test_a_removed_database_can_be_copied_from_the_server(files: Files) -> None:
    """As docs/operations.md says."""
    async with running(files.url) as node, httpx.AsyncClient(timeout=30) as client:
        ids = [await enqueue(client, node) for _ in range(3)]
        files.remove(random.Random(1))
        refused = await client.post(f"{node.url}{V1}/jobs", json=JOB)
        assert refused.status_code == 503
        files.rescue(node.pid)
        await node.kill()
        # Found by the commit itself, and logged once.
        assert sum("refused until" in line for line in node.output) == 1
        files.move_back()
        await node.start()
        await require(client, node, ids)


async def test_a_server_says_why_it_cannot_start(files: Files) -> None:
    database = files.database
    link = database.with_name("link.db")
    async with running(files.url):
        link.hardlink_to(database)
        assert await refusal(link) == f"ojs-server: {link} has 2 names"
        link.unlink()
    os.truncate(database, 5 * 4096)
    assert await refusal(database) == f"ojs-server: {database} was cut short"


async def refusal(database: Path) -> str:
    """Start a server that cannot start; return the beginning of its sentence."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ojs_server", "--port", "0", "--database", str(database)),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert process.returncode == 1
    return " ".join(said.decode().split()[:5]).rstrip(":")
