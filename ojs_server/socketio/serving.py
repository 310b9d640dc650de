"""Socket.IO as an ASGI application beside that of HTTP, with the same admission and bounds."""

from typing import Final
from urllib.parse import parse_qs

import socketio
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from ojs_server.domain.errors import InvalidRequest, OjsError, TooLarge, Unavailable
from ojs_server.http.errors import answer_of
from ojs_server.http.route import SOCKETIO
from ojs_server.http.services import Services
from ojs_server.socketio.announcing import Announcer
from ojs_server.socketio.connections import Connections

# What a client says is short.
MAX_MESSAGE: Final = 64 * 1024


class SocketServer:
    """The Socket.IO server of one node."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sio = socketio.AsyncServer(
            async_mode="asgi",
            # What a client says is done in its order, and no more of it is read meanwhile.
            async_handlers=False,
            max_http_buffer_size=MAX_MESSAGE,
            # Pages of other origins are refused before.
            cors_allowed_origins=lambda origin, environ: True,
        )
        self._app = socketio.ASGIApp(self._sio, socketio_path=SOCKETIO)
        connections = Connections(self._sio, services)
        self._announcer = Announcer(self._sio, services, connections)

    async def run(self) -> None:
        """Send events to the clients until the server stops."""
        try:
            await self._announcer.run()
        finally:
            for socket in list(self._sio.eio.sockets.values()):
                # Who does not read is not waited for.
                await socket.close(wait=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or connection."""
        try:
            self._admit(scope)
        except OjsError as error:
            await _refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        self._services.origins.admit(headers)
        is_new = "sid" not in parse_qs(scope["query_string"].decode("latin-1"))
        if is_new and len(self._sio.eio.sockets) >= self._services.settings.max_streams:
            raise Unavailable(
                f"{self._services.settings.max_streams} clients of Socket.IO are here already",
                headers={"Retry-After": "1"},
            )
        # The library reads all that comes before it looks how much that is.
        length = headers.get(b"content-length", b"0")
        if b"transfer-encoding" in headers or not length.isdigit():
            raise InvalidRequest("a Content-Length is needed here")
        if len(length) > len(str(MAX_MESSAGE)) or int(length) > MAX_MESSAGE:
            raise TooLarge(f"a message is larger than {MAX_MESSAGE} bytes")


async def _refuse(error: OjsError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": error.message[:100]})
        return
    answer = answer_of(error, "socket.io")
    refusal = JSONResponse(answer.body, answer.status, dict(answer.headers))
    await refusal(scope, receive, send)
