"""Faults of webhooks: requests to targets, repetitions, and the end of deliveries."""

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from ojs_server.domain.webhooks import delivery, target
from ojs_server.domain.webhooks.delivery import Delivery, Reply, Status
from ojs_server.loops import deliver
from ojs_server.ops.webhooks import deliveries
from ojs_server.ops.webhooks import subscriptions as webhooks
from ojs_server.ops.webhooks.deliveries import NewEvents
from ojs_server.webhooks import client, posting
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import change_request


@fault("OJS-WHK-007")
def private_addresses_are_public() -> None:
    """The URL of a subscription may name any address."""
    put(target, "is_public", lambda address: True)


@fault("OJS-WHK-024")
def only_the_newest_secret_signs() -> None:
    """Deliveries are not signed with the previous secret."""
    wrap(client, "signature", lambda sign: lambda secrets, *more: sign(secrets[:1], *more))


@fault("OJS-WHK-010")
def signatures_leave_the_time_out() -> None:
    """Only the body is signed, so that it can be sent again at any time."""

    def sign(secrets: tuple[str, ...], _: int, body: bytes) -> str:
        made = (hmac.new(secret.encode(), body, hashlib.sha256) for secret in secrets)
        return ",".join(f"sha256={one.hexdigest()}" for one in made)

    put(client, "signature", sign)


@fault("OJS-WHK-009")
def one_target_has_an_event() -> None:
    """An event is delivered to only one of the subscriptions that want it."""

    # Subscriptions that stand at different places of the log are looked at one after another.
    theirs: dict[int, str] = {}

    def first_only(news: NewEvents, *_: object) -> NewEvents:
        matched = (
            (name, placed)
            for name, placed in news.matched
            if theirs.setdefault(placed.position, name) == name
        )
        return msgspec.structs.replace(news, matched=tuple(matched))

    after(deliver, "look", first_only)


@fault("OJS-WHK-026")
def redirects_are_followed() -> None:
    """Redirects are followed, to addresses that were not checked."""

    def following(client: httpx.AsyncClient) -> httpx.AsyncClient:
        client.follow_redirects = True
        return client

    after(posting, "_client", following)


@fault("OJS-WHK-011")
def gone_targets_are_tried_again() -> None:
    """An answer such as 410 does not end a delivery."""
    put(Reply, "hopeless", property(lambda _: False))


@fault("OJS-WHK-011")
def failed_targets_are_asked_at_once() -> None:
    """A delivery is tried again a second after each failure."""
    put(delivery, "LADDER_MS", (1000,) * len(delivery.LADDER_MS))


@fault("OJS-WHK-006")
def pauses_are_not_heard() -> None:
    """A subscription that is paused goes on."""
    change_request("/webhooks/subscriptions/[^/]+", lambda body, _: body.pop("active", None))


@fault("OJS-WHK-013")
def a_target_holds_many_connections() -> None:
    """Twenty deliveries are on to one target at a time."""
    put(deliver, "AT_ONCE", 20)


@fault("OJS-WHK-015")
def deliveries_that_are_on_their_way_are_sent_again() -> None:
    """A delivery that has not ended can be replayed."""

    def make(replayed: Callable[..., Delivery]) -> Callable[..., Delivery]:
        def at_any_time(one: Delivery, now: int) -> Delivery:
            return replayed(msgspec.structs.replace(one, status=Status.DEAD), now)

        return at_any_time

    wrap(webhooks, "replayed", make)


@fault("OJS-WHK-016")
def tests_answer_whole_bodies() -> None:
    """The test of a subscription shows the whole body that its target answers."""
    put(posting, "MAX_EXCERPT", 1024 * 1024)


@fault("OJS-WHK-017")
def given_up_deliveries_are_not_told() -> None:
    """A delivery that is dead has no event that says so."""

    def without(kinds: dict[Any, tuple[str, ...]]) -> dict[Any, tuple[str, ...]]:
        return {**kinds, Status.DEAD: ("webhook.failed",)}

    wrap(deliveries, "_EVENTS", without)
