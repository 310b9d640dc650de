"""The way in and out of every request: id, version, key, route, handler, answer.

A plain ASGI callable without layers: each request costs one look-up, one handler and two sends.
"""

import logging
from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import Final

from starlette.types import Receive, Scope, Send

from ojs_server.domain.errors import MethodNotAllowed, NotFound, OjsError
from ojs_server.http import answers, dialects
from ojs_server.http.call import FITS, SHORTCUT, Answer, Call, Disconnected, RequestIds, Stream
from ojs_server.http.errors import answer_of, problem_of
from ojs_server.http.origins import is_preflight
from ojs_server.http.passing import Passed, admit
from ojs_server.http.routes import PREFLIGHT, Route, Router
from ojs_server.http.services import Services
from ojs_server.http.shortcut import Shortcut

MAX_REQUEST_ID: Final = 128
_UNMATCHED: Final = "unmatched"

log = logging.getLogger("ojs.http")


class Gate:
    """Serves HTTP over the route table."""

    def __init__(self, server: Services, routes: Sequence[Route]) -> None:
        self._server = server
        environment = server.environment
        self._monotonic = environment.monotonic
        self._request_ids = RequestIds(environment.chance.bits, environment.wall_ms)
        self._router = Router(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        started = self._monotonic()
        server = self._server
        call = Call(scope, receive, server)
        known: Passed | None = call.noted.get(Passed)
        call.sent_request_id = known.sent_request_id if known else _sent_request_id(call)
        call.request_id = call.sent_request_id or self._request_ids()
        route: Route | None = None
        try:
            try:
                if known is None:
                    call.for_page = server.origins.admit(call.headers)
                    route = self._route(call)
                    dialects.check_version(call.header(b"ojs-version"))
                    known = call.noted[Passed] = _passed(call, route)
                else:
                    route, call.params = known.route, known.params
                    call.for_page = known.for_page
                call.media_type = known.media_type
                admit(call, known)
                answer = await route.handler(call)
                self._shorten(call, known)
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
                server.bodies.give(call.held)
        path, seconds = _UNMATCHED, None
        if route is not None:
            path = route.path
            if not (route.waits or streams):
                seconds = self._monotonic() - started
        server.metrics.observe_request(path, answer.status, seconds)
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "%s %s %d",
                scope["method"],
                path,
                answer.status,
                extra={"request_id": call.request_id},
            )

    def _shorten(self, call: Call, known: Passed) -> None:
        """Let the next request with the same head take the short way, where it has one."""
        direct = known.route.direct
        if (
            direct is not None
            and SHORTCUT not in call.noted
            and FITS in call.noted
            and self._server.tracer is None
            and not log.isEnabledFor(logging.DEBUG)
        ):
            call.noted[SHORTCUT] = Shortcut(call, known, direct, self._request_ids)

    def _route(self, call: Call) -> Route:
        if call.for_page and is_preflight(call.scope["method"], call.headers):
            return PREFLIGHT
        found = self._router.find(call.scope["path"])
        if found is None:
            raise NotFound(
                "there is no such path", hint="GET /ojs/manifest says what this server can do"
            )
        methods, call.params = found
        method = call.scope["method"]
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)
            raise MethodNotAllowed(
                f"{method[:20]} is not possible here; allowed: {', '.join(allowed)}",
                details={"allowed": allowed},
                headers={"Allow": ", ".join(allowed)},
            )
        if route.plain:
            call.media_type = dialects.PLAIN_JSON
        return route


def _passed(call: Call, route: Route) -> Passed:
    return Passed(
        call.sent_request_id,
        route,
        call.params,
        call.header(b"authorization"),
        dialects.tenant_header(call),
        call.media_type or dialects.media_type(call),
        call.for_page,
    )


def _sent_request_id(call: Call) -> str | None:
    given = call.header(b"x-request-id")
    if given and len(given) <= MAX_REQUEST_ID and given.isascii() and given.isprintable():
        return given
    return None


async def _send(send: Send, call: Call, answer: Answer) -> None:
    status, head, body, stays = answers.whole(call, answer)
    if call.send_whole is not None:
        await call.send_whole(status, head, body, stays)
    else:
        await _start(send, status, head)
        await send({"type": "http.response.body", "body": body})


async def _flow(send: Send, call: Call, answer: Answer) -> None:
    stream: Stream = answer.body
    try:
        media_type = answer.media_type or dialects.OPENJOBSPEC
        head = answers.lines(call.request_id, answer, media_type, call.for_page)
        await _start(send, answer.status, head)
        if call.scope["method"] != "HEAD":
            # The status has been sent: whatever goes wrong now can only end the stream.
            with suppress(OjsError):
                async with aclosing(stream.pieces()) as pieces:
                    async for piece in pieces:
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        stream.close()


async def _start(send: Send, status: int, head: bytes) -> None:
    headers = answers.headers(head)
    await send({"type": "http.response.start", "status": status, "headers": headers})
