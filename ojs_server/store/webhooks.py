"""The store contract's part about webhooks, which `base.py` takes in.

Subscriptions are locked before deliveries, and neither together with jobs.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ojs_server.domain.delivery import Delivery
from ojs_server.domain.webhook import Webhook
from ojs_server.store.records import LogSpan, Place

# Further than this nobody counts how many deliveries there are.
MAX_COUNTED = 10_000


class DeliveryFilter(msgspec.Struct, frozen=True):
    """Which deliveries a reader wants; None means all."""

    webhook_id: str | None = None
    status: str | None = None
    tenant: str | None = None


class DeliveryPage(msgspec.Struct, frozen=True):
    """Deliveries of a list, newest first, and how many there are, counted to `MAX_COUNTED`."""

    deliveries: Sequence[Delivery]
    total: int
    has_more: bool


class WebhookLoad(NamedTuple):
    """An active subscription, when one of its deliveries is due next, and how many wait."""

    webhook: Webhook
    due_at: int | None
    waiting: int


class WebhookTx(Protocol):
    """Webhooks in a write transaction."""

    def insert_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        """Store new subscriptions."""

    def count_webhooks(self, tenant: str | None = None) -> int:
        """How many subscriptions there are, or how many a tenant has."""

    def log_span(self) -> LogSpan:
        """From where to where the event log can be read."""

    def load_webhooks(self, ids: Iterable[str]) -> dict[str, Webhook]:
        """Lock and read subscriptions."""

    def update_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        """Store locked subscriptions as they are now."""

    def delete_webhooks(self, ids: Sequence[str]) -> None:
        """Forget subscriptions; what waits for them is cancelled."""

    def insert_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """Store new deliveries."""

    def load_deliveries(self, ids: Iterable[str]) -> dict[str, Delivery]:
        """Lock and read deliveries."""

    def load_due_deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Lock the deliveries of a subscription whose time has come, longest due first.

        Those that another transaction has locked are passed over.
        """

    def update_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """Store how far locked deliveries are now."""

    def prune_deliveries(self, before: int, limit: int) -> int:
        """Remove deliveries that ended before a moment."""


class WebhookReader(Protocol):
    """Webhooks outside of a transaction."""

    def webhooks(self, ids: Sequence[str] | None = None) -> list[Webhook]:
        """All subscriptions, newest first, or these."""

    def webhook_loads(self, most: int) -> list[WebhookLoad]:
        """What there is to do for each active subscription, counted to `most`."""

    def delivery(self, delivery_id: str) -> Delivery | None:
        """One delivery."""

    def deliveries(
        self, wanted: DeliveryFilter, limit: int, offset: int, after: Place | None
    ) -> DeliveryPage:
        """Deliveries, newest first; `after` is the place where a page ended."""
