"""A program that the judge starts: in a process group of its own, its output kept in bounds."""

import asyncio
import contextlib
import os
import shlex
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from conformance.processes.descendants import descendants, stands_still

_KEPT_BYTES = 1024 * 1024
_EXCERPT_LINES = 30
_EXCERPT_CHARACTERS = 4_000
# Poll: no system reports that the child of another process has stopped.
_LOOK_S: Final = 0.01


class StartError(Exception):
    """The command cannot be run, ended, or does not do what it was started for."""


def command_parts(command: str, places: Mapping[str, str], name: str = "") -> list[str]:
    """Return a command as it is run, with the placeholders filled in; `name` is for errors."""
    name = name or f"the command {command!r}"
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise StartError(f"{name} cannot be read: {error}") from error
    for place, value in places.items():
        parts = [part.replace(place, value) for part in parts]
    if not parts:
        raise StartError(f"{name} is empty")
    return parts


class Running(Protocol):
    """A process, as asyncio's `Process` has it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    async def wait(self) -> int: ...
    def send_signal(self, signal: signal.Signals, /) -> None: ...


# Starts a command with this environment, as the leader of a process group of its own.
Spawn = Callable[[Sequence[str], Mapping[str, str]], Awaitable[Running]]


async def spawn(parts: Sequence[str], environ: Mapping[str, str]) -> Running:
    """Start a process with no input, and output and errors in one pipe."""
    return await asyncio.create_subprocess_exec(
        *parts,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(environ),
        start_new_session=True,  # so that a wrapper and what it starts die together
    )


def past_proxies(inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variables that keep a proxy of the user from standing between judge and program."""
    by_passed = [part for part in (inherited.get("NO_PROXY"), "127.0.0.1,localhost") if part]
    return dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(by_passed))


class Tail:
    """The end of a program's output, kept within a limit."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self.total = 0
        self._most = most_bytes
        self._held = 0
        self._chunks: deque[bytes] = deque()

    def feed(self, chunk: bytes) -> None:
        """Take note of what was printed next."""
        self.total += len(chunk)
        self._held += len(chunk)
        self._chunks.append(chunk)
        while self._held - len(self._chunks[0]) >= self._most:
            self._held -= len(self._chunks.popleft())

    @property
    def text(self) -> str:
        """The output that is still kept, without a first line whose beginning is lost."""
        kept = b"".join(self._chunks)
        if self.total > self._held:
            kept = kept.partition(b"\n")[2] or kept
        return kept.decode(errors="replace").replace("\r\n", "\n").removesuffix("\n")

    def excerpt(self) -> str:
        """Return the newest lines, indented for the end of a message."""
        text = self.text
        if not text:
            return ""
        lines = text[-_EXCERPT_CHARACTERS:].split("\n")[-_EXCERPT_LINES:]
        return "".join(f"\n    {line}" for line in lines)


class Program:
    """One process and all that it starts."""

    def __init__(
        self, parts: Sequence[str], environ: Mapping[str, str], spawn: Spawn = spawn
    ) -> None:
        self.tail = Tail()
        self._spawn = spawn
        self._parts = list(parts)
        self._environ = dict(environ)
        self._process: Running | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def code(self) -> int | None:
        """Its exit code, below zero for the signal that killed it; None while it runs."""
        return None if self._process is None else self._process.returncode

    @property
    def pid(self) -> int:
        """The id of the process, and of its group."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it, with no input."""
        try:
            self._process = await self._spawn(self._parts, {**os.environ, **self._environ})
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise StartError(f"cannot run {self._parts[0]!r}: {why}") from error
        self._reader = asyncio.create_task(self._read(self._process))

    def send(self, which: signal.Signals) -> None:
        """Send a signal to the process alone, as a supervisor does."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(which)

    async def stop_still(self) -> None:
        """Stop the process and all below it with SIGSTOP, and return when no thread of them runs.

        The signal reaches one thread first, and on a busy machine the others go on meanwhile.
        """
        self.send(signal.SIGSTOP)
        # waitid works for direct children only, and not on every system.
        if self.code is None and hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                await asyncio.to_thread(
                    os.waitid, os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT
                )
        below = self._below()
        _signal(below, signal.SIGSTOP)
        while not all(map(stands_still, below)):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_S)

    def go_on(self) -> None:
        """Send SIGCONT to the process and all below it."""
        _signal(self._below(), signal.SIGCONT)
        self.send(signal.SIGCONT)

    def send_all(self, which: signal.Signals) -> None:
        """Send a signal to the process and its group."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, which)
            except (ProcessLookupError, PermissionError):
                return

    async def ended(self, within_s: float | None = None) -> int | None:
        """Wait for its end; the exit code, or None where it runs on."""
        if self._process is None:
            return None
        try:
            async with asyncio.timeout(within_s):
                await self._process.wait()
        except TimeoutError:
            return None
        await self._drained()
        return self.code

    async def kill(self) -> None:
        """End it at once, with everything in its group and below it."""
        # A stopped process cannot start others.
        self.send_all(signal.SIGSTOP)
        below = self._below()
        self.send_all(signal.SIGKILL)
        _signal(below, signal.SIGKILL)
        await self.ended()

    def _below(self) -> list[int]:
        # A supervisor may put its processes into other process groups.
        return [] if self._process is None else descendants(self._process.pid)

    async def _drained(self) -> None:
        # Processes that it left behind may hold the pipe open for ever.
        if self._reader is not None:
            await asyncio.wait({self._reader}, timeout=1)

    async def _read(self, process: Running) -> None:
        assert process.stdout is not None
        while chunk := await process.stdout.read(65536):
            self.tail.feed(chunk)


def _signal(pids: Iterable[int], which: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, which)
