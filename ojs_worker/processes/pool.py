"""Processes for CPU-bound handlers. One that dies fails its own job and no other."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from ojs_worker.faults import Fault, HandlerDied
from ojs_worker.handlers.registry import Handler
from ojs_worker.job import Job
from ojs_worker.processes import frames
from ojs_worker.processes.frames import Hello, Progress, Raised, Result, Run

log = logging.getLogger("ojs.worker")
_fault = msgspec.json.Decoder(Fault)
# Signals are ignored first, because the imports take a while.
_START: Final = """
import signal
for name in ("SIGTERM", "SIGINT", "SIGTSTP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
from ojs_worker.processes.child import main
main()
"""


class NotHeld(Exception):
    """The job was not begun, because it is not held any more."""


class FailedThere(Exception):
    """The handler failed in its process; `fault` describes the failure."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Child:
    """One process, and the pipe to it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, environ: Mapping[str, str]) -> "Child":
        """Start a process that knows where the handlers are."""
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _START, str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                # Out of the terminal's foreground group, so that ^C and ^Z reach only the worker.
                start_new_session=True,
                env={
                    **os.environ,
                    **environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        child = cls(process, reader, writer)
        main_file = getattr(sys.modules["__main__"], "__file__", None)
        child._send(Hello(sys.path, main_file, logging.getLogger().level))
        return child

    async def run(
        self, handler: Handler[..., Any, Any], job: Job, progress: Callable[[dict[str, Any]], None]
    ) -> bytes:
        """Run one job and return its result as JSON."""
        self._send(Run(handler.__module__, handler.__qualname__, msgspec.json.encode(job)))
        while True:
            try:
                head = await self._reader.readexactly(frames.HEAD_BYTES)
                body = await self._reader.readexactly(frames.size_of(head))
            except (asyncio.IncompleteReadError, ConnectionError):
                raise HandlerDied(f"its process {_ending(await self._code())}") from None
            match frames.from_child(body):
                case Progress(message):
                    progress(message)
                case Result(result):
                    return result
                case Raised(fault):
                    raise FailedThere(_fault.decode(fault))

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def abandon(self) -> None:
        """End the process at once, and hang up."""
        self.kill()
        self._writer.close()

    async def close(self) -> None:
        """End the process, and wait until it is gone."""
        self.abandon()
        await self._process.wait()

    async def _code(self) -> int:
        try:
            async with asyncio.timeout(1):
                return await self._process.wait()
        except TimeoutError:
            # The channel is closed, but the process does not exit.
            self.kill()
            return await self._process.wait()

    def _send(self, message: msgspec.Struct) -> None:
        self._writer.write(frames.pack(message))


class ProcessPool:
    """Processes, each with one job at a time; started when first needed, then kept."""

    def __init__(self, most: int, environ: Mapping[str, str]) -> None:
        # Settings from flags, for clients inside handlers.
        self._environ = environ
        self._places = asyncio.Semaphore(most)
        self._idle: list[Child] = []
        self._busy: dict[str, Child] = {}

    async def run(
        self,
        handler: Handler[..., Any, Any],
        job: Job,
        progress: Callable[[dict[str, Any]], None],
        still_held: Callable[[], Awaitable[bool]],
    ) -> bytes:
        """Run a job in a process; raises `NotHeld` if it is not held any more once a process is
        free. If cancelled, the process is killed."""
        async with self._places:
            child = self._idle.pop() if self._idle else await Child.start(self._environ)
            self._busy[job.id] = child
            well = False
            try:
                if not await still_held():
                    raise NotHeld
                result = await child.run(handler, job, progress)
                well = True
            except (FailedThere, NotHeld):
                well = True
                raise
            finally:
                del self._busy[job.id]
                if well:
                    self._idle.append(child)
                else:
                    child.abandon()
            return result

    @property
    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [child.pid for child in (*self._idle, *self._busy.values())]

    async def close(self) -> None:
        """End all processes."""
        children = [*self._idle, *self._busy.values()]
        self._idle.clear()
        await asyncio.gather(*(child.close() for child in children))


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
