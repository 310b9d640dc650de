"""Webhooks over HTTP: subscriptions, their secrets, and deliveries to a real target."""

import hashlib
import hmac
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from ojs_server.app import Server
from ojs_server.domain.webhooks.delivery import Reply
from ojs_server.domain.webhooks.target import Reach
from ojs_server.domain.webhooks.webhook import signature
from ojs_server.environment import machine
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from ojs_server.webhooks.client import WebhookClient
from tests.http.conftest import connect
from tests.http.keys import bearer
from tests.http.steps import V1, Json, body, enqueue, error_of, refused
from tests.http.target import Target, listening
from tests.http.waiting import until

SUBSCRIPTIONS = f"{V1}/webhooks/subscriptions"
DELIVERIES = f"{V1}/webhooks/deliveries"
SECRET = "a-secret-of-mine"
HOOK = {"url": "https://example.com/hook", "events": ["job.enqueued"]}


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    """Run a target of webhooks."""
    async with listening() as running:
        yield running


@pytest.fixture
async def sender(store_url: str) -> AsyncIterator[Server]:
    """A server that sends webhooks, to this machine too."""
    settings = Settings(webhook_private=True, webhook_plain=True, webhook_timeout_ms=5_000)
    server = Server(settings, open_store(store_url))
    async with server.running():
        yield server


async def subscribe(client: httpx.AsyncClient, **given: Any) -> Json:
    response = await client.post(SUBSCRIPTIONS, json={**HOOK, **given})
    assert response.status_code == 201, response.text
    assert response.headers["location"] == f"{SUBSCRIPTIONS}/{body(response)['id']}"
    return body(response)


async def deliveries(client: httpx.AsyncClient, **query: str) -> list[Json]:
    found: list[Json] = body(await client.get(DELIVERIES, params=query))["deliveries"]
    return found


async def test_a_subscription_is_made_read_changed_and_deleted(client: httpx.AsyncClient) -> None:
    made = await subscribe(client, filter={"queues": ["q"]}, metadata={"team": "growth"})
    one = f"{SUBSCRIPTIONS}/{made['id']}"
    found = body(await client.get(one))
    assert found["subscription"]["filter"] == {"queues": ["q"], "job_types": []}
    assert found["active"] is True
    changed = body(await client.patch(one, json={"active": False, "events": ["job.*"]}))
    assert (changed["active"], changed["events"], changed["url"]) == (False, ["job.*"], HOOK["url"])
    assert changed["metadata"] == {"team": "growth"}
    # Sent back as it was read, as an admin UI does.
    assert (await client.put(one, json={**found["subscription"]})).status_code == 200
    listed = body(await client.get(SUBSCRIPTIONS))
    assert [item["id"] for item in listed["subscriptions"]] == [made["id"]]
    assert listed["pagination"]["total"] == 1
    assert body(await client.delete(one))["deleted"] is True
    error_of(await client.get(one), 404, "not_found")
    error_of(await client.patch(one, json={}), 404, "not_found")
    error_of(await client.delete(one), 404, "not_found")


async def test_the_secret_is_shown_once(client: httpx.AsyncClient) -> None:
    made = await subscribe(client)
    secret = made["secret"]
    assert secret.startswith("whsec_")
    assert len(secret) > 40
    one = f"{SUBSCRIPTIONS}/{made['id']}"
    rotated = body(await client.post(f"{one}/rotate-secret"))
    assert rotated["secret"] not in (secret, None)
    assert rotated["old_secret_until"] is not None
    own = body(await client.post(f"{one}/rotate-secret", json={"secret": "my-own-secret"}))
    assert own["subscription"]["secret"] == "my-own-secret"
    for response in (
        await client.get(one),
        await client.get(SUBSCRIPTIONS),
        await client.patch(one, json={"active": False}),
        await client.get(f"{V1}/events"),
        await client.delete(one),
    ):
        assert "secret" not in response.text.replace("old_secret_until", "")
        assert secret not in response.text


@pytest.mark.parametrize(
    ("given", "status", "code", "field"),
    [
        ({"url": None}, 400, "invalid_request", "url"),
        ({"url": "http://example.com/"}, 400, "invalid_request", "url"),
        ({"url": "https://127.0.0.1/"}, 400, "invalid_request", "url"),
        ({"url": "https://169.254.169.254/latest"}, 400, "invalid_request", "url"),
        ({"events": ["webhook.dead"]}, 400, "invalid_request", "events"),
        ({"filter": {"queue": "q"}}, 422, "validation_error", "filter.queue"),
        ({"secret": "short"}, 400, "invalid_request", "secret"),
        ({"metadata": {"a": "x" * 20_000}}, 413, "payload_too_large", "metadata"),
    ],
)
async def test_a_wrong_subscription_is_refused(
    client: httpx.AsyncClient, given: Json, status: int, code: str, field: str
) -> None:
    refused(await client.post(SUBSCRIPTIONS, json={**HOOK, **given}), status, code, field)
    assert body(await client.get(SUBSCRIPTIONS))["subscriptions"] == []


async def test_unknown_members_are_refused_under_strict(strict_client: httpx.AsyncClient) -> None:
    response = await strict_client.post(SUBSCRIPTIONS, json={**HOOK, "event": "x"})
    refused(response, 422, "validation_error", "event")


async def test_webhooks_are_for_operators(keyed_client: httpx.AsyncClient) -> None:
    for role in ("producer", "worker"):
        for path in (SUBSCRIPTIONS, DELIVERIES):
            response = await keyed_client.get(path, headers=bearer(role))
            error_of(response, 403, "permission_denied")
    response = await keyed_client.post(SUBSCRIPTIONS, json=HOOK, headers=bearer("operator"))
    assert response.status_code == 201


async def test_events_are_posted_signed(sender: Server, target: Target) -> None:
    async with connect(sender) as client:
        made = await subscribe(client, url=target.url(), secret="a-shared-secret")
        job = await enqueue(client)
        await until(lambda: bool(target.posted))
        (posted,) = target.posted
        assert posted.line == "POST /hook?a=b HTTP/1.1"
        event = msgspec.json.decode(posted.body)
        assert (event["type"], event["subject"]) == ("job.enqueued", job["id"])
        assert event["data"]["job_id"] == job["id"]
        headers = posted.headers
        assert headers["content-type"] == "application/json"
        assert headers["user-agent"] == "OJS-Webhook/1.0"
        assert headers["host"] == f"127.0.0.1:{target.port}"
        signed = headers["x-ojs-timestamp"].encode() + b"." + posted.body
        digest = hmac.new(b"a-shared-secret", signed, hashlib.sha256).hexdigest()
        assert headers["x-ojs-signature"] == f"sha256={digest}"
        assert headers["x-ojs-subscription-id"] == made["id"]
        await _ended(client)
        (delivery,) = await deliveries(client, status="delivered", subscription_id=made["id"])
        assert delivery["id"] == headers["x-ojs-delivery-id"]
        assert (delivery["status_code"], delivery["attempts"]) == (200, 1)
        whole = body(await client.get(f"{DELIVERIES}/{delivery['id']}"))
        assert whole["event"] == event
        # A replay goes out under the same id.
        again = await client.post(f"{DELIVERIES}/{delivery['id']}/retry")
        assert (again.status_code, body(again)["attempts"]) == (202, 0)
        await until(lambda: len(target.posted) == 2)
        assert target.posted[1].headers["x-ojs-delivery-id"] == delivery["id"]
        metrics = (await client.get("/metrics")).text
        assert (
            'ojs_webhook_deliveries_total{event_type="job.enqueued",status="delivered"}' in metrics
        )


async def _ended(client: httpx.AsyncClient) -> None:
    """Wait until no delivery is pending."""
    while await deliveries(client, status="pending"):
        pass


async def test_a_target_may_want_cloud_events(sender: Server, target: Target) -> None:
    async with connect(sender) as client:
        made = await subscribe(client, url=target.url(), format="cloudevents", secret=SECRET)
        await enqueue(client)
        await until(lambda: bool(target.posted))
        posted = target.posted[0]
        assert posted.headers["content-type"] == "application/cloudevents+json"
        assert msgspec.json.decode(posted.body)["type"] == "org.openjobspec.job.enqueued"
        stamp = posted.headers["x-ojs-timestamp"]
        assert posted.headers["x-ojs-signature"] == signature((SECRET,), int(stamp), posted.body)
        await client.patch(f"{SUBSCRIPTIONS}/{made['id']}", json={"format": "ojs"})
        await enqueue(client)
        await until(lambda: len(target.posted) == 2)
        assert target.posted[1].headers["content-type"] == "application/json"


async def test_a_redirect_is_not_followed(sender: Server, target: Target) -> None:
    target.answer = (
        f"HTTP/1.1 302 Found\r\nLocation: {target.url()}\r\nContent-Length: 0\r\n\r\n".encode()
    )
    async with connect(sender) as client:
        await subscribe(client, url=target.url())
        await enqueue(client)
        await until(lambda: bool(target.posted))
        await _ended(client)
        (dead,) = await deliveries(client)
        assert (dead["status"], dead["status_code"]) == ("dead", 302)
        assert "redirects are not followed" in dead["error"]
    assert len(target.posted) == 1


async def test_a_target_is_tested(sender: Server, target: Target) -> None:
    async with connect(sender) as client:
        made = await subscribe(client, url=target.url())
        path = f"{SUBSCRIPTIONS}/{made['id']}/test"
        tested = body(await client.post(path))
        assert (tested["success"], tested["status_code"]) == (True, 200)
        assert tested["response_body"] == "ok"
        assert target.posted[0].headers["x-ojs-event-type"] == "webhook.test"
        target.answer = b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"
        tested = body(await client.post(path))
        assert (tested["success"], tested["status_code"]) == (False, 401)
        assert await deliveries(client) == []


async def test_nothing_is_sent_under_conformance(client: httpx.AsyncClient) -> None:
    made = await subscribe(client)
    tested = body(await client.post(f"{SUBSCRIPTIONS}/{made['id']}/test"))
    assert (tested["success"], tested["status_code"]) == (False, None)
    assert "--conformance" in tested["error"]


async def test_deliveries_are_paged_and_filtered(client: httpx.AsyncClient) -> None:
    refused(
        await client.get(DELIVERIES, params={"status": "ded"}), 400, "invalid_request", "status"
    )
    bad = await client.get(DELIVERIES, params={"cursor": "x"})
    refused(bad, 400, "invalid_request", "cursor")
    beyond = body(await client.get(DELIVERIES, params={"page": "9", "per_page": "5"}))
    assert beyond["deliveries"] == []
    error_of(await client.get(f"{DELIVERIES}/dlv_1"), 404, "not_found")
    error_of(await client.post(f"{DELIVERIES}/dlv_1/retry"), 404, "not_found")


async def _post(
    target: Target, reach: Reach, host: str, *addresses: str, timeout_ms: int = 5_000
) -> Reply:
    async def resolve(name: str, port: int) -> list[str]:
        assert name == host
        return list(addresses)

    sender = WebhookClient(reach, timeout_ms, machine(), resolve)
    try:
        return await sender.post(target.url(host), {"X-A": "b"}, b"{}")
    finally:
        await sender.close()


async def test_a_name_that_leads_to_a_private_address_is_not_called(target: Target) -> None:
    closed = Reach(plain=True)
    for addresses in (["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:127.0.0.1"], []):
        reply = await _post(target, closed, "example.com", *addresses)
        assert reply.answer is None
        assert reply.error is not None
    assert "private" in str((await _post(target, closed, "example.com", "10.0.0.1")).error)
    assert target.posted == []


async def test_the_checked_address_is_the_one_that_is_called(target: Target) -> None:
    reply = await _post(target, Reach(private=True, plain=True), "hooks.example", "127.0.0.1")
    assert (reply.answer, reply.excerpt) == (200, "ok")
    assert target.posted[0].headers["host"] == f"hooks.example:{target.port}"


async def test_what_a_target_does_wrong_is_said(target: Target) -> None:
    reach = Reach(private=True, plain=True)
    target.answer = b"HTTP/1.1 429 Slow\r\nRetry-After: 90\r\nContent-Length: 0\r\n\r\n"
    assert (await _post(target, reach, "a.example", "127.0.0.1")).retry_after_ms == 90_000
    # No more than a little of an answer without an end is read.
    target.answer = b"HTTP/1.1 500 No\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 20_000
    reply = await _post(target, reach, "a.example", "127.0.0.1")
    assert (reply.answer, len(reply.excerpt)) == (500, 4096)
    target.answer = b"no http at all\r\n\r\n"
    assert (await _post(target, reach, "a.example", "127.0.0.1")).answer is None
    target.hangs = True
    reply = await _post(target, reach, "a.example", "127.0.0.1", timeout_ms=50)
    assert reply.error == "no answer within 0.05 s"
