"""kill -9 during deliveries: each event arrives, signed, with the same ids."""

from collections import defaultdict

import httpx
import msgspec

from ojs_server.domain.webhooks.webhook import signature
from tests.e2e.node import running, until
from tests.http.target import Posted, listening

JOBS = 12
SECRET = "a-secret-of-mine"
OPTIONS = ("--webhook-private", "--webhook-plain", "--webhook-timeout", "60s")
SUBSCRIPTIONS = "/ojs/v1/webhooks/subscriptions"
# Most concurrent deliveries to one target.
AT_ONCE = 4


async def test_a_killed_server_loses_no_delivery(store_url: str) -> None:
    async with listening() as target:
        # Requests are recorded, but not answered.
        target.hangs = True
        async with (
            running(store_url, *OPTIONS, module="tests.e2e.hasty") as node,
            httpx.AsyncClient(timeout=10) as client,
        ):
            hook = {"url": target.url(), "events": ["job.enqueued"], "secret": SECRET}
            made = await client.post(node.url + SUBSCRIPTIONS, json=hook)
            assert made.status_code == 201, made.text
            jobs = {"jobs": [{"type": "a", "args": []}] * JOBS}
            stored = await client.post(f"{node.url}/ojs/v1/jobs/batch", json=jobs)
            ids = {job["id"] for job in stored.json()["jobs"]}

            async def on_their_way() -> bool:
                return len(target.posted) >= AT_ONCE

            await until(on_their_way, 30)
            await node.kill()
            interrupted = {posted.headers["x-ojs-delivery-id"] for posted in target.posted}
            target.hangs = False
            await node.start()
            done: dict[str, str | int] = {"status": "delivered", "per_page": 100}

            async def delivered() -> bool:
                answer = await client.get(f"{node.url}/ojs/v1/webhooks/deliveries", params=done)
                return len(answer.json()["deliveries"]) == JOBS

            await until(delivered, 60)
            answer = await client.get(f"{node.url}/ojs/v1/webhooks/deliveries", params=done)
    attempts = {one["id"]: one["attempts"] for one in answer.json()["deliveries"]}
    assert all(attempts[name] > 1 for name in interrupted)
    assert {told(posted)["subject"] for posted in target.posted} == ids
    events = defaultdict(set)
    for posted in target.posted:
        assert posted.headers["x-ojs-subscription-id"] == made.json()["id"]
        stamp = int(posted.headers["x-ojs-timestamp"])
        assert posted.headers["x-ojs-signature"] == signature((SECRET,), stamp, posted.body)
        events[posted.headers["x-ojs-delivery-id"]].add(told(posted)["id"])
    # An attempt that is repeated brings the same event, and no event comes under two names.
    assert {len(names) for names in events.values()} == {1}
    assert len(events) == len(set.union(*events.values())) == JOBS


def told(posted: Posted) -> dict[str, str]:
    event: dict[str, str] = msgspec.json.decode(posted.body)
    return event
