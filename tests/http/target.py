"""A webhook's target on the loopback interface: remembers what is posted to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Posted:
    """One request."""

    line: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Target:
    """A target of webhooks: its port, the answer that it gives, and the requests that it got."""

    port: int = 0
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    posted: list[Posted] = field(default_factory=list)
    hangs: bool = False
    scheme: str = "http"

    def url(self, host: str = "127.0.0.1") -> str:
        """Return the URL of the target under a host name."""
        return f"{self.scheme}://{host}:{self.port}/hook?a=b"


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None = None) -> AsyncIterator[Target]:
    """A target that runs."""
    target = Target(scheme="https" if tls else "http")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *rest = head.split("\r\n")
            headers = {
                name.lower(): value for name, _, value in (one.partition(": ") for one in rest)
            }
            body = await reader.readexactly(int(headers["content-length"]))
            target.posted.append(Posted(line, headers, body))
            if target.hangs:
                await reader.read()
            writer.write(target.answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    target.port = server.sockets[0].getsockname()[1]
    try:
        yield target
    finally:
        server.close()
