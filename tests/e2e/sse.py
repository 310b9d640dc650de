"""A client of event streams over a real socket: it reads, comes back, or reads nothing at all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec

LONGEST_S = 30


class Reader:
    """One client's way through a stream; it remembers its place as a browser does."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self.last_id: str | None = None
        self.retry: int | None = None
        self._lines = lines

    async def event(self) -> tuple[str, Any]:
        """The next event's name and data; EOFError at the end of the stream."""
        name, data = "", None
        async with asyncio.timeout(LONGEST_S):
            async for line in self._lines:
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "id":
                    self.last_id = value
                elif field == "event":
                    name = value
                elif field == "data":
                    data = msgspec.json.decode(value)
                elif field == "retry":
                    self.retry = int(value)
                elif not line and name:
                    return name, data
        raise EOFError


@asynccontextmanager
async def stream(
    client: httpx.AsyncClient, url: str, last_id: str | None = None, **query: str
) -> AsyncIterator[Reader]:
    """An open stream, after its first line."""
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    async with client.stream("GET", url, headers=headers, params=query) as response:
        assert response.status_code == 200
        lines = response.aiter_lines()
        reader = Reader(lines)
        async with asyncio.timeout(LONGEST_S):
            assert await anext(lines) == "retry: 3000"
        yield reader
