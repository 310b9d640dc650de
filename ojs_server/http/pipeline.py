"""Middleware around the router of the application: each request gets its id, errors are answered,
and what was answered is counted."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ojs_server.domain.errors import OjsError
from ojs_server.http import dialects
from ojs_server.http.call import CALL, Call, RequestIds, sent_request_id
from ojs_server.http.path_forms import PathForms
from ojs_server.http.prefer_header import HEADER, waits_until
from ojs_server.http.responses import response_of
from ojs_server.http.route import Route
from ojs_server.http.services import Services
from ojs_server.ops.engine.caller import WAITS_UNTIL

_UNMATCHED: Final = "unmatched"

log = logging.getLogger("ojs.http")


class Calls:
    """The calls of a running node: makes one of each request, and counts its answer."""

    def __init__(self, server: Services) -> None:
        self.server = server
        environment = server.environment
        self.monotonic = environment.monotonic
        self._request_ids = RequestIds(environment.chance.bits, environment.wall_ms)

    def begin(self, scope: Scope, receive: Receive) -> Call:
        """Create the call of a request, with its id."""
        call = Call(scope, receive, self.server)
        if b"x-request-id" in call.fields:
            call.sent_request_id = sent_request_id(call)
        call.request_id = call.sent_request_id or self._request_ids()
        return call

    def observe(self, call: Call, route: Route | None, status: int, started: float) -> None:
        """Count and log an answered call."""
        path, seconds = _UNMATCHED, None
        if route is not None:
            path = route.path
            seconds = None if route.waits else self.monotonic() - started
        self.server.metrics.observe_request(path, status, seconds)
        if log.isEnabledFor(logging.DEBUG):
            method = call.scope["method"]
            log.debug("%s %s %d", method, path, status, extra={"request_id": call.request_id})


class CallMiddleware:
    """Middleware that makes the call of each request, and sees to it once it is answered."""

    def __init__(self, app: ASGIApp, calls: Callable[[], Calls]) -> None:
        """Set up the middleware; `calls` returns those of the node once it runs."""
        self._app = app
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        calls = self._calls()
        started = calls.monotonic()
        call = scope[CALL] = calls.begin(scope, receive)
        status = None
        until = waits_until(call, started) if HEADER in call.fields else 0.0
        patience = WAITS_UNTIL.set(until)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            return
        finally:
            WAITS_UNTIL.reset(patience)
            if call.held:
                calls.server.bodies.give(call.held)
        if status is not None and call.counts:
            calls.observe(call, call.route, status, started)


async def refuse(forms: PathForms, connection: HTTPConnection, error: Exception) -> Response:
    """Answer an error, in the form that clients of the path know."""
    call: Call = connection.scope[CALL]
    is_socket = connection.scope["type"] == "websocket"
    if isinstance(error, ClientDisconnect) or (is_socket and not isinstance(error, OjsError)):
        # There is no client to answer, or the handshake may be over.
        raise error
    if is_socket:
        call.media_type = dialects.OPENJOBSPEC
    return response_of(call, forms.refused(call, error))


def middleware(calls: Callable[[], Calls], forms: PathForms) -> list[Middleware]:
    """Return the middleware of the application, which answers errors in these forms.

    The exception handlers are not among Starlette's own: those answer what is unexpected as well,
    but then raise it again, and the connection would be lost.
    """
    errors = Middleware(ExceptionMiddleware, handlers={Exception: partial(refuse, forms)})
    return [Middleware(CallMiddleware, calls), errors]
