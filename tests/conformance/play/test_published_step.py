"""Tests of the request that one step sends, and of the answer as a value."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from conformance.language.template import Scope
from conformance.play.published_step import Trouble, exchange
from conformance.play.wire import Wire
from conformance.verdicts.assertions import Answer
from tests.conformance.cases import one_step
from tests.conformance.fake_server import FakeServer, FakeTime, Reply, Request, failing_client

OPENJOBSPEC = "application/openjobspec+json"


async def sent(action: str = "POST", scope: Scope | None = None, **keys: Any) -> Request:
    """Play one step and return what the server received."""
    server = FakeServer()
    async with server.client() as client:
        await exchange(
            one_step(action, **keys), scope or Scope(), Wire(client, clock=FakeTime().clock)
        )
    (request,) = server.requests
    return request


async def test_the_body_goes_out_as_it_is_spelled() -> None:
    request = await sent(path="/jobs?x=1&y=a", body={"b": 1.0, "a": [None]})
    assert request.line == "POST /jobs?x=1&y=a"
    assert request.body == b'{"b":1.0,"a":[null]}'
    assert request.headers["content-type"] == OPENJOBSPEC


async def test_a_given_content_type_is_kept() -> None:
    request = await sent(body={}, headers={"content-type": "application/json", "X-A": "é"})
    assert request.headers["content-type"] == "application/json"


async def test_without_a_body_there_is_no_content_type() -> None:
    request = await sent("DELETE")
    assert request.body == b""
    assert "content-type" not in request.headers


async def test_raw_body_is_sent_instead_of_json() -> None:
    request = await sent(raw_body="{not json {{x}}", body={"a": 1})
    assert request.body == b"{not json {{x}}"
    assert request.headers["content-type"] == OPENJOBSPEC


async def test_an_empty_raw_body_is_an_empty_body() -> None:
    assert (await sent(raw_body="", body={"a": 1})).body == b""


async def test_references_are_filled_in_path_and_body_but_not_in_headers() -> None:
    scope = Scope(frozenset({"id"}))
    scope.capture("id", "$.id", {"id": "j-1"})
    request = await sent(
        path="/jobs/${id}", scope=scope, body={"id": "{{id}}", "n": 1}, headers={"X-Id": "{{id}}"}
    )
    assert request.path == "/jobs/j-1"
    assert request.body == b'{"id":"j-1","n":1}'
    assert request.headers["x-id"] == "{{id}}"


async def test_the_answer_is_read_whole() -> None:
    server = FakeServer({"GET /jobs": Reply(201, json={"a": 1}, headers={"X-Odd": "Yes"})})
    async with server.client() as client:
        answer = await exchange(one_step(), Scope(), Wire(client, clock=FakeTime().clock))
    assert answer == Answer(201, {"x-odd": "Yes"}, '{"a":1}', {"a": 1}, 0, exchange=0)


class SlowBody(httpx.AsyncByteStream):
    """A body whose reading takes seven seconds."""

    def __init__(self, time: FakeTime) -> None:
        self._time = time

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await self._time.sleep(7)
        yield b'{"a":1}'


async def test_the_duration_ends_with_the_headers() -> None:
    time = FakeTime()

    async def slow(_: httpx.Request) -> httpx.Response:
        await time.sleep(0.2509)
        return httpx.Response(200, stream=SlowBody(time))

    transport = httpx.MockTransport(slow)
    async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
        answer = await exchange(one_step(), Scope(), Wire(client, clock=time.clock))
    assert answer == Answer(200, {}, '{"a":1}', {"a": 1}, 250, exchange=0)


async def test_an_unresolved_reference_is_never_sent() -> None:
    server = FakeServer()
    step = one_step(path="/jobs/{{steps.a.response.body.id}}")
    async with server.client() as client:
        trouble = await exchange(step, Scope(), Wire(client, clock=FakeTime().clock))
    assert server.requests == []
    assert isinstance(trouble, Trouble)
    assert not trouble.unreachable
    assert str(trouble.failure) == (
        "[s1] template: expected a value for steps.a.response.body.id, "
        "got nothing (step 'a' has no answer)"
    )


@pytest.mark.parametrize(
    ("error", "unreachable", "told"),
    [
        (lambda _: httpx.ConnectError("refused"), True, "ConnectError: refused"),
        (lambda _: httpx.ConnectTimeout(""), True, "ConnectTimeout"),
        (lambda _: httpx.ReadTimeout(""), False, "ReadTimeout"),
        (lambda _: httpx.RemoteProtocolError("cut"), False, "RemoteProtocolError: cut"),
    ],
)
async def test_transport_trouble_is_a_value(
    error: Callable[[httpx.Request], Exception], unreachable: bool, told: str
) -> None:
    async with failing_client(error) as client:
        trouble = await exchange(one_step(), Scope(), Wire(client, clock=FakeTime().clock))
    assert isinstance(trouble, Trouble)
    assert trouble.unreachable is unreachable
    assert str(trouble.failure) == f"[s1] transport: expected an answer, got {told}"


async def test_a_path_that_is_no_url_is_trouble() -> None:
    async with FakeServer().client() as client:
        trouble = await exchange(
            one_step(path="/a\nb"), Scope(), Wire(client, clock=FakeTime().clock)
        )
    assert isinstance(trouble, Trouble)
    assert trouble.failure.actual.startswith("InvalidURL: ")
