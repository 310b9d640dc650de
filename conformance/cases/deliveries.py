"""Cases of webhook deliveries: their content, their attempts, and how they end."""

import asyncio
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

from conformance.case import case
from conformance.cases.tenants import TENANTS, two
from conformance.cases.webhooks import PATH, WEBHOOKS
from conformance.play.stage import Stage
from conformance.play.webhook_receiver import Call, Target
from conformance.played.listener import HttpReply
from conformance.variants import HOOKS
from conformance.verdicts.reply import Record

SECRET = "a-secret-of-the-judge"
OFF_S = 300.0  # allowed difference between two clocks
EXCERPT = 4096
FEW = 10


async def _subscribed(stage: Stage, target: Target, queue: str, **members: Any) -> str:
    """A subscription to the new jobs of a queue; its path."""
    body = {
        "url": target.url,
        "events": ["job.enqueued"],
        "filter": {"queues": [queue]},
        "secret": SECRET,
        **members,
    }
    made = (await stage.post(PATH, body)).expect(201)
    return f"{PATH}/{made['subscription.id']}"


async def _deliveries(stage: Stage, subscription: str) -> list[Record]:
    """The deliveries of a subscription, newest first."""
    name = subscription.rpartition("/")[2]
    found = (await stage.get("webhooks/deliveries", subscription_id=name, limit=100)).expect(200)
    return list(found["deliveries"])


async def _ended(stage: Stage, subscription: str, status: str) -> Record:
    """The only delivery of a subscription, once it is so far."""

    async def is_there() -> bool:
        return [item["status"] for item in await _deliveries(stage, subscription)] == [status]

    await stage.until(is_there, 10, f"the delivery is {status}")
    return (await _deliveries(stage, subscription))[0]


async def _answered(stage: Stage, subscription: str, status: int) -> Record:
    """The only delivery of a subscription, once its target's answer is noted."""

    async def is_noted() -> bool:
        return [item["status_code"] for item in await _deliveries(stage, subscription)] == [status]

    await stage.until(is_noted, 10, f"the answer {status} is noted")
    return (await _deliveries(stage, subscription))[0]


def _signed(call: Call, secret: str) -> str:
    stamp = call.request.headers.get("x-ojs-timestamp", "")
    signed = stamp.encode() + b"." + call.request.content
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _signatures(call: Call) -> list[str]:
    given = call.request.headers.get("x-ojs-signature", "")
    return [part.strip() for part in given.split(",")]


@case(
    *("OJS-WHK-005", "OJS-WHK-009", "OJS-WHK-010", "OJS-WHK-024", "OJS-WHK-025"),
    capability=WEBHOOKS,
    own_server=HOOKS,
)
async def as_it_is_sent(stage: Stage) -> None:
    """A delivery is the event of the log, with its headers and the signatures of all secrets."""
    queue, target, other = stage.name(), stage.target(), stage.target()
    subscription = await _subscribed(stage, target, queue)
    await _subscribed(stage, other, queue, events=["job.*"])
    await stage.enqueue(queue)
    await stage.enqueue(stage.name())
    (call,) = await target.called()
    request = call.request
    logged = (await stage.events(queue))[0]
    stage.equal(call.event, dict(logged), "the event that is sent")
    name = subscription.rpartition("/")[2]
    expected = {
        "content-type": "application/json",
        "user-agent": "OJS-Webhook/1.0",
        "x-ojs-event-type": "job.enqueued",
        "x-ojs-subscription-id": name,
    }
    stage.equal({key: request.headers.get(key) for key in expected}, expected, "headers")
    stage.equal(request.method, "POST", "method")
    delivery = await _ended(stage, subscription, "delivered")
    stage.equal(call.delivery, delivery["id"], "X-OJS-Delivery-ID")
    stamp = request.headers.get("x-ojs-timestamp", "")
    near = stamp.isdecimal() and abs(int(stamp) - time.time()) < OFF_S
    stage.check(near, "X-OJS-Timestamp: the seconds since 1970", stamp)
    stage.equal(_signatures(call), [_signed(call, SECRET)], "X-OJS-Signature")
    stage.equal((await other.called())[0].event["id"], logged["id"], "the event for another one")
    second = (await stage.post(f"{subscription}/rotate-secret")).expect(200)["subscription.secret"]
    await stage.enqueue(queue)
    call = (await target.called(2))[1]
    both = [_signed(call, secret) for secret in (second, SECRET)]
    stage.equal(_signatures(call), both, "signatures while two secrets hold")


@case("OJS-TEN-023", capability=TENANTS, own_server=HOOKS)
async def of_a_tenant(stage: Stage) -> None:
    """A tenant's subscription is told of the tenant's own jobs, one without a tenant of all."""
    queue, target, other = stage.name(), stage.target(), stage.target()
    acme, beta = two(stage)
    subscription = await _subscribed(acme, target, queue)
    await _subscribed(stage, other, queue)
    for maker in (beta, stage, acme):
        await maker.enqueue(queue)
    await other.called(3)
    tenants = [call.event["data"].get("tenant_id") for call in await target.called()]
    stage.equal(tenants, [acme.headers["X-OJS-Tenant"]], "whose the jobs are")
    delivery = await _ended(acme, subscription, "delivered")
    stage.equal(await _deliveries(beta, subscription), [], "deliveries of a stranger")
    for reply in (
        await beta.get(f"webhooks/deliveries/{delivery['id']}"),
        await beta.post(f"webhooks/deliveries/{delivery['id']}/retry"),
    ):
        reply.error(404, "not_found")


@case("OJS-WHK-011", "OJS-WHK-017", "OJS-WHK-026", capability=WEBHOOKS, own_server=HOOKS)
async def what_ends_a_delivery(stage: Stage) -> None:
    """Any 2xx takes an event; a redirect, which is not followed, and another 4xx end it at once."""
    elsewhere = stage.target()
    moved = {"Location": elsewhere.url}
    ends: tuple[tuple[int, dict[str, str], str], ...] = (
        (204, {}, "delivered"),
        (299, {}, "delivered"),
        (300, {}, "dead"),
        (307, moved, "dead"),
        (410, {}, "dead"),
    )
    for status, headers, end in ends:
        queue, target = stage.name(), stage.target()
        target.answers(HttpReply(status=status, headers=headers))
        subscription = await _subscribed(stage, target, queue)
        await stage.enqueue(queue)
        delivery = await _answered(stage, subscription, status)
        stage.equal([delivery["status"], delivery["attempts"]], [end, 1], f"after {status}")
        kinds = ["webhook.delivered"] if end == "delivered" else ["webhook.failed", "webhook.dead"]
        events = await _events_of(stage, delivery["id"])
        stage.equal([event["type"] for event in events], kinds, f"events after {status}")
        data = {"event_type": "job.enqueued", "attempt": 1, "status_code": status}
        data["next_attempt_at"] = None
        stage.equal({name: events[0]["data"].get(name) for name in data}, data, "data")
    stage.equal(len(elsewhere.calls), 0, "calls that followed a redirect")


async def _events_of(stage: Stage, delivery: str) -> list[Record]:
    """Return the webhook events of a delivery from the event log."""
    found: list[Record] = []
    after: dict[str, str] = {}
    while True:
        page = (await stage.get("events", types="webhook.*", limit=1000, **after)).expect(200)
        found += [e for e in page["events"] if e["data"].get("delivery_id") == delivery]
        if not page["has_more"]:
            return found
        after = {"after": page["cursor"]}


@case(
    "OJS-WHK-010",
    "OJS-WHK-011",
    "OJS-WHK-015",
    "OJS-WHK-026",
    capability=WEBHOOKS,
    own_server=HOOKS,
    seconds=150,
)
async def tried_again(stage: Stage) -> None:
    """After 503 a delivery is tried again 30 seconds later, later still where 429 asks for it."""
    replies: tuple[tuple[int, dict[str, str], float], ...] = (
        (503, {}, 30),
        (429, {"Retry-After": "34"}, 34),
        (500, {"Retry-After": "1"}, 30),
    )

    async def waits(status: int, headers: Mapping[str, str], least_s: float) -> None:
        queue, target = stage.name(), stage.target()
        target.answers(HttpReply(status=status, headers=dict(headers)))
        subscription = await _subscribed(stage, target, queue)
        await stage.enqueue(queue)
        delivery = await _answered(stage, subscription, status)
        stage.equal(delivery["status"], "pending", f"status after {status}")
        (event,) = await _events_of(stage, delivery["id"])
        stage.check(bool(event["data"].get("next_attempt_at")), "next_attempt_at", event)
        refused = await stage.post(f"webhooks/deliveries/{delivery['id']}/retry")
        refused.expect(409, {"error.message": "string:nonempty"})
        first, second = await target.called(2, least_s + 30)
        waited = second.at - first.at
        stage.check(waited > least_s - 1, f"{least_s:g} s after {status}", round(waited, 2))
        stage.equal(second.delivery, first.delivery, "X-OJS-Delivery-ID")
        stage.equal(second.event, first.event, "the event")
        stage.equal(_signatures(second), [_signed(second, SECRET)], "X-OJS-Signature")
        await _ended(stage, subscription, "delivered")

    async with stage.waiting(*(waits(*each) for each in replies)) as answers:
        await asyncio.gather(*answers)


@case("OJS-WHK-006", capability=WEBHOOKS, own_server=HOOKS)
async def paused_and_deleted(stage: Stage) -> None:
    """A paused subscription is sent nothing; deleting one cancels its deliveries."""
    queue, target = stage.name(), stage.target()
    subscription = await _subscribed(stage, target, queue)
    first = await stage.enqueue(queue)
    await target.called()
    (await stage.call("PATCH", subscription, json={"active": False})).expect(200)
    await stage.enqueue(queue)
    (await stage.call("PATCH", subscription, json={"active": True})).expect(200)
    later = await stage.enqueue(queue)
    calls = await target.called(2)
    stage.equal([call.event["subject"] for call in calls], [first["id"], later["id"]], "sent")
    stage.equal(len(await _deliveries(stage, subscription)), 2, "deliveries")
    target.answers(HttpReply(status=503))
    await stage.enqueue(queue)
    call = (await target.called(3))[2]
    (await stage.delete(subscription)).expect((200, 204))
    at = f"webhooks/deliveries/{call.delivery}"

    async def is_cancelled() -> bool:
        found = (await stage.get(at)).expect(200)
        return bool(found["delivery.status"] == "cancelled")

    await stage.until(is_cancelled, 10, "the delivery is cancelled")
    (await stage.post(f"{at}/retry")).expect(409, {"error.message": "string:nonempty"})


@case("OJS-WHK-009", capability=WEBHOOKS, own_server=HOOKS, seconds=150)
async def nothing_is_lost(stage: Stage) -> None:
    """All events are delivered although the server is killed in the middle of it."""
    stage.need(stage.process is not None, "it needs a server that can be killed: --variant hooks=")
    queue, target = stage.name(), stage.target()
    await _subscribed(stage, target, queue)
    target.hold()
    jobs = await stage.enqueue_many(queue, 20)
    await target.called()
    # Deliveries that have begun must arrive before the crash: their next attempt is a minute away.
    await asyncio.sleep(0.5)
    await stage.crash()
    target.release()
    missing = {job["id"] for job in jobs}

    async def is_notified() -> bool:
        missing.difference_update(call.event.get("subject") for call in target.calls)
        return not missing

    # An attempt that the crash broke off counts as lost after its time limit.
    await stage.until(is_notified, 100, "every event is delivered")


@case("OJS-WHK-013", capability=WEBHOOKS, own_server=HOOKS)
async def a_target_that_hangs(stage: Stage) -> None:
    """A target without answers has few connections, and others get their events meanwhile."""
    queue, hangs, works = stage.name(), stage.target(), stage.target()
    hangs.hold()
    for target in (hangs, works):
        await _subscribed(stage, target, queue)
    jobs = await stage.enqueue_many(queue, 40)
    calls = await works.called(len(jobs))
    subjects = {call.event["subject"] for call in calls}
    stage.equal(sorted(subjects), sorted(job["id"] for job in jobs), "events of the other target")
    await hangs.called()
    stage.check(hangs.most <= FEW, f"at most {FEW} connections that wait", hangs.most)
    hangs.release()
    await hangs.called(len(jobs))


@case("OJS-WHK-015", capability=WEBHOOKS, own_server=HOOKS)
async def once_more(stage: Stage) -> None:
    """An ended delivery is sent again under its id."""
    queue, target = stage.name(), stage.target()
    target.answers(HttpReply(status=410))
    subscription = await _subscribed(stage, target, queue)
    await stage.enqueue(queue)
    delivery = await _ended(stage, subscription, "dead")
    at = f"webhooks/deliveries/{delivery['id']}"
    for count in (2, 3):
        (await stage.post(f"{at}/retry")).expect(202)
        call = (await target.called(count))[-1]
        stage.equal(call.delivery, delivery["id"], "X-OJS-Delivery-ID")
        stage.equal((await _ended(stage, subscription, "delivered"))["attempts"], 1, "attempts")
        stage.equal((await stage.get(at))["delivery.event"], call.event, "its event")


@case("OJS-WHK-016", capability=WEBHOOKS, own_server=HOOKS)
async def testing_a_target(stage: Stage) -> None:
    """A test of a subscription posts an event at once, and shows the target's answer."""
    target = stage.target()
    subscription = await _subscribed(stage, target, stage.name(), active=False)
    for status, success in ((201, True), (500, False)):
        target.answers(HttpReply(status=status, content=b"z" * (2 * EXCERPT)))
        reply = (await stage.post(f"{subscription}/test")).expect(
            200, {"response_time_ms": {"$gte": 0}}
        )
        stage.equal([reply["success"], reply["status_code"]], [success, status], "answer")
        body = reply["response_body"]
        stage.check(
            body == "z" * len(body) and 0 < len(body) <= EXCERPT, "its beginning", len(body)
        )
        call = target.calls[-1]
        stage.equal(call.event.get("type"), "webhook.test", "type")
        stage.equal(_signatures(call), [_signed(call, SECRET)], "X-OJS-Signature")
    stage.equal(len(target.calls), 2, "calls")
