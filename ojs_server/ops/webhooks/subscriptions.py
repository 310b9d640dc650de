"""Webhook subscriptions: create, change, rotate the secret, delete; and replay a delivery."""

from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.webhooks.delivery import Delivery, replayed
from ojs_server.domain.webhooks.request import WebhookChanges, changed, subscribed
from ojs_server.domain.webhooks.webhook import Webhook, paused, resumed, rotated, webhook_id
from ojs_server.ops.operation import Locks, Operation, Stage
from ojs_server.ops.unit_of_work import Work

# Every event is matched against every subscription, and all are kept in memory.
MAX_WEBHOOKS: Final = 1000
# Leaves room for other tenants.
MAX_OF_TENANT: Final = 100


class Subscribe(Operation[Webhook], frozen=True):
    """Store a new subscription for all later events."""

    stage = Stage.WEBHOOKS

    changes: WebhookChanges
    secret: str
    tenant: str | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        # All subscribe operations conflict, because each counts the subscriptions.
        return ("webhooks",)

    def carry_out(self, work: Work) -> Webhook:
        webhook = subscribed(
            self.changes, webhook_id(work.now, work.rng.bits), self.secret, work.now
        )
        _require_place(work, None, MAX_WEBHOOKS)
        if self.tenant is not None:
            _require_place(work, self.tenant, MAX_OF_TENANT)
        last = work.tx.log_span().last
        webhook = msgspec.structs.replace(webhook, cursor=last, tenant=self.tenant)
        if not webhook.active:
            webhook = paused(webhook, last)
        work.tx.insert_webhooks([webhook])
        work.note(events.of_webhook("webhook.subscription.created", webhook))
        return webhook


class _OnWebhook(Operation[Webhook], frozen=True):
    stage = Stage.WEBHOOKS

    webhook_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("webhook", self.webhook_id),)

    def lock(self, locks: Locks) -> None:
        locks.webhooks.add(self.webhook_id)

    def load(self, work: Work) -> Webhook:
        """Lock and return the subscription; raises NotFound if there is none."""
        known = work.tx.load_webhooks([self.webhook_id]).get(self.webhook_id)
        if known is None:
            raise missing("webhook_subscription", self.webhook_id)
        return known


class AmendWebhook(_OnWebhook, frozen=True):
    """Change some members of a subscription; `active` pauses and resumes it."""

    changes: WebhookChanges

    def carry_out(self, work: Work) -> Webhook:
        known = self.load(work)
        webhook = changed(self.changes, known, work.now)
        # Events from before a pause are delivered after it, those from within it are not. Those of
        # transactions that are open now are taken for outside of it.
        if known.active and not webhook.active:
            webhook = paused(webhook, work.tx.position())
        elif webhook.active and not known.active:
            webhook = resumed(webhook, work.tx.log_span().last)
        work.tx.update_webhooks([webhook])
        return webhook


class RotateSecret(_OnWebhook, frozen=True):
    """Sign with a new secret, and with the old one for a while."""

    secret: str

    def carry_out(self, work: Work) -> Webhook:
        webhook = rotated(self.load(work), self.secret, work.now)
        work.tx.update_webhooks([webhook])
        return webhook


class Unsubscribe(_OnWebhook, frozen=True):
    """Delete a subscription, and cancel its pending deliveries."""

    def carry_out(self, work: Work) -> Webhook:
        webhook = self.load(work)
        work.tx.delete_webhooks([webhook.id])
        work.note(events.of_webhook("webhook.subscription.deleted", webhook))
        return webhook


class Replay(Operation[Delivery], frozen=True):
    """Send an ended delivery again."""

    stage = Stage.WEBHOOKS

    delivery_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("delivery", self.delivery_id),)

    def carry_out(self, work: Work) -> Delivery:
        known = work.tx.load_deliveries([self.delivery_id]).get(self.delivery_id)
        if known is None:
            raise missing("webhook_delivery", self.delivery_id)
        delivery = replayed(known, work.now)
        if known.webhook_id not in work.tx.load_webhooks([known.webhook_id]):
            raise Conflict(
                f"the subscription of {self.delivery_id} has been deleted, so there is nowhere to "
                "send it",
                details={"delivery_id": self.delivery_id, "subscription_id": known.webhook_id},
            )
        work.tx.update_deliveries([delivery])
        return delivery


def missing(kind: str, name: str) -> NotFound:
    """Return the error for a subscription or delivery that does not exist."""
    return NotFound(
        f"there is no {kind} {name}",
        details={"resource_type": kind, "resource_id": name},
        hint="GET /ojs/v1/webhooks/subscriptions lists the subscriptions",
    )


def _require_place(work: Work, tenant: str | None, most: int) -> None:
    if work.tx.count_webhooks(tenant) >= most:
        raise Conflict(
            f"there are {most} webhook subscriptions already, and no more are possible",
            details={"limit": most},
            hint="delete some first, or let one subscription name several events",
        )
