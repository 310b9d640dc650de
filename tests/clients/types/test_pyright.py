"""Pyright passes on the examples, and knows the types of handlers as mypy does."""

import asyncio
from pathlib import Path

import pytest

from tests.missing import not_run

pytestmark = pytest.mark.clients

ROOT = Path(__file__).parents[3]
# Installed by `make clients`.
PYRIGHT = ROOT / "build" / "clients" / "node" / "node_modules" / ".bin" / "pyright"
LIMIT_S = 110


async def test_pyright_finds_no_mistake() -> None:
    if not PYRIGHT.exists():
        not_run(f"{PYRIGHT} is missing: `make clients` says why it could not be installed")
    process = await asyncio.create_subprocess_exec(
        *(PYRIGHT, "--pythonpath", ROOT / ".venv" / "bin" / "python", "examples"),
        "tests/clients/types/handlers.py",
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert process.returncode == 0, output.decode()
