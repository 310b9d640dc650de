"""The example of a site in one file does what it says."""

import asyncio
import sys
from pathlib import Path

from tests.e2e.node import Node
from tests.imports.source import ROOT


async def test_the_example_runs_as_it_is_printed(sqlite_store: Path) -> None:
    node = Node(f"sqlite:///{sqlite_store}")
    await node.start()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "examples/django/signup.py", node.url),
            stdout=asyncio.subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )
        output, _ = await process.communicate()
    finally:
        await node.kill()
    assert output.decode().splitlines() == [
        "400 200",
        "welcomed ada@example.org, who came by request r-1",
        "1 job",
    ]
