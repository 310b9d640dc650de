"""The program of a framework adapter under test: it is told by lines of JSON what to do."""

import asyncio
import contextlib
import signal
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from conformance.processes.program import Program, StartError, past_proxies

Point = Literal[
    "began",
    "row-written",
    "enqueued",
    "committed",
    "relay-read",
    "relay-sent",
    "relay-marked",
]
_LONGEST_LINE: Final = 1024 * 1024
_SHOWN: Final = 200
_ANSWERS: Final = ("hello", "at", "done", "rows", "failed", "unsupported")


class Abilities(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program's description of itself."""

    points: tuple[Point, ...]  # the points at which it can pause
    relay: bool = False  # it has a relay, which runs when it is asked to
    ordered: bool = False  # its adapter promises an order
    name: str = ""
    version: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer to the request with this id: exactly one of the other members is there."""

    id: int
    hello: Abilities | None = None
    at: Point | None = None  # it waits at this point to be told to go on
    done: Literal[True] | None = None
    rows: tuple[str, ...] | None = None
    failed: str | None = None  # the request has failed for this reason, and nothing was committed
    unsupported: str | None = None

    @property
    def kind(self) -> str:
        """The name of the member that is there."""
        there = [name for name in _ANSWERS if getattr(self, name) is not None]
        if len(there) != 1:
            raise ValueError(f"one of {', '.join(_ANSWERS)} has to be there")
        return there[0]


class AdapterProgram:
    """One process of the program; what it does not do as agreed is a StartError."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], answer_s: float) -> None:
        self._program = Program(command, {**past_proxies(), **environ}, self._start)
        self._answer_s = answer_s
        self._number = 0
        self._request = ""
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Abilities:
        """Start it, and ask what it can do."""
        await self._program.start()
        answer = await self.ask("hello")
        if answer.hello is None:
            raise self.wrong(f"answered {answer.kind!r} to 'hello'")
        return answer.hello

    async def ask(self, do: str, **members: Any) -> Answer:
        """Tell it to do something; return its answer, which may be that it has paused."""
        self._number += 1
        self._request = do
        await self._send({"id": self._number, "do": do, **members})
        return await self._answer()

    async def go(self) -> Answer:
        """Let it go on from where it has paused; return its answer."""
        await self._send({"id": self._number, "go": True})
        return await self._answer()

    async def kill(self) -> None:
        """End it at once, with everything in its group and below it."""
        # A process counts as ended only when nothing is left in its pipes.
        rest = asyncio.create_task(self._discard())
        await self._program.kill()
        await asyncio.wait({rest}, timeout=1)
        rest.cancel()

    async def _start(self, parts: Sequence[str], environ: Mapping[str, str]) -> "_Logging":
        self._process = await asyncio.create_subprocess_exec(
            *parts,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        return _Logging(self._process)

    async def _discard(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            while await self._process.stdout.read(_LONGEST_LINE):
                pass

    async def _send(self, request: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(request) + b"\n")
        # If it has ended or reads nothing, that is found where its answer is missing.
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(self._answer_s):
                await self._process.stdin.drain()

    async def _answer(self) -> Answer:
        line = await self._line()
        try:
            answer = msgspec.json.decode(line, type=Answer)
            kind = answer.kind
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            shown = line[:_SHOWN].decode(errors="replace").rstrip("\n")
            hint = "its output is for answers alone, all else goes to its errors"
            raise self.wrong(f"wrote {shown!r}, which is no answer: {error}; {hint}") from error
        if answer.id != self._number:
            raise self.wrong(
                f"answered request {answer.id} ({kind}), where request {self._number}"
                f" ({self._request}) waits for its answer"
            )
        return answer

    async def _line(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(self._answer_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise self.wrong(
                f"gave no answer to {self._request!r} within {self._answer_s:g} s"
            ) from error
        except ValueError as error:
            raise self.wrong(f"wrote a line of more than {_LONGEST_LINE} bytes") from error
        if line:
            return line
        code = await self._program.ended(self._answer_s)
        how = "closed its output" if code is None else f"ended with {code}"
        raise self.wrong(f"{how}, where {self._request!r} waits for its answer")

    def wrong(self, what: str) -> StartError:
        """Return the error that the program did this, with the end of what it wrote."""
        return StartError(f"the program {what}{self._program.tail.excerpt()}")


class _Logging:
    """A process whose errors are its output, since its output itself is a conversation."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self.stdout = process.stderr

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait(self) -> int:
        return await self._process.wait()

    def send_signal(self, which: signal.Signals, /) -> None:
        self._process.send_signal(which)
