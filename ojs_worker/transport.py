"""How requests travel: a small contract, and its form over httpx.

Whoever needs another way (a test, a faster client, an API object of their own) writes these two
methods.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import httpx
import msgspec

from ojs_worker.access import Access, Auth, Headers
from ojs_worker.errors import Unreachable

CONNECT_S: Final = 5.0
ANSWER_S: Final = 30.0
_CONNECTIONS: Final = httpx.Limits(max_connections=200, max_keepalive_connections=100)


class Reply(msgspec.Struct, frozen=True):
    """An answer, whatever its status."""

    status: int
    body: bytes = b""
    retry_after_s: float | None = None

    @property
    def well(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300


class Transport(Protocol):
    """Sends requests. No answer is `Unreachable`; every answer, also a refusal, is a `Reply`."""

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Headers | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Reply:
        """Send one request."""
        ...

    async def close(self) -> None:
        """Give the connections up."""
        ...


class BlockingTransport(Protocol):
    """The same for programs without an event loop."""

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Headers | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Reply:
        """Send one request."""
        ...

    def close(self) -> None:
        """Give the connections up."""
        ...


class HttpTransport:
    """Over httpx. The connections belong to the event loop that first uses them."""

    def __init__(
        self,
        url: str,
        auth: Auth | None = None,
        *,
        headers: Headers | None = None,
        connect_s: float = CONNECT_S,
        asgi_app: Any = None,
    ) -> None:
        self._url = base_url(url)
        self._access = Access(auth, headers)
        self._connect_s = connect_s
        self._asgi_app = asgi_app
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Headers | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Reply:
        """Send one request."""
        sent = await self._access.headers()
        try:
            response = await self._connections().request(
                method,
                self._url + path,
                content=body,
                headers={**sent, **headers} if headers else sent,
                timeout=httpx.Timeout(timeout_s, connect=min(self._connect_s, timeout_s)),
            )
        except httpx.HTTPError as error:
            raise _unreachable(self._url, error) from error
        return _reply(response)

    async def close(self) -> None:
        """Give the connections up; those of a loop that is gone went with it."""
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.aclose()
        self._client = None

    def _connections(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            app = self._asgi_app
            self._client = httpx.AsyncClient(
                limits=_CONNECTIONS, transport=httpx.ASGITransport(app=app) if app else None
            )
        return self._client


class BlockingHttpTransport:
    """Over httpx, for programs without an event loop; safe to use from many threads."""

    def __init__(
        self,
        url: str,
        auth: Auth | None = None,
        *,
        headers: Headers | None = None,
        connect_s: float = CONNECT_S,
    ) -> None:
        self._url = base_url(url)
        self._access = Access(auth, headers)
        self._connect_s = connect_s
        self._client = httpx.Client(limits=_CONNECTIONS)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Headers | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Reply:
        """Send one request."""
        try:
            response = self._client.request(
                method,
                self._url + path,
                content=body,
                headers={**self._access.blocking_headers(), **(headers or {})},
                timeout=httpx.Timeout(timeout_s, connect=min(self._connect_s, timeout_s)),
            )
        except httpx.HTTPError as error:
            raise _unreachable(self._url, error) from error
        return _reply(response)

    def close(self) -> None:
        """Give the connections up."""
        self._client.close()


class Api(Protocol):
    """An API object that a program has already: connections, headers for each request, and what
    it does about refusals. The connections are an `httpx.Client`, `httpx.AsyncClient` or
    alike."""

    @property
    def http(self) -> Any:
        """The connections; `request(method, url, content=…, headers=…)` is called."""
        ...

    @property
    def base_url(self) -> str:
        """Where the server is."""
        ...

    def get_headers(self) -> Mapping[str, str]:
        """The headers of the next request."""
        ...

    def raise_for_status(self, response: Any) -> object:
        """Raise whatever the program wants to see for a refused request."""
        ...


class ApiTransport:
    """Sends through an API object of the program's own.

    The object sees refusals with 401 and 403 only: all others are part of the protocol.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Headers | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Reply:
        """Send one request; blocking connections are used in a thread."""
        api = self._api
        call = _bound(api, method, path, body, headers, timeout_s)
        try:
            if _awaits(api.http):
                response = await call()
            else:
                response = await asyncio.to_thread(call)
        except httpx.HTTPError as error:
            raise _unreachable(api.base_url, error) from error
        if response.status_code in (401, 403):
            api.raise_for_status(response)
        return _reply(response)

    async def close(self) -> None:
        """The connections are the program's, so they stay open."""


class SteadyTransport:
    """Another transport whose every failure is an `Unreachable`, so that a token that cannot be
    had just now stops no loop of a worker."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Headers | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Reply:
        """Send one request."""
        try:
            return await self._transport.send(
                method, path, body, headers=headers, timeout_s=timeout_s
            )
        except Unreachable:
            raise
        except Exception as error:
            raise Unreachable(f"{type(error).__name__}: {error}", sent=True) from error

    async def close(self) -> None:
        """Give the connections up."""
        await self._transport.close()


def _awaits(http: Any) -> bool:
    return asyncio.iscoroutinefunction(getattr(http, "request", None))


def _bound(
    api: Api, method: str, path: str, body: bytes | None, headers: Headers | None, timeout_s: float
) -> Callable[[], Any]:
    url = base_url(str(api.base_url)) + path
    sent = {**Access().blocking_headers(), **api.get_headers(), **(headers or {})}
    return lambda: api.http.request(method, url, content=body, headers=sent, timeout=timeout_s)


def base_url(url: str) -> str:
    """The server's address without what the calls add themselves."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"the server's URL must begin with http:// or https://, not {url!r}")
    return url.rstrip("/").removesuffix("/ojs/v1")


def retry_after(value: str) -> float | None:
    """The seconds of a Retry-After header."""
    # A date is allowed here as well; without a clock of the server's it says little.
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    return None


def _reply(response: httpx.Response) -> Reply:
    after = response.headers.get("retry-after") if response.status_code >= 400 else None
    seconds = None if after is None else retry_after(after)
    return Reply(response.status_code, response.content, seconds)


def _unreachable(url: str, error: httpx.HTTPError) -> Unreachable:
    reason = str(error) or type(error).__name__
    sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return Unreachable(f"no answer from {url}: {reason}", sent=sent)
