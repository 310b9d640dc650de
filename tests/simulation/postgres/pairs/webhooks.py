"""Deliveries of webhooks, which any node may make, take and record."""

from typing import Any

from ojs_server.domain.webhooks.delivery import Reply
from ojs_server.domain.webhooks.request import parse_changes
from ojs_server.domain.webhooks.target import Reach
from ojs_server.ops.webhooks.deliveries import NewEvents, RecordAttempt, Spread, Take, look
from ojs_server.ops.webhooks.subscriptions import Replay, Subscribe, Unsubscribe
from tests.ops.bench import Bench
from tests.simulation.postgres.pair import Pair

MINUTE = 60_000
SOURCE = "ojs://test"


def _subscribed(bench: Bench) -> str:
    body = {"url": "https://example.com/x", "events": ["*"]}
    hook = bench.do(Subscribe(parse_changes(body, Reach()), "secret-01", None))
    return str(hook.id)


def _news(bench: Bench) -> NewEvents:
    """Two events for a subscription."""
    hook_id = _subscribed(bench)
    bench.put()
    bench.put()
    return _unread(bench, hook_id)


def _unread(bench: Bench, hook_id: str) -> NewEvents:
    with bench.store.reader() as reader:
        (hook,) = reader.webhooks([hook_id])
        return look(reader, [hook], hook.cursor)


def _pending(bench: Bench) -> str:
    """A subscription with two deliveries."""
    hook_id = _subscribed(bench)
    bench.put()
    bench.put()
    bench.do(Spread(_unread(bench, hook_id), SOURCE))
    return hook_id


def _taken(bench: Bench) -> Any:
    """A subscription, and the delivery that a node has taken."""
    hook_id = _pending(bench)
    return hook_id, bench.do(Take(((hook_id, 1),), MINUTE)).deliveries[0]


PAIRS = (
    Pair(
        "two nodes make deliveries of the same events",
        _news,
        lambda news: (Spread(news, SOURCE),),
    ),
    Pair(
        "two nodes take deliveries",
        _pending,
        lambda hook: (Take(((hook, 1),), MINUTE),),
        lambda hook: (Take(((hook, 2),), MINUTE),),
        later_ms=MINUTE,
    ),
    Pair(
        "a delivery is taken, and its subscription ends",
        _pending,
        lambda hook: (Take(((hook, 2),), MINUTE),),
        lambda hook: (Unsubscribe(hook),),
        later_ms=MINUTE,
    ),
    Pair(
        "the end of a delivery and of its subscription",
        _taken,
        lambda known: (RecordAttempt(known[1], Reply(200, None, 3)),),
        lambda known: (Unsubscribe(known[0]),),
    ),
    Pair(
        "the end of a delivery, and its repetition",
        _taken,
        lambda known: (RecordAttempt(known[1], Reply(200, None, 3)),),
        lambda known: (Replay(known[1].id),),
    ),
)
