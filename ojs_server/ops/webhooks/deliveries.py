"""Webhook deliveries: created from the event log, claimed by one node each, and reported on.

    event log ── behind each subscription's cursor ──▶ Spread ──▶ pending deliveries
    pending, due ──▶ Take: this node's, until a moment ──▶ an attempt ──▶ RecordAttempt

Nothing waits in memory only: deliveries of a node that dies become due again.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.webhooks.delivery import (
    Delivery,
    Reply,
    Status,
    delivery_id,
    taken,
    tried,
)
from ojs_server.domain.webhooks.webhook import OWN_EVENTS, Webhook, passed, selection_of
from ojs_server.ops.operation import Locks, Operation, Stage, handles
from ojs_server.ops.streams.event_json import envelope, event_id
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.base import Reader
from ojs_server.store.event_log import matches
from ojs_server.store.records import EventFilter, PlacedEvent

PAGE: Final = 500
# Most waiting deliveries of a target, approximately; while it is unreachable, its backlog stays in
# the event log.
MAX_WAITING: Final = 10_000
# Most receivers would refuse a larger event.
MAX_BODY: Final = 256 * 1024


class NewEvents(msgspec.Struct, frozen=True):
    """The events after a cursor for the subscriptions that share it; `cursor` is the new one."""

    webhooks: tuple[Webhook, ...]
    cursor: int
    has_more: bool
    matched: tuple[tuple[str, PlacedEvent], ...]


class DueDeliveries(msgspec.Struct, frozen=True):
    """Deliveries to be tried now, and the moment of the store's clock at which they were taken."""

    now: int
    deliveries: tuple[Delivery, ...]


class Reported(msgspec.Struct, frozen=True):
    """The result of a report; `kept` is false if another node reported first."""

    kept: bool
    delivery: Delivery | None = None


class Spread(Operation[Reported], frozen=True):
    """Create the deliveries for new events, unless another node has done so meanwhile."""

    stage = Stage.DELIVERIES

    news: NewEvents
    source: str

    @property
    def keys(self) -> tuple[object, ...]:
        return tuple(("webhook", webhook.id) for webhook in self.news.webhooks)

    def lock(self, locks: Locks) -> None:
        locks.webhooks.update(webhook.id for webhook in self.news.webhooks)


class Take(Operation[DueDeliveries], frozen=True):
    """Claim due deliveries for this node for a while, up to a number for each subscription."""

    stage = Stage.DELIVERIES

    slots: tuple[tuple[str, int], ...]
    lease_ms: int

    @property
    def keys(self) -> tuple[object, ...]:
        return ("deliveries",)


class RecordAttempt(Operation[Reported], frozen=True):
    """Record the result of a delivery attempt of this node."""

    stage = Stage.DELIVERIES

    delivery: Delivery
    reply: Reply

    @property
    def keys(self) -> tuple[object, ...]:
        return (("delivery", self.delivery.id),)


Answer = Reported | DueDeliveries


def look(reader: Reader, webhooks: Sequence[Webhook], cursor: int) -> NewEvents:
    """Read the log after a position, for the subscriptions that were served up to it."""
    page = reader.events(cursor, EventFilter(), PAGE)
    filters = [(webhook.id, selection_of(webhook), filter_of(webhook)) for webhook in webhooks]
    return NewEvents(
        webhooks=tuple(webhooks),
        cursor=page.cursor,
        has_more=page.has_more,
        matched=tuple(
            (name, placed)
            for placed in page.events
            if not placed.event.type.startswith(OWN_EVENTS)
            for name, selection, new in filters
            if matches(placed.event, new) and not selection.is_paused_at(placed.position)
        ),
    )


def filter_of(webhook: Webhook) -> EventFilter:
    """Return the event filter of a subscription."""
    selection = selection_of(webhook)
    return EventFilter(
        types=selection.events,
        queues=selection.queues,
        job_types=selection.job_types,
        tenant=webhook.tenant,
    )


@handles(Stage.DELIVERIES)
def run(work: Work, ops: Sequence[Spread | Take | RecordAttempt]) -> list[Answer]:
    """Spread, take and report; in each group subscriptions are locked before deliveries."""
    answers: dict[int, Answer] = {}
    for place, op in enumerate(ops):
        if isinstance(op, Spread):
            answers[place] = _spread(work, op)
    reports = {place: op for place, op in enumerate(ops) if isinstance(op, RecordAttempt)}
    answers.update(zip(reports, _report(work, list(reports.values())), strict=True))
    for place, op in enumerate(ops):
        if isinstance(op, Take):
            answers[place] = _take(work, op)
    return [answers[place] for place in range(len(ops))]


def _spread(work: Work, op: Spread) -> Reported:
    news = op.news
    known = work.tx.load_webhooks([webhook.id for webhook in news.webhooks])
    # Skip subscriptions that were changed since they were read; the next round reads them again.
    same = [webhook for webhook in news.webhooks if known.get(webhook.id) == webhook]
    if same:
        work.tx.update_webhooks([passed(webhook, news.cursor) for webhook in same])
        tenants = {webhook.id: webhook.tenant for webhook in same}
        made = [
            _made(work, name, tenants[name], placed, op.source)
            for name, placed in news.matched
            if name in tenants
        ]
        if made:
            work.tx.insert_deliveries(made)
    return Reported(len(same) == len(news.webhooks))


def _made(work: Work, name: str, tenant: str | None, placed: PlacedEvent, source: str) -> Delivery:
    body = envelope(placed, source)
    delivery = Delivery(
        id=delivery_id(work.now, work.rng.bits),
        webhook_id=name,
        event_id=event_id(placed),
        event_type=placed.event.type,
        body=body,
        status=Status.PENDING,
        attempt=0,
        due_at=work.now,
        created_at=work.now,
        tenant=tenant,
    )
    if len(body) <= MAX_BODY:
        return delivery
    return msgspec.structs.replace(
        delivery,
        body=b"{}",
        status=Status.DEAD,
        due_at=None,
        finished_at=work.now,
        error=f"the event has {len(body)} bytes; at most {MAX_BODY} are sent",
    )


def _take(work: Work, op: Take) -> DueDeliveries:
    due = [
        taken(delivery, work.now, op.lease_ms)
        for name, count in op.slots
        for delivery in work.tx.load_due_deliveries(name, count)
    ]
    if due:
        work.tx.update_deliveries(due)
        _note_results(work, (delivery for delivery in due if delivery.status == Status.DEAD))
    return DueDeliveries(
        work.now, tuple(delivery for delivery in due if delivery.status == Status.PENDING)
    )


def _report(work: Work, ops: Sequence[RecordAttempt]) -> list[Reported]:
    if not ops:
        return []
    known = work.tx.load_deliveries([op.delivery.id for op in ops])
    reported: list[Reported] = []
    moved: list[Delivery] = []
    for op in ops:
        now = known.get(op.delivery.id)
        # The attempt of a slow node may have been given up, and another one made since.
        if now is None or (now.status, now.attempt) != (Status.PENDING, op.delivery.attempt):
            reported.append(Reported(False, now))
            continue
        moved.append(tried(now, op.reply, work.now))
        reported.append(Reported(True, moved[-1]))
    if moved:
        work.tx.update_deliveries(moved)
        _note_results(work, moved)
    return reported


_EVENTS: Final = {
    Status.PENDING: ("webhook.failed",),
    Status.DELIVERED: ("webhook.delivered",),
    Status.DEAD: ("webhook.failed", "webhook.dead"),
    Status.CANCELLED: (),
}


def _note_results(work: Work, deliveries: Iterable[Delivery]) -> None:
    for delivery in deliveries:
        for kind in _EVENTS[Status(delivery.status)]:
            work.note(events.of_delivery(kind, delivery))
