"""A real server process, started, killed and started again by the tests."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import httpx

from conformance.processes.ports import reserve_port
from tests.forking import Forked, fork

START_S = 30
# This module is loaded once and forked; any other is started as a new process.
SERVER = "ojs_server"
_ADDRESS = re.compile(r"listens on (http://\S+:\d+)")
_GRPC = re.compile(r"serves gRPC on (\S+:\d+)")


class Node:
    """One `ojs-server` process; its port stays the same over restarts."""

    def __init__(
        self,
        database: str,
        *options: str,
        wrapper: Sequence[str] = (),
        module: str = SERVER,
    ) -> None:
        self.database = database
        self.url = ""
        # Address of gRPC; empty without it.
        self.grpc = ""
        self.output: list[str] = []
        self._options = options
        self._wrapper = wrapper
        self._module = module
        self._port = str(reserve_port())
        self._grpc_port = str(reserve_port()) if ("--grpc-port", "0") in pairwise(options) else ""
        self._process: asyncio.subprocess.Process | Forked | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start, and return when the server says that it listens."""
        arguments = ("--port", self._port, "--database", self.database, *self._options)
        if self._grpc_port:
            arguments = (*arguments, "--grpc-port", self._grpc_port)
        if self._wrapper or self._module != SERVER:
            self._process = await asyncio.create_subprocess_exec(
                *(*self._wrapper, sys.executable, "-m", self._module, *arguments),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                # A tracer does not pass signals on; with it, they go to the whole group.
                start_new_session=bool(self._wrapper),
            )
        else:
            self._process = await fork((SERVER, *arguments), os.environ)
        listening = asyncio.Event()
        self._reader = asyncio.create_task(self._read(self._process, listening))
        waiting = asyncio.create_task(listening.wait())
        await asyncio.wait(
            {waiting, self._reader}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED
        )
        if not listening.is_set():
            waiting.cancel()
            await self.kill()
            raise AssertionError("the server did not start:\n" + "\n".join(self.output[-30:]))

    async def kill(self) -> None:
        """End it at once, as a machine that loses its power would."""
        await self._end(signal.SIGKILL)

    async def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        """Ask the server to stop; answers its exit code."""
        return await self._end(sig)

    async def ended(self) -> int:
        """Wait until the server ends by itself; answers its exit code."""
        assert self._process is not None
        assert self._reader is not None
        code = await asyncio.wait_for(self._process.wait(), START_S)
        await self._reader
        return code

    def send(self, sig: signal.Signals) -> None:
        """Send a signal and return at once."""
        assert self._process is not None
        if self._wrapper:
            os.killpg(self._process.pid, sig)
        else:
            self._process.send_signal(sig)

    async def holds_waiting(self, count: int) -> bool:
        """True if the server's metrics show this many waiting fetches."""
        async with httpx.AsyncClient() as client:
            text = (await client.get(f"{self.url}/metrics")).text
        return f"ojs_waiting_fetches {float(count)}" in text

    async def _end(self, sig: signal.Signals) -> int:
        assert self._process is not None
        if self._process.returncode is None:
            self.send(sig)
        code = await asyncio.wait_for(self._process.wait(), START_S)
        if self._reader is not None:
            await self._reader
        return code

    async def _read(
        self, process: asyncio.subprocess.Process | Forked, listening: asyncio.Event
    ) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            text = line.decode(errors="replace").rstrip()
            self.output.append(text)
            if match := _GRPC.search(text):
                self.grpc = match[1]
            if match := _ADDRESS.search(text):
                self.url = match[1]
                listening.set()


async def insist(
    client: httpx.AsyncClient, node: Node, path: str, body: dict[str, Any]
) -> httpx.Response:
    """Send until there is an answer, the same request each time, as a careful client does."""
    while True:
        try:
            answer = await client.post(node.url + path, json=body)
        except httpx.TransportError:
            await asyncio.sleep(0.02)  # the server is down; there is nothing to await
            continue
        if answer.status_code != 503:
            return answer


async def until(met: Callable[[], Awaitable[bool]], within_s: float) -> None:
    """Ask until a condition is met: another process has no event that could be awaited."""
    async with asyncio.timeout(within_s):
        while not await met():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@asynccontextmanager
async def running(
    database: str, *options: str, wrapper: Sequence[str] = (), module: str = SERVER
) -> AsyncIterator[Node]:
    """A node for one test; killed at its end if it still runs."""
    node = Node(database, *options, wrapper=wrapper, module=module)
    await node.start()
    try:
        yield node
    finally:
        await node.kill()
