"""Trailers of chunked bodies: they are ignored and their size is limited."""

import pytest

from ojs_server.connection.connection import Connection
from ojs_server.connection.framing import MAX_HEAD
from ojs_server.http.access.keys import parse_keys
from tests.http.conftest import Serve, connect
from tests.http.keys import KEYS, bearer
from tests.http.listening import on_a_socket
from tests.http.raw import LAST, heard, statuses
from tests.http.reading import Reading
from tests.http.steps import JOBS, stored_jobs

GET = b"GET /b HTTP/1.1\r\nHost: localhost\r\n\r\n"
JOB = b'{"type":"a","args":[]}'


def in_chunks(path: str, *lines: bytes, body: bytes = b"body", trailers: bytes = b"\r\n") -> bytes:
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n" % path.encode()
    head += b"".join(line + b"\r\n" for line in (*lines, b"Transfer-Encoding: chunked"))
    return head + b"\r\n%x\r\n%b\r\n0\r\n" % (len(body), body) + trailers


async def test_trailers_are_no_headers() -> None:
    trailers = b"Host: y\r\nX-Ojs-Tenant: other\r\nExpect: 100-continue\r\n\r\n"
    sent = in_chunks("/a", trailers=trailers) + GET
    for pieces in ([sent], [bytes([byte]) for byte in sent]):
        reading = Reading(Connection)
        await reading.take([(piece, False) for piece in pieces])
        assert [one[-2:] for one in reading.told] == [
            ([(b"host", b"localhost"), (b"transfer-encoding", b"chunked")], b"body"),
            ([(b"host", b"localhost")], b""),
        ]
        assert reading.wire.written.count(b"200 OK") == 2


async def test_a_key_in_a_trailer_opens_nothing(serve: Serve) -> None:
    line = f"Authorization: {bearer('admin')['Authorization']}\r\n\r\n".encode()
    async with serve(keys=parse_keys("", KEYS)) as server, on_a_socket(server) as url:
        assert statuses(await heard(url, in_chunks(JOBS, body=JOB, trailers=line) + LAST))[0] == 401
        async with connect(server) as client:
            client.headers.update(bearer("admin"))
            assert await stored_jobs(client) == 0


LONG: dict[str, bytes] = {
    "one long value": b"X-Long: " + b"a" * 2 * MAX_HEAD,
    "one long name": b"a" * 2 * MAX_HEAD,
    "many": b"X: %b\r\n" % (b"a" * 100) * (2 * MAX_HEAD // 100),
    "many that end": b"X: %b\r\n" % (b"a" * 100) * (2 * MAX_HEAD // 100) + b"\r\n",
}


@pytest.mark.parametrize("size", [1000, MAX_HEAD])
@pytest.mark.parametrize("trailers", LONG.values(), ids=LONG)
async def test_trailers_have_an_end(trailers: bytes, size: int) -> None:
    sent = in_chunks("/a", trailers=trailers)
    reading = Reading(Connection)
    await reading.take([(sent[at : at + size], True) for at in range(0, len(sent), size)])
    assert reading.wire.closed
    assert statuses(reading.wire.written) == [431]
    assert b"connection: close" in reading.wire.written


async def test_trailers_that_come_at_once_have_an_end() -> None:
    reading = Reading(Connection)
    await reading.take([(in_chunks("/a", trailers=LONG["many that end"]), True)])
    assert reading.wire.closed
    assert statuses(reading.wire.written) == [431]


async def test_an_answer_that_was_given_has_no_second_one() -> None:
    sent = in_chunks("/unread", trailers=LONG["one long value"])
    reading = Reading(Connection)
    await reading.take([(sent[at : at + 1000], True) for at in range(0, len(sent), 1000)])
    assert reading.wire.closed
    assert reading.wire.written.count(b"HTTP/1.1 ") == 1
    assert b"200 OK" in reading.wire.written


async def test_what_is_said_of_a_chunk_has_an_end() -> None:
    head, end = in_chunks("/a").split(b"4\r\n")
    reading = Reading(Connection)
    await reading.take([(head + b"4;x=", True), *[(b"a" * 1000, True)] * 80, (b"\r\n" + end, True)])
    assert reading.wire.closed
    assert statuses(reading.wire.written) == [431]


async def test_long_bodies_in_short_chunks_and_short_trailers_are_read() -> None:
    head, _, _ = in_chunks("/a").partition(b"4\r\n")
    sent = head + b"1\r\nx\r\n" * 20_000 + b"0\r\nX-Sum: 1\r\n\r\n" + GET
    for size in (7, 1000, len(sent)):
        reading = Reading(Connection)
        await reading.take([(sent[at : at + size], False) for at in range(0, len(sent), size)])
        assert [one[-1] for one in reading.told] == [b"x" * 20_000, b""]
        assert not reading.wire.closed


@pytest.mark.parametrize(
    "codings",
    [("gzip, chunked",), ("gzip", "chunked"), ("chunked, chunked",), ("chunked", "chunked")],
)
async def test_bodies_in_other_codings_are_refused(codings: tuple[str, ...]) -> None:
    lines = [f"Transfer-Encoding: {coding}".encode() for coding in codings]
    sent = in_chunks("/a", *lines).replace(b"Transfer-Encoding: chunked\r\n\r\n", b"\r\n")
    reading = Reading(Connection)
    await reading.take([(sent + GET, True)])
    assert reading.wire.closed
    assert statuses(reading.wire.written) == [400]
    assert reading.told == []
    if "gzip, chunked" in codings:
        assert b"Transfer-Encoding" in reading.wire.written


async def test_the_coding_in_chunks_has_its_name_in_any_case() -> None:
    reading = Reading(Connection)
    await reading.take([(in_chunks("/a").replace(b"chunked", b"Chunked") + GET, True)])
    assert [one[-1] for one in reading.told] == [b"body", b""]
