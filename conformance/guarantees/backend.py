"""A backend under test with its store, and the ways in which they are killed."""

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from conformance.guarantees.plan import Kind
from conformance.guarantees.store import PORT, Commands, Store, run_command
from conformance.processes.ports import reserve_port
from conformance.processes.program import Spawn, StartError, spawn
from conformance.processes.server import ServerProcess
from conformance.tasks import to_the_end

# A supervisor waits as long before it starts a program again that has ended.
_PAUSE_S: Final = 0.2


class Backend:
    """A backend that is started by a command, and maybe its store by another one."""

    def __init__(
        self,
        command: Sequence[str],
        commands: Commands,
        *,
        start_s: float,
        spawn: Spawn = spawn,
    ) -> None:
        self._commands = commands
        self._start_s = start_s
        port = {PORT: str(reserve_port())} if commands.start else {}
        self._server = ServerProcess(shlex.join(command), spawn, places=port, start_s=start_s)
        self._places = {
            **port,
            "{dir}": self._server.folder,
            "{port}": str(self._server.port),
        }
        self._store = Store(commands, self._places, start_s) if commands.start else None
        self._was_started = False
        self.restarts = 0  # of a process that had ended by itself, or did not recover

    @property
    def url(self) -> str:
        """The URL of the backend."""
        return self._server.url

    async def start(self) -> None:
        """Start the store and the backend."""
        if self._store is not None:
            await self._store.start()
        await self._start_server()
        self._was_started = True

    async def kill(self, kind: Kind) -> None:
        """Kill what the kind names, at once."""
        kills: list[Awaitable[None]] = []
        if kind in ("process", "both", "disk", "clock"):
            kills.append(self._server.kill())
        if self._store is not None and kind in ("store", "both", "disk"):
            kills.append(self._store.kill())
        await asyncio.gather(*kills)

    async def revive(self, kind: Kind, works: Callable[[], Awaitable[str]]) -> float:
        """Start again what was killed, and return after how many seconds the backend works.

        `works` returns an empty text if it does, and the reason otherwise. A process that ends
        meanwhile, or that does not find its store again, is started anew, as a supervisor would.
        """
        began = time.monotonic()
        if self._store is not None and kind in ("store", "both", "disk"):
            await self._store.start()
        if not self._server.runs:
            await self._start_server()
        why = await self._until(works)
        if why and kind != "none":
            await self._server.kill()
            self.restarts += 1
            await self._start_server()
            why = await self._until(works)
        if why:
            raise StartError(
                f"the backend did not work within {self._start_s:g} s: {why}; its last output:"
                f" {self._server.output[-400:] or 'nothing'}"
            )
        return time.monotonic() - began

    async def fill_disk(self) -> None:
        """Fill the disk of the store."""
        await run_command(self._commands.disk_full, self._places, self._start_s)

    async def free_disk(self) -> None:
        """Free the disk of the store again."""
        await run_command(self._commands.disk_free, self._places, self._start_s)

    async def set_clock(self, shift_s: int) -> None:
        """Set the backend's clock to so many seconds after the right time."""
        places = {**self._places, "{seconds}": str(shift_s)}
        await run_command(self._commands.clock, places, self._start_s)

    async def close(self) -> None:
        """End everything, and remove the folder."""
        await to_the_end(self._close())

    async def _close(self) -> None:
        await self._server.kill()
        try:
            if self._store is not None:
                await self._store.close()
        finally:
            await self._server.close()

    async def _start_server(self) -> None:
        """Start the backend; one that finds no store yet is started again until it does."""
        ends = time.monotonic() + self._start_s
        while True:
            try:
                await self._server.start()
            except StartError:
                may_wait = self._store is not None or self._was_started
                if not may_wait or time.monotonic() > ends:
                    raise
                await asyncio.sleep(_PAUSE_S)
            else:
                return

    async def _until(self, works: Callable[[], Awaitable[str]]) -> str:
        ends = time.monotonic() + self._start_s
        while why := await works():
            if time.monotonic() > ends:
                return why
            if not self._server.runs:
                self.restarts += 1
                await self._start_server()
            await asyncio.sleep(_PAUSE_S)
        return ""
