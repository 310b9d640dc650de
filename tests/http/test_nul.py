"""NUL characters, which PostgreSQL cannot store: a path with one is not found, and no query
fails."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.http.routes import ROUTES
from ojs_server.systems import blackboard
from tests.http.conftest import ALL_CALLS, Serve
from tests.http.socketing import talk

ALL = (*ROUTES, *blackboard.ROUTES)
PARAMETER = re.compile(r"\{\w+\}")
FILTERS = (
    *("after", "cursor", "event_type", "group", "job_type", "key", "name", "period", "queue"),
    *("since", "state", "status", "subject", "tag", "tenant", "type", "types", "until"),
    *("namespace", "prefix", "worker_id", "worker", "subscription_id", "uri", "version"),
)


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    """A server with all calls of the contract."""
    async with serve(profile=ALL_CALLS) as running:
        yield running


@pytest.mark.parametrize("written", ["%00", "01a1f0c0-0000-7000-8000-00000000000%00"])
async def test_a_path_with_a_nul_is_not_found(client: httpx.AsyncClient, written: str) -> None:
    answered = {}
    for route in ALL:
        if "{" in route.path:
            path = PARAMETER.sub(written, route.path)
            response = await client.request(route.method, path, content=b"{}")
            answered[route.method, route.path] = response.status_code
    assert {call: status for call, status in answered.items() if status != 404} == {}
    assert len(answered) > 100


async def test_no_query_with_a_nul_fails(client: httpx.AsyncClient) -> None:
    failed = []
    for route in ALL:
        # Streams begin to answer, and go on.
        if "{" in route.path or route.method != "GET" or route.waits or route.alias_of:
            continue
        for name in FILTERS:
            response = await client.get(f"{route.path}?{name}=a%00")
            if response.status_code >= 500:
                failed.append((route.path, name))
    assert failed == []


async def test_no_channel_with_a_nul_fails(server: Server) -> None:
    async with talk(server) as heard:
        for channel in ("queue:a\0", "job:a\0"):
            answer = await heard.subscribe(channel)
            assert (answer["type"], answer["code"]) == ("error", "not_found")
