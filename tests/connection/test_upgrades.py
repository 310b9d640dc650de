"""Requests to upgrade the protocol: the server declines and serves the request as it is."""

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.connection.connection import Connection
from tests.http.listening import on_a_socket
from tests.http.raw import LAST, heard, request, statuses
from tests.http.reading import Reading
from tests.http.steps import JOBS, WORKERS, stored_jobs

JOB = b'{"type":"a","args":[]}'
JAVA = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAA")
GET = b"GET /b HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = (
    b"POST /c HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: x\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
)
SENT = request("/a?b=c%20d", b"body", *JAVA) + GET + CHUNKED + GET + request("/a", b"end", *JAVA)


async def told(*pieces: bytes) -> list[tuple[str, bytes]]:
    """Path and body of each request that the application saw."""
    reading = Reading(Connection)
    await reading.read([(piece, False) for piece in pieces])
    assert reading.wire.written.count(b"200 OK") == len(reading.told)
    return [(one[2], one[-1]) for one in reading.told]


async def test_an_offer_is_declined_in_whatever_pieces_it_comes() -> None:
    wanted = [("/a", b"body"), ("/b", b""), ("/c", b"body"), ("/b", b""), ("/a", b"end")]
    assert await told(SENT) == wanted
    assert await told(*(bytes([byte]) for byte in SENT)) == wanted
    for place in range(1, len(SENT)):
        assert await told(SENT[:place], SENT[place:]) == wanted


async def test_the_application_hears_all_but_the_offer() -> None:
    readings = []
    for lines in (JAVA, (JAVA[0], JAVA[2])):
        reading = Reading(Connection)
        await reading.read([(request("/a?b=c%20d", b"body", "X-Same: 1", *lines, "X-Same:"), True)])
        readings.append(reading.told)
    assert readings[0] == readings[1]


async def test_an_offer_is_declined_where_it_is_made_again() -> None:
    reading = Reading(Connection)
    await reading.read([(request("/a", b"body", *JAVA), True), (GET, True)] * 3)
    assert [one[-1] for one in reading.told] == [b"body", b""] * 3


async def test_many_offers_may_come_at_once() -> None:
    reading = Reading(Connection)
    reading.protocol.data_received(request("/a", b"", *JAVA) * 1500)
    for _ in range(1500):
        await reading.settled()
    assert len(reading.told) == 1500


@pytest.mark.parametrize("lines", [JAVA, ("Connection: upgrade", "Upgrade: websocket, x")])
async def test_a_job_with_an_offer_is_stored(
    server: Server, client: httpx.AsyncClient, lines: tuple[str, ...]
) -> None:
    async with on_a_socket(server) as url:
        answers = await heard(url, request(JOBS, JOB, *lines) + LAST)
        assert statuses(answers) == [201, 200]
        assert await stored_jobs(client) == 1


async def test_no_body_is_run_as_a_request(server: Server, client: httpx.AsyncClient) -> None:
    hidden = request(JOBS, JOB)
    sent = request(f"{WORKERS}/heartbeat", hidden, "Connection: upgrade", "Upgrade: x")
    head = sent[: -len(hidden)]
    async with on_a_socket(server) as url:
        assert statuses(await heard(url, sent + LAST)) == [400, 200]
        assert statuses(await heard(url, head, hidden, LAST)) == [400, 200]
        assert await stored_jobs(client) == 0


async def test_tunnels_are_refused(server: Server, client: httpx.AsyncClient) -> None:
    async with on_a_socket(server) as url:
        answer = await heard(
            url, b"CONNECT x:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n", request(JOBS, JOB)
        )
        assert statuses(answer) == [400]
        assert b"CONNECT" in answer.partition(b"\r\n\r\n")[2]
        assert b"connection: close" in answer
        assert await stored_jobs(client) == 0
