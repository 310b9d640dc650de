"""The gate that every request passes: request id, route, admission, handler, answer.

A plain ASGI callable without layers: each request costs one look-up, one handler and two sends.
"""

import logging
from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import Final

from starlette.types import Receive, Scope, Send

from ojs_server.domain.errors import MethodNotAllowed, NotFound, OjsError
from ojs_server.http import dialects, responses
from ojs_server.http.access import logins
from ojs_server.http.access.origins import is_preflight
from ojs_server.http.admin.recorded_calls import actor_of
from ojs_server.http.admission import Admission
from ojs_server.http.call import Answer, Call, Disconnected, RequestIds, Stream
from ojs_server.http.errors import answer_of, problem_of
from ojs_server.http.route import Route
from ojs_server.http.routes import PREFLIGHT, Router
from ojs_server.http.services import Services
from ojs_server.ops.admin.action_log import acting

MAX_REQUEST_ID: Final = 128
_UNMATCHED: Final = "unmatched"

log = logging.getLogger("ojs.http")


class Gate:
    """Serves HTTP over the route table."""

    def __init__(self, server: Services, routes: Sequence[Route]) -> None:
        self.server = server
        environment = server.environment
        self.admission = Admission(server)
        self.monotonic = environment.monotonic
        self._request_ids = RequestIds(environment.chance.bits, environment.wall_ms)
        self._router = Router(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = self.monotonic()
        call = self.begin(scope, receive)
        route: Route | None = None
        try:
            try:
                route = self._route(call)
                if b"cookie" in call.headers:
                    await logins.recognise(call, route.roles)
                self.admission.admit(call, route)
                actor = actor_of(call, route)
                if actor is None:
                    answer = await route.handler(call)
                else:
                    with acting(actor):
                        answer = await route.handler(call)
            except (Disconnected, CancelledError):
                raise
            except Exception as error:
                problems = route is not None and route.problems
                answer = (problem_of if problems else answer_of)(error, call.request_id)
            streams = isinstance(answer.body, Stream)
            await (_flow if streams else _send)(send, call, answer)
        except Disconnected:
            return
        finally:
            if call.held:
                self.server.bodies.give(call.held)
        self.observe(call, route, answer.status, None if streams else started)

    def begin(self, scope: Scope, receive: Receive) -> Call:
        """Create the call of a request, with its id."""
        call = Call(scope, receive, self.server)
        call.sent_request_id = _sent_request_id(call)
        call.request_id = call.sent_request_id or self._request_ids()
        return call

    def observe(self, call: Call, route: Route | None, status: int, started: float | None) -> None:
        """Count and log an answered call; `started` is given if its duration is to be measured."""
        path, seconds = _UNMATCHED, None
        if route is not None:
            path = route.path
            if started is not None and not route.waits:
                seconds = self.monotonic() - started
        self.server.metrics.observe_request(path, status, seconds)
        if log.isEnabledFor(logging.DEBUG):
            method = call.scope["method"]
            log.debug("%s %s %d", method, path, status, extra={"request_id": call.request_id})

    def _route(self, call: Call) -> Route:
        method = call.scope["method"]
        methods, call.params = self._router.find(call.path) or (None, {})
        if methods is not None:
            route = methods.get("GET" if method == "HEAD" else method)
            if route is not None:
                return route
        call.for_page = self.server.origins.admit(call.headers)
        if call.for_page and is_preflight(method, call.headers):
            return PREFLIGHT
        if methods is None:
            raise NotFound(
                "there is no such path", hint="GET /ojs/manifest says what this server can do"
            )
        allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)
        raise MethodNotAllowed(
            f"{method[:20]} is not possible here; allowed: {', '.join(allowed)}",
            details={"allowed": allowed},
            headers={"Allow": ", ".join(allowed)},
        )


def _sent_request_id(call: Call) -> str | None:
    given = call.header(b"x-request-id")
    if given and len(given) <= MAX_REQUEST_ID and given.isascii() and given.isprintable():
        return given
    return None


async def _send(send: Send, call: Call, answer: Answer) -> None:
    status, head, body, stays = responses.whole(call, answer)
    if call.send_whole is not None:
        await call.send_whole(status, head, body, stays)
    else:
        await _start(send, status, head)
        await send({"type": "http.response.body", "body": body})


async def _flow(send: Send, call: Call, answer: Answer) -> None:
    stream: Stream = answer.body
    watch = None if call.login is None else logins.Watch(call, call.login)
    try:
        media_type = answer.media_type or dialects.OPENJOBSPEC
        head = responses.lines(call.request_id, answer, media_type, call.for_page)
        await _start(send, answer.status, head)
        if call.scope["method"] != "HEAD":
            # The status has been sent: whatever goes wrong now can only end the stream.
            with suppress(OjsError):
                async with aclosing(stream.pieces()) as pieces:
                    async for piece in pieces:
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                        if watch is not None and await watch.is_over():
                            break
        await send({"type": "http.response.body", "body": b""})
    finally:
        stream.close()


async def _start(send: Send, status: int, head: bytes) -> None:
    headers = responses.headers(head)
    await send({"type": "http.response.start", "status": status, "headers": headers})
