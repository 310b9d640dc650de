"""Fast process starts: a process with the modules loaded forks into `python -m PROGRAM`.

Loading is most of a server's start, and some tests start dozens. What is forked is a process like
any other: it has its own arguments, environment, output and group, and ends by signal or by exit
code.
"""

import asyncio
import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# A server, with what it loads when it knows its settings.
SERVER = (
    "ojs_server.cli",
    "ojs_server.store.sqlite.store",
    "ojs_server.store.postgres.store",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
)


class Forked:
    """A forked process, with the members of asyncio's `Process` that the tests use."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader, end: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout = stdout
        self._end = asyncio.create_task(end.read())

    @property
    def returncode(self) -> int | None:
        """The exit code, or the negated signal; None while it runs."""
        return int(self._end.result()) if self._end.done() else None

    def send_signal(self, sig: signal.Signals) -> None:
        """Send a signal, unless its end is known."""
        # It may have ended and been reaped, of which the news is still on its way.
        if not self._end.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    async def wait(self) -> int:
        """Wait for its end; answers the exit code, or the negated signal."""
        return int(await asyncio.shield(self._end))


async def fork(
    arguments: Sequence[str], environ: Mapping[str, str], loaded: tuple[str, ...] = SERVER
) -> Forked:
    """Start `python -m` with these arguments, in a process that has loaded these modules."""
    output, written = os.pipe()
    end, told = os.pipe()
    # Before there is a process: a wait that is cancelled must leave none behind.
    readers = await _reader(output), await _reader(end)
    request = json.dumps(
        {"arguments": list(arguments), "environ": dict(environ), "folder": str(Path.cwd())}
    )
    forker = _forker(loaded)
    socket.send_fds(forker, [request.encode() + b"\n"], [written, told])
    pid = int(forker.recv(32))
    for descriptor in (written, told):
        os.close(descriptor)
    return Forked(pid, *readers)


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader


@cache
def _forker(loaded: tuple[str, ...]) -> socket.socket:
    """Return the socket of a forker that has loaded these modules; closing it ends the forker."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(theirs.fileno()), *loaded],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # Ctrl-C is for whoever asks; it still ends the children after it
    )
    theirs.close()

    def close() -> None:
        ours.close()
        process.wait()

    atexit.register(close)
    return ours


def become(control: socket.socket) -> list[str]:
    """Fork at each request; comes back in each child, with its arguments.

    Children end with whoever asked for them, however that ended.
    """
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ends: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_ends(ends)
        if control.fileno() in ready:
            received = _received(control)
            if received is None:
                for pid in ends:
                    os.kill(pid, signal.SIGKILL)
                sys.exit()
            request, output, end = received
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                control.close()
                os.dup2(output, 1)
                os.dup2(output, 2)
                for descriptor in (woken, wakes, output, end, *ends.values()):
                    os.close(descriptor)
                os.environ.clear()
                os.environ.update(request["environ"])
                os.chdir(request["folder"])
                arguments: list[str] = request["arguments"]
                return arguments
            os.setpgid(pid, pid)
            os.close(output)
            ends[pid] = end
            control.sendall(str(pid).encode())


def _received(control: socket.socket) -> tuple[dict[str, Any], int, int] | None:
    data, descriptors, _, _ = socket.recv_fds(control, 65_536, 2)
    if not data:
        return None
    while not data.endswith(b"\n"):
        data += control.recv(65_536)
    output, end = descriptors
    return json.loads(data), output, end


def _tell_ends(ends: dict[int, int]) -> None:
    """Write the exit code of each child that has ended to who waits for it."""
    for pid, end in list(ends.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with suppress(BrokenPipeError):
                # The process that started the child may not wait for its end.
                os.write(end, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(ends.pop(pid))


if __name__ == "__main__":
    for module in sys.argv[2:]:
        import_module(module)
    # Keep loaded objects out of garbage collection, which would copy their memory in every child.
    gc.freeze()
    sys.argv = become(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
