"""The dashboard for any server of Open Job Spec: serves its files and forwards its calls."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Final

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ojs_ui import files

MOST_BODY: Final = 16 * 1024 * 1024
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
# Request headers that are passed on; cookies, hosts and origins are not.
_PASSED: Final = ("accept", "authorization", "content-type", "last-event-id")
_RETURNED: Final = ("content-type", "date", "retry-after", "www-authenticate", "x-request-id")
_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:/?#@\[\]]+)(?::[0-9]*)?", re.IGNORECASE)
# Event streams send a comment every 15 s.
_PATIENCE: Final = httpx.Timeout(10, read=60)


class OwnPagesOnly:
    """Refuses requests for other hosts than the loopback, and those from pages of other origins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] == "http" and not _is_own(Request(scope)):
            refusal = _refused(403, "denied", "this dashboard answers its own pages only")
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def dashboard(target: str, transport: httpx.AsyncBaseTransport | None = None) -> Starlette:
    """The dashboard of the server at a URL."""
    client = httpx.AsyncClient(base_url=target, timeout=_PATIENCE, transport=transport)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    async def call(request: Request) -> Response:
        return await _passed_on(client, request)

    return Starlette(
        routes=[
            Route("/", _entrance),
            Route("/ui", _entrance),
            Route("/ui/", _page),
            Route("/ui/assets/{file}", _asset),
            Route("/ui/{page}", _page),
            Route("/ojs/{path:path}", call, methods=_METHODS),
        ],
        middleware=[Middleware(OwnPagesOnly)],
        lifespan=lifespan,
    )


async def _entrance(request: Request) -> Response:
    return RedirectResponse("/ui/", 302)


async def _page(request: Request) -> Response:
    return _sent(request, files.page())


async def _asset(request: Request) -> Response:
    found = files.asset(request.path_params["file"])
    if found is None:
        return _refused(404, "not_found", "the dashboard has no such file")
    return _sent(request, found)


def _sent(request: Request, file: files.File) -> Response:
    sent = file.sent(request.headers.get("accept-encoding"), request.headers.get("if-none-match"))
    headers = {**sent.headers, "X-Content-Type-Options": "nosniff"}
    if sent.body is None:
        return Response(status_code=304, headers=headers)
    return Response(sent.body, headers=headers, media_type=file.media_type)


async def _passed_on(client: httpx.AsyncClient, request: Request) -> Response:
    """Forward a request to the server and stream its answer."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BODY:
                return _refused(413, "too_large", f"the body is larger than {MOST_BODY} bytes")
    except ClientDisconnect:
        return Response(status_code=499)
    forwarded = client.build_request(
        request.method,
        # The raw path, so that escapes are kept.
        httpx.URL(request.scope["raw_path"].decode("ascii"), query=request.scope["query_string"]),
        headers={name: request.headers[name] for name in _PASSED if name in request.headers},
        content=bytes(body),
    )
    try:
        answer = await client.send(forwarded, stream=True)
    except httpx.HTTPError as error:
        return _refused(502, "unreachable", f"{client.base_url} does not answer: {error}")
    headers = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
    headers |= {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return StreamingResponse(_pieces(answer), answer.status_code, headers)


async def _pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in answer.aiter_bytes():
            yield piece
    except httpx.HTTPError:
        # The status is sent already; the page sees the end of the stream.
        return
    finally:
        await answer.aclose()


def _is_own(request: Request) -> bool:
    host = request.headers.get("host", "")
    found = _HOST.fullmatch(host)
    if found is None or not _is_loopback(found["name"].lower()):
        return False
    origin = request.headers.get("origin")
    if origin is not None:
        return origin.lower() == f"http://{host.lower()}"
    # Navigation by a link from elsewhere is allowed, but no request by a page of another site.
    site = request.headers.get("sec-fetch-site", "none")
    return site in ("none", "same-origin") or request.headers.get("sec-fetch-mode") == "navigate"


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _refused(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)
