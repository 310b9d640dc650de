"""WebSocket client of cases: one message after another, with limits on time and size."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

import msgspec
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from conformance.language.values import show
from conformance.play.connection import connect
from conformance.play.stage import V1, Stage
from conformance.play.wire import MOST_BYTES
from conformance.verdicts.exchanges import Exchange, Received, cut
from conformance.verdicts.reply import CheckFailed, Record, record, reply_of
from conformance.verdicts.result import FailedCheck

SUBPROTOCOL = "ojs.v1"
UNCLEAN = 1006  # the code of a connection without a close frame
_LABEL = "WebSocket"
_SECONDS = 10.0


class Socket:
    """One connection; what the server says is read when it is asked for, and pings are answered."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, exchange: int
    ) -> None:
        self.subprotocol: str | None = None
        self.pings = 0
        self.deaf = False  # leaves pings unanswered
        self.sent: list[bytes] = []
        self.received: list[bytes] = []
        self._reader, self._writer = reader, writer
        self._exchange = exchange
        self._wire = WSConnection(ConnectionType.CLIENT)
        self._open = False
        self._unread: deque[bytes] = deque()
        self._part = ""
        self._bytes = 0
        self._code: int | None = None

    async def open(self, request: Request) -> None:
        """Make the handshake, which must succeed."""
        await self._put(request)
        await self._wait(lambda: self._open, "a WebSocket", _SECONDS)

    async def send(self, **order: object) -> None:
        """Send one order."""
        await self.send_message(msgspec.json.encode(order).decode())

    async def send_message(self, data: str | bytes) -> None:
        """Send one message, of text or of bytes."""
        self.sent.append(data if isinstance(data, bytes) else data.encode())
        await self._put(BytesMessage(data) if isinstance(data, bytes) else TextMessage(data))

    async def next(self, within_s: float = _SECONDS) -> Record:
        """The next message, which must be there and an object."""
        await self._wait(lambda: bool(self._unread), "a message", within_s)
        received = Received(status=101, headers={}, content=self._unread.popleft(), duration_ms=0)
        reply = reply_of(_LABEL, received, self._exchange)
        return record(reply.json, reply)

    async def expect(self, kind: str, within_s: float = _SECONDS) -> Record:
        """The next message, which must be of this `type` (one has an `action` instead)."""
        message = await self.next(within_s)
        self.require(kind, message)
        return message

    def require(self, kind: str, message: Record) -> None:
        """Fail the case unless a message is of this `type`, or `action`."""
        if kind != message.get("type", message.get("action")):
            self._fail(f"a message of the type {kind}", show(dict(message)))

    async def event(self, within_s: float = _SECONDS) -> Record:
        """The next message, which must be an event."""
        return await self.expect("event", within_s)

    async def refused(self, code: str) -> None:
        """The next message must be an error with this code."""
        message = await self.expect("error")
        if message.get("code") != code or not message.get("message"):
            self._fail(f"an error {code} with a message", show(dict(message)))

    async def subscribe(self, channel: str, **more: object) -> Record:
        """Open a channel, which must be granted."""
        await self.send(action="subscribe", channel=channel, **more)
        return await self.expect("subscribed")

    async def pinged(self, within_s: float) -> None:
        """Read until the server has pinged once more."""
        before = self.pings
        await self._wait(lambda: self.pings > before, "a ping", within_s)

    async def ended(self, within_s: float = _SECONDS) -> int:
        """Read to the end of the connection, which must come; return the code of its close."""
        await self._wait(lambda: self._code is not None, "the end of the connection", within_s)
        return self._code or UNCLEAN

    async def _wait(self, reached: Callable[[], bool], what: str, within_s: float) -> None:
        try:
            async with asyncio.timeout(within_s):
                while not reached():
                    if self._code is not None:
                        self._fail(what, f"the end of the connection, with {self._code}")
                    await self._read()
        except TimeoutError:
            self._fail(what, f"nothing within {within_s:g} s")

    async def _read(self) -> None:
        data = b""
        with suppress(OSError):
            data = await self._reader.read(65536)
        if not data:
            self._code = UNCLEAN
            return
        self._bytes += len(data)
        if self._bytes > MOST_BYTES:
            self._fail("messages that anybody can read", f"more than {MOST_BYTES} bytes")
        try:
            self._wire.receive_data(data)
            for event in self._wire.events():
                await self._take(event)
        except ProtocolError as error:
            self._fail("WebSocket frames", str(error) or type(error).__name__)

    async def _take(self, event: Event) -> None:
        if isinstance(event, AcceptConnection):
            self._open, self.subprotocol = True, event.subprotocol
        elif isinstance(event, RejectConnection):
            self._fail("a WebSocket", f"the answer {event.status_code}")
        elif isinstance(event, TextMessage):
            self._part += event.data
            if event.message_finished:
                self.received.append(self._part.encode())
                self._unread.append(self.received[-1])
                self._part = ""
        elif isinstance(event, BytesMessage):
            self._fail("messages of text", "a message of bytes")
        elif isinstance(event, Ping):
            self.pings += 1
            if not self.deaf:
                await self._put(event.response())
        elif isinstance(event, CloseConnection):
            if self._wire.state is ConnectionState.OPEN:
                # Without a close frame, the library found an error in the received data.
                self._fail("WebSocket frames", event.reason or "what is none")
            self._code = event.code
            await self._put(event.response())

    async def _put(self, event: Event) -> None:
        # If the server is gone or does not read, the next receive reports it.
        with suppress(OSError, TimeoutError, ProtocolError):
            async with asyncio.timeout(_SECONDS):
                self._writer.write(self._wire.send(event))
                await self._writer.drain()

    def _fail(self, expected: str, actual: str) -> NoReturn:
        raise CheckFailed(
            FailedCheck(
                step_id=_LABEL,
                field="websocket",
                expected=expected,
                actual=actual,
                exchange=self._exchange,
            )
        )


@asynccontextmanager
async def connected(
    stage: Stage,
    subprotocols: Sequence[str] = (SUBPROTOCOL,),
    headers: Mapping[str, str] | None = None,
    *,
    narrow: bool = False,
) -> AsyncIterator[Socket]:
    """Open a WebSocket that must be given; reports show what was said on it."""
    url = stage.wire.client.base_url
    target = f"{url.raw_path.decode().rstrip('/')}{V1}/ws"
    number = len(stage.wire.exchanges)
    shown = Exchange(method="GET", url=str(url.join(target)))
    stage.wire.exchanges.append(shown)
    sent = {**stage.headers, **(headers or {})}
    request = Request(
        host=url.netloc.decode(),
        target=target,
        subprotocols=list(subprotocols),
        extra_headers=[(name.encode(), value.encode()) for name, value in sent.items()],
    )
    try:
        reader, writer = await connect(url, narrow=narrow)
    except (OSError, TimeoutError) as error:
        why = str(error) or type(error).__name__
        stage.wire.exchanges[number] = msgspec.structs.replace(shown, trouble=why)
        raise CheckFailed(
            FailedCheck(
                step_id=_LABEL,
                field="transport",
                expected="a connection",
                actual=why,
                exchange=number,
            )
        ) from error
    socket = Socket(reader, writer, number)
    try:
        await socket.open(request)
        yield socket
    finally:
        writer.close()
        stage.wire.exchanges[number] = msgspec.structs.replace(
            shown,
            request_body=cut(b"\n".join(socket.sent)),
            body=cut(b"\n".join(socket.received)),
        )
