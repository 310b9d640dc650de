"""The tutorial runs as it stands: its files, its commands in one shell, and what they print.

Two things differ: the package is installed from the wheel of this checkout, with what the
environment of the tests has, instead of an index; and ports are free ones. It runs twice: as it
stands, and with the key that the page names for a server with keys.
"""

import asyncio
import json
import os
import re
import shlex
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement

from tests.packaging.installing import install_into, lend_all

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES: Final = ("python", "ini")
LONGEST_S: Final = 60
MOST_COMMANDS: Final = 10
# What the shell writes behind each command.
DONE: Final = "--- ended with"


def commands() -> list[str]:
    """The commands of the page."""
    return [
        line for kind, text in BLOCK.findall(PAGE) if kind == "sh" for line in text.splitlines()
    ]


class Shell:
    """One shell with all commands of the page, and what they have printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[str] = []
        self._come = asyncio.Condition()
        # Where the output begins that was not looked at yet.
        self.place = 0
        self._last = ""

    async def read(self) -> None:
        """Keep what is printed, as it comes."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._come:
                self.lines.append(line.decode().rstrip())
                self._come.notify_all()

    async def run(self, command: str) -> None:
        """Run a command, to its end unless it goes on in the background."""
        assert self._process.stdin is not None
        self.place, self._last = len(self.lines), command
        # Behind a new line: not all programs end their last one.
        end = "" if command.endswith("&") else f"; code=$?; echo; echo '{DONE}' $code"
        self._process.stdin.write(f"{command}{end}\n".encode())
        if end:
            assert (await self.until(re.compile(f"^{DONE} (.*)$")))[1] == "0", self.told()

    async def until(self, wanted: "re.Pattern[str]") -> "re.Match[str]":
        """Wait for a line since the last command."""

        def found() -> "re.Match[str] | None":
            matches = (wanted.search(line) for line in self.lines[self.place :])
            return next((match for match in matches if match), None)

        try:
            async with asyncio.timeout(LONGEST_S), self._come:
                await self._come.wait_for(found)
        except TimeoutError:
            raise AssertionError(f"{wanted.pattern} did not come:\n{self.told()}") from None
        match = found()
        assert match is not None
        return match

    def printed(self) -> Any:
        """The JSON that the last command has printed; a line of the log may follow right behind."""
        found = (line for line in self.lines[self.place :] if line.startswith(("{", "[")))
        return json.JSONDecoder().raw_decode(next(found))[0]

    async def prints(self, wanted: Any) -> None:
        """Require that the last command prints this, perhaps only when it is run once more: a
        worker writes that a job is done just before it tells the server."""
        async with asyncio.timeout(LONGEST_S):
            while self.printed() != wanted:
                await self.run(self._last)

    def told(self) -> str:
        """All that was printed."""
        return "\n".join(self.lines)


@asynccontextmanager
async def shell(folder: Path, ports: dict[str, int], keys: dict[str, str]) -> AsyncIterator[Shell]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    process = await asyncio.create_subprocess_exec(
        *("bash", "--noprofile", "--norc"),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        env={
            **kept,
            **keys,
            # The Python of the tests is the one that the page calls python3.
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",
            "OJS_PORT": str(ports["8080"]),
            "OJS_URL": f"http://127.0.0.1:{ports['8080']}",
            "UVICORN_PORT": str(ports["8000"]),
        },
    )
    started = Shell(process)
    reading = asyncio.create_task(started.read())
    try:
        yield started
    finally:
        assert process.stdin is not None
        process.stdin.write(b"kill %1 %2 %3; wait\n")
        process.stdin.close()
        async with asyncio.timeout(LONGEST_S):
            await process.wait()
            await reading


def free_ports(*names: str) -> dict[str, int]:
    """Find a free port for each port of the page."""
    holders = [socket.create_server(("127.0.0.1", 0)) for _ in names]
    found = {name: holder.getsockname()[1] for name, holder in zip(names, holders, strict=True)}
    for holder in holders:
        holder.close()
    return found


def with_ports(text: str, ports: dict[str, int]) -> str:
    for name, port in ports.items():
        text = text.replace(f"127.0.0.1:{name}", f"127.0.0.1:{port}")
    return text


def install(environment: Path, command: str, wheel: Path) -> None:
    """Do what the `pip install` of the page does."""
    wanted = [Requirement(one) for one in shlex.split(command)[2:]]
    (ours,) = [one for one in wanted if one.name == "ojs-reference"]
    install_into(environment, wheel, frozenset({"", *ours.extras}))
    lend_all([str(one) for one in wanted if one is not ours], environment)


def test_the_commands_are_few() -> None:
    assert 8 <= len(commands()) <= MOST_COMMANDS


def keys_of_the_page() -> dict[str, str]:
    """Return the environment that the page names for a server with keys."""
    found = dict(re.findall(r"`(OJS_KEYS|OJS_AUTH_TOKEN)=(\S+)`", PAGE))
    key = "the-key-of-the-tutorial"
    return {name: value.replace("KEY", key) for name, value in found.items()}


@pytest.mark.long
@pytest.mark.parametrize("keys", [{}, keys_of_the_page()], ids=["without-keys", "with-keys"])
async def test_every_step_works(tmp_path: Path, wheel: Path, keys: dict[str, str]) -> None:
    ports = free_ports("8080", "8000")
    shop = tmp_path / "shop"
    async with shell(tmp_path, ports, keys) as run:
        for kind, text in BLOCK.findall(PAGE):
            if kind in FILES:
                head, body = text.split("\n", 1)
                (shop / head.removeprefix("# ")).write_text(body)
            elif kind == "sh":
                for command in text.splitlines():
                    if command.startswith("pip install "):
                        install(shop / ".venv", command, wheel)
                    else:
                        await run.run(with_ports(command, ports))
            elif kind == "text":
                for line in with_ports(text, ports).splitlines():
                    await run.until(re.compile(".*".join(map(re.escape, line.split("…")))))
            elif kind == "json":
                await run.prints(json.loads(text))
            else:
                raise AssertionError(f"a block of {kind}")
        assert not any("Traceback" in line for line in run.lines), run.told()
