"""Server processes that the judge starts itself: on a free port, killed and started again."""

import asyncio
import os
import shlex
import signal
import socket
from collections import deque
from tempfile import TemporaryDirectory

import httpx

START_S = 60.0
STOP_S = 40.0
_KEPT_LINES = 5000
_TOLD_LINES = 30


class StartError(Exception):
    """The server command cannot be run, ended, or does not answer."""


class Process:
    """One server made by a command; its port and folder stay the same over restarts.

    In the command, ``{port}`` stands for a free port and ``{dir}`` for an empty folder. Both are
    also in the environment, as OJS_CONFORMANCE_PORT and OJS_CONFORMANCE_DIR.
    """

    _folder: TemporaryDirectory[str]

    def __init__(self, command: str, beside: "Process | None" = None) -> None:
        self._command = command
        self._folder = beside._folder if beside else TemporaryDirectory(prefix="ojs-conformance-")
        self._owner = beside is None
        self._port = _free_port()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._output: deque[str] = deque(maxlen=_KEPT_LINES)

    @property
    def url(self) -> str:
        """Where the server answers."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    @property
    def folder(self) -> str:
        """The folder that its command is given."""
        return self._folder.name

    @property
    def output(self) -> str:
        """What it has printed, the newest lines."""
        return "\n".join(self._output)

    def another(self) -> "Process":
        """A further server by the same command, with the same folder and a port of its own."""
        return Process(self._command, beside=self)

    async def start(self) -> None:
        """Start the server and return when it answers the manifest."""
        names = {"{port}": str(self._port), "{dir}": self._folder.name}
        try:
            parts = shlex.split(self._command)
        except ValueError as error:
            raise StartError(f"the server command cannot be read: {error}") from error
        for name, value in names.items():
            parts = [part.replace(name, value) for part in parts]
        if not parts:
            raise StartError("the server command is empty")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *parts,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={
                    **os.environ,
                    "OJS_CONFORMANCE_PORT": str(self._port),
                    "OJS_CONFORMANCE_DIR": self._folder.name,
                },
                start_new_session=True,  # so that a wrapper and its server die together
            )
        except OSError as error:
            raise StartError(f"cannot run {parts[0]!r}: {error.strerror}") from error
        self._reader = asyncio.create_task(self._read(self._process))
        try:
            async with asyncio.timeout(START_S):
                await self._answering(self._process)
        except TimeoutError as error:
            await self.kill()
            told = f"the server command gave no answer on port {self._port} within {START_S:g} s"
            raise StartError(f"{told}{self._said()}") from error

    async def kill(self) -> None:
        """End it at once, as a machine that loses its power would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int:
        """Ask it to stop with SIGTERM; return its exit code."""
        return await self._end(signal.SIGTERM)

    def terminate(self) -> None:
        """Send SIGTERM and return at once."""
        self._send(signal.SIGTERM)

    async def close(self) -> None:
        """Kill what still runs and remove the folder."""
        await self.kill()
        if self._owner:
            await asyncio.to_thread(self._folder.cleanup)

    async def _answering(self, process: asyncio.subprocess.Process) -> None:
        async with httpx.AsyncClient(timeout=2.0, trust_env=False, verify=False) as client:
            while process.returncode is None:
                try:
                    await client.get(f"{self.url}/ojs/manifest")
                except httpx.HTTPError:
                    await asyncio.sleep(0.05)
                else:
                    return
        await self._drained()
        raise StartError(f"the server command ended with {process.returncode}{self._said()}")

    async def _end(self, which: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        if process.returncode is None:
            self._send(which)
            try:
                await asyncio.wait_for(process.wait(), STOP_S)
            except TimeoutError:
                self._send(signal.SIGKILL)
                await process.wait()
        await self._drained()
        return process.returncode or 0

    def _send(self, which: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            try:
                os.killpg(self._process.pid, which)
            except ProcessLookupError:
                return

    async def _drained(self) -> None:
        if self._reader is not None:
            await asyncio.wait({self._reader}, timeout=1)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        begun = b""  # a line may come in several pieces
        while chunk := await process.stdout.read(65536):
            *lines, begun = (begun + chunk).split(b"\n")
            self._output.extend(line.decode(errors="replace").rstrip("\r") for line in lines)
        if begun:
            self._output.append(begun.decode(errors="replace"))

    def _said(self) -> str:
        return "".join(f"\n    {line}" for line in list(self._output)[-_TOLD_LINES:])


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
