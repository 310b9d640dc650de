"""A WebSocket connection: frames by wsproto, to the application in messages of ASGI.

    connecting ──▶ open ──▶ closed     the application accepts; either side closes
        └──▶ denied ─────────┘         the application answers the handshake in HTTP instead

One message is read at a time, so that the client waits for the application. A client that does not
answer a ping is cut off, and so is one that does not answer a close.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from enum import Enum, auto
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Message
from wsproto import ConnectionType, WSConnection, events
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from ojs_server.connection.extensions import TEXTS
from ojs_server.connection.flow_control import UNREAD_S, Flow

# Clients send only short messages.
MAX_MESSAGE: Final = 64 * 1024
# Interval of pings, and the time limit for any sign of the client after one.
PING_S: Final = 20.0
PONG_S: Final = 10.0
# Time limit for the answer to a close; less once the server stops.
CLOSE_S: Final = 10.0
_ABNORMAL: Final = 1006
_TOO_LARGE: Final = 1009
_FAILED: Final = 1011
_RESTART: Final = 1012

log = logging.getLogger("ojs.http")


class ClientGone(OSError):
    """The WebSocket is closed, so that nothing more can be sent."""


class Upgraded(Protocol):
    """The connection of HTTP that becomes a WebSocket."""

    transport: asyncio.Transport
    flow: Flow
    loop: Any

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task, which the server waits for before it ends."""

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""


class Stage(Enum):
    """The stage of a WebSocket, as in the drawing above."""

    CONNECTING = auto()
    DENIED = auto()
    OPEN = auto()
    CLOSED = auto()


class WebSocketConnection(asyncio.Protocol):
    """A WebSocket of one client, on what was a connection of HTTP."""

    def __init__(
        self, before: Upgraded, connections: set[Any], app: ASGIApp, scope: dict[str, Any]
    ) -> None:
        self._before = before
        self._connections = connections
        connections.add(self)
        self._transport = before.transport
        self._flow = before.flow
        self._app = app
        self._scope = scope
        self._wire = WSConnection(ConnectionType.SERVER)
        self._stage = Stage.CONNECTING
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        # The parts of an incomplete message.
        self._piece = bytearray()
        # True if the client has sent anything since the last ping.
        self._received = False
        self._stopping = False
        self._alarm: Any = None

    # Called by the transport.

    def data_received(self, data: bytes) -> None:
        """Read frames, or the head of the handshake."""
        self._received = True
        try:
            self._wire.receive_data(data)
        except RemoteProtocolError as error:
            if error.event_hint is not None:
                self._write(error.event_hint)
            self._transport.close()
        except LocalProtocolError:
            # Data after both sides have closed.
            self._transport.close()
        else:
            self._take_all()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        self._leave(_ABNORMAL)
        self._calm()
        self._connections.discard(self)
        self._before.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pause writing, because the client reads too slowly."""
        self._flow.pause_writing()

    def resume_writing(self) -> None:
        """Resume writing."""
        self._flow.resume_writing()

    # Called by the server.

    def shutdown(self) -> None:
        """Close because the server stops; the application may send a last message."""
        if self._stage is Stage.OPEN:
            self._messages.put_nowait({"type": "websocket.disconnect", "code": _RESTART})
        elif self._stage is Stage.CLOSED:
            self._transport.close()
        self._stopping = True
        self._ring_in(UNREAD_S, self._transport.abort)

    def waits(self) -> None:
        """Return None: a WebSocket never waits for its client alone."""

    # Events from the client.

    def _take_all(self) -> None:
        for event in self._wire.events():
            if isinstance(event, events.Request):
                self._begin(event)
            elif isinstance(event, events.CloseConnection):
                self._end(event)
            elif self._stage is not Stage.OPEN:
                # Sent by a client that had not read the close yet.
                continue
            elif isinstance(event, events.Ping):
                # A client that sends pings and reads nothing would fill the memory with pongs.
                if not self._flow.write_paused:
                    self._write(event.response())
            elif isinstance(event, events.TextMessage | events.BytesMessage):
                self._add(event)

    def _begin(self, handshake: events.Request) -> None:
        self._flow.pause_reading()
        self._messages.put_nowait({"type": "websocket.connect"})
        self._scope["subprotocols"] = handshake.subprotocols
        self._scope["extensions"] = {
            "websocket.http.response": {},
            TEXTS: {"send": self._send_texts},
        }
        self._before.begin(self._run())

    def _add(self, event: events.TextMessage | events.BytesMessage) -> None:
        is_text = isinstance(event, events.TextMessage)
        self._piece += event.data.encode() if isinstance(event.data, str) else event.data
        if len(self._piece) > MAX_MESSAGE:
            self._close(_TOO_LARGE, f"a message is larger than {MAX_MESSAGE} bytes")
            self._transport.close()
        elif event.message_finished:
            whole, self._piece = bytes(self._piece), bytearray()
            content = {"text": whole.decode()} if is_text else {"bytes": whole}
            self._messages.put_nowait({"type": "websocket.receive", **content})
            self._flow.pause_reading()

    def _end(self, event: events.CloseConnection) -> None:
        if self._stage is Stage.OPEN:
            self._write(event.response())
        self._leave(event.code, event.reason)
        self._transport.close()

    # Messages of the application.

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._send)
        except ClientGone:
            pass
        except Exception:
            log.exception("the application failed")
        if self._stage is Stage.OPEN:
            self._close(_FAILED)
        elif self._stage is Stage.CONNECTING:
            self._deny(500)
        elif self._stage is Stage.DENIED:
            # The rest of the answer will not come.
            self._transport.close()

    async def _receive(self) -> Message:
        message = await self._messages.get()
        if self._stage is not Stage.CONNECTING and self._messages.empty():
            self._flow.resume_reading()
        return message

    async def _send(self, message: Message) -> None:
        await self._flow.drain()
        self._require_client()
        match self._stage, message["type"]:
            case Stage.OPEN, "websocket.send" if message.get("text") is not None:
                self._transport.write(text_frame(message["text"].encode()))
            case Stage.OPEN, "websocket.send":
                self._write(events.BytesMessage(data=message["bytes"]))
            case Stage.OPEN, "websocket.close":
                self._close(message.get("code", 1000), message.get("reason"))
            case Stage.CONNECTING, "websocket.accept":
                self._accept(message)
            case Stage.CONNECTING, "websocket.close":
                self._deny(403)
            case Stage.CONNECTING, "websocket.http.response.start":
                self._deny(message["status"], message["headers"], has_body=True)
            case Stage.DENIED, "websocket.http.response.body":
                ends = not message.get("more_body", False)
                self._write(events.RejectData(data=message["body"], body_finished=ends))
                if ends:
                    self._leave(_ABNORMAL)
                    self._transport.close()
            case stage, kind:
                raise RuntimeError(f"{kind} comes where the WebSocket is {stage.name.lower()}")

    async def _send_texts(self, texts: Iterable[bytes]) -> None:
        """Send several messages, which are UTF-8, in one write."""
        await self._flow.drain()
        self._require_client()
        self._transport.write(b"".join(map(text_frame, texts)))

    def _require_client(self) -> None:
        if self._stage is Stage.CLOSED or self._transport.is_closing():
            raise ClientGone

    def _accept(self, message: Message) -> None:
        self._write(
            events.AcceptConnection(
                subprotocol=message.get("subprotocol"),
                extra_headers=list(message.get("headers", ())),
            )
        )
        self._stage = Stage.OPEN
        self._flow.resume_reading()
        if self._stopping:
            self.shutdown()
        else:
            self._ring_in(PING_S, self._ping)
        # Frames that arrived before the WebSocket was accepted.
        self._take_all()

    def _deny(
        self, status: int, headers: Iterable[tuple[bytes, bytes]] = (), *, has_body: bool = False
    ) -> None:
        self._write(
            events.RejectConnection(status_code=status, headers=list(headers), has_body=has_body)
        )
        self._stage = Stage.DENIED
        if not has_body:
            self._leave(_ABNORMAL)
            self._transport.close()

    def _close(self, code: int, reason: str | None = None) -> None:
        """Send a close, and wait a while for the client's."""
        self._write(events.CloseConnection(code, reason))
        self._leave(code, reason)
        self._flow.resume_reading()
        self._ring_in(UNREAD_S if self._stopping else CLOSE_S, self._transport.abort)

    def _leave(self, code: int, reason: str | None = None) -> None:
        """Tell the application that the WebSocket is closed."""
        if self._stage is not Stage.CLOSED:
            self._stage = Stage.CLOSED
            closed = {"type": "websocket.disconnect", "code": code, "reason": reason or ""}
            self._messages.put_nowait(closed)
            self._flow.resume_writing()

    def _write(self, event: events.Event) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._wire.send(event))

    # Timers.

    def _ping(self) -> None:
        self._received = False
        self._write(events.Ping())
        self._ring_in(PONG_S, self._look)

    def _look(self) -> None:
        """Cut off a client that has sent nothing since it was pinged."""
        # While reading is paused nothing can arrive.
        if self._received or self._flow.read_paused:
            self._ring_in(PING_S, self._ping)
        else:
            self._close(_FAILED, "no answer to a ping")
            self._transport.abort()

    def _ring_in(self, seconds: float, call: Callable[[], None]) -> None:
        self._calm()
        self._alarm = self._before.loop.call_later(seconds, call)

    def _calm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


def text_frame(text: bytes) -> bytes:
    """Return a message of a server as one frame of RFC 6455, not compressed."""
    size = len(text)
    if size < 126:
        return b"\x81%c%b" % (size, text)
    if size < 1 << 16:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), text)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), text)
