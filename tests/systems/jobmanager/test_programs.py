"""The programs of the job manager's page, with nothing changed but where they import from."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.node import running

PROGRAMS = Path(__file__).parents[2] / "clients" / "jobmanager" / "program"
JOB = "@global:modifiers:Rotate"
# So rarely that polling finds nothing in time.
RARELY = ("execute=my_execute", "execute=my_execute, polling_interval=600")
THEIRS, OURS = "from zndraw_joblib import", "from ojs_worker.jobmanager import"


@asynccontextmanager
async def at_work(
    program: str, url: str, folder: Path, *changes: tuple[str, str]
) -> AsyncIterator[asyncio.StreamReader]:
    """Run a program with our import, and more changes if given, and return its output once it is
    ready."""
    text = (PROGRAMS / program).read_text(encoding="utf-8")
    for before, after in ((THEIRS, OURS), *changes):
        assert text.count(before) == 1
        text = text.replace(before, after)
    (folder / program).write_text(text, encoding="utf-8")
    shutil.copy(PROGRAMS / "connection.py", folder)
    process = await asyncio.create_subprocess_exec(
        sys.executable, program, url, cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield process.stdout
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("program", ["automatic.py", "by_hand.py"])
async def test_1_41_programs_run_with_nothing_but_the_import_changed(
    store_url: str, tmp_path: Path, program: str
) -> None:
    async with (
        running(store_url, "--profile", "jobmanager") as node,
        at_work(program, node.url, tmp_path) as printed,
        httpx.AsyncClient(base_url=node.url, timeout=60, trust_env=False) as client,
    ):

        async def submit(angle: float) -> Any:
            path = f"/v1/joblib/rooms/mine/tasks/{JOB}"
            body = {"payload": {"angle": angle}}
            task_id = (await client.post(path, json=body)).raise_for_status().json()["id"]
            ended = await client.get(f"/v1/joblib/tasks/{task_id}", headers={"Prefer": "wait=30"})
            return ended.raise_for_status().json()

        assert (await submit(4.0))["status"] == "completed"
        assert await printed.readline() == b"0.25\n"
        failed = await submit(0.0)
        assert failed["status"] == "failed"
        assert "division by zero" in failed["error"]


async def test_1_42_an_announcement_by_socketio_wakes_the_worker(
    store_url: str, tmp_path: Path
) -> None:
    async with (
        running(store_url, "--profile", "jobmanager") as node,
        at_work("automatic.py", node.url, tmp_path, RARELY) as printed,
        httpx.AsyncClient(base_url=node.url, timeout=60, trust_env=False) as client,
    ):
        path = f"/v1/joblib/rooms/mine/tasks/{JOB}"
        for _ in range(5):
            (await client.post(path, json={"payload": {"angle": 2.0}})).raise_for_status()
            assert await printed.readline() == b"0.5\n"
