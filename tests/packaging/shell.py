"""A shell that runs the commands of a page, and keeps what they print."""

import asyncio
import json
import os
import re
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from tests.packaging.page import missing, values

LONGEST_S: Final = 120
# Line that the shell writes after each block, with 1 if a command has failed.
DONE: Final = "--- ended with"
# The port of each program that a page starts, and the variables that set it.
PORTS: Final = ("8080", "8000")


class Shell:
    """One shell with all commands of a page, and what they have printed."""

    def __init__(self, process: asyncio.subprocess.Process, ports: dict[str, int]) -> None:
        self._process = process
        self._ports = ports
        self.lines: list[str] = []
        self._come = asyncio.Condition()
        # Index of the first line that was not looked at yet.
        self.place = 0
        self._last = ""

    async def read(self) -> None:
        """Keep what is printed, as it comes."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._come:
                self.lines.append(line.decode().rstrip())
                self._come.notify_all()

    async def run(self, commands: str) -> None:
        """Run commands, to their end unless they go on in the background; none may fail."""
        assert self._process.stdin is not None
        self.place, self._last = len(self.lines), commands
        # After a newline, because not all programs end their last line.
        text = f"{self._here(commands)}\necho; echo '{DONE}' $failed; failed=0\n"
        self._process.stdin.write(text.encode())
        assert (await self._until(re.compile(f"^{DONE} (.*)$")))[1] == "0", self.told()

    async def says(self, text: str) -> None:
        """Wait for each of these lines since the last commands, in which `…` is anything."""
        for line in self._here(text).splitlines():
            await self._until(re.compile(".*".join(map(re.escape, line.split("…")))))

    async def prints(self, text: str) -> None:
        """Require that the last commands print this JSON, perhaps only when they are run once more:
        a worker writes that a job is done just before it tells the server."""
        shown = values(text)
        try:
            async with asyncio.timeout(LONGEST_S):
                while missing(shown, self._printed()):
                    await self.run(self._last)
        except TimeoutError:
            faults = missing(shown, self._printed())
            raise AssertionError(f"{faults}\n{self.told()}") from None

    def told(self) -> str:
        """All that was printed."""
        return "\n".join(self.lines)

    def _here(self, text: str) -> str:
        """A text of the page with the ports of this run."""
        for name, port in self._ports.items():
            text = text.replace(f"127.0.0.1:{name}", f"127.0.0.1:{port}")
        return text

    async def _until(self, wanted: "re.Pattern[str]") -> "re.Match[str]":
        """Wait for a line since the last commands."""

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

    def _printed(self) -> list[Any]:
        """The JSON values that the last commands have printed, each at the start of a line."""
        lines = (line for line in self.lines[self.place :] if line.startswith(("{", "[")))
        # A log line may follow on the same line.
        return [json.JSONDecoder().raw_decode(line)[0] for line in lines]


@asynccontextmanager
async def shell(
    folder: Path, activated: Path | None = None, variables: Mapping[str, str] | None = None
) -> AsyncIterator[Shell]:
    """A shell in a folder, which has Python, what the machine has, and an environment if it is
    named; what the tests have installed is not on its path."""
    ports = _free_ports()
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    kept.pop("VIRTUAL_ENV", None)
    process = await asyncio.create_subprocess_exec(
        *("bash", "--noprofile", "--norc"),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        env={
            **kept,
            **(variables or {}),
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONUNBUFFERED": "1",
            "OJS_PORT": str(ports["8080"]),
            "OJS_URL": f"http://127.0.0.1:{ports['8080']}",
            "UVICORN_PORT": str(ports["8000"]),
        },
    )
    started = Shell(process, ports)
    reading = asyncio.create_task(started.read())
    try:
        await started.run("failed=0; trap 'failed=1' ERR")
        if activated is not None:
            await started.run(f". {activated}/bin/activate")
        yield started
    finally:
        assert process.stdin is not None
        process.stdin.write(b"kill $(jobs -p); wait\n")
        process.stdin.close()
        async with asyncio.timeout(LONGEST_S):
            await process.wait()
            await reading


def _free_ports() -> dict[str, int]:
    """Find a free port for each port of the pages."""
    holders = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    found = {name: holder.getsockname()[1] for name, holder in zip(PORTS, holders, strict=True)}
    for holder in holders:
        holder.close()
    return found
