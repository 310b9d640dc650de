"""Deliveries of webhooks: list, read, send again."""

from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.webhooks.delivery import Delivery, Status
from ojs_server.http import dialects
from ojs_server.http.access.roles import LOOK, OPERATE
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import cursor_at, page_of, place_of
from ojs_server.http.route import Route
from ojs_server.ops.webhooks.subscriptions import Replay, missing
from ojs_server.store.records import DeliveryFilter, ListPosition
from ojs_wire import codec
from ojs_wire.calls import EmptyRequest
from ojs_wire.values import format_timestamp, timestamp

_PREFIX: Final = "dlv_"
_STATUSES: Final = tuple(Status)


async def deliveries(call: Call) -> Answer:
    """List deliveries, newest first; `subscription_id` and `status` filter."""
    query = call.query_params
    status = query.get("status") or None
    if status is not None and status not in _STATUSES:
        allowed = ", ".join(_STATUSES)
        raise invalid("status", f"must be one of {allowed}{nearest(status, _STATUSES)}")
    page = page_of(call)
    after = None
    if page.cursor is not None:
        place = place_of(page.cursor)
        after = ListPosition(place.moment, _PREFIX + place.id)
    delivery_filter = DeliveryFilter(query.get("subscription_id") or None, status, call.tenant)
    found = await call.server.engine.read(
        lambda reader: reader.deliveries(delivery_filter, page.limit, page.offset, after)
    )
    cursor = None
    if found.has_more:
        last = found.deliveries[-1]
        cursor = cursor_at(ListPosition(last.created_at, last.id.removeprefix(_PREFIX)))
    items = [_sent(delivery) for delivery in found.deliveries]
    pagination = page.describe(found.total, cursor)
    return Answer({"deliveries": items, "items": items, "pagination": pagination})


async def delivery(call: Call) -> Answer:
    """Show one delivery, with its event."""
    found = await _delivery(call)
    return Answer(dialects.delivery_answer({**_sent(found), "event": codec.decode(found.body)}))


async def replay(call: Call) -> Answer:
    """Send an ended delivery again, from the beginning of its attempts."""
    await call.read(EmptyRequest, optional=True)
    if call.tenant is not None:
        await _delivery(call)
    replayed = await call.server.engine.run(Replay(call.path_params["id"]))
    call.server.webhooks_changed()
    return Answer(dialects.delivery_answer(_sent(replayed)), 202)


async def _delivery(call: Call) -> Delivery:
    name = call.path_params["id"]
    found = await call.server.engine.read(lambda reader: reader.delivery(name))
    if found is None or call.tenant not in (None, found.tenant):
        raise missing("webhook_delivery", name[:100])
    return found


def _sent(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "subscription_id": delivery.webhook_id,
        "event_id": delivery.event_id,
        "event_type": delivery.event_type,
        "status": delivery.status,
        "attempts": delivery.attempt,
        "status_code": delivery.answer,
        "error": delivery.error,
        "response_time_ms": delivery.took_ms,
        "next_attempt_at": timestamp(delivery.due_at),
        "created_at": format_timestamp(delivery.created_at),
        "finished_at": timestamp(delivery.finished_at),
    }


ROUTES: Final = (
    Route("GET", "/webhooks/deliveries", deliveries, LOOK, tenanted=True),
    Route("GET", "/webhooks/deliveries/{id}", delivery, LOOK, tenanted=True),
    Route("POST", "/webhooks/deliveries/{id}/retry", replay, OPERATE, tenanted=True),
)
