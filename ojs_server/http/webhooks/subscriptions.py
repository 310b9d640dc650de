"""Subscriptions of webhooks: create, list, read, change, delete, test, rotate the secret."""

from base64 import urlsafe_b64encode
from typing import Any, Final

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.jobs.job import Event
from ojs_server.domain.webhooks.delivery import Delivery, Reply, Status, delivery_id
from ojs_server.domain.webhooks.request import parse_changes, parse_secret, subscribed
from ojs_server.domain.webhooks.webhook import TEST_EVENT, Webhook, selection_of
from ojs_server.http import dialects
from ojs_server.http.access.roles import LOOK, OPERATE
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import page_of
from ojs_server.http.route import Route
from ojs_server.ops.streams.event_json import envelope
from ojs_server.ops.webhooks.subscriptions import (
    AmendWebhook,
    RotateSecret,
    Subscribe,
    Unsubscribe,
    missing,
)
from ojs_server.store.records import PlacedEvent
from ojs_server.webhooks.client import MAX_TESTS, message_of
from ojs_wire import codec, codes
from ojs_wire.calls import EmptyRequest, SecretRequest, WebhookRequest
from ojs_wire.values import format_timestamp, timestamp

SUBSCRIPTIONS: Final = "/ojs/v1/webhooks/subscriptions"
_SECRET_BYTES: Final = 32


async def subscribe(call: Call) -> Answer:
    """Create a subscription; its answer, and that of a rotation, are the only ones with the
    secret."""
    body = await call.json()
    call.check_members(body, WebhookRequest)
    changes = parse_changes(body, call.server.settings.reach, any_type=call.any_type)
    secret = changes.secret or new_secret(call.server.environment.secret(_SECRET_BYTES))
    # Refuse an invalid request before it reaches the writer.
    subscribed(changes, "", secret, 0)
    webhook = await call.server.engine.run(Subscribe(changes, secret, call.tenant))
    call.server.webhooks_changed()
    return Answer(
        dialects.webhook_answer(_shown(webhook, secret=secret)),
        201,
        {"Location": f"{SUBSCRIPTIONS}/{webhook.id}"},
    )


async def listing(call: Call) -> Answer:
    """List the subscriptions, newest first."""
    page = page_of(call)
    found = await call.server.engine.read(lambda reader: reader.webhooks())
    if call.tenant is not None:
        found = [webhook for webhook in found if webhook.tenant == call.tenant]
    part, pagination = page.follow(found, lambda webhook: (webhook.created_at, webhook.id))
    items = [_shown(webhook) for webhook in part]
    return Answer({"subscriptions": items, "items": items, **dialects.counted(pagination)})


async def detail(call: Call) -> Answer:
    """Show one subscription."""
    return Answer(dialects.webhook_answer(_shown(await _known(call))))


async def amend(call: Call) -> Answer:
    """Change some members; `{"active": false}` pauses the subscription."""
    body = await call.json()
    call.check_members(body, WebhookRequest)
    changes = parse_changes(body, call.server.settings.reach, any_type=call.any_type)
    webhook = await call.server.engine.run(AmendWebhook(await _own(call), changes))
    call.server.webhooks_changed()
    return Answer(dialects.webhook_answer(_shown(webhook)))


async def delete(call: Call) -> Answer:
    """Remove a subscription and cancel its deliveries."""
    webhook = await call.server.engine.run(Unsubscribe(await _own(call)))
    return Answer(dialects.webhook_answer(_shown(webhook), deleted=True))


async def rotate(call: Call) -> Answer:
    """Replace the secret by one of the client or of the server."""
    given = parse_secret((await call.read(SecretRequest, optional=True)).secret)
    secret = given or new_secret(call.server.environment.secret(_SECRET_BYTES))
    webhook = await call.server.engine.run(RotateSecret(await _own(call), secret))
    return Answer(dialects.webhook_answer(_shown(webhook, secret=secret)))


async def test(call: Call) -> Answer:
    """Send a test event to the target, now and once; nothing is stored."""
    await call.read(EmptyRequest, optional=True)
    webhook = await _known(call)
    if call.server.settings.conformance:
        reply = Reply(None, "this server sends no webhooks, as it runs with --conformance", 0)
    else:
        reply = await _tested(call, webhook)
    outcome = {
        "success": reply.taken,
        "status_code": reply.answer,
        "response_time_ms": reply.took_ms,
        "response_body": reply.excerpt,
        "error": reply.error,
    }
    return Answer(dialects.tried_webhook(outcome))


def new_secret(random: bytes) -> str:
    """Return a secret of random bytes."""
    return "whsec_" + urlsafe_b64encode(random).rstrip(b"=").decode()


async def _tested(call: Call, webhook: Webhook) -> Reply:
    webhook_client = call.server.webhook_client
    if webhook_client.tests.locked():
        raise Unavailable(
            f"{MAX_TESTS} webhooks are being tested here already",
            code=codes.OVERLOADED,
            headers={"Retry-After": "5"},
        )
    now = call.server.environment.wall_ms()
    event = Event(TEST_EVENT, webhook.id, None, None, codec.encode({"subscription_id": webhook.id}))
    sent = Delivery(
        id=delivery_id(now, call.server.environment.chance.bits),
        webhook_id=webhook.id,
        event_id="",
        event_type=TEST_EVENT,
        body=envelope(PlacedEvent(0, now, event), call.server.settings.source),
        status=Status.PENDING,
        attempt=1,
        due_at=now,
        created_at=now,
    )
    async with webhook_client.tests:
        return await webhook_client.post(webhook.url, *message_of(webhook, sent, now))


async def _known(call: Call) -> Webhook:
    name = call.path_params["id"]
    found = await call.server.engine.read(lambda reader: reader.webhooks([name]))
    if not found or call.tenant not in (None, found[0].tenant):
        raise missing("webhook_subscription", name[:100])
    return found[0]


async def _own(call: Call) -> str:
    """Return the subscription to change. Its owner never changes."""
    return call.path_params["id"] if call.tenant is None else (await _known(call)).id


def _shown(webhook: Webhook, **more: Any) -> dict[str, Any]:
    """Return a subscription without its secrets, unless one is given."""
    selection = selection_of(webhook)
    return {
        "id": webhook.id,
        "url": webhook.url,
        "events": selection.events,
        "filter": {"queues": selection.queues, "job_types": selection.job_types},
        "metadata": selection.metadata,
        "format": selection.format,
        "active": webhook.active,
        "old_secret_until": timestamp(webhook.old_until),
        "created_at": format_timestamp(webhook.created_at),
        "updated_at": format_timestamp(webhook.updated_at),
        **more,
    }


ROUTES: Final = (
    Route("POST", "/webhooks/subscriptions", subscribe, OPERATE, tenanted=True),
    Route("GET", "/webhooks/subscriptions", listing, LOOK, tenanted=True),
    Route("GET", "/webhooks/subscriptions/{id}", detail, LOOK, tenanted=True),
    Route("PATCH", "/webhooks/subscriptions/{id}", amend, OPERATE, tenanted=True),
    Route("DELETE", "/webhooks/subscriptions/{id}", delete, OPERATE, tenanted=True),
    Route("POST", "/webhooks/subscriptions/{id}/rotate-secret", rotate, OPERATE, tenanted=True),
    Route("POST", "/webhooks/subscriptions/{id}/test", test, OPERATE, waits=True, tenanted=True),
)
