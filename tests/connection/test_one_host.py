"""Heads with more than one host, key or origin are refused."""

import json

import pytest

from ojs_server.app import Server
from tests.http.listening import on_a_socket
from tests.http.raw import LAST, heard, request, statuses
from tests.http.steps import JOBS
from tests.users_stores import on_one_store

JOB = b'{"type":"a","args":[]}'
GOOD = request(JOBS, JOB)
HOST = b"Host: localhost\r\n"
SOCKET = (
    b"GET /ojs/v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
KEYS = b"Authorization: Bearer one\r\nauthorization: Bearer two\r\n"


def beside(sent: bytes, lines: bytes) -> bytes:
    return sent.replace(HOST, HOST + lines)


@on_one_store
@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (GOOD.replace(HOST, b""), "no Host"),
        (beside(GOOD, HOST), "Host more than once"),
        (beside(GOOD, b"HOST: evil.example\r\n"), "Host more than once"),
        (beside(GOOD, KEYS), "Authorization more than once"),
        (beside(GOOD, b"Origin: http://a\r\nOrigin: http://b\r\n"), "Origin more than once"),
        (beside(SOCKET, b"Host: evil.example\r\n"), "Host more than once"),
        (beside(SOCKET, KEYS), "Authorization more than once"),
        (SOCKET.replace(HOST, b""), "no Host"),
    ],
)
async def test_what_is_missing_or_said_twice_is_refused(
    server: Server, sent: bytes, told: str
) -> None:
    async with on_a_socket(server) as url:
        answer = await heard(url, sent)
        # Also where the connection was trusted before.
        later = await heard(url, GOOD, GOOD, sent)
    assert (statuses(answer), statuses(later)) == ([400], [201, 201, 400])
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.split(b"\r\n")
    error = json.loads(body)["error"]
    assert error["code"] == "invalid_request"
    assert told in error["message"]


async def test_an_older_client_need_not_name_a_host(server: Server) -> None:
    async with on_a_socket(server) as url:
        sent = GOOD.replace(HOST, b"").replace(b"HTTP/1.1", b"HTTP/1.0")
        assert statuses(await heard(url, sent)) == [201]


async def test_other_headers_may_come_more_than_once(server: Server) -> None:
    async with on_a_socket(server) as url:
        sent = beside(GOOD, b"Via: 1.1 a\r\nVia: 1.1 b\r\nAccept: */*\r\nAccept: */*\r\n")
        assert statuses(await heard(url, sent, LAST)) == [201, 200]


LARGE = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n{"
ANSWERS = [
    (request(JOBS, JOB, "Connection: close"), 201),
    (request(JOBS, b"{", "Connection: close"), 400),
    (LAST, 200),
    (LAST.replace(b"/health", b"/nothing"), 404),
    (b"nonsense\r\n\r\n", 400),
    (LARGE, 413),
    (GOOD.replace(HOST, b"Host: localhost\r\nX-Long: " + b"x" * 70_000 + b"\r\n"), 431),
    (SOCKET.replace(b"localhost", b"evil.example"), 403),
]


@on_one_store
@pytest.mark.parametrize(("sent", "status"), ANSWERS)
async def test_no_answer_is_kept_or_taken_for_something_else(
    server: Server, sent: bytes, status: int
) -> None:
    async with on_a_socket(server) as url:
        answer = await heard(url, sent)
    assert statuses(answer) == [status]
    lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert lines.count(b"x-content-type-options: nosniff") == 1
    assert lines.count(b"cache-control: no-store") == 1
