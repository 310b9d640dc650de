"""Cases of webhooks: subscriptions, their secrets and limits; sending is in `deliveries`."""

import asyncio

from conformance.case import case
from conformance.play.stage import Stage
from conformance.variants import MAIN
from conformance.verdicts.reply import Record, Reply, record

WEBHOOKS = "webhooks"
PATH = "webhooks/subscriptions"
URL = "https://example.com/hook"
MOST = 1000


async def subscribed(stage: Stage, **members: object) -> Reply:
    """Make a subscription that is paused, so that no target is called."""
    body = {"url": URL, "events": ["job.failed"], "active": False, **members}
    return (await stage.post(PATH, body)).expect(201, {"subscription.id": "string:nonempty"})


def _quiet(stage: Stage) -> dict[str, object]:
    """A subscription in the published form, to events that nobody makes."""
    return {"url": URL, "events": ["job.failed"], "filter": {"queues": [stage.name()]}}


def _shown(reply: Reply) -> Record:
    """The subscription of an answer, be it wrapped or not."""
    wrapped = reply.has("subscription")
    return record(reply["subscription"] if wrapped else reply.json, reply)


@case("OJS-WHK-001", "OJS-WHK-002", capability=WEBHOOKS)
async def subscriptions(stage: Stage) -> None:
    """A subscription is made, listed, read, changed and deleted."""
    body = {**_quiet(stage), "metadata": {"team": "7"}}
    made = _shown((await stage.post(PATH, body)).expect(201))
    stage.equal([made["url"], made["events"], made["active"]], [URL, ["job.failed"], True], "it")
    subscription = f"{PATH}/{made['id']}"
    shown = _shown((await stage.get(subscription)).expect(200))
    stage.equal([shown["id"], shown["url"]], [made["id"], URL], "the subscription, read")
    (await stage.get(PATH)).expect(200, {"subscriptions": {"$size": {"$gte": 1}}})
    events = ["job.completed", "job.failed"]
    changes = {"events": events, "active": False}
    (await stage.call("PATCH", subscription, json=changes)).expect(200)
    shown = _shown((await stage.get(subscription)).expect(200))
    stage.equal(sorted(shown["events"]), events, "events that were changed")
    stage.equal([shown["url"], shown["active"]], [URL, False], "url and active")
    (await stage.delete(subscription)).expect((200, 204))
    (await stage.get(subscription)).expect((404, 410))


@case("OJS-WHK-020", "OJS-WHK-021", "OJS-WHK-022", capability=WEBHOOKS)
async def shapes_of_subscriptions(stage: Stage) -> None:
    """A subscription is shown wrapped, with the form in which its events are sent."""
    queue = stage.name()
    made = await subscribed(stage, filter={"queues": [queue]}, metadata={"team": 7})
    subscription = f"{PATH}/{made['subscription.id']}"
    shown = {"subscription.url": {"$eq": URL}, "subscription.metadata": {"$eq": {"team": 7}}}
    (await stage.get(subscription)).expect(200, {**shown, "subscription.active": {"$eq": False}})
    listed = (await stage.get(PATH, limit=1000)).expect(200)
    ids = [item["id"] for item in listed["subscriptions"]]
    stage.check(made["subscription.id"] in ids, "the subscription in the list", ids)
    changed = await stage.call("PATCH", subscription, json={"events": ["job.*", "queue.paused"]})
    changed.expect(200, {**shown, "subscription.events": {"$eq": ["job.*", "queue.paused"]}})
    stage.equal(changed["subscription.format"], "ojs", "the form of events")
    formed = await stage.call("PATCH", subscription, json={"format": "cloudevents"})
    formed.expect(200, {**shown, "subscription.format": "cloudevents"})
    unknown = await stage.call("PATCH", subscription, json={"format": "cloudevent"})
    unknown.error(400, "invalid_request", field="format")
    (await stage.delete(subscription)).expect((200, 204))
    (await stage.get(subscription)).error(404, "not_found")


@case("OJS-WHK-003", "OJS-WHK-007", capability=WEBHOOKS)
async def refusals(stage: Stage) -> None:
    """Subscriptions with an invalid url, events or filter are refused."""
    good = {"url": URL, "events": ["*"], "active": False}
    wrong: tuple[dict[str, object], ...] = (
        {"url": "https://user:word@example.com/"},
        {"url": "https://example.com/#part"},
        {"url": "ftp://example.com/"},
        {"url": "https://ex\u00e4mple.com/"},
        {"url": "https://example.com/\x7f"},
        {"events": []},
        {"events": ["No Name"]},
        {"events": ["webhook.dead"]},
    )
    for members in wrong:
        (await stage.post(PATH, {**good, **members})).error(400, "invalid_request")
    (await stage.post(PATH, {**good, "filter": {"queue": "q"}})).error(422, "validation_error")


@case("OJS-WHK-007", capability=WEBHOOKS)
async def public_addresses(stage: Stage) -> None:
    """A private address is refused however it is written; an IPv4 address within IPv6 is judged."""
    good = {"events": ["*"], "active": False}
    private = (
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "localhost", "[::1]", "[fd00::1]"),
        *("[::ffff:10.1.2.3]", "[64:ff9b::a01:203]"),
    )
    for host in private:
        reply = await stage.post(PATH, {**good, "url": f"https://{host}/"})
        reply.error(400, "invalid_request")
    for host in ("8.8.8.8", "[2001:4860:4860::8888]", "[64:ff9b::808:808]"):
        await subscribed(stage, url=f"https://{host}/")


@case("OJS-WHK-004", capability=WEBHOOKS)
async def secrets(stage: Stage) -> None:
    """The answer that makes a subscription has its secret, and none that shows it has."""
    made = _shown((await stage.post(PATH, _quiet(stage))).expect(201))
    stage.check(bool(made["secret"]), "a secret", dict(made))
    shown = await stage.get(f"{PATH}/{made['id']}")
    stage.check(not _shown(shown.expect(200)).get("secret"), "no secret", shown.json)
    listed = await stage.get(PATH)
    stage.check(made["secret"] not in listed.text, "no secret in the list", listed.json)
    await stage.delete(f"{PATH}/{made['id']}")


@case("OJS-WHK-005", capability=WEBHOOKS)
async def rotation(stage: Stage) -> None:
    """The secret of a subscription can be rotated."""
    made = _shown((await stage.post(PATH, _quiet(stage))).expect(201))
    rotated = await stage.post(f"{PATH}/{made['id']}/rotate-secret")
    rotated.expect({"$in": [200, 201, 202, 204]})
    await stage.delete(f"{PATH}/{made['id']}")


@case("OJS-WHK-023", "OJS-WHK-024", capability=WEBHOOKS)
async def secrets_of_ones_own(stage: Stage) -> None:
    """A secret is the client's or the server's, and answered only when it is made."""
    made = await subscribed(stage)
    subscription = f"{PATH}/{made['subscription.id']}"
    first = made["subscription.secret"]
    second = (await stage.post(f"{subscription}/rotate-secret")).expect(200)["subscription.secret"]
    stage.check(first != second, "another secret", second)
    own = await stage.post(f"{subscription}/rotate-secret", {"secret": "a-secret-of-mine"})
    own.expect(200, {"subscription.secret": {"$eq": "a-secret-of-mine"}})
    (await stage.post(PATH, {"url": URL, "events": ["*"], "secret": "short"})).error(
        400, "invalid_request"
    )
    for reply in (await stage.get(subscription), await stage.delete(subscription)):
        stage.check(not reply.has("subscription.secret"), "no secret", reply.json)


@case("OJS-WHK-014", "OJS-WHK-017", capability=WEBHOOKS)
async def what_is_told(stage: Stage) -> None:
    """Deliveries are listed, and subscriptions are in the event log."""
    made = await subscribed(stage)
    name = made["subscription.id"]
    (await stage.delete(f"{PATH}/{name}")).expect((200, 204))
    found = await stage.get("webhooks/deliveries", subscription_id=name, status="dead")
    found.expect(200, {"deliveries": {"$eq": []}})
    (await stage.get("webhooks/deliveries", status="lost")).error(400, "invalid_request")
    kinds = ("webhook.subscription.created", "webhook.subscription.deleted")
    types: list[str] = []
    cursor = ""
    more = True
    while more:
        page = await stage.get("events", types=",".join(kinds), after=cursor)
        types += [event["type"] for event in page["events"] if event["subject"] == name]
        cursor, more = page["cursor"], page["has_more"]
    stage.equal(types, list(kinds), "events")


@case("OJS-WHK-008", capability=WEBHOOKS, own_server=MAIN)
async def as_many_as_there_may_be(stage: Stage) -> None:
    """There are at most 1000 subscriptions; one more is refused with 409."""
    body = {"url": URL, "events": ["job.failed"], "active": False}

    async def some(count: int) -> None:
        for _ in range(count):
            (await stage.post(PATH, body)).expect(201)

    await asyncio.gather(*(some(MOST // 10) for _ in range(10)))
    (await stage.post(PATH, body)).expect(409, {"error.message": "string:nonempty"})
    listed = (await stage.get(PATH, limit=1)).expect(200)
    name = listed["subscriptions"][0]["id"]
    (await stage.delete(f"{PATH}/{name}")).expect((200, 204))
    await subscribed(stage)


@case("OJS-WHK-018", capability="test_hooks")
async def nothing_is_sent_in_tests(stage: Stage) -> None:
    """A server with test hooks on tests no target, and says so in `error`."""
    made = await subscribed(stage, url="https://nobody.invalid/")
    reply = await stage.post(f"{PATH}/{made['subscription.id']}/test")
    reply.expect(200, {"success": {"$eq": False}, "error": "string:nonempty"})
    stage.equal(reply["status_code"], None, "status_code")
    # A real attempt would fail with an error about an unknown host.
    words = ("conformance", "test hook", "test mode")
    explained = any(word in reply["error"].lower() for word in words)
    stage.check(explained, f"an error that names one of: {', '.join(words)}", reply["error"])
