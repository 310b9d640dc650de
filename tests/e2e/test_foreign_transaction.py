"""Readers of the event log go on beside a transaction that an application leaves open."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import psycopg
import pytest

from tests.e2e.node import running, until
from tests.e2e.sse import stream
from tests.e2e.test_webhooks import OPTIONS, SUBSCRIPTIONS, told
from tests.http.target import listening

WITHIN_S = 30
JOB: dict[str, Any] = {"type": "shared.test", "args": []}


@pytest.fixture
def application(postgres_store: str) -> Iterator[None]:
    """A session that has written a row of its own, and neither commits nor ends."""
    with psycopg.connect(postgres_store) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS number")
        yield
        connection.rollback()


@pytest.mark.usefixtures("application")
async def test_all_that_follows_the_log_goes_on_beside_an_open_transaction(
    postgres_store: str,
) -> None:
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(listening())
        node, other = [
            await stack.enter_async_context(running(postgres_store, *OPTIONS)) for _ in "ab"
        ]
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=WITHIN_S))
        url = f"{node.url}/ojs/v1"
        hook = {"url": target.url(), "events": ["job.enqueued"]}
        assert (await client.post(node.url + SUBSCRIPTIONS, json=hook)).status_code == 201
        events = stream(client, f"{url}/events/stream", types="job.*")
        heard = await stack.enter_async_context(events)

        ids = []
        for one in (node, other):
            stored = await client.post(f"{one.url}/ojs/v1/jobs", json=JOB)
            assert stored.status_code == 201, stored.text
            ids.append(stored.json()["job"]["id"])
            name, event = await heard.event()
            assert (name, event["subject"]) == ("job.enqueued", ids[-1])
            # A later reader sees all that an earlier one has seen.
            listed = (await client.get(f"{url}/events", params={"types": "job.*"})).json()
            assert [event["subject"] for event in listed["events"]] == ids

        async def counted() -> bool:
            answer = await client.get(f"{url}/admin/stats/history", params={"period": "1h"})
            enqueued: list[int] = [span["enqueued"] for span in answer.json()["data"]]
            return sum(enqueued) == len(ids)

        await until(counted, WITHIN_S)

        async def posted() -> bool:
            return {told(one)["subject"] for one in target.posted} == set(ids)

        await until(posted, WITHIN_S)
