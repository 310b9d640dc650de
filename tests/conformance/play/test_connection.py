"""Connections of a case's own: every address of a host is tried, also by a narrow one."""

import asyncio
import socket
from typing import Any

import httpx
import pytest

from conformance.play.connection import connect
from conformance.processes.ports import reserve_port

HERE = "127.0.0.1"


def resolving(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """Have every name stand for these ports of this machine."""

    async def found(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (HERE, port)) for port in ports]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)


async def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async with await asyncio.start_server(hello, HERE, 0) as server:
        port = server.sockets[0].getsockname()[1]
        resolving(monkeypatch, reserve_port(), port)
        reader, writer = await connect(httpx.URL(f"http://name:{port}"), narrow=True)
        assert await reader.read() == b"hello"
        writer.close()


@pytest.mark.parametrize("count", [0, 2])
async def test_where_nobody_answers_it_is_told(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    resolving(monkeypatch, *(reserve_port() for _ in range(count)))
    with pytest.raises(OSError, match=r"has no address|refused|[Cc]onnect"):
        await connect(httpx.URL("http://name:80"), narrow=True)
