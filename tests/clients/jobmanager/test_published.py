"""The published client of the job manager, unmodified, against the server on both stores."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.e2e.node import running

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "build" / "clients" / "jobmanager" / "bin" / "python"
PROGRAM = Path(__file__).parent / "program"
LEAST = 25

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]


async def played(url: str, mode: str) -> dict[str, str]:
    """What came of each scenario: nothing where it passed, else why not."""
    assert PYTHON.exists(), "the published client is not installed: run `make clients`"
    process = await asyncio.create_subprocess_exec(
        str(PYTHON), "scenarios.py", url, mode, cwd=PROGRAM, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    results = map(json.loads, told.splitlines())
    return {result["name"]: result["why"] for result in results}


@pytest.mark.parametrize("mode", ["rest", "socketio"])
async def test_every_scenario_passes(store_url: str, mode: str) -> None:
    # Its Socket.IO client waits a second and a half at most before it connects again.
    options = ("--profile", "jobmanager", "--session-grace", "3s")
    async with running(store_url, *options) as node:
        results = await played(node.url, mode)
    assert {name: why for name, why in results.items() if why} == {}
    assert len(results) >= LEAST
