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

from conformance.data_files import data_path
from conformance.rpc.client import Stub
from conformance.rpc.requests import NotExpressible, RpcCall, call_of, metadata_of
from conformance.rpc.responses import http_answer, paths_of, refused
from conformance.verdicts.grpc_skips import BINDING
from conformance.verdicts.grpc_statuses import Status
from conformance.verdicts.reply import Reply

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
                raise NotExpressible
            content = await request.aread()
            headers = [(name.lower(), value) for name, value in request.headers.items()]
            metadata = metadata_of(headers)
            call = call_of(request.method, request.url.path, content)
            if call.method == "CancelJob" and await self._is_cancelled(request, call.id):
                # HTTP refuses what succeeds over gRPC.
                raise NotExpressible
        except NotExpressible:
            return await self._http.handle_async_request(request)
        reply = await self._call(call, metadata)
        if _is_unreached(reply) and await self._is_there():
            reply = await self._call(call, metadata)
        if _is_unreached(reply):
            raise httpx.ConnectError(reply.text, request=request)
        if reply.status == Status.UNAVAILABLE and not reply.has("error.code"):
            raise httpx.ReadError(reply.text, request=request)
        response_headers = {BINDING: f"gRPC {call.method}"}
        if "retry-after" in reply.headers:
            response_headers["retry-after"] = reply.headers["retry-after"]
        for name in ("x-ojs-request-id", "x-request-id"):
            response_headers[name] = reply.headers.get("x-ojs-request-id", "")
        if reply.status != Status.OK:
            status, body = refused(reply.json["error"], _statuses(), reply.status)
        else:
            shown = [await self._shown(request, path) for path in paths_of(call, reply.json)]
            status, body = http_answer(call, reply.json, shown)
        return httpx.Response(
            status,
            headers={"content-type": "application/openjobspec+json", **response_headers},
            content=msgspec.json.encode(body),
            request=request,
        )

    async def aclose(self) -> None:
        """Close both."""
        if self._channel is not None:
            await self._channel.close()
        await self._http.aclose()

    async def _call(self, call: RpcCall, metadata: Mapping[str, str]) -> Reply:
        if self._channel is None:
            self._channel = aio.insecure_channel(self._address, options=_RECONNECT)
        stub = Stub([], self._channel, self._address, _SERVICE, metadata)
        return await stub.call(call.method, **call.members)

    async def _is_cancelled(self, request: httpx.Request, job_id: str) -> bool:
        """Tell whether a job is cancelled already."""
        shown = await self._shown(request, f"jobs/{job_id}")
        return bool(shown.get("state") == "cancelled")

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

    async def _shown(self, request: httpx.Request, path: str) -> dict[str, Any]:
        """Return what HTTP shows this caller at a path; nothing if it may not see that."""
        names = ("host", "authorization", "x-ojs-tenant")
        headers = {name: request.headers[name] for name in names if name in request.headers}
        lookup = httpx.Request("GET", request.url.join(f"/ojs/v1/{path}"), headers=headers)
        answer = await self._http.handle_async_request(lookup)
        try:
            content = await answer.aread()
        finally:
            await answer.aclose()
        body: dict[str, Any] = msgspec.json.decode(content) if answer.status_code == 200 else {}
        return body


def _is_unreached(reply: Reply) -> bool:
    """Tell whether there was no server that a call could have come to."""
    return reply.status == Status.UNAVAILABLE and "failed to connect" in reply.text


@cache
def _statuses() -> Mapping[str, int]:
    """The status of HTTP that each code has, by the table of the specification."""
    text = data_path("spec/13-errors.md").read_text("utf-8")
    return {name: int(status) for name, status in _ROW.findall(text)}
