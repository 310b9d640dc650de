"""The connection of one case to the server: sends, limits, and remembers every exchange."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import httpx
import msgspec

from conformance.verdicts.exchanges import Exchange, Finding, Received, cut

SECONDS_PER_REQUEST = 30.0
MOST_BYTES = 32 * 1024 * 1024
_CHECKED_OF_A_KIND = 50

Clock = Callable[[], float]
Headers = Sequence[tuple[bytes, bytes]]


class Broken(Exception):
    """The reason why there is no answer: the connection failed or hangs, or the body is too
    large."""

    def __init__(self, why: str, *, unreachable: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.unreachable = unreachable


class Checker(Protocol):
    """Checks an exchange against a contract."""

    def findings(self, sent: httpx.Request, received: Received) -> list[Finding]:
        """Return the deviations of the exchange from the contract."""


class Wire:
    """The requests of one case and their answers, in order."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        clock: Clock = time.perf_counter,
        checker: Checker | None = None,
        seconds: float = SECONDS_PER_REQUEST,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.client = client
        self.exchanges: list[Exchange] = []
        self.findings: list[Finding] = []
        self._clock = clock
        self._checker = checker
        self._kinds: dict[tuple[str, int, int], int] = {}
        self._unchecked: list[tuple[httpx.Request, Received, int]] = []
        self._seconds = seconds
        self._most_bytes = most_bytes

    async def send(
        self, method: str, path: str, headers: Headers = (), content: bytes | None = None
    ) -> tuple[Received, int]:
        """Send one request; return the answer and the number of the exchange."""
        try:
            request = self.client.build_request(method, path, headers=headers, content=content)
        except httpx.InvalidURL as error:
            raise Broken(_reason_of(error)) from error
        number = len(self.exchanges)
        self.exchanges.append(_sent(request))
        try:
            async with asyncio.timeout(self._seconds):
                received = await self._receive(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._broken(number, _reason_of(error), unreachable=True) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise self._broken(number, _reason_of(error)) from error
        except TimeoutError as error:
            why = f"no whole answer within {self._seconds:g} seconds"
            raise self._broken(number, why) from error
        except Broken as error:
            raise self._broken(number, error.why) from error
        self.exchanges[number] = _answered(self.exchanges[number], received)
        kind = (method, path.partition("?")[0].count("/"), received.status)
        self._kinds[kind] = self._kinds.get(kind, 0) + 1
        # Equal calls by the thousand show nothing new, and checking them takes time.
        if self._checker is not None and self._kinds[kind] <= _CHECKED_OF_A_KIND:
            self._unchecked.append((request, received, number))
        return received, number

    async def check(self) -> None:
        """Check all exchanges against the contract, after sending, which this would slow down."""
        unchecked, self._unchecked = self._unchecked, []
        if self._checker is not None and unchecked:
            self.findings += await asyncio.to_thread(_checked, self._checker, unchecked)

    async def _receive(self, request: httpx.Request) -> Received:
        started = self._clock()
        response = await self.client.send(request, stream=True)
        duration = self._clock() - started
        content = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > self._most_bytes:
                    raise Broken(f"an answer of more than {self._most_bytes} bytes")
        finally:
            await response.aclose()
        return Received(
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            content=bytes(content),
            duration_ms=int(duration * 1000),
        )

    def _broken(self, number: int, why: str, *, unreachable: bool = False) -> Broken:
        self.exchanges[number] = msgspec.structs.replace(self.exchanges[number], trouble=why)
        return Broken(why, unreachable=unreachable)


def _checked(
    checker: Checker, unchecked: list[tuple[httpx.Request, Received, int]]
) -> list[Finding]:
    found: dict[tuple[str, str, str, str], Finding] = {}
    for request, received, number in unchecked:
        for finding in checker.findings(request, received):
            key = (request.method, finding.pointer, finding.at, finding.message)
            found.setdefault(key, msgspec.structs.replace(finding, exchange=number))
    return list(found.values())


def _sent(request: httpx.Request) -> Exchange:
    return Exchange(
        method=request.method,
        url=str(request.url),
        request_headers=dict(request.headers),
        request_body=cut(request.content),
    )


def _answered(exchange: Exchange, received: Received) -> Exchange:
    return msgspec.structs.replace(
        exchange,
        status=received.status,
        headers=received.headers,
        body=cut(received.content),
        duration_ms=received.duration_ms,
    )


def _reason_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
