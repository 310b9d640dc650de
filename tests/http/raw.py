"""Bytes as they are sent to a server and come back, on one connection."""

import asyncio
from urllib.parse import urlsplit

LONGEST_S = 10


async def heard(url: str, *pieces: bytes) -> bytes:
    """Send the pieces and return all that the server sends until it closes the connection."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        async with asyncio.timeout(LONGEST_S):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            return await reader.read()
    finally:
        writer.close()


def statuses(answers: bytes) -> list[int]:
    """Return the statuses of the answers; their bodies must have no such line."""
    lines = answers.replace(b"}HTTP/1.1 ", b"}\r\nHTTP/1.1 ").split(b"\r\n")
    return [int(line.split()[1]) for line in lines if line.startswith(b"HTTP/1.1 ")]


def request(path: str, body: bytes, *lines: str, method: str = "POST") -> bytes:
    """A request with a body of a known length."""
    head = (f"{method} {path} HTTP/1.1", "Host: localhost", *lines, f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


LAST = b"GET /ojs/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
