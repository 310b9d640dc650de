"""The sessions of Socket.IO at a node, from their handshake on.

    handshake ──▶ unconnected ──── CONNECT with a key ───▶ connected
                   │     ▲                                   │
                   │     └── DISCONNECT of the namespace ────┘
                   └── closed: too late, or to make room for a newer one

A client may show its key in the handshake or in its CONNECT. So sessions whose clients have shown
none take no place of those whose clients have, and each has a few seconds for its CONNECT.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal

import socketio
from engineio.packet import NOOP, Packet
from socketio.packet import CONNECT_ERROR

from ojs_server.domain.errors import InvalidRequest, Unavailable
from ojs_server.http.services import Services
from ojs_server.observe.counted_warning import CountedWarning
from ojs_server.systems.jobmanager.socketio.unconnected import Unconnected

# Time limit for the CONNECT of a client.
CONNECT_S: Final = 5.0
# Most polling sessions without a key: more than can be opened in the time that a client needs for
# its CONNECT.
MOST_POLLED: Final = 8192
# WebSocket sessions without a key may hold one in this many of the connections.
SHARE_OF_CONNECTIONS: Final = 8
# Unread packets that a client may have before it has connected.
MOST_UNREAD: Final = 32
SESSION: Final = "ojs.session"
_CHECK_S: Final = 0.5

Reason = Literal["late", "displaced", "bad_packet", "unread", "full"]
_HINT: Final = f"open a new session, and send CONNECT with a key within {CONNECT_S:.0f} seconds"
_MESSAGES: Final[Mapping[str, str]] = {
    "late": "the client has not connected in time",
    "displaced": "too many clients have not connected yet, and this one was the oldest",
}

log = logging.getLogger("ojs.socketio")


class Session:
    """A session of one client; it has an id once the handshake is answered."""

    def __init__(self, address: str, principal: str | None) -> None:
        self.sid = ""
        self.address = address
        # The principal of the key that the client has shown, if any.
        self.principal = principal
        self.connected = False
        # True while the server answers a poll, and while it serves a WebSocket; there may be one of
        # each.
        self.polls = self.has_socket = False
        self.over = asyncio.Event()


class Sessions:
    """All sessions of a node, and their bounds."""

    def __init__(self, sio: socketio.AsyncServer, services: Services) -> None:
        self._sio = sio
        self._eio = sio.eio
        self._metrics = services.metrics
        self._monotonic = services.environment.monotonic
        self._most = services.settings.max_streams
        self._most_unread = services.settings.stream_buffer
        self._sessions: dict[str, Session] = {}
        self._connected: set[str] = set()
        self._with_key = Unconnected(2 * max(1, self._most))
        self._polled = Unconnected(MOST_POLLED)
        self._sockets = Unconnected(max(1, services.ports.connections // SHARE_OF_CONNECTIONS))
        self._some = asyncio.Event()
        self._early = CountedWarning(
            log, "sessions of Socket.IO were closed before they had connected: %d, the last of %s"
        )
        self._bad = CountedWarning(
            log, "sessions of Socket.IO were closed for bad packets: %d, the last of %s"
        )
        self._library: dict[str, Callable[..., Awaitable[Any]]] = dict(self._eio.handlers)
        self._eio.on("connect", self._opened)
        self._eio.on("message", self._received)
        self._eio.on("disconnect", self._ended)

    def require_room(self) -> None:
        """Raise Unavailable if no further client can connect."""
        if len(self._connected) >= self._most:
            self._metrics.observe_closed_session("full")
            raise Unavailable(
                f"{self._most} clients of Socket.IO are here already",
                headers={"Retry-After": "1"},
            )

    def find(self, sid: str) -> Session:
        """Return the session of a request."""
        session = self._sessions.get(sid)
        if session is None:
            raise _unknown()
        return session

    def connect(self, session: Session) -> None:
        """Take a client that has shown its key for connected."""
        self.require_room()
        if session.over.is_set():
            raise _unknown()
        self._forget(session)
        session.connected = True
        self._connected.add(session.sid)
        socket = self._eio.sockets[session.sid]
        # Pings start only here: each has a task, which would outlast sessions that are closed
        # early.
        if socket.last_ping is None:
            socket.last_ping = self._monotonic()
            socket.schedule_ping()

    async def disconnect(self, session: Session) -> None:
        """Take a client that has left its namespace for one that has not connected."""
        session.connected = False
        self._connected.discard(session.sid)
        if not session.over.is_set():
            await self._make_room(self._admit(session))

    def answer_poll(self, session: Session) -> None:
        """Let the next poll be answered at once: before it has connected, a client must not hold a
        connection."""
        self._eio.sockets[session.sid].queue.put_nowait(Packet(NOOP))

    async def keep_socket(self, session: Session) -> None:
        """Count a session that has not connected as one that holds a connection."""
        if not session.connected:
            self._forget(session)
            await self._make_room(self._admit(session))

    async def check_unread(self, session: Session) -> None:
        """Close the session of a client that sends, and does not read what it is answered."""
        socket = self._eio.sockets.get(session.sid)
        most = self._most_unread if session.connected else MOST_UNREAD
        if socket is not None and socket.queue.qsize() > most:
            await self.close(session.sid, "unread")

    async def close(self, sid: str, reason: Reason | None = None) -> None:
        """Close a session, if it is here."""
        session, socket = self._sessions.get(sid), self._eio.sockets.get(sid)
        if session is None or socket is None:
            return
        if reason is not None:
            self._metrics.observe_closed_session(reason)
        if message := _MESSAGES.get(reason or ""):
            self._early.add(session.address)
            about = {"message": message, "data": {"hint": _HINT}}
            await self._eio.send(sid, self._sio.packet_class(CONNECT_ERROR, data=about).encode())
        elif reason == "bad_packet":
            self._bad.add(session.address)
        await socket.close(wait=False, abort=reason == "unread")
        # None ends its WebSocket.
        socket.queue.put_nowait(None)

    async def run(self) -> None:
        """Close sessions that do not connect in time."""
        while True:
            await self._some.wait()
            await asyncio.sleep(_CHECK_S)
            late = self._monotonic() - CONNECT_S
            groups = (self._with_key, self._polled, self._sockets)
            for sid in [sid for group in groups for sid in group.added_before(late)]:
                await self.close(sid, "late")
                # There may be thousands, so let other tasks run in between.
                await asyncio.sleep(0)
            if not any(map(len, groups)):
                self._some.clear()

    async def close_all(self) -> None:
        """Close all sessions because the server stops."""
        for sid in list(self._sessions):
            # Does not wait for a client that does not read.
            await self.close(sid)

    async def _opened(self, sid: str, environ: Mapping[str, Any]) -> Any:
        session: Session = environ["asgi.scope"][SESSION]
        session.sid = sid
        self._sessions[sid] = session
        self._eio.sockets[sid].last_ping = None
        displaced = self._admit(session)
        # Pass on only the session: the rest of the request is not needed, and may be large.
        refusal = await self._library["connect"](sid, {SESSION: session})
        await self._make_room(displaced)
        return refusal

    async def _received(self, sid: str, data: str) -> None:
        # An earlier packet may have closed the session.
        if sid in self._sessions:
            await self._library["message"](sid, data)

    async def _ended(self, sid: str, reason: str) -> None:
        session = self._sessions.pop(sid, None)
        if session is None:
            return
        session.over.set()
        self._forget(session)
        try:
            await self._library["disconnect"](sid, reason)
        finally:
            self._connected.discard(sid)
            self._eio.sockets.pop(sid, None)

    def _admit(self, session: Session) -> str | None:
        """Add a session to those that have not connected; returns the one that makes room."""
        self._some.set()
        if session.principal is not None:
            group = self._with_key
        else:
            group = self._sockets if session.has_socket else self._polled
        return group.add(session.sid, session.address, self._monotonic())

    async def _make_room(self, displaced: str | None) -> None:
        if displaced is not None:
            await self.close(displaced, "displaced")

    def _forget(self, session: Session) -> None:
        for group in (self._with_key, self._polled, self._sockets):
            group.remove(session.sid)


def _unknown() -> InvalidRequest:
    return InvalidRequest("there is no such session, or it has ended", hint=_HINT)
