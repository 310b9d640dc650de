"""Carries the calls of cases over gRPC; the cases know only HTTP.

    request ──▶ call of `ojs.v1` ──▶ its answer, completed by what HTTP shows ──▶ answer

Requests that gRPC cannot express go over HTTP. Both show the same data.
"""

import asyncio
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import httpx
import msgspec
from grpc import aio

from conformance.carried import BINDING
from conformance.own import own
from conformance.reply import Reply
from conformance.rpc.asked import Asked, Wordless, asked, metadata_of
from conformance.rpc.client import Stub
from conformance.rpc.told import refused, shown_at, told
from conformance.statuses import Status

_SERVICE: Final = "ojs.v1.OJSService"
# A constant interval between attempts to reconnect.
_RECONNECT: Final = tuple(
    (f"grpc.{which}_reconnect_backoff_ms", 100) for which in ("initial", "min", "max")
)
_SOON_S: Final = 1.0
_ROW: Final = re.compile(r"^\| `(\w+)` \| (\d{3}) \|", re.MULTILINE)


class GrpcTransport(httpx.AsyncBaseTransport):
    """Carries what it can over gRPC, and the rest by another transport."""

    def __init__(self, http: httpx.AsyncBaseTransport, address: str) -> None:
        self._http = http
        self._address = address
        self._channel: aio.Channel | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        try:
            if request.url.query:
                raise Wordless
            content = await request.aread()
            headers = [(name.lower(), value) for name, value in request.headers.items()]
            metadata = metadata_of(headers)
            call = asked(request.method, request.url.path, content)
        except Wordless:
            return await self._http.handle_async_request(request)
        reply = await self._call(call, metadata)
        if _is_unreached(reply) and await self._is_there():
            reply = await self._call(call, metadata)
        if _is_unreached(reply):
            raise httpx.ConnectError(reply.text, request=request)
        if reply.status == Status.UNAVAILABLE and not reply.has("error.code"):
            raise httpx.ReadError(reply.text, request=request)
        carried = {BINDING: f"gRPC {call.method}"}
        if "retry-after" in reply.headers:
            carried["retry-after"] = reply.headers["retry-after"]
        for name in ("x-ojs-request-id", "x-request-id"):
            carried[name] = reply.headers.get("x-ojs-request-id", "")
        if reply.status != Status.OK:
            status, body = refused(reply.json["error"], _statuses(), reply.status)
        else:
            seen = [await self._seen(request, path) for path in shown_at(call, reply.json)]
            status, body = told(call, reply.json, seen)
        return httpx.Response(
            status,
            headers={"content-type": "application/openjobspec+json", **carried},
            content=msgspec.json.encode(body),
            request=request,
        )

    async def aclose(self) -> None:
        """Close both."""
        if self._channel is not None:
            await self._channel.close()
        await self._http.aclose()

    async def _call(self, call: Asked, metadata: Mapping[str, str]) -> Reply:
        if self._channel is None:
            self._channel = aio.insecure_channel(self._address, options=_RECONNECT)
        stub = Stub([], self._channel, self._address, _SERVICE, metadata)
        return await stub.call(call.method, **call.members)

    async def _is_there(self) -> bool:
        """Tell whether a server can be reached, which may have been started anew."""
        if self._channel is None:
            return False
        try:
            async with asyncio.timeout(_SOON_S):
                await self._channel.channel_ready()
        except TimeoutError:
            return False
        return True

    async def _seen(self, request: httpx.Request, path: str) -> dict[str, Any]:
        """Return what HTTP shows this caller at a path; nothing if it may not see that."""
        names = ("host", "authorization", "x-ojs-tenant")
        headers = {name: request.headers[name] for name in names if name in request.headers}
        asking = httpx.Request("GET", request.url.join(f"/ojs/v1/{path}"), headers=headers)
        answer = await self._http.handle_async_request(asking)
        try:
            content = await answer.aread()
        finally:
            await answer.aclose()
        shown: dict[str, Any] = msgspec.json.decode(content) if answer.status_code == 200 else {}
        return shown


def _is_unreached(reply: Reply) -> bool:
    """Tell whether there was no server that a call could have come to."""
    return reply.status == Status.UNAVAILABLE and "failed to connect" in reply.text


@cache
def _statuses() -> Mapping[str, int]:
    """The status of HTTP that each code has, by the table of the specification."""
    text = own("spec/13-errors.md").read_text("utf-8")
    return {name: int(status) for name, status in _ROW.findall(text)}
