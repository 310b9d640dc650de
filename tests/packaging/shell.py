"""A shell that runs the commands of a page, and keeps what they print."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from conformance.processes.ports import reserve_port
from tests.packaging.page import missing, values

LONGEST_S: Final = 120
# Line that the shell writes after each block, with 1 if a command has failed.
DONE: Final = "--- ended with"
# The ports that pages name. Each stands for a free one.
PORTS: Final = ("8000", "8080", "8081", "8082", "9000")
_PORT: Final = re.compile(rf"\b({'|'.join(PORTS)})\b")
# A call that is refused fails, and has the key of the environment, as other clients do.
CURL: Final = """
curl() {
  command curl --fail-with-body ${OJS_AUTH_TOKEN:+-H "Authorization: Bearer $OJS_AUTH_TOKEN"} "$@"
}
"""

# An environment of the page's own has no pip, which takes seconds to make and is not used: the
# reader installs.
PYTHON: Final = f"""#!/bin/sh
test "$1 $2" != "-m venv" || {{ shift 2; set -- -m venv --without-pip "$@"; }}
exec {sys.executable} "$@"
"""


class Shell:
    """One shell with all commands of a page, and what they have printed."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        ports: dict[str, int],
        replaced: Mapping[str, str],
    ) -> None:
        self._process = process
        self._ports = ports
        self._replaced = replaced
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
        text = f"{self.here(commands)}\necho; echo '{DONE}' $failed; failed=0\n"
        self._process.stdin.write(text.encode())
        assert (await self._until(re.compile(f"^{DONE} (.*)$")))[1] == "0", self.output()

    async def says(self, text: str) -> None:
        """Wait for each of these lines since the last commands, in which `…` is anything."""
        for line in self.here(text).splitlines():
            await self._until(re.compile(".*".join(map(re.escape, line.split("…")))))

    async def runs_until(self, commands: str, text: str) -> None:
        """Run commands until a program in the background has printed a text."""
        start = len(self.lines)
        try:
            async with asyncio.timeout(LONGEST_S):
                while not any(text in line for line in self.lines[start:]):
                    await self.run(commands)
        except TimeoutError:
            raise AssertionError(f"{text} did not come:\n{self.output()}") from None

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
            raise AssertionError(f"{faults}\n{self.output()}") from None

    def output(self) -> str:
        """All that was printed."""
        return "\n".join(self.lines)

    def here(self, text: str) -> str:
        """A text of the page with what is replaced in it, and with the ports of this run."""
        for shown, used in self._replaced.items():
            text = text.replace(shown, used)
        return _PORT.sub(lambda found: str(self._ports[found[0]]), text)

    async def _until(self, wanted: "re.Pattern[str]") -> "re.Match[str]":
        """Wait for a line since the last commands."""

        def found() -> "re.Match[str] | None":
            matches = (wanted.search(line) for line in self.lines[self.place :])
            return next((match for match in matches if match), None)

        try:
            async with asyncio.timeout(LONGEST_S), self._come:
                await self._come.wait_for(found)
        except TimeoutError:
            raise AssertionError(f"{wanted.pattern} did not come:\n{self.output()}") from None
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
    folder: Path,
    activated: Path | None = None,
    variables: Mapping[str, str] | None = None,
    replaced: Mapping[str, str] | None = None,
) -> AsyncIterator[Shell]:
    """A shell in a folder, which has Python, what the machine has, and an environment if it is
    named; what the tests have installed is not on its path. Some texts of the page are replaced."""
    ports = {port: reserve_port() for port in PORTS}
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    python = programs / "python3"
    python.write_text(PYTHON)
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
    started = Shell(process, ports, replaced or {})
    reading = asyncio.create_task(started.read())
    try:
        await started.run(f"failed=0; set -E; trap 'failed=1' ERR; {CURL}")
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
