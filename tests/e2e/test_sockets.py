"""What comes over a socket before there is a request: bounded, and answered in kind."""

import asyncio
import json
from urllib.parse import urlsplit

import pytest

from tests.e2e.node import Node, running


async def exchange(node: Node, sent: bytes) -> tuple[int, dict[str, object]]:
    """Send raw bytes; the status and the error object of the answer."""
    address = urlsplit(node.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(sent)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/openjobspec+json" in head
    return int(head.split()[1]), json.loads(body)["error"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"this is not HTTP\r\n\r\n", 400),
        (b"NOSUCHVERB / HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"POST /ojs/v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"a" * 80_000, 431),
        (b"GET /" + b"a" * 80_000, 431),
    ],
)
async def test_a_bad_head_is_answered_and_costs_no_memory(
    sqlite_path: str, sent: bytes, status: int
) -> None:
    async with running(f"sqlite:///{sqlite_path}") as node:
        got, error = await exchange(node, sent)
        assert got == status
        assert error["code"] == "invalid_request"
        assert error["retryable"] is False
        assert await node.holds_waiting(0), "the server goes on"
