"""Webhook subscriptions and their deliveries.

Subscriptions are locked before deliveries, and neither together with jobs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ojs_server.domain.webhooks.delivery import Delivery
from ojs_server.domain.webhooks.webhook import Webhook
from ojs_server.store.records import (
    MAX_COUNTED,
    DeliveryFilter,
    DeliveryPage,
    ListPosition,
    WebhookLoad,
)
from ojs_server.store.tables.events import LogSpans
from ojs_server.store.tables.statements import Statements, Writing

# The start of a list: a position before all others.
_END: Final = ListPosition(1 << 62, "")


class WebhookWrites(LogSpans, Writing):
    """Webhooks in a write transaction."""

    def insert_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        """Store new subscriptions."""
        self.run_records("insert_webhooks", webhooks)

    def count_webhooks(self, tenant: str | None = None) -> int:
        """Count all subscriptions, or those of a tenant."""
        return int(self.all("count_webhooks", tenant=tenant)[0][0])

    def load_webhooks(self, ids: Iterable[str]) -> dict[str, Webhook]:
        """Lock and read subscriptions."""
        return {webhook.id: webhook for webhook in self.read_ids(Webhook, "load_webhooks", ids)}

    def update_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        """Store locked subscriptions as they are now."""
        self.update_records("update_webhooks", webhooks, "a webhook")

    def delete_webhooks(self, ids: Sequence[str]) -> None:
        """Delete subscriptions, and cancel their pending deliveries."""
        for webhook_id in ids:
            self.run("cancel_deliveries", webhook_id=webhook_id, now=self.now)
        self.run_ids("delete_webhooks", ids)

    def insert_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """Store new deliveries."""
        self.run_records("insert_deliveries", deliveries)

    def load_deliveries(self, ids: Iterable[str]) -> dict[str, Delivery]:
        """Lock and read deliveries."""
        return {
            delivery.id: delivery for delivery in self.read_ids(Delivery, "load_deliveries", ids)
        }

    def load_due_deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Lock the deliveries of a subscription whose time has come, longest due first.

        Those that another transaction has locked are passed over.
        """
        bound = {"webhook_id": webhook_id, "now": self.now, "limit": limit}
        return self.read(Delivery, "load_due_deliveries", **bound)

    def update_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """Store how far locked deliveries are now."""
        self.update_records("update_deliveries", deliveries, "a delivery")

    def prune_deliveries(self, before: int, limit: int) -> int:
        """Remove deliveries that ended before a moment."""
        return self.run("prune_deliveries", before=before, limit=limit)


class WebhookReads(Statements):
    """Webhooks outside of a transaction."""

    def webhooks(self, ids: Sequence[str] | None = None) -> list[Webhook]:
        """All subscriptions, newest first, or these."""
        if ids is None:
            return self.read(Webhook, "list_webhooks")
        return self.read_ids(Webhook, "some_webhooks", ids)

    def webhook_loads(self, most: int) -> list[WebhookLoad]:
        """Count the outstanding deliveries of each active subscription, up to `most`."""
        return self.read(WebhookLoad, "webhook_loads", most=most)

    def delivery(self, delivery_id: str) -> Delivery | None:
        """One delivery."""
        return next(iter(self.read_ids(Delivery, "some_deliveries", [delivery_id])), None)

    def deliveries(
        self, delivery_filter: DeliveryFilter, limit: int, offset: int, after: ListPosition | None
    ) -> DeliveryPage:
        """Return deliveries, newest first, after the position where the last page ended."""
        moment, last = after or _END
        if not self.can_hold(delivery_filter.webhook_id, delivery_filter.status, last):
            return DeliveryPage([], 0, False)
        lead, bound = "deliveries", dict[str, Any]()
        narrowed = {"webhook_id": delivery_filter.webhook_id, "status": delivery_filter.status}
        if delivery_filter.tenant is not None:
            lead, bound = "deliveries_of_tenant", {**narrowed, "tenant": delivery_filter.tenant}
        elif delivery_filter.webhook_id is not None:
            lead, bound = "deliveries_of_webhook", narrowed
        elif delivery_filter.status is not None:
            lead, bound = "deliveries_of_status", {"status": delivery_filter.status}
        place = {"moment": moment, "after": last, "limit": limit + 1, "offset": offset}
        found = self.read(Delivery, lead, **bound, **place)
        total = self.all(f"count_{lead}", **bound, most=MAX_COUNTED)[0][0]
        return DeliveryPage(found[:limit], total, len(found) > limit)
