"""Subscriptions to webhooks: make, change, give a new secret, forget; and replay a delivery."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.delivery import Delivery, replayed
from ojs_server.domain.errors import Conflict, NotFound, OjsError
from ojs_server.domain.webhook import Webhook, rotated, webhook_id
from ojs_server.domain.webhook_request import WebhookChanges, changed, subscribed
from ojs_server.ops.deliveries import Spread
from ojs_server.ops.work import Work, outcome_of

# Each is looked at for every event, and holds a place in memory while it is.
MAX_WEBHOOKS: Final = 1000
# One tenant leaves places for others.
MAX_OF_TENANT: Final = 100


class Subscribe(msgspec.Struct, frozen=True):
    """Store a new subscription, for all that happens from now on."""

    changes: WebhookChanges
    secret: str
    tenant: str | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction: their count."""
        return ("webhooks",)


class _OnWebhook(msgspec.Struct, frozen=True):
    webhook_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("webhook", self.webhook_id),)


class AmendWebhook(_OnWebhook, frozen=True):
    """Change some members of a subscription; `active` pauses and resumes it."""

    changes: WebhookChanges


class RotateSecret(_OnWebhook, frozen=True):
    """Sign with a new secret, and with the old one for a while."""

    secret: str


class Unsubscribe(_OnWebhook, frozen=True):
    """Forget a subscription; what is on its way is cancelled."""


class Replay(msgspec.Struct, frozen=True):
    """Send an ended delivery again."""

    delivery_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("delivery", self.delivery_id),)


Operation = Subscribe | AmendWebhook | RotateSecret | Unsubscribe | Replay
Answer = Webhook | Delivery


def run(work: Work, ops: Sequence[Operation]) -> list[Answer | OjsError]:
    """Rare calls, one after the other."""
    return [outcome_of(_carry_out, work, op) for op in ops]


def lock(work: Work, ops: Sequence[object]) -> None:
    """Lock the subscriptions of a batch before any delivery."""
    names = [op.webhook_id for op in ops if isinstance(op, _OnWebhook)]
    names += [one.id for op in ops if isinstance(op, Spread) for one in op.news.webhooks]
    work.tx.load_webhooks(names)


def missing(kind: str, name: str) -> NotFound:
    """The answer for a subscription or delivery that is not there."""
    return NotFound(
        f"there is no {kind} {name}",
        details={"resource_type": kind, "resource_id": name},
        hint="GET /ojs/v1/webhooks/subscriptions lists the subscriptions",
    )


def _carry_out(work: Work, op: Operation) -> Answer:
    match op:
        case Subscribe():
            return _subscribe(work, op)
        case AmendWebhook():
            return _amend(work, op)
        case RotateSecret():
            webhook = rotated(_load(work, op.webhook_id), op.secret, work.now)
            work.tx.update_webhooks([webhook])
            return webhook
        case Unsubscribe():
            webhook = _load(work, op.webhook_id)
            work.tx.delete_webhooks([webhook.id])
            work.note(events.of_webhook("webhook.subscription.deleted", webhook))
            return webhook
        case Replay():
            return _replay(work, op.delivery_id)


def _subscribe(work: Work, op: Subscribe) -> Webhook:
    webhook = subscribed(op.changes, webhook_id(work.now, work.luck.bits), op.secret, work.now)
    _require_place(work, None, MAX_WEBHOOKS)
    if op.tenant is not None:
        _require_place(work, op.tenant, MAX_OF_TENANT)
    webhook = msgspec.structs.replace(webhook, cursor=work.tx.log_span().last, tenant=op.tenant)
    work.tx.insert_webhooks([webhook])
    work.note(events.of_webhook("webhook.subscription.created", webhook))
    return webhook


def _require_place(work: Work, tenant: str | None, most: int) -> None:
    if work.tx.count_webhooks(tenant) >= most:
        raise Conflict(
            f"there are {most} webhook subscriptions already, and no more are possible",
            details={"limit": most},
            hint="delete some first, or let one subscription name several events",
        )


def _amend(work: Work, op: AmendWebhook) -> Webhook:
    known = _load(work, op.webhook_id)
    webhook = changed(op.changes, known, work.now)
    if webhook.active and not known.active:
        # What happened while it was paused is not told.
        webhook = msgspec.structs.replace(webhook, cursor=work.tx.log_span().last)
    work.tx.update_webhooks([webhook])
    return webhook


def _replay(work: Work, name: str) -> Delivery:
    known = work.tx.load_deliveries([name]).get(name)
    if known is None:
        raise missing("webhook_delivery", name)
    delivery = replayed(known, work.now)
    if known.webhook_id not in work.tx.load_webhooks([known.webhook_id]):
        raise Conflict(
            f"the subscription of {name} has been deleted, so there is nowhere to send it",
            details={"delivery_id": name, "subscription_id": known.webhook_id},
        )
    work.tx.update_deliveries([delivery])
    return delivery


def _load(work: Work, name: str) -> Webhook:
    known = work.tx.load_webhooks([name]).get(name)
    if known is None:
        raise missing("webhook_subscription", name)
    return known
