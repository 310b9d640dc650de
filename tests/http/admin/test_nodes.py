"""The list of the servers of the database."""

import asyncio
from itertools import repeat
from typing import Any

import httpx

from ojs_server import __version__
from tests.http.keys import bearer
from tests.http.steps import V1, body, error_of

NODES = f"{V1}/admin/nodes"


async def listed(client: httpx.AsyncClient) -> list[Any]:
    """The servers, once there is one: it announces itself while the test begins."""
    items: list[Any] = []
    async with asyncio.timeout(30):
        for pause_s in repeat(0.002):
            if items := body(await client.get(NODES))["items"]:
                break
            await asyncio.sleep(pause_s)
    return items


async def test_a_server_lists_itself(client: httpx.AsyncClient) -> None:
    (node,) = await listed(client)
    assert (node["state"], node["is_this"], node["version"]) == ("online", True, __version__)
    assert node["host"]
    assert node["pid"] > 0
    assert node["started_at"] <= node["last_seen_at"]
    assert (node["waiting_fetches"], node["event_streams"]) == (0, 0)
    page = body(await client.get(NODES, params={"page": 2}))
    assert (page["items"], page["pagination"]["total"]) == ([], 1)


async def test_it_is_for_those_who_may_look(keyed_client: httpx.AsyncClient) -> None:
    assert (await keyed_client.get(NODES, headers=bearer("viewer"))).status_code == 200
    error_of(await keyed_client.get(NODES, headers=bearer("worker")), 403, "permission_denied")
