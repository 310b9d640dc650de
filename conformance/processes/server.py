"""Server processes that the judge starts itself: on a free port, killed and started again."""

import asyncio
import signal
from collections.abc import Mapping
from tempfile import TemporaryDirectory

import httpx

from conformance.processes.ports import reserve_port
from conformance.processes.program import Program, Spawn, StartError, command_parts, spawn
from conformance.tasks import to_the_end

__all__ = ["ServerProcess", "StartError"]

GRPC_PORT = "{grpc_port}"
START_S = 60.0
STOP_S = 40.0


class ServerProcess:
    """One server made by a command; its port and folder stay the same over restarts.

    In the command, ``{port}`` stands for a free port, ``{grpc_port}`` for another one and ``{dir}``
    for an empty folder. The first and the last are also in the environment, as OJS_CONFORMANCE_PORT
    and OJS_CONFORMANCE_DIR. `places` are further placeholders with their values.
    """

    _folder: TemporaryDirectory[str]

    def __init__(
        self,
        command: str,
        spawn: Spawn = spawn,
        sharing: "ServerProcess | None" = None,
        *,
        places: Mapping[str, str] | None = None,
        start_s: float = START_S,
    ) -> None:
        self._command = command
        self._spawn = spawn
        self._places = dict(places or {})
        self._start_s = start_s
        self._folder = sharing._folder if sharing else TemporaryDirectory(prefix="ojs-conformance-")
        self._owner = sharing is None
        self._port = reserve_port()
        self._grpc_port = reserve_port() if GRPC_PORT in command else None
        self._program: Program | None = None

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    @property
    def grpc(self) -> str:
        """Host and port of its gRPC; empty if its command has no port for that."""
        return f"127.0.0.1:{self._grpc_port}" if self._grpc_port else ""

    @property
    def folder(self) -> str:
        """The folder that its command is given."""
        return self._folder.name

    @property
    def output(self) -> str:
        """The newest lines of its output."""
        return self._program.tail.text if self._program is not None else ""

    @property
    def runs(self) -> bool:
        """True from its start until its end."""
        return self._program is not None and self._program.code is None

    def another(self) -> "ServerProcess":
        """A further server by the same command, with the same folder and a port of its own."""
        return ServerProcess(
            self._command, self._spawn, self, places=self._places, start_s=self._start_s
        )

    async def start(self) -> None:
        """Start the server and return when it answers the manifest."""
        names = {
            **self._places,
            "{port}": str(self._port),
            GRPC_PORT: str(self._grpc_port),
            "{dir}": self._folder.name,
        }
        parts = command_parts(self._command, names, "the server command")
        environ = {
            "OJS_CONFORMANCE_PORT": str(self._port),
            "OJS_CONFORMANCE_DIR": self._folder.name,
        }
        self._program = Program(parts, environ, self._spawn)
        await self._program.start()
        try:
            async with asyncio.timeout(self._start_s):
                await self._answering(self._program)
        except TimeoutError as error:
            await self.kill()
            message = (
                f"the server command gave no answer on port {self._port} within {self._start_s:g} s"
            )
            raise StartError(f"{message}{self._program.tail.excerpt()}") from error

    async def kill(self) -> None:
        """Kill it, as a power failure would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int:
        """Ask it to stop with SIGTERM; return its exit code."""
        return await self._end(signal.SIGTERM)

    def terminate(self) -> None:
        """Send SIGTERM and return at once."""
        if self._program is not None:
            self._program.send_all(signal.SIGTERM)

    async def close(self) -> None:
        """Kill what still runs and remove the folder."""
        await to_the_end(self._close())

    async def _close(self) -> None:
        await self.kill()
        if self._owner:
            await asyncio.to_thread(self._folder.cleanup)

    async def _answering(self, program: Program) -> None:
        async with httpx.AsyncClient(timeout=2.0, trust_env=False, verify=False) as client:
            while program.code is None:
                try:
                    await client.get(f"{self.url}/ojs/manifest")
                except httpx.HTTPError:
                    await asyncio.sleep(0.05)
                else:
                    return
        code = await program.ended()
        raise StartError(f"the server command ended with {code}{program.tail.excerpt()}")

    async def _end(self, which: signal.Signals) -> int:
        program = self._program
        if program is None:
            return 0
        if program.code is None:
            program.send_all(which)
            if await program.ended(STOP_S) is None:
                await program.kill()
        return program.code or 0
