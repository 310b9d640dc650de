"""Programs that use published clients of other systems, and their output."""

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tests.e2e.node import Node, running
from tests.missing import not_run

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PROGRAMS = HERE / "program"
# Installed by `make clients`.
INSTALLED = ROOT / "build" / "clients"
NODE_MODULES = INSTALLED / "node" / "node_modules"
PYTHON = INSTALLED / "pyzeebe" / "bin" / "python"
PROTO = ROOT / "ojs_server" / "grpc" / "proto"
LIMIT_S = 110

_SCENARIO = re.compile(r"^@?scenario\([\"'](.+?)[\"'][,)]", re.MULTILINE)


class Program(msgspec.Struct, frozen=True):
    """A program that plays scenarios with one client; it cannot do without the file `needs`."""

    file: str
    needs: Path

    @property
    def scenarios(self) -> list[str]:
        """The names of what it plays."""
        return _SCENARIO.findall((PROGRAMS / self.file).read_text(encoding="utf-8"))

    def command(self, file: str | None = None) -> list[str]:
        """Return the command that starts the program, or another program of the same client."""
        path = str(PROGRAMS / (file or self.file))
        return [str(PYTHON), path] if path.endswith(".py") else ["node", path]

    def require(self) -> None:
        """Fail if the client should be installed and is not; otherwise skip with a warning."""
        if not self.needs.exists():
            not_run(f"{self.needs} is missing: `make clients` says why it could not be installed")


ZEEBE_NODE = Program("zeebe_node.js", NODE_MODULES / "zeebe-node")
PYZEEBE = Program("pyzeebe_scenarios.py", PYTHON)
CAMUNDA_SDK = Program("camunda_sdk.js", NODE_MODULES / "@camunda8" / "sdk")
OJS_V1 = Program("ojs_v1.js", NODE_MODULES / "@grpc" / "grpc-js")


async def play(
    program: Program, store_url: str, *options: str, key: str | None = None
) -> Mapping[str, str | None]:
    """Play the scenarios on a server of their own and return the error of each, None if it passed.
    With a key the client shows it."""
    async with running(store_url, "--grpc-port", "0", *options) as node:
        process = await begin(program.command(), arguments(program, node), key)
        try:
            async with asyncio.timeout(LIMIT_S):
                said, complained = await process.communicate()
        finally:
            await end(process)
    found: dict[str, str | None] = {}
    for line in said.decode().splitlines():
        if line.startswith('{"scenario"'):
            told = json.loads(line)
            found[told["scenario"]] = told["error"]
    assert found, complained.decode()[-2000:]
    return found


def arguments(program: Program, node: Node) -> Sequence[str]:
    """Return the arguments by which a program finds the server."""
    return [node.grpc, str(PROTO / "ojs_v1.proto") if program is OJS_V1 else node.url]


async def begin(
    command: Sequence[str], given: Sequence[str], key: str | None = None
) -> asyncio.subprocess.Process:
    """Start a program that finds the installed clients, and the key of the server, if any."""
    shown = {} if key is None else {"OJS_AUTH_TOKEN": key}
    return await asyncio.create_subprocess_exec(
        *(*command, *given),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "NODE_PATH": str(NODE_MODULES), **shown},
    )


async def end(process: asyncio.subprocess.Process) -> None:
    """End a program that still runs."""
    if process.returncode is None:
        process.kill()
        await process.wait()
