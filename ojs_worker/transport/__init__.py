"""The interface of transports: programs that need another one implement its two methods."""

import re
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, suppress
from typing import Final, Protocol, runtime_checkable

import msgspec

from ojs_worker.errors import NotFound, Refused, Unreachable
from ojs_worker.transport.access import Headers

CONNECT_S: Final = 5.0
ANSWER_S: Final = 30.0
# Limit of one try of a repeatable call; the deadline allows several tries.
TRY_S: Final = 10.0
# Statuses of a server that does not have the call.
NO_SUCH_CALL: Final = frozenset({404, 405, 501})
# Messages of libraries if all addresses of a host refused the connection.
_REFUSED: Final = ("Connect call failed", "All connection attempts failed", "Connection refused")
_USER: Final = re.compile(r"//[^/]*@")
# Most connections of one transport.
CONNECTIONS: Final = 200
# Many servers close a connection that was idle for longer, and a request on it would be lost.
IDLE_S: Final = 4.0


class Request(msgspec.Struct, frozen=True):
    """One request; `path` begins at the server's root, `headers` come on top of the usual ones."""

    method: str
    path: str
    body: bytes | None = None
    headers: Headers | None = None
    timeout_s: float = ANSWER_S


class Reply(msgspec.Struct, frozen=True):
    """An answer, whatever its status."""

    status: int
    body: bytes = b""
    retry_after_s: float | None = None

    @property
    def well(self) -> bool:
        """True if the status of the answer is 2xx."""
        return 200 <= self.status < 300


class Transport(Protocol):
    """Sends requests. Raises `Unreachable` without an answer; every answer, also a refusal, is a
    `Reply`."""

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@runtime_checkable
class StreamingTransport(Transport, Protocol):
    """A transport that also reads streams."""

    def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of an answer as they come, each within `timeout_s` of the one before.

        Raises `Refused` if the server refuses, `Unreachable` if the stream breaks.
        """
        ...


class BlockingTransport(Protocol):
    """Sends requests for programs without an event loop."""

    def send(self, request: Request) -> Reply:
        """Send one request."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@runtime_checkable
class BlockingStreamingTransport(BlockingTransport, Protocol):
    """A transport for programs without an event loop that also reads streams."""

    def stream(self, request: Request) -> Generator[bytes, None, None]:
        """Yield the parts of a stream, as `StreamingTransport.stream` does."""
        ...


class SteadyTransport:
    """A transport that turns every failure of another one into `Unreachable`, so that a token that
    is missing for a while ends no loop of a worker."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        try:
            return await self._transport.send(request)
        except Unreachable:
            raise
        except Exception as error:
            raise _unexpected(error) from error

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Read a stream; raises if the other transport cannot."""
        if not isinstance(self._transport, StreamingTransport):
            raise NotFound("this transport reads no streams")
        try:
            async with aclosing(self._transport.stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
        except (Unreachable, Refused):
            raise
        except Exception as error:
            raise _unexpected(error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


def _unexpected(error: Exception) -> Unreachable:
    return Unreachable(f"{type(error).__name__}: {error}", sent=True)


def no_answer(url: str, error: BaseException, *, sent: bool) -> Unreachable:
    """Return the exception for a missing answer of the server at a URL."""
    return Unreachable(f"no answer from {without_key(url)}: {reason_of(error)}", sent=sent)


def without_key(urls: str) -> str:
    """Return the URL of a server, or of several, without the users and passwords in it."""
    return _USER.sub("//", urls)


def reason_of(error: BaseException) -> str:
    """Return the reason for a missing answer, in few words."""
    text = str(error)
    if isinstance(error, ConnectionRefusedError) or any(words in text for words in _REFUSED):
        return "nobody listens there (connection refused)"
    return text or type(error).__name__


def urls_of(setting: str) -> list[str]:
    """Return the URLs of the servers that a setting names, with commas between them."""
    urls = [base_url(url.strip()) for url in setting.split(",") if url.strip()]
    return urls or [base_url(setting)]


def joined(url: str | Sequence[str] | None) -> str | None:
    """Return the URLs of several servers as one setting."""
    return url if url is None or isinstance(url, str) else ",".join(url)


def base_url(url: str) -> str:
    """Return the server's URL without the parts that calls add themselves."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"the server's URL must begin with http:// or https://, not {url!r}")
    return url.rstrip("/").removesuffix("/ojs/v1")


def retry_after(value: str) -> float | None:
    """Return the seconds of a Retry-After header."""
    # A date is ignored, because it means little without the server's clock.
    with suppress(ValueError):
        return max(0.0, float(value))
    return None
