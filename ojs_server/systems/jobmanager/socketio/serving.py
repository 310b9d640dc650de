"""Socket.IO as an ASGI application beside that of HTTP, with the same admission and bounds."""

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

import socketio
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from ojs_server.domain.errors import Conflict, InvalidRequest, OjsError, TooLarge
from ojs_server.http.access.client_address import address_of
from ojs_server.http.access.keys import key_in
from ojs_server.http.errors import answer_of
from ojs_server.http.route import SOCKETIO
from ojs_server.http.services import Services
from ojs_server.systems.jobmanager.socketio.announcing import Announcer
from ojs_server.systems.jobmanager.socketio.connections import Connections
from ojs_server.systems.jobmanager.socketio.packets import (
    MAX_MESSAGE,
    BadPacket,
    check_frame,
    check_payload,
)
from ojs_server.systems.jobmanager.socketio.sessions import SESSION, Session, Sessions

_NOT_ALLOWED: Final = 1008
_LONGEST_REASON: Final = 100


class SocketServer:
    """The Socket.IO server of one node."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sio = socketio.AsyncServer(
            async_mode="asgi",
            # Handle the messages of a client in order, and read no more meanwhile.
            async_handlers=False,
            max_http_buffer_size=MAX_MESSAGE,
            # Origins have been checked before.
            cors_allowed_origins=lambda origin, environ: True,
        )
        self._app = socketio.ASGIApp(self._sio, socketio_path=SOCKETIO)
        self.sessions = Sessions(self._sio, services)
        connections = Connections(self._sio, services, self.sessions)
        self._announcer = Announcer(self._sio, services, connections, self.sessions)

    async def run(self) -> None:
        """Send events to the clients until the server stops."""
        try:
            await self._announcer.run()
        finally:
            await self.sessions.close_all()

    async def watch(self) -> None:
        """End the sessions that are over."""
        await self.sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or connection."""
        try:
            headers = dict(scope["headers"])
            self._services.origins.admit(headers)
            _check_length(headers)
            sid = parse_qs(scope["query_string"].decode("latin-1")).get("sid")
            session = self._begin(scope, headers) if sid is None else self.sessions.find(sid[0])
            await self._serve(session, {**scope, SESSION: session}, receive, send)
        except OjsError as error:
            await _refuse(error, scope, receive, send)

    def _begin(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Session:
        """Begin the session of a new client; its key is checked if it is there already."""
        self.sessions.require_room()
        settings, principal = self._services.settings, None
        address = address_of(scope, settings.trusted_proxy)
        shown = headers.get(b"authorization", b"").decode("latin-1")
        if settings.keys.needed and shown.lower().startswith("bearer "):
            principal = self._services.key_check.prove(key_in(shown), address)
        return Session(address, principal)

    async def _serve(self, session: Session, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_socket(session, scope, receive, send)
        elif scope["method"] == "POST":
            body = await _body(receive)
            try:
                check_payload(body)
            except BadPacket:
                await self.sessions.close(session.sid, "bad_packet")
                raise
            await self.sessions.check_unread(session)
            await self._app(scope, _again(body), send)
        elif scope["method"] == "GET" and session.sid and not session.connected:
            await self._answer_poll(session, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer_poll(
        self, session: Session, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if session.polls:
            raise Conflict("another poll of this session is being answered")
        session.polls = True
        try:
            self.sessions.answer_poll(session)
            await self._app(scope, receive, send)
        finally:
            session.polls = False

    async def _serve_socket(
        self, session: Session, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if session.has_socket:
            raise Conflict("this session has a WebSocket already")
        session.has_socket = True
        if session.sid:
            await self.sessions.keep_socket(session)
        over = asyncio.ensure_future(session.over.wait())

        async def receive_checked() -> Message:
            """Return the next message that is checked, and the end once the session is over."""
            received = asyncio.ensure_future(receive())
            try:
                await asyncio.wait({received, over}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not received.done():
                    received.cancel()
            if received.done():
                message = received.result()
                if message["type"] != "websocket.receive" or await self._is_good(session, message):
                    return message
            return {"type": "websocket.disconnect", "code": _NOT_ALLOWED}

        try:
            await self._app(scope, receive_checked, send)
        finally:
            over.cancel()
            session.has_socket = False

    async def _is_good(self, session: Session, message: Message) -> bool:
        try:
            check_frame(message.get("text"))
        except BadPacket:
            await self.sessions.close(session.sid, "bad_packet")
        else:
            await self.sessions.check_unread(session)
        return not session.over.is_set()


def _check_length(headers: Mapping[bytes, bytes]) -> None:
    # The library reads the whole body before it checks the size.
    length = headers.get(b"content-length", b"0")
    if b"transfer-encoding" in headers or not length.isdigit():
        raise InvalidRequest("a Content-Length is needed here")
    if len(length) > len(str(MAX_MESSAGE)) or int(length) > MAX_MESSAGE:
        raise TooLarge(f"a message is larger than {MAX_MESSAGE} bytes")


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece: bytes = message.get("body", b"")
        body += piece
        if not message.get("more_body"):
            return body


def _again(body: bytes) -> Receive:
    """Return the messages of a request whose body was read."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return receive


async def _refuse(error: OjsError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        reason = error.message[:_LONGEST_REASON]
        await send({"type": "websocket.close", "code": _NOT_ALLOWED, "reason": reason})
        return
    answer = answer_of(error, "socket.io")
    refusal = JSONResponse(answer.body, answer.status, dict(answer.headers))
    await refusal(scope, receive, send)
