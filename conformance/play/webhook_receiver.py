"""The targets of webhooks: they answer as a case sets, and record every call."""

import asyncio
import secrets
import time
from collections import deque
from typing import Any

import msgspec

from conformance.played.listener import HttpReply, HttpRequest, Listener
from conformance.verdicts.exchanges import parse_body
from conformance.verdicts.reply import CheckFailed
from conformance.verdicts.result import FailedCheck

_OK = HttpReply(status=200)
_UNKNOWN = HttpReply(status=404)
EVERYWHERE = "0.0.0.0"
LOOPBACK = "127.0.0.1"


class Call(msgspec.Struct, frozen=True):
    """One request to a target."""

    request: HttpRequest
    at: float  # seconds of this process's clock

    @property
    def event(self) -> Any:
        """Return the body as JSON, which must be an object."""
        body = parse_body(self.request.content)
        return body if isinstance(body, dict) else {}

    @property
    def delivery(self) -> str:
        """The name of the delivery."""
        return self.request.headers.get("x-ojs-delivery-id", "")


class Target:
    """One address, of one case."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls: list[Call] = []
        self.most = 0  # most calls at the same time
        self._on = 0
        self._answers: deque[HttpReply] = deque()
        self._free = asyncio.Event()
        self._free.set()
        self._called = asyncio.Condition()

    def answers(self, *replies: HttpReply) -> None:
        """Set the next answers, given one after another; later ones are 200 again."""
        self._answers.extend(replies)

    def hold(self) -> None:
        """Answer nothing until `release`."""
        self._free.clear()

    def release(self) -> None:
        """Answer the calls that wait, and all later ones."""
        self._free.set()

    async def called(self, count: int = 1, within_s: float = 10.0) -> list[Call]:
        """Wait until there were so many calls; return all of them."""
        try:
            async with asyncio.timeout(within_s), self._called:
                await self._called.wait_for(lambda: len(self.calls) >= count)
        except TimeoutError:
            raise CheckFailed(
                FailedCheck(
                    step_id="webhook",
                    field="calls",
                    expected=f"{count} within {within_s:g} s",
                    actual=f"{len(self.calls)}",
                )
            ) from None
        return self.calls

    async def handle(self, request: HttpRequest) -> HttpReply:
        """Take a call."""
        answer = self._answers.popleft() if self._answers else _OK
        self._on += 1
        self.most = max(self.most, self._on)
        try:
            async with self._called:
                self.calls.append(Call(request, time.monotonic()))
                self._called.notify_all()
            await self._free.wait()
        finally:
            self._on -= 1
        return answer


class Receiver:
    """Listens for all targets of a run."""

    def __init__(self, public_url: str = "", port: int = 0) -> None:
        """Listen on loopback only, unless `public_url` says how servers reach this machine."""
        self._targets: dict[str, Target] = {}
        self._public_url = public_url.rstrip("/")
        self._listener = Listener(
            self._handle, lambda _: None, host=EVERYWHERE if public_url else LOOPBACK, port=port
        )

    @property
    def url(self) -> str:
        """The URL at which it is reached from this machine."""
        return self._listener.url

    async def open(self) -> None:
        """Begin to listen."""
        await self._listener.open()

    async def close(self) -> None:
        """Break all calls off."""
        await self._listener.close()

    def target(self) -> Target:
        """A new address."""
        name = secrets.token_hex(8)
        made = self._targets[name] = Target(f"{self._public_url or self.url}/{name}")
        return made

    async def _handle(self, request: HttpRequest) -> HttpReply:
        # A proxy in front may add a path prefix or remove one.
        target = self._targets.get(request.path.rpartition("/")[2])
        return await target.handle(request) if target is not None else _UNKNOWN
