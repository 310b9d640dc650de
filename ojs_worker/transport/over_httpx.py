"""Requests over httpx: through proxies, and with connections that a program has already."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final, Protocol

import httpx

from ojs_worker.errors import Unreachable, refusal
from ojs_worker.transport import (
    CONNECT_S,
    CONNECTIONS,
    Reply,
    Request,
    base_url,
    no_answer,
    retry_after,
)
from ojs_worker.transport.access import Access, Auth, Headers

_CONNECTIONS: Final = httpx.Limits(
    max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS // 2
)


class HttpTransport:
    """Over httpx. The connections belong to the event loop that first uses them."""

    def __init__(
        self,
        url: str,
        auth: Auth | None = None,
        *,
        headers: Headers | None = None,
        connect_s: float = CONNECT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._url = base_url(url)
        self._access = Access(auth, headers)
        self._connect_s = connect_s
        self._verify = tls or True
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        sent = await self._access.headers()
        try:
            response = await self._connections().request(
                request.method,
                self._url + request.path,
                content=request.body,
                headers={**sent, **(request.headers or {})},
                timeout=_limits(request, self._connect_s),
            )
        except httpx.HTTPError as error:
            raise _unreachable(self._url, error) from None
        return _reply(response)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the parts of a stream."""
        sent = await self._access.headers()
        try:
            async with self._connections().stream(
                request.method,
                self._url + request.path,
                headers={**sent, **(request.headers or {})},
                timeout=_limits(request, self._connect_s),
            ) as response:
                if not response.is_success:
                    await response.aread()
                    reply = _reply(response)
                    raise refusal(reply.status, reply.body, reply.retry_after_s)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx.HTTPError as error:
            raise _unreachable(self._url, error) from None

    async def close(self) -> None:
        """Close the connections; those of a closed event loop are closed already."""
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.aclose()
        self._client = None

    def _connections(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = httpx.AsyncClient(verify=self._verify, limits=_CONNECTIONS)
        return self._client


class Api(Protocol):
    """An API object of the program: connections, headers for each request, and its reaction to
    refusals.

    The connections are an `httpx.Client`, `httpx.AsyncClient` or alike.
    """

    @property
    def http(self) -> Any:
        """The connections; `request(method, url, content=…, headers=…)` is called."""
        ...

    @property
    def base_url(self) -> str:
        """The URL of the server."""
        ...

    def get_headers(self) -> Mapping[str, str]:
        """The headers of the next request."""
        ...

    def raise_for_status(self, response: Any) -> object:
        """Raise the program's exception for a refused request."""
        ...


class ApiTransport:
    """Sends through an API object of the program's own.

    The object sees refusals with 401 and 403 only: all others are part of the protocol.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    async def send(self, request: Request) -> Reply:
        """Send one request; blocking connections are used in a thread."""
        api = self._api
        call = _bound(api, request)
        try:
            if _awaits(api.http):
                response = await call()
            else:
                response = await asyncio.to_thread(call)
        except httpx.HTTPError as error:
            raise _unreachable(api.base_url, error) from None
        if response.status_code in (401, 403):
            api.raise_for_status(response)
        return _reply(response)

    async def close(self) -> None:
        """Leave the connections open, because they are the program's."""


def _awaits(http: Any) -> bool:
    return asyncio.iscoroutinefunction(getattr(http, "request", None))


def _bound(api: Api, request: Request) -> Callable[[], Any]:
    sent = {**Access().blocking_headers(), **api.get_headers(), **(request.headers or {})}
    return lambda: api.http.request(
        request.method,
        base_url(str(api.base_url)) + request.path,
        content=request.body,
        headers=sent,
        timeout=request.timeout_s,
    )


def _limits(request: Request, connect_s: float) -> httpx.Timeout:
    return httpx.Timeout(request.timeout_s, connect=min(connect_s, request.timeout_s))


def _reply(response: httpx.Response) -> Reply:
    after = response.headers.get("retry-after") if response.status_code >= 400 else None
    seconds = None if after is None else retry_after(after)
    return Reply(response.status_code, response.content, seconds)


def _unreachable(url: str, error: httpx.HTTPError) -> Unreachable:
    sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return no_answer(url, error, sent=sent)
