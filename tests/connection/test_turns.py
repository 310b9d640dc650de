"""Pipelined requests: the limit on heads excludes bodies, and refusals are answered in order."""

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.connection.connection import Connection
from ojs_server.connection.framing import MAX_HEAD
from tests.http.listening import on_a_socket
from tests.http.raw import LAST, heard, request, statuses
from tests.http.reading import Reading
from tests.http.steps import JOBS, stored_jobs

GET = b"GET /b HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


def long_head(size: int, *, method: bytes = b"GET") -> bytes:
    begin = b"%b /b HTTP/1.1\r\nHost: localhost\r\nX-Long: " % method
    return begin + b"a" * (size - len(begin) - 4) + b"\r\n\r\n"


def answers(reading: Reading) -> list[int]:
    # The application's answers end with this word.
    return statuses(reading.wire.written.replace(b"ok", b"}"))


async def take(*pieces: bytes) -> Reading:
    reading = Reading(Connection)
    await reading.take([(piece, False) for piece in pieces])
    return reading


@pytest.mark.parametrize("before", [b"", GET, request("/a", b"x" * 60_000)])
@pytest.mark.parametrize("size", [100, 6000, MAX_HEAD + 100])
async def test_a_head_within_the_limit_is_taken_in_whatever_pieces(
    before: bytes, size: int
) -> None:
    sent = before + long_head(MAX_HEAD) + GET
    reading = await take(*(sent[at : at + size] for at in range(0, len(sent), size)))
    assert not reading.wire.closed
    assert answers(reading) == [200] * (3 if before else 2)


@pytest.mark.parametrize("before", [b"", GET, request("/a", b"x" * 60_000)])
@pytest.mark.parametrize("size", [100, 6000, MAX_HEAD + 100, 4 * MAX_HEAD])
@pytest.mark.parametrize(
    "head",
    [
        long_head(MAX_HEAD + 1),
        long_head(2 * MAX_HEAD),
        b"GET /%b HTTP/1.1\r\n\r\n" % (b"a" * 70_000),
    ],
    ids=["just", "line", "url"],
)
async def test_a_head_over_the_limit_is_refused_behind_the_answers_before(
    before: bytes, head: bytes, size: int
) -> None:
    sent = before + head + GET
    reading = await take(*(sent[at : at + size] for at in range(0, len(sent), size)))
    assert reading.wire.closed
    assert answers(reading) == ([200, 431] if before else [431])
    assert len(reading.told) == (1 if before else 0)


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (b"this is not HTTP\r\n\r\n", 400),
        (CHUNKED + b"no number\r\n", 400),
        (CHUNKED + b"0\r\nX: " + b"a" * 2 * MAX_HEAD + b"\r\n\r\n", 431),
        (long_head(2 * MAX_HEAD), 431),
        (b"CONNECT x:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n", 400),
    ],
    ids=["junk", "chunk", "trailer", "head", "tunnel"],
)
@pytest.mark.parametrize("before", [SLOW, SLOW + GET, SLOW + GET + request("/a", b"body")])
async def test_a_refusal_waits_for_its_turn(before: bytes, bad: bytes, status: int) -> None:
    reading = await take(before + bad, GET, b"more\r\n\r\n")
    assert (reading.wire.written, reading.wire.closed) == (b"", False)
    reading.answer.set()
    await reading.settled()
    count = before.count(b"HTTP/1.1")
    assert answers(reading) == [200] * count + [status]
    assert reading.wire.closed
    assert len(reading.told) == count


async def test_a_body_that_breaks_off_is_refused_at_once() -> None:
    reading = Reading(Connection)
    await reading.take([(CHUNKED + b"4\r\nbody\r\n", True), (b"no number\r\n", True)])
    assert reading.wire.closed
    assert answers(reading) == [400]


@pytest.mark.parametrize("way", ["soon", "wait"])
async def test_a_refusal_waits_for_a_request_that_was_taken(way: str) -> None:
    reading = Reading(Connection, [way])
    await reading.take([(GET, False), (b"this is not HTTP\r\n\r\n", True)])
    assert reading.taken == 1
    assert answers(reading) == [200, 400]


async def test_whoever_goes_hears_no_refusal() -> None:
    reading = await take(SLOW + b"this is not HTTP\r\n\r\n")
    reading.protocol.connection_lost(None)
    reading.answer.set()
    await reading.settled()
    assert b" 400 " not in reading.wire.written


async def test_a_job_is_answered_before_what_follows_it_is_refused(
    server: Server, client: httpx.AsyncClient
) -> None:
    job = request(JOBS, b'{"type":"a","args":["%b"]}' % (b"x" * 60_000))
    async with on_a_socket(server) as url:
        head, end = long_head(6000)[:-4], b"\r\nConnection: close\r\n\r\n"
        assert statuses(await heard(url, job + head, end)) == [201, 404]
        assert statuses(await heard(url, job + long_head(100_000), LAST)) == [201, 431]
        assert statuses(await heard(url, job + b"this is not HTTP\r\n\r\n" + LAST)) == [201, 400]
        assert statuses(await heard(url, long_head(100_000))) == [431]
        assert await stored_jobs(client) == 3
