"""Malformed bodies: each is refused with its reason, and nothing is stored.

The refusals of single fields are tested with their resources; these are about bodies as such.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.http.routes import ROUTES
from ojs_server.systems import blackboard
from ojs_wire.codec import MAX_DEPTH
from tests.http.conftest import ALL_CALLS, Serve, connect
from tests.http.steps import JOBS, V1, WORKERS, Json, body, enqueue, error_of, job_id, stored_jobs

ALL = (*ROUTES, *blackboard.ROUTES)
BODIES = {
    "nothing": b"",
    "blank": b" \r\n\t",
    "cut off": b'{"type":"a","args":[',
    "trailing comma": b'{"type":"a","args":[],}',
    "two objects": b'{"type":"a","args":[]}{}',
    "comment": b'{"type":"a","args":[] /* why */}',
    "single quotes": b"{'type':'a','args':[]}",
    "bare word": b"jobs",
    "array": b'[{"type":"a","args":[]}]',
    "string": b'"type"',
    "number": b"5",
    "null": b"null",
    "NaN": b'{"type":"a","args":[NaN]}',
    "Infinity": b'{"type":"a","args":[Infinity]}',
    "beyond a double": b'{"type":"a","args":[1e999]}',
    "beyond 64 bits": b'{"type":"a","args":[18446744073709551616]}',
    "below 64 bits": b'{"type":"a","args":[-9223372036854775809]}',
    "endless digits": b'{"type":"a","args":[' + b"9" * 100_000 + b"]}",
    "leading zero": b'{"type":"a","args":[01]}',
    "raw control character": b'{"type":"a","args":["\x01"]}',
    "raw NUL": b'{"type":"a","args":["\x00"]}',
    "NUL between": b'{"type":"a",\x00"args":[]}',
    "byte order mark": b'\xef\xbb\xbf{"type":"a","args":[]}',
    "UTF-16": '{"type":"a","args":[]}'.encode("utf-16"),
    "latin-1": '{"type":"a","args":["é"]}'.encode("latin-1"),
    "overlong UTF-8": b'{"type":"a","args":["\xc0\xaf"]}',
    "encoded surrogate": b'{"type":"a","args":["\xed\xa0\x80"]}',
    "escaped high surrogate": b'{"type":"a","args":["\\ud800"]}',
    "escaped low surrogate": b'{"type":"a","args":["\\udc00"]}',
    "surrogate in a key": b'{"type":"a","args":[{"\\ud800":1}]}',
    "bad escape": b'{"type":"a","args":["\\x41"]}',
    "deep arrays": b'{"type":"a","args":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "deep objects": b'{"type":"a","args":[],"meta":' + b'{"a":' * 999 + b"1" + b"}" * 1000,
    "a bomb that is not closed": b'{"a":' + b"[" * 500_000,
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    "form": b"type=a&args=",
}


async def test_what_is_not_an_object_in_json_is_refused(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for name in BODIES:
        with subtests.test(name=name):
            error = error_of(await client.post(JOBS, content=BODIES[name]), 400, "invalid_payload")
            assert error["retryable"] is False
            assert error["message"].startswith("the body ")
            assert await stored_jobs(client) == 0


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    """A server with all calls of the contract."""
    async with serve(profile=ALL_CALLS) as running:
        yield running


async def test_every_route_with_a_body_refuses_bad_json(client: httpx.AsyncClient) -> None:
    await client.post(f"{WORKERS}/heartbeat", json={"worker_id": job_id(9)})
    # Without keys there is no login, and the body of a logout is ignored.
    own = (f"{V1}/login", f"{V1}/logout")
    routes = [one for one in ALL if one.method in ("POST", "PATCH") and one.path not in own]
    assert len(routes) > 20
    for route in routes:
        path = route.path.replace("{id}", job_id(9)).replace("{name}", "email")
        for content in (b"{", b"[]", b'{"a":"\xff"}', b'{"a":1e999}'):
            response = await client.request(route.method, path, content=content)
            error_of(response, 400, "invalid_payload")


async def test_the_deepest_body_that_is_allowed_comes_back(client: httpx.AsyncClient) -> None:
    def nested(levels: int) -> list[Any]:
        deep: list[Any] = []
        for _ in range(levels - 1):
            deep = [deep]
        return deep

    # The object around `args` is a level, too.
    assert (await enqueue(client, args=nested(MAX_DEPTH - 1)))["args"] == nested(MAX_DEPTH - 1)
    response = await client.post(JOBS, json={"type": "a", "args": nested(MAX_DEPTH)})
    error = error_of(response, 400, "invalid_payload")
    assert str(MAX_DEPTH) in error["message"]


async def test_the_last_of_two_keys_counts(client: httpx.AsyncClient) -> None:
    content = b'{"type":"a","args":[1],"args":[2],"queue":"x","queue":"y"}'
    job = body(await client.post(JOBS, content=content))["job"]
    assert (job["args"], job["queue"]) == ([2], "y")


async def test_a_declared_length_over_the_limit_is_refused_unread(serve: Serve) -> None:
    async with serve(max_body_bytes=1000) as server:
        for length in (b"1001", b"99999999999999999999999999", b"9" * 5000, b"-1", b"ten"):
            answered = await _send(server, [(b"content-length", length)], _never)
            assert answered == (413, 0)


async def test_a_body_over_the_limit_is_not_read_to_its_end(serve: Serve) -> None:
    async with serve(max_body_bytes=1000) as server, connect(server) as client:
        assert await _send(server, [], lambda: b" " * 100) == (413, 11)
        assert await _send(server, [(b"content-length", b"900")], lambda: b"x" * 500) == (413, 3)
        just = b'{"type":"a","args":["' + b"x" * 976 + b'"]}'
        assert len(just) == 1000
        assert (await client.post(JOBS, content=just)).status_code == 201
        error = error_of(await client.post(JOBS, content=just + b" "), 413, "payload_too_large")
        assert error["details"] == {"limit": 1000}
        assert await stored_jobs(client) == 1


async def test_a_body_in_many_pieces_is_put_together(client: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for byte in '{"type":"a","args":["ü€😀"]}'.encode():
            yield bytes([byte])

    response = await client.post(JOBS, content=pieces())
    assert body(response)["job"]["args"] == ["ü€😀"]


async def test_whoever_leaves_while_sending_stores_nothing(
    client: httpx.AsyncClient, server: Server
) -> None:
    messages: list[Json] = [
        {"type": "http.request", "body": b'{"type":"a","args":[]}', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Json:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await Application(server)(_scope([]), receive, send)
    assert sent == []
    assert await stored_jobs(client) == 0


NUL = "a\0b"
STRINGS: list[tuple[str, Json]] = [
    (JOBS, {"type": NUL, "args": []}),
    (JOBS, {"type": "a", "args": [], "id": NUL}),
    (JOBS, {"type": "a", "args": [], "queue": NUL}),
    (JOBS, {"type": "a", "args": [], "schema": NUL}),
    (JOBS, {"type": "a", "args": [], "specversion": NUL}),
    (JOBS, {"type": "a", "args": [NUL], "meta": {NUL: NUL}, NUL: {NUL: [NUL]}}),
    (JOBS, {"type": "a", "args": [], "options": {"tags": [NUL], "metadata": {NUL: NUL}}}),
    (JOBS, {"type": "a", "args": [], "options": {"scheduled_at": NUL}}),
    (JOBS, {"type": "a", "args": [], "options": {"timeout": NUL}}),
    (JOBS, {"type": "a", "args": [], "options": {"rate_limit": {NUL: NUL}}}),
    (JOBS, {"type": "a", "args": [], "retry": {"non_retryable_errors": [NUL]}}),
    (JOBS, {"type": "a", "args": [], "retry": {"on_exhaustion": NUL}}),
    (JOBS, {"type": "a", "args": [], "unique": {"keys": ["args"], "args_keys": [NUL]}}),
    (JOBS, {"type": "a", "args": [], "unique": {"keys": [NUL]}}),
    (f"{WORKERS}/fetch", {"queues": [NUL]}),
    (f"{WORKERS}/fetch", {"queues": ["a"], "worker_id": NUL}),
    (f"{WORKERS}/fetch", {"queues": ["a"], "fetch_id": NUL}),
    (f"{WORKERS}/fetch", {"queues": ["a"], "job_types": [NUL]}),
    (f"{WORKERS}/fetch", {"queues": ["a"], "runtime": {NUL: NUL}}),
    (f"{WORKERS}/ack", {"job_id": NUL}),
    (f"{WORKERS}/ack", {"job_id": job_id(1), "worker_id": NUL}),
    (f"{WORKERS}/ack", {"job_id": job_id(1), "result": {NUL: NUL}}),
    (f"{WORKERS}/nack", {"job_id": job_id(1), "error": NUL}),
    (f"{WORKERS}/nack", {"job_id": job_id(1), "error": {"code": NUL, "type": NUL}}),
    (f"{WORKERS}/nack", {"job_id": job_id(1), "error": {"message": NUL, "details": {NUL: NUL}}}),
    (f"{WORKERS}/nack", {"job_id": job_id(1), "error": {"backtrace": [NUL]}}),
    (f"{WORKERS}/heartbeat", {"worker_id": NUL}),
    (f"{WORKERS}/heartbeat", {"worker_id": "w", "state": NUL}),
    (f"{WORKERS}/heartbeat", {"worker_id": "w", "active_job_ids": [NUL]}),
    (f"{WORKERS}/heartbeat", {"worker_id": "w", "active_jobs": [NUL], "job_id": NUL}),
    (f"{WORKERS}/register", {"worker_id": NUL}),
    (f"{WORKERS}/register", {"hostname": NUL, "version": NUL, "started_at": NUL}),
    (f"{WORKERS}/register", {"queues": [NUL], "labels": [NUL], "job_types": [NUL]}),
    (f"{WORKERS}/register", {"metadata": {NUL: NUL}}),
    (f"{WORKERS}/deregister", {"worker_id": NUL, "reason": NUL}),
    (f"{V1}/admin/workers/directive", {"directive": NUL}),
]


async def test_a_nul_character_anywhere_is_kept_or_refused(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for path, request_body in STRINGS:
        with subtests.test(path=path, request_body=request_body):
            response = await client.post(path, json=request_body)
            assert response.status_code in (200, 201, 400, 404, 422), response.text
            if response.status_code == 201:
                job = body(await client.get(response.headers["location"]))["job"]
                given = {**request_body, **request_body.get("options", {})}
                given["meta"] = given.pop("metadata", given.get("meta", {}))
                for name in given.keys() & {"args", "meta", "schema", "tags", "rate_limit", NUL}:
                    assert job[name] == given[name]


async def _send(
    server: Server, headers: list[tuple[bytes, bytes]], piece: Callable[[], bytes]
) -> tuple[int, int]:
    """Return the status of an endless request, and the number of pieces that were read of it."""
    read = 0
    statuses: list[int] = []

    async def receive() -> Json:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": piece(), "more_body": True}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            # A client that is refused while it still sends must not reuse the connection.
            assert (b"connection", b"close") in message["headers"]

    await Application(server)(_scope(headers), receive, send)
    return statuses[0], read


def _never() -> bytes:
    raise AssertionError("the body was read")


def _scope(headers: list[tuple[bytes, bytes]]) -> Json:
    return {
        "type": "http",
        "method": "POST",
        "path": JOBS,
        "query_string": b"",
        "headers": headers,
    }
