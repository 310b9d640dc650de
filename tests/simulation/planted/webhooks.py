"""Deliveries of webhooks that are lost or sent in vain."""

from typing import Any

import msgspec

from ojs_server.domain.webhooks.delivery import Delivery, Reply
from ojs_server.domain.webhooks.webhook import Webhook
from ojs_server.loops import deliver
from ojs_server.ops.webhooks import deliveries, subscriptions
from ojs_server.ops.webhooks.deliveries import NewEvents
from ojs_server.webhooks import client
from tests.faulty.planting import after, put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="webhooks", needs="a crash during an attempt", like="9c63b683")
def deliveries_of_dead_nodes_are_lost() -> None:
    """A delivery whose node dies in an attempt is never tried again."""
    after(
        deliveries,
        "taken",
        lambda taken, *_: (
            msgspec.structs.replace(taken, due_at=None) if taken.status == "pending" else taken
        ),
    )


@planted(sees="webhooks", needs="a target that accepts a second attempt")
def accepted_repetitions_are_sent_again() -> None:
    """A delivery that its target accepts at the second attempt is sent once more."""

    def make(tried: Any) -> Any:
        def again(delivery: Delivery, reply: Reply, now: int) -> Any:
            if delivery.attempt == 2:
                reply = msgspec.structs.replace(reply, answer=500)
            return tried(delivery, reply, now)

        return again

    wrap(deliveries, "tried", make)


@planted(sees="webhooks", needs="2 nodes")
def two_nodes_deliver_the_same_events() -> None:
    """A node makes deliveries for events of which another one has made some meanwhile."""

    def make(spread: Any) -> Any:
        def regardless(work: Any, op: Any) -> Any:
            known = work.tx.load_webhooks([webhook.id for webhook in op.news.webhooks])
            news = msgspec.structs.replace(op.news, webhooks=tuple(known.values()))
            return spread(work, msgspec.structs.replace(op, news=news))

        return regardless

    wrap(deliveries, "_spread", make)


@planted(sees="webhooks", needs="a page of the log with several events for a subscription")
def one_event_of_a_page_is_delivered() -> None:
    """Of the events of a page that a subscription wants only the last one is delivered."""

    def last(news: NewEvents, *_: object) -> NewEvents:
        return msgspec.structs.replace(news, matched=tuple(dict(news.matched).items()))

    after(deliver, "look", last)


@planted(sees="webhooks", needs="an event just before a pause")
def a_pause_loses_what_was_before_it() -> None:
    """A subscription does not note where it was paused, and goes on at the end of the log."""

    def unnoted(webhook: Webhook, position: int) -> Webhook:
        return msgspec.structs.replace(webhook, active=False)

    put(subscriptions, "paused", unnoted)


@planted(sees="webhooks", needs="a delivery")
def deliveries_are_signed_by_another_secret() -> None:
    """A delivery is signed by a part of the secret."""
    wrap(
        client,
        "signature",
        lambda sign: lambda secrets, *rest: sign(tuple(one[:-1] for one in secrets), *rest),
    )
