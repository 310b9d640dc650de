"""Large bodies share a budget, so that many at once are refused instead of filling the memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.connection.body_budget import SMALL, BodyBudget
from ojs_server.connection.connection import Connection
from tests.http.conftest import Serve, connect
from tests.http.listening import on_a_socket
from tests.http.reading import Reading
from tests.http.steps import JOBS, Json, enqueue, error_of, stored_jobs
from tests.http.waiting import until

BUDGET = 1_000_000
FILLING: Json = {"type": "a", "args": ["x" * (BUDGET - SMALL)]}
SCOPE = {"type": "http", "method": "POST", "path": JOBS, "query_string": b"", "headers": []}
LARGE: Json = {"type": "a", "args": ["x" * (SMALL + 1)]}


@pytest.fixture
async def tight(serve: Serve) -> AsyncIterator[Server]:
    """A server that holds few large bodies."""
    async with serve(max_body_bytes=BUDGET, max_bodies_bytes=BUDGET) as server:
        yield server


@asynccontextmanager
async def held(server: Server) -> AsyncIterator[Callable[[], None]]:
    """Send a request with a large body, all but its end, and yield a function that sends the
    rest."""
    more = asyncio.Event()
    pieces = [(b" " * (BUDGET - SMALL), True), (b'{"type":"a","args":[]}', False)]

    async def receive() -> Json:
        if len(pieces) == 1:
            await more.wait()
        piece, goes_on = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": goes_on}

    async def send(message: Any) -> None:
        """Drop the answer."""

    request = asyncio.create_task(Application(server)(SCOPE, receive, send))
    await until(lambda: server.services.bodies.held > 0)
    yield more.set
    more.set()
    await request


async def test_a_large_body_is_refused_while_others_use_the_budget(tight: Server) -> None:
    async with connect(tight) as client:
        async with held(tight):
            response = await client.post(JOBS, json=LARGE)
            error = error_of(response, 503, "overloaded")
            assert error["retryable"] is True
            assert response.headers["retry-after"] == "1"
            assert response.headers["connection"] == "close"
            # Small ones are not counted.
            await enqueue(client, args=["x" * (SMALL - 1000)])
        assert tight.services.bodies.held == 0
        assert (await client.post(JOBS, json=LARGE)).status_code == 201
        assert await stored_jobs(client) == 3


async def test_a_body_holds_its_share_until_its_answer_has_left(tight: Server) -> None:
    for end, status in ((b'{"type":"a","args":[]}', 201), (b"[]", 400)):
        body = b" " * SMALL + end
        seen: list[tuple[Any, int]] = []

        async def receive(body: bytes = body) -> Json:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any, seen: list[tuple[Any, int]] = seen) -> None:
            seen.append((message.get("status"), tight.services.bodies.held))

        await Application(tight)(SCOPE, receive, send)
        assert seen == [(status, len(body)), (None, len(body))]
        assert tight.services.bodies.held == 0


async def test_who_leaves_or_is_refused_gives_the_share_back(tight: Server) -> None:
    for last in (
        {"type": "http.disconnect"},
        {"type": "http.request", "body": b"x" * BUDGET, "more_body": True},
    ):
        messages: list[Json] = [
            {"type": "http.request", "body": b"x" * SMALL * 2, "more_body": True},
            last,
        ]

        async def receive(messages: list[Json] = messages) -> Json:
            return messages.pop(0)

        async def send(message: Any) -> None:
            """Drop the answer."""

        await Application(tight)(SCOPE, receive, send)
        assert messages == []
        assert tight.services.bodies.held == 0


async def test_who_is_refused_for_the_budget_hears_so(tight: Server) -> None:
    async with on_a_socket(tight) as url, held(tight), httpx.AsyncClient() as client:
        response = await client.post(f"{url}{JOBS}", json=FILLING)
        assert error_of(response, 503, "overloaded")["retryable"] is True


async def test_the_budget_has_room_for_the_largest_body() -> None:
    budget = BodyBudget(BUDGET - 1, BUDGET)
    budget.take(BUDGET)
    budget.give(BUDGET)
    assert budget.held == 0


@pytest.mark.parametrize(("size", "taken"), [(SMALL, 2), (SMALL + 1, 0)])
async def test_requests_with_large_bodies_are_not_taken(size: int, taken: int) -> None:
    request = (
        b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size
    )
    reading = Reading(Connection, ["once"] * 2)
    await reading.read([(request, True), (request, True)])
    assert (reading.taken, len(reading.told)) == (taken, 2)
