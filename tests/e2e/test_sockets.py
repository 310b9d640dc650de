"""Malformed and oversized requests on a raw socket: bounded, and answered with the right status."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from typing import Any
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
        (b"NOSUCHVERB / HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
        (b"POST /ojs/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: many\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx-long: " + b"a" * 80_000, 431),
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


def answer_to_who_sends_all(node: Node, size: int) -> tuple[int, str]:
    """Return the answer to a client that reads nothing before it has sent a body of this size."""
    client = HTTPConnection(urlsplit(node.url).netloc, timeout=20)
    try:
        client.request("POST", "/ojs/v1/jobs", b"a" * size, {"Content-Type": "application/json"})
        answer = client.getresponse()
        return answer.status, json.loads(answer.read())["error"]["code"]
    finally:
        client.close()


async def test_who_sends_too_much_hears_so(sqlite_path: str) -> None:
    async with running(f"sqlite:///{sqlite_path}") as node:
        for size in (17_000_000, 17_000_000, 40_000_000):
            heard = await asyncio.to_thread(answer_to_who_sends_all, node, size)
            assert heard == (413, "payload_too_large")


async def test_who_is_refused_before_the_end_hears_so(sqlite_path: str) -> None:
    chunked = b"POST /ojs/v1/jobs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    sent = {b"GET /": 431, b"this is no HTTP\r\n": 400, chunked + b"1\r\n{\r\nno size\r\n": 400}
    async with running(f"sqlite:///{sqlite_path}") as node:
        for start, status in sent.items():
            got, error = await exchange(node, start + b"a" * 5_000_000)
            assert (got, error["code"]) == (status, "invalid_request")


async def test_who_goes_on_sending_holds_no_stop(sqlite_path: str) -> None:
    head = b"POST /ojs/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999\r\n\r\n"
    async with running(f"sqlite:///{sqlite_path}") as node:
        address = urlsplit(node.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(head + b"a" * 100_000)
        assert (await reader.read()).startswith(b"HTTP/1.1 413 ")
        # It has not closed its side.
        async with asyncio.timeout(4):
            assert await node.stop() == 0
        writer.close()


def a_request(path: str, body: bytes, *lines: str) -> bytes:
    head = "\r\n".join(
        (f"POST {path} HTTP/1.1", "host: localhost", *lines, f"content-length: {len(body)}")
    )
    return head.encode() + b"\r\n\r\n" + body


class Line:
    """One connection, on which request follows request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, sent: bytes) -> tuple[int, dict[str, str], dict[str, Any]]:
        """The status, the head and the body of the answer."""
        self._writer.write(sent)
        async with asyncio.timeout(10):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            lines = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
            body = await self._reader.readexactly(int(lines["content-length"]))
        return int(head.split()[1]), lines, json.loads(body)


@asynccontextmanager
async def line_to(node: Node) -> AsyncIterator[Line]:
    """A connection for one test."""
    address = urlsplit(node.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()


JOB = b'{"type":"a.b","args":[%d]}'


async def test_requests_with_one_head_are_each_their_own(
    sqlite_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OJS_KEYS", f"producer:{'k' * 16}")
    key = f"authorization: Bearer {'k' * 16}"
    async with running(f"sqlite:///{sqlite_path}") as node, line_to(node) as line:
        answers = [await line.say(a_request("/ojs/v1/jobs", JOB % n, key)) for n in range(3)]
        assert [status for status, _, _ in answers] == [201] * 3
        assert len({lines["x-request-id"] for _, lines, _ in answers}) == 3
        assert len({lines["location"] for _, lines, _ in answers}) == 3
        assert [body["job"]["args"] for _, _, body in answers] == [[0], [1], [2]]
        # A wrong request is refused each time, and the next one is accepted.
        for lines, status in (((), 401), ((key, "content-type: text/plain"), 400), ((key,), 201)):
            for number in range(3):
                sent = a_request("/ojs/v1/jobs", JOB % number, *lines)
                assert (await line.say(sent))[0] == status


async def test_a_worker_that_asks_the_same_again_gets_the_next_jobs(sqlite_path: str) -> None:
    async with running(f"sqlite:///{sqlite_path}") as node, line_to(node) as line:
        for number in range(3):
            await line.say(a_request("/ojs/v1/jobs", JOB % number))

        async def fetched(body: bytes, *lines: str) -> list[list[int]]:
            _, _, found = await line.say(a_request("/ojs/v1/workers/fetch", body, *lines))
            return [job["args"] for job in found["jobs"]]

        asked = b'{"queues":["default"],"worker_id":"w1"}'
        others = b'{"queues":["another"],"worker_id":"w1"}'
        assert [await fetched(asked), await fetched(asked)] == [[[0]], [[1]]]
        # Requests of the same length, but for another queue or tenant.
        assert await fetched(others) == []
        assert [await fetched(asked, "x-ojs-tenant: t1") for _ in range(2)] == [[], []]
        assert [await fetched(asked), await fetched(asked)] == [[[2]], []]
