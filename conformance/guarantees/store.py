"""The store of a backend: started, stopped and killed by commands."""

import asyncio
import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from conformance.processes.program import Program, StartError, command_parts

PORT: Final = "{store_port}"
# Poll: a server says nowhere that it listens.
_LOOK_S: Final = 0.05
_CONNECT_S: Final = 2.0
_HOST: Final = "127.0.0.1"


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """Commands about a store, and those that fill its disk or set the clock; empty: there is none.

    The one that starts it may stay for as long as the store runs, or end with 0 once it has
    started; then another one has to kill it.
    """

    start: str = ""
    stop: str = ""
    kill: str = ""
    disk_full: str = ""
    disk_free: str = ""
    clock: str = ""


async def run_command(command: str, places: Mapping[str, str], within_s: float) -> None:
    """Run a command to its end, which has to be a success."""
    program = Program(command_parts(command, places), {})
    await program.start()
    try:
        code = await program.ended(within_s)
    finally:
        if program.code is None:
            await program.kill()
    if code is None:
        raise StartError(f"{command!r} did not end within {within_s:g} s{program.tail.excerpt()}")
    if code:
        raise StartError(f"{command!r} ended with {code}{program.tail.excerpt()}")


class Store:
    """A store that is started by a command; its port and folder stay the same."""

    def __init__(self, commands: Commands, places: Mapping[str, str], limit_s: float) -> None:
        self._commands = commands
        self._places = places
        self._limit_s = limit_s
        self._program: Program | None = None

    async def start(self) -> None:
        """Start it, and return when it takes connections, where its port is known.

        After a kill it is tried again for a time: processes that it had started may be ending yet.
        """
        ends = time.monotonic() + self._limit_s
        again = self._program is not None
        while True:
            try:
                return await self._start()
            except StartError:
                if not again or time.monotonic() > ends:
                    raise
                await asyncio.sleep(_LOOK_S)

    async def _start(self) -> None:
        parts = command_parts(self._commands.start, self._places)
        self._program = Program(parts, {})
        await self._program.start()
        try:
            async with asyncio.timeout(self._limit_s):
                await self._listening(self._program)
        except TimeoutError as error:
            if self._program.code is None:
                await self._program.kill()
            message = f"the store took no connection within {self._limit_s:g} s"
            raise StartError(f"{message}{self._program.tail.excerpt()}") from error

    async def kill(self) -> None:
        """Kill it, with all that it has started, and return when nothing listens any more."""
        program = self._program
        if program is None:
            return
        if program.code is None:
            await program.kill()
        if self._commands.kill:
            await run_command(self._commands.kill, self._places, self._limit_s)
        ends = time.monotonic() + self._limit_s
        while self._has_port and await _is_open(self.port):
            if time.monotonic() > ends:
                raise StartError("the store takes connections though it was killed")
            await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        """Stop it by its command, or kill it where there is none, and leave nothing behind."""
        program = self._program
        if program is None:
            return
        try:
            if self._commands.stop:
                await run_command(self._commands.stop, self._places, self._limit_s)
                await program.ended(self._limit_s)
            else:
                await self.kill()
        finally:
            if program.code is None:
                await program.kill()

    @property
    def port(self) -> int:
        """The port that its commands are given."""
        return int(self._places[PORT])

    @property
    def _has_port(self) -> bool:
        return any(PORT in part for part in (self._commands.start, self._commands.kill))

    async def _listening(self, program: Program) -> None:
        while self._has_port and not await _is_open(self.port):
            if program.code is not None and (program.code or not self._commands.kill):
                raise self._ended(program)
            await asyncio.sleep(_LOOK_S)

    def _ended(self, program: Program) -> StartError:
        hint = "; say how to kill it, by --store-kill" if program.code == 0 else ""
        return StartError(
            f"the command of the store ended with {program.code}{hint}{program.tail.excerpt()}"
        )


async def _is_open(port: int) -> bool:
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(_HOST, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def listed(commands: Commands) -> Sequence[str]:
    """Return the commands that are given, as options."""
    named = msgspec.structs.asdict(commands)
    options = {name: f"--{name}".replace("_", "-") for name in named}
    options.update(start="--store-start", stop="--store-stop", kill="--store-kill")
    return [f"{options[name]} {shlex.quote(text)}" for name, text in named.items() if text]
