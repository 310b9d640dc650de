"""TCP connections for one case; a narrow one has small buffers, so that a slow reader soon lags."""

import asyncio
import socket
from typing import Final

import httpx

_SECONDS: Final = 10.0
# Small buffers at both ends: a sender's buffer holds a few segments of the agreed size, which on a
# loopback is 64 KiB.
_WINDOW: Final = 4096
_SEGMENT: Final = 536


async def connect(
    url: httpx.URL, *, narrow: bool = False
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the server of a URL; OSError and TimeoutError say that there is none."""
    secure = url.scheme == "https"
    port = url.port or (443 if secure else 80)
    async with asyncio.timeout(_SECONDS):
        if not narrow:
            return await asyncio.open_connection(url.host, port, ssl=secure or None)
        return await asyncio.open_connection(
            sock=await _narrow(url.host, port),
            ssl=secure or None,
            server_hostname=url.host if secure else None,
            limit=_WINDOW,
        )


async def _narrow(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    why = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        made = socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WINDOW)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
            await loop.sock_connect(made, address)
        except OSError as error:
            made.close()
            why = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise why
