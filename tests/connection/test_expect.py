"""`Expect: 100-continue`: a client whose request is refused sends no body."""

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.connection.connection import Connection
from tests.http.listening import on_a_socket
from tests.http.raw import LAST, heard, request, statuses
from tests.http.reading import Reading
from tests.http.steps import JOBS, stored_jobs

JOB = b'{"type":"a","args":[]}'
EXPECT = "Expect: 100-continue"


def head_of(sent: bytes, body: bytes = JOB) -> bytes:
    return sent[: -len(body)]


@pytest.mark.parametrize(
    ("path", "lines", "status"),
    [
        ("/no/such/path", (), 404),
        (JOBS, ("OJS-Version: 9.0",), 422),
        (JOBS, ("Content-Type: text/plain",), 400),
    ],
)
async def test_who_is_refused_before_sending_is_told_that_the_connection_ends(
    server: Server, client: httpx.AsyncClient, path: str, lines: tuple[str, ...], status: int
) -> None:
    head = head_of(request(path, JOB, EXPECT, *lines))
    async with on_a_socket(server) as url:
        answer = await heard(url, head)
        assert statuses(answer) == [status]
        assert answer.count(b"connection: close\r\n") == 1
        assert await stored_jobs(client) == 0


async def test_who_is_told_to_go_on_keeps_the_connection(
    server: Server, client: httpx.AsyncClient
) -> None:
    sent = request(JOBS, JOB, EXPECT)
    async with on_a_socket(server) as url:
        for pieces in ((head_of(sent), JOB), (sent,)):
            answer = await heard(url, *pieces, LAST)
            assert statuses(answer) == [100, 201, 200]
        assert await stored_jobs(client) == 2


async def test_a_body_that_has_come_is_no_reason_to_end(server: Server) -> None:
    async with on_a_socket(server) as url:
        for sent in (request("/no/such/path", JOB, EXPECT), request("/no/such/path", b"", EXPECT)):
            assert statuses(await heard(url, sent + LAST)) == [404, 200]


async def test_a_stream_that_left_a_body_unread_ends_the_connection() -> None:
    # It is told in two messages, as streams are.
    reading = Reading(Connection)
    await reading.take([(head_of(request("/unread", JOB, EXPECT)), True)])
    assert b"connection: close\r\n" in reading.wire.written
    assert reading.wire.closed


async def test_an_older_client_is_not_told_to_go_on(server: Server) -> None:
    sent = request(JOBS, JOB, EXPECT).replace(b"HTTP/1.1", b"HTTP/1.0")
    async with on_a_socket(server) as url:
        assert statuses(await heard(url, head_of(sent), JOB)) == [201]
