"""Webhooks and their deliveries."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.delivery import Delivery
from ojs_server.domain.webhook import Webhook
from ojs_server.store.base import StaleWrite
from ojs_server.store.records import Place
from ojs_server.store.tables.events import LogSpans
from ojs_server.store.tables.statements import Statements, Writing
from ojs_server.store.webhooks import MAX_COUNTED, DeliveryFilter, DeliveryPage, WebhookLoad

# What a list begins with: a place before every other.
_END: Final = Place(1 << 62, "")
_COLUMNS: Final = len(Webhook.__struct_fields__)


class WebhookWrites(LogSpans, Writing):
    """Webhooks in a write transaction."""

    def insert_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        """Store new subscriptions."""
        self.run_rows("insert_webhooks", [msgspec.structs.astuple(one) for one in webhooks])

    def count_webhooks(self, tenant: str | None = None) -> int:
        """How many there are, or how many a tenant has."""
        return int(self.all("count_webhooks", tenant=tenant)[0][0])

    def load_webhooks(self, ids: Iterable[str]) -> dict[str, Webhook]:
        """Lock and read subscriptions."""
        return {row[0]: _webhook(row) for row in self.of_ids("load_webhooks", ids)}

    def update_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        """Changed subscriptions, all or none."""
        rows = [msgspec.structs.astuple(one) for one in webhooks]
        if self.run_rows("update_webhooks", rows) != len(rows):
            raise StaleWrite("a webhook is no longer there")

    def delete_webhooks(self, ids: Sequence[str]) -> None:
        """Forget subscriptions."""
        for webhook_id in ids:
            self.run("cancel_deliveries", webhook_id=webhook_id, now=self.now)
        self.run_rows("delete_webhooks", [(webhook_id,) for webhook_id in ids])

    def insert_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """Store new deliveries."""
        self.run_rows("insert_deliveries", [msgspec.structs.astuple(one) for one in deliveries])

    def load_deliveries(self, ids: Iterable[str]) -> dict[str, Delivery]:
        """Lock and read deliveries."""
        return {row[0]: Delivery(*row) for row in self.of_ids("load_deliveries", ids)}

    def load_due_deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Lock what is due."""
        bound = {"webhook_id": webhook_id, "now": self.now, "limit": limit}
        return [Delivery(*row) for row in self.all("load_due_deliveries", **bound)]

    def update_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """How far deliveries are, all or none."""
        rows = [
            (
                one.id,
                one.status,
                one.attempt,
                one.due_at,
                one.finished_at,
                one.answer,
                one.error,
                one.took_ms,
            )
            for one in deliveries
        ]
        if self.run_rows("update_deliveries", rows) != len(rows):
            raise StaleWrite("a delivery is no longer there")

    def prune_deliveries(self, before: int, limit: int) -> int:
        """Remove old deliveries."""
        return self.run("prune_deliveries", before=before, limit=limit)


class WebhookReads(Statements):
    """Webhooks outside of a transaction."""

    def webhooks(self, ids: Sequence[str] | None = None) -> list[Webhook]:
        """All subscriptions, or some."""
        rows = self.all("list_webhooks") if ids is None else self.of_ids("some_webhooks", ids)
        return [_webhook(row) for row in rows]

    def webhook_loads(self, most: int) -> list[WebhookLoad]:
        """What there is to do."""
        return [
            WebhookLoad(_webhook(row[:_COLUMNS]), *row[_COLUMNS:])
            for row in self.all("webhook_loads", most=most)
        ]

    def delivery(self, delivery_id: str) -> Delivery | None:
        """One delivery."""
        rows = self.of_ids("some_deliveries", [delivery_id])
        return Delivery(*rows[0]) if rows else None

    def deliveries(
        self, wanted: DeliveryFilter, limit: int, offset: int, after: Place | None
    ) -> DeliveryPage:
        """Deliveries, newest first, by the index that the filter makes smallest."""
        moment, last = after or _END
        if not self.can_hold(wanted.webhook_id, wanted.status, last):
            return DeliveryPage([], 0, False)
        lead, bound = "deliveries", dict[str, Any]()
        narrowed = {"webhook_id": wanted.webhook_id, "status": wanted.status}
        if wanted.tenant is not None:
            lead, bound = "deliveries_of_tenant", {**narrowed, "tenant": wanted.tenant}
        elif wanted.webhook_id is not None:
            lead, bound = "deliveries_of_webhook", narrowed
        elif wanted.status is not None:
            lead, bound = "deliveries_of_status", {"status": wanted.status}
        rows = self.all(lead, **bound, moment=moment, after=last, limit=limit + 1, offset=offset)
        total = self.all(f"count_{lead}", **bound, most=MAX_COUNTED)[0][0]
        return DeliveryPage([Delivery(*row) for row in rows[:limit]], total, len(rows) > limit)


def _webhook(row: Sequence[Any]) -> Webhook:
    webhook_id, url, wish, active, *rest = row
    return Webhook(webhook_id, url, wish, bool(active), *rest)
