"""Webhook subscriptions: their filters of events, and the signature of deliveries."""

import hashlib
import hmac
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

from ojs_wire import codec
from ojs_wire.codec import Json
from ojs_wire.values import RandomBits, uuid7

# Time for which the previous secret still signs.
OVERLAP_MS: Final = 24 * 3_600_000
# The only event without a cause in the store: a call to test a target.
TEST_EVENT: Final = "webhook.test"
# Not delivered by webhooks: each delivery would cause another event.
OWN_EVENTS: Final = "webhook."


class Format(StrEnum):
    """The format of a delivered event: the server's own, or CloudEvents."""

    OJS = "ojs"
    CLOUD_EVENTS = "cloudevents"


# Spans of positions of the event log; the last one has no end while it lasts.
Pauses = tuple[tuple[int, int | None], ...]


class Selection(msgspec.Struct, frozen=True):
    """The events that a target wants, and their format; an event must match all given filters.

    `metadata` belongs to the user. Nothing is delivered of what happened during `pauses`.
    """

    events: tuple[str, ...]
    queues: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    format: Format = Format.OJS
    pauses: Pauses = ()

    def is_paused_at(self, position: int) -> bool:
        """True if an event at this position happened during a pause."""
        return any(
            start < position and (end is None or position <= end) for start, end in self.pauses
        )


class Webhook(msgspec.Struct, frozen=True):
    """A subscription. Its deliveries are created up to `cursor` in the event log.

    That of a tenant receives only events of the tenant.
    """

    id: str
    url: str
    selection: Json
    active: bool
    secret: str
    old_secret: str | None
    old_until: int | None
    cursor: int
    created_at: int
    updated_at: int
    tenant: str | None = None

    def secrets(self, now: int) -> tuple[str, ...]:
        """Return the secrets that sign a delivery now, the newest first."""
        if self.old_secret is None or self.old_until is None or self.old_until <= now:
            return (self.secret,)
        return self.secret, self.old_secret


# Each round of deliveries asks for them several times.
_decoded = lru_cache(maxsize=1024)(msgspec.json.Decoder(Selection).decode)


def selection_of(webhook: Webhook) -> Selection:
    """Return the events and filters that a subscription asks for."""
    return _decoded(webhook.selection)


def encoded(selection: Selection) -> bytes:
    """Return the filters in their stored form."""
    return codec.encode(selection)


def paused(webhook: Webhook, position: int) -> Webhook:
    """Return the subscription as it is paused from behind a position of the event log."""
    pauses = (*selection_of(webhook).pauses, (position, None))
    return msgspec.structs.replace(_with_pauses(webhook, pauses), active=False)


def resumed(webhook: Webhook, last: int) -> Webhook:
    """Return the subscription as it goes on; `last` is the end of the event log."""
    pauses = selection_of(webhook).pauses
    active = msgspec.structs.replace(webhook, active=True)
    if not pauses:
        # Paused by a version that did not note the start.
        return msgspec.structs.replace(active, cursor=last)
    *earlier, (start, _) = pauses
    return _with_pauses(active, (*earlier, (start, last)))


def passed(webhook: Webhook, cursor: int) -> Webhook:
    """Return the subscription with its deliveries made up to a position of the event log."""
    moved = msgspec.structs.replace(webhook, cursor=cursor)
    pauses = selection_of(webhook).pauses
    left = tuple(pause for pause in pauses if pause[1] is None or pause[1] > cursor)
    return moved if left == pauses else _with_pauses(moved, left)


def skipped(webhook: Webhook, position: int) -> int:
    """Return the position, or the end of the pause in which it lies."""
    for start, end in selection_of(webhook).pauses:
        if end is not None and start <= position < end:
            position = end
    return position


def _with_pauses(webhook: Webhook, pauses: Pauses) -> Webhook:
    selection = msgspec.structs.replace(selection_of(webhook), pauses=pauses)
    return msgspec.structs.replace(webhook, selection=encoded(selection))


def webhook_id(now: int, bits: RandomBits) -> str:
    """Return the id of a new subscription."""
    return "sub_" + uuid7(now, bits)


def rotated(webhook: Webhook, secret: str, now: int) -> Webhook:
    """Return the subscription with a new secret; the previous one also signs for another day."""
    return msgspec.structs.replace(
        webhook,
        secret=secret,
        old_secret=webhook.secret,
        old_until=now + OVERLAP_MS,
        updated_at=now,
    )


def signature(secrets: tuple[str, ...], timestamp: int, body: bytes) -> str:
    """Return the signature header: one signature for each secret, joined by commas."""
    signed = b"%d." % timestamp + body
    return ",".join(
        "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        for secret in secrets
    )
