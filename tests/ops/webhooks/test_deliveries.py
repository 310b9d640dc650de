"""Webhook deliveries on both stores: created once, taken by one node, kept through failures."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.webhooks.delivery import Delivery, Reply
from ojs_server.domain.webhooks.request import parse_changes
from ojs_server.domain.webhooks.target import Reach
from ojs_server.domain.webhooks.webhook import Webhook, selection_of
from ojs_server.environment import wall_ms
from ojs_server.loops import deliver
from ojs_server.loops.deliver import Deliver
from ojs_server.observe.metrics import Metrics
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.webhooks import subscriptions as webhooks
from ojs_server.ops.webhooks.deliveries import RecordAttempt, Spread, Take, look
from ojs_server.ops.webhooks.subscriptions import (
    AmendWebhook,
    Replay,
    RotateSecret,
    Subscribe,
    Unsubscribe,
)
from ojs_server.store.base import Store
from ojs_server.store.records import DeliveryFilter, EventFilter
from tests.ops.bench import START, Bench, HandClock

LEASE = 60_000
FAILED = Reply(500, "the target answered 500", 3)
TAKEN = Reply(200, None, 3)


def subscribe(bench: Bench, tenant: str | None = None, **given: Any) -> Webhook:
    body = {"url": "https://example.com/x", "events": ["*"], **given}
    made: Webhook = bench.do(Subscribe(parse_changes(body, Reach()), "secret-01", tenant))
    return made


def amend(bench: Bench, webhook: Webhook, **given: Any) -> Webhook:
    made: Webhook = bench.do(AmendWebhook(webhook.id, parse_changes(given, Reach())))
    return made


def known(bench: Bench, webhook: Webhook) -> Webhook:
    with bench.store.reader() as reader:
        return reader.webhooks([webhook.id])[0]


def spread(bench: Bench, *webhooks: Webhook) -> bool:
    """Make deliveries of what the log has for subscriptions that stand at one place."""
    with bench.store.reader() as reader:
        now = [reader.webhooks([one.id])[0] for one in webhooks]
        news = look(reader, now, now[0].cursor)
    kept: bool = bench.do(Spread(news, "ojs://test")).kept
    return kept


def take(bench: Bench, webhook: Webhook, room: int = 100) -> list[Delivery]:
    return list(bench.do(Take(((webhook.id, room),), LEASE)).deliveries)


def listed(bench: Bench, webhook: Webhook | None = None, status: str | None = None) -> list[Any]:
    with bench.store.reader() as reader:
        wanted = DeliveryFilter(None if webhook is None else webhook.id, status)
        return list(reader.deliveries(wanted, 100, 0, None).deliveries)


def told(bench: Bench) -> list[str]:
    with bench.store.reader() as reader:
        page = reader.events(0, EventFilter(types=("webhook.*",)), 100)
    return [placed.event.type for placed in page.events]


def test_what_happens_from_now_on_is_delivered_in_order(bench: Bench) -> None:
    bench.put(type="before")
    webhook = subscribe(bench)
    first, second = bench.put(type="a"), bench.put(type="b")
    assert spread(bench, webhook)
    sent = take(bench, webhook)
    bodies = [msgspec.json.decode(one.body) for one in sent]
    assert [body["subject"] for body in bodies] == [first, second]
    assert [body["type"] for body in bodies] == ["job.enqueued"] * 2
    assert [body["id"] for body in bodies] == [one.event_id for one in sent]
    assert {body["source"] for body in bodies} == {"ojs://test"}


def test_filters_are_joined_by_and(bench: Bench) -> None:
    webhook = subscribe(
        bench, events=["job.enqueued"], filter={"queues": ["q"], "job_types": ["a"]}
    )
    wanted = bench.put(type="a", queue="q")
    bench.put(type="b", queue="q")
    bench.put(type="a", queue="r")
    bench.take(count=2)
    spread(bench, webhook)
    assert [msgspec.json.decode(one.body)["subject"] for one in take(bench, webhook)] == [wanted]


def test_news_become_deliveries_once_also_when_two_nodes_look(bench: Bench) -> None:
    webhook, other = subscribe(bench), subscribe(bench, events=["job.failed"])
    bench.put()
    with bench.store.reader() as reader:
        news = look(reader, [webhook, other], webhook.cursor)
    assert bench.do(Spread(news, "s")).kept
    assert not bench.do(Spread(news, "s")).kept
    assert len(listed(bench)) == 1
    # A subscription that was changed meanwhile is looked at again; the other one moves on.
    bench.put()
    with bench.store.reader() as reader:
        pair = [reader.webhooks([one.id])[0] for one in (webhook, other)]
        news = look(reader, pair, pair[0].cursor)
    amend(bench, webhook, events=["job.failed"])
    assert not bench.do(Spread(news, "s")).kept
    assert known(bench, webhook).cursor == pair[0].cursor
    assert known(bench, other).cursor == news.cursor
    assert len(listed(bench)) == 1


def test_a_delivery_is_one_nodes_until_its_moment(bench: Bench) -> None:
    webhook = subscribe(bench)
    bench.put()
    spread(bench, webhook)
    (first,) = take(bench, webhook)
    assert first.attempt == 1
    assert take(bench, webhook) == []
    # Its node died: another one takes it, under the same id.
    bench.clock.now += LEASE
    (again,) = take(bench, webhook)
    assert (again.id, again.attempt) == (first.id, 2)
    # The first node was only slow, and comes too late.
    assert not bench.do(RecordAttempt(first, FAILED)).kept
    assert bench.do(RecordAttempt(again, TAKEN)).kept
    assert not bench.do(RecordAttempt(again, TAKEN)).kept
    assert [one.status for one in listed(bench)] == ["delivered"]
    assert told(bench) == ["webhook.subscription.created", "webhook.delivered"]


def test_a_failed_delivery_comes_again_and_ends_dead(bench: Bench) -> None:
    webhook = subscribe(bench)
    bench.put()
    spread(bench, webhook)
    attempts = 0
    while sent := take(bench, webhook):
        attempts += 1
        after = bench.do(RecordAttempt(sent[0], FAILED)).delivery
        assert take(bench, webhook) == []
        bench.clock.now = after.due_at or bench.clock.now + LEASE
    assert attempts == 8
    (dead,) = listed(bench, webhook, "dead")
    assert (dead.answer, dead.error) == (500, "the target answered 500")
    assert told(bench).count("webhook.failed") == 8
    assert told(bench)[-1] == "webhook.dead"
    # Events about webhooks are not sent by webhooks.
    spread(bench, webhook)
    assert len(listed(bench)) == 1
    # A replay begins anew.
    assert bench.do(Replay(dead.id)).attempt == 0
    with pytest.raises(Conflict):
        bench.do(Replay(dead.id))
    (again,) = take(bench, webhook)
    assert (again.id, again.attempt) == (dead.id, 1)
    with pytest.raises(NotFound):
        bench.do(Replay("dlv_nowhere"))


def test_a_paused_subscription_hears_nothing_and_loses_nothing_that_was_made(bench: Bench) -> None:
    webhook = subscribe(bench)
    bench.put()
    spread(bench, webhook)
    amend(bench, webhook, active=False)
    with bench.store.reader() as reader:
        assert reader.webhook_loads(10) == []
    bench.put()
    amend(bench, webhook, active=True)
    third = bench.put()
    spread(bench, webhook)
    sent = [msgspec.json.decode(one.body)["subject"] for one in take(bench, webhook)]
    assert len(sent) == 2
    assert sent[1] == third


def test_what_happened_before_a_pause_is_delivered_after_it(bench: Bench) -> None:
    webhook = subscribe(bench)
    before = bench.put()
    # No delivery has been made of it yet.
    amend(bench, webhook, active=False)
    bench.put()
    amend(bench, webhook, active=False)
    amend(bench, webhook, active=True)
    between = bench.put()
    amend(bench, webhook, active=False)
    bench.put()
    amend(bench, webhook, active=True)
    after = bench.put()
    spread(bench, webhook)
    sent = [msgspec.json.decode(one.body)["subject"] for one in take(bench, webhook)]
    assert sent == [before, between, after]
    # Nothing of the pauses is kept once they have been passed.
    assert selection_of(known(bench, webhook)).pauses == ()


def test_a_pause_begins_behind_all_that_is_stored_beside_an_open_transaction(
    nodes: tuple[Bench, Store],
) -> None:
    bench, other = nodes
    webhook = subscribe(bench)
    with other.transaction() as tx:
        # The log is read up to this transaction only.
        tx.position()
        before = bench.put()
        amend(bench, webhook, active=False)
    amend(bench, webhook, active=True)
    spread(bench, webhook)
    sent = [msgspec.json.decode(one.body)["subject"] for one in take(bench, webhook)]
    assert sent == [before]


def test_one_that_is_paused_from_its_start_hears_what_happens_after_its_resume(
    bench: Bench,
) -> None:
    webhook = subscribe(bench, active=False)
    bench.put()
    amend(bench, webhook, active=True)
    after = bench.put()
    spread(bench, webhook)
    sent = [msgspec.json.decode(one.body)["subject"] for one in take(bench, webhook)]
    assert sent == [after]


def test_deleting_a_subscription_cancels_what_is_on_its_way(bench: Bench) -> None:
    webhook, other = subscribe(bench), subscribe(bench)
    bench.put()
    spread(bench, webhook)
    spread(bench, other)
    (sent,) = take(bench, webhook)
    bench.do(Unsubscribe(webhook.id))
    assert [one.status for one in listed(bench, webhook)] == ["cancelled"]
    assert [one.status for one in listed(bench, other)] == ["pending"]
    assert not bench.do(RecordAttempt(sent, TAKEN)).kept
    with pytest.raises(Conflict):
        bench.do(Replay(sent.id))
    for op in (Unsubscribe(webhook.id), RotateSecret(webhook.id, "s")):
        with pytest.raises(NotFound):
            bench.do(op)


def test_an_event_that_is_too_large_is_noted_and_not_sent(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_server.ops.webhooks.deliveries.MAX_BODY", 100)
    webhook = subscribe(bench)
    bench.put()
    spread(bench, webhook)
    assert take(bench, webhook) == []
    (dead,) = listed(bench)
    assert (dead.status, dead.body) == ("dead", b"{}")


def test_there_are_only_so_many_subscriptions(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_server.ops.webhooks.subscriptions.MAX_WEBHOOKS", 1)
    subscribe(bench)
    with pytest.raises(Conflict):
        subscribe(bench)


class Recorder:
    """A sender that answers as a test says, and remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Mapping[str, str], bytes]] = []
        self.replies: dict[str, Reply] = {}
        self.hangs: set[str] = set()
        self.on: list[str] = []

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        self.on.append(url)
        if url in self.hangs:
            await asyncio.Event().wait()
        self.sent.append((url, headers, body))
        return self.replies.get(url, TAKEN)


class Node:
    """One node's sender over a store, moved on by hand."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.sender = Recorder()
        self.loop = Deliver(
            engine,
            self.sender,
            Metrics(),
            wall_ms,
            source="ojs://test",
            timeout_ms=30_000,
            at_once=6,
        )

    async def rest(self) -> None:
        """Rounds until there is nothing to do at once."""
        while await self.loop.round() == 0:
            await self.loop.idle()


async def test_events_reach_their_targets(engine: Engine, bench: Bench) -> None:
    webhook = subscribe(bench, events=["job.completed"])
    node = Node(engine)
    job = bench.put()
    bench.take()
    bench.ack(job)
    await node.rest()
    ((url, headers, body),) = node.sender.sent
    assert url == "https://example.com/x"
    assert msgspec.json.decode(body)["subject"] == job
    assert headers["X-OJS-Event-Type"] == "job.completed"
    assert headers["X-OJS-Subscription-ID"] == webhook.id
    assert [one.status for one in listed(bench)] == ["delivered"]


async def test_a_target_that_fails_is_tried_again_in_time(
    engine: Engine, bench: Bench, clock: HandClock
) -> None:
    subscribe(bench, events=["job.enqueued"])
    node = Node(engine)
    node.sender.replies["https://example.com/x"] = FAILED
    bench.put()
    await node.rest()
    assert len(node.sender.sent) == 1
    clock.now += 30_000
    node.sender.replies.clear()
    await node.rest()
    assert len(node.sender.sent) == 2
    ids = {headers["X-OJS-Delivery-ID"] for _, headers, _ in node.sender.sent}
    assert len(ids) == 1
    assert [one.status for one in listed(bench)] == ["delivered"]


async def test_a_target_that_hangs_holds_up_no_other(engine: Engine, bench: Bench) -> None:
    subscribe(bench, events=["job.enqueued"], url="https://hangs.example/")
    subscribe(bench, events=["job.enqueued"], url="https://works.example/")
    node = Node(engine)
    node.sender.hangs.add("https://hangs.example/")
    for _ in range(20):
        bench.put()
    while len(node.sender.sent) < 20:
        async with asyncio.timeout(20):
            await node.loop.round()
            await asyncio.sleep(0)
    assert {url for url, _, _ in node.sender.sent} == {"https://works.example/"}
    assert node.sender.on.count("https://hangs.example/") == deliver.AT_ONCE
    running = asyncio.create_task(node.loop.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_backlog_stays_in_the_log(
    engine: Engine, bench: Bench, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "MAX_WAITING", 2)
    monkeypatch.setattr("ojs_server.ops.webhooks.deliveries.PAGE", 2)
    subscribe(bench, events=["job.enqueued"])
    node = Node(engine)
    node.sender.replies["https://example.com/x"] = FAILED
    jobs = [bench.put() for _ in range(7)]
    await node.rest()
    assert len(listed(bench)) <= 4
    node.sender.replies.clear()
    node.sender.sent.clear()
    for _ in range(5):
        clock.now += 30_000
        await node.rest()
    assert {msgspec.json.decode(body)["subject"] for _, _, body in node.sender.sent} == set(jobs)
    assert len(node.sender.sent) == len(jobs)


async def test_a_cursor_moves_on_where_nothing_is_wanted(
    engine: Engine, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "LEAP", 3)
    webhook = subscribe(bench, events=["job.failed"])
    node = Node(engine)
    for _ in range(2):
        bench.put()
        await node.rest()
    assert known(bench, webhook).cursor == webhook.cursor
    bench.put()
    await node.rest()
    assert known(bench, webhook).cursor > webhook.cursor
    assert listed(bench) == []


def test_ended_deliveries_are_removed_in_time(bench: Bench) -> None:
    webhook = subscribe(bench)
    bench.put()
    spread(bench, webhook)
    (sent,) = take(bench, webhook)
    bench.do(RecordAttempt(sent, TAKEN))
    with bench.store.transaction() as tx:
        assert tx.prune_deliveries(START, 10) == 0
        assert tx.prune_deliveries(bench.clock.now + 1, 10) == 1
    assert listed(bench) == []


def test_a_tenants_webhook_is_told_of_its_own_jobs_only(bench: Bench) -> None:
    mine, all_of_them = subscribe(bench, "acme"), subscribe(bench)
    job_id = bench.put(meta={"tenant_id": "acme"})
    bench.put(meta={"tenant_id": "beta"})
    bench.put()
    for webhook in (mine, all_of_them):
        spread(bench, webhook)
    (sent,) = take(bench, mine)
    assert (msgspec.json.decode(sent.body)["subject"], sent.tenant) == (job_id, "acme")
    assert len(take(bench, all_of_them)) == 3
    bench.do(RecordAttempt(sent, TAKEN))
    bench.do(Unsubscribe(mine.id))
    with bench.store.reader() as reader:
        found = reader.events(0, EventFilter(types=("webhook.*",), tenant="acme"), 9).events
        kept = reader.deliveries(DeliveryFilter(tenant="acme"), 9, 0, None).deliveries
    assert [one.event.type for one in found] == [
        "webhook.subscription.created",
        "webhook.delivered",
        "webhook.subscription.deleted",
    ]
    assert [one.id for one in kept] == [sent.id]


def test_a_tenant_leaves_places_for_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MAX_OF_TENANT", 1)
    subscribe(bench, "acme")
    with pytest.raises(Conflict):
        subscribe(bench, "acme")
    subscribe(bench, "beta")
    subscribe(bench)
