"""Promises about webhooks (spec/32-webhooks.md)."""

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from ojs_wire.values import position_of
from tests.simulation.ledger import Receipt, Told
from tests.simulation.oracles.events import is_type
from tests.simulation.oracles.stored import Row, Stored, StoredEvent

if TYPE_CHECKING:
    from tests.simulation.world import World

LADDER_S = (30, 120, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600)
# A delivery that is due is begun within this time, when nothing disturbs.
LATE_MS = 5_000
# Places of the log, about 20 seconds, by which deliveries may be behind.
BEHIND = 500 << 18
Wrong = Callable[[str], None]


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    calls: dict[str, list[Told]] = {}
    for told in world.ledger.told:
        if told.kind.startswith("hook "):
            calls.setdefault(told.what["name"], []).append(told)
    if not calls:
        return
    rows = stored.rows("SELECT id, url, active, cursor FROM webhooks ORDER BY id")
    deliveries: dict[str, list[Row]] = {}
    for row in stored.rows(
        "SELECT id, webhook_id, event_id, event_type, status, attempt, due_at, answer"
        " FROM deliveries ORDER BY id"
    ):
        deliveries.setdefault(row["webhook_id"], []).append(row)
    ids = {row["id"]: row["url"].rpartition("/")[2] for row in rows}
    for name, given in calls.items():
        for one in given:
            if one.kind == "hook subscribe" and one.outcome == "ok":
                ids[one.answer["id"]] = name
    received: dict[str, list[Receipt]] = {}
    for receipt in world.ledger.receipts:
        received.setdefault(receipt.headers.get("x-ojs-delivery-id", ""), []).append(receipt)
    kept = {row["id"]: row for row in rows}
    for hook_id, name in ids.items():

        def wrong(sentence: str, name: str = name) -> None:
            world.ledger.wrong("webhook", f"{name}: {sentence}")

        made = deliveries.get(hook_id, [])
        _made(world, stored, wrong, calls[name], hook_id, made, kept.get(hook_id))
        _attempts(world, stored, wrong, hook_id, made, received)
        _settled(stored, wrong, kept.get(hook_id), made)
    _signed(world, ids, calls)


def _made(
    world: "World",
    stored: Stored,
    wrong: Wrong,
    told: list[Told],
    hook_id: str,
    made: list[Row],
    kept: Row | None,
) -> None:
    """Each event that is wanted has one delivery, and no other event has (OJS-WHK-003, 009)."""
    by_event: dict[str, Row] = {}
    for row in made:
        if row["event_id"] in by_event:
            wrong(f"the event {row['event_id']} has two deliveries")
        by_event[row["event_id"]] = row
    places = {position_of(name[4:]): row for name, row in by_event.items()}
    subscribed = next(one for one in told if one.kind == "hook subscribe")
    wants = _selection(subscribed.what)
    born = next(
        (
            event.place
            for event in stored.by_subject.get(hook_id, [])
            if event.type == "webhook.subscription.created"
        ),
        None,
    )
    if born is None:
        return
    # A paused subscription is served the rest once it is resumed.
    served = float("inf") if kept is None or kept["active"] else kept["cursor"]
    known = {event.place: event for event in stored.events}
    for place in places:
        event = known.get(place)
        if event is not None and not (wants(event) and place > born):
            wrong(f"{event.type} at {place} was delivered, and is not wanted")
    for event in stored.events:
        if (
            born < event.place <= served
            and event.place not in places
            and wants(event)
            and not _paused(world, hook_id, told, event.place)
        ):
            wrong(f"{event.type} at {event.place} has no delivery")
            break


def _selection(what: dict[str, Any]) -> Callable[[StoredEvent], bool]:
    given = what.get("filter", {})
    queues, job_types = given.get("queues"), given.get("job_types")

    def wants(event: StoredEvent) -> bool:
        return (
            not event.type.startswith("webhook.")
            and any(wanted == "*" or is_type(event.type, wanted) for wanted in what["events"])
            and (queues is None or event.queue in queues)
            and (job_types is None or event.job_type in job_types)
        )

    return wants


def _paused(world: "World", hook_id: str, told: list[Told], place: int) -> bool:
    """Tell whether a subscription may have been paused or gone when an event happened."""
    changes = [one for one in told if one.kind in ("hook change", "hook delete")]
    off = [
        one
        for one in changes
        if one.kind == "hook delete" or one.what["members"].get("active") is False
    ]
    for one in off:
        # An event without a delivery gets none once its subscription is deleted.
        behind = BEHIND if one.kind == "hook delete" else 0
        if (one.head_at or 0) - behind >= place:
            continue
        # Paused from then on, until a resume was answered, whatever else came between.
        ons = [
            other.head_answered or 0
            for other in changes
            if other.outcome == "ok"
            and other.kind == "hook change"
            and other.what["members"].get("active") is True
            and other.at > one.at
            and other.at > (one.answered_at or 1e9)
        ]
        lost = world.ledger.lost(hook_id)
        if lost or not ons or place <= min(ons):
            return True
    return False


def _attempts(
    world: "World",
    stored: Stored,
    wrong: Wrong,
    hook_id: str,
    made: list[Row],
    received: dict[str, list[Receipt]],
) -> None:
    """Attempts are counted one by one, each posts at most once, none follows the one that was
    taken, and what is delivered was taken (OJS-WHK-011, 017)."""
    told: dict[str, list[StoredEvent]] = {}
    for event in stored.by_subject.get(hook_id, []):
        if "delivery_id" in event.data:
            told.setdefault(event.data["delivery_id"], []).append(event)
    replayed = {
        one.answer["delivery"]
        for one in world.ledger.told
        if one.kind == "hook replay" and one.outcome == "ok" and one.answer
    }
    unsure = world.ledger.lost("/deliveries/")
    for row in made:
        posts = received.get(row["id"], [])
        if row["status"] == "delivered" and not any(post.status == 200 for post in posts):
            wrong(f"{row['id']} is delivered, and was never taken")
        if row["id"] in replayed or unsure:
            continue
        if len(posts) > row["attempt"] and not world.network.fired["repeat"]:
            wrong(f"{row['id']} came {len(posts)} times in {row['attempt']} attempts")
        _told(wrong, row, told.get(row["id"], []))
        _answered(wrong, row, told.get(row["id"], []), posts)


def _told(wrong: Wrong, row: Row, events: list[StoredEvent]) -> None:
    last, over, due = 0, False, 0
    for event in events:
        if event.type == "webhook.dead":
            over = True
            continue
        number = event.data["attempt"]
        if over or number <= last:
            wrong(f"{row['id']}: attempt {number} at {event.place} after {last}, over: {over}")
        if event.at < due:
            wrong(f"{row['id']}: attempt {number} at {event.place} came before its time")
        last, over = number, event.type == "webhook.delivered"
        if not over and event.data["next_attempt_at"] is not None:
            due = event.at + LADDER_S[number - 1] * 1000
    if last > row["attempt"]:
        wrong(f"{row['id']}: attempt {last} was told, and {row['attempt']} is stored")
    if over and row["status"] == "pending":
        wrong(f"{row['id']} is pending, after its end was told")


def _answered(wrong: Wrong, row: Row, events: list[StoredEvent], posts: list[Receipt]) -> None:
    """The record of an attempt has the answer of the target."""
    given = Counter(post.status for post in posts)
    stated = Counter(
        event.data["status_code"]
        for event in events
        if event.type != "webhook.dead" and event.data["status_code"] is not None
    )
    if stated - given:
        wrong(f"{row['id']}: answers {dict(stated)} are told, and {dict(given)} were given")


def _settled(stored: Stored, wrong: Wrong, hook: Row | None, made: list[Row]) -> None:
    """A deleted subscription has nothing pending, and for one that is there everything that is due
    was tried (OJS-WHK-006)."""
    now = max((event.at for event in stored.events), default=0)
    for row in made:
        if row["status"] != "pending":
            continue
        if hook is None:
            wrong(f"{row['id']} is pending, though its subscription is deleted")
        elif row["due_at"] is None:
            wrong(f"{row['id']} is pending, and will never be due")
        elif hook["active"] and row["due_at"] < now - LATE_MS:
            wrong(f"{row['id']} was due {now - row['due_at']} ms before the end, and not tried")


def _signed(world: "World", ids: dict[str, str], calls: dict[str, list[Told]]) -> None:
    """Each delivery is signed by the secret of its subscription, is of its path, and says in its
    headers what is in its body (OJS-WHK-010, 021)."""
    for receipt in world.ledger.receipts:
        headers = receipt.headers
        name = receipt.path.removeprefix("/")

        def wrong(sentence: str, name: str = name) -> None:
            world.ledger.wrong("webhook", f"{name}: {sentence}")

        if headers["x-ojs-event-type"] == "webhook.test":
            continue
        if ids.get(headers["x-ojs-subscription-id"]) != name:
            wrong(f"got a delivery of {headers['x-ojs-subscription-id']}")
            continue
        signed = headers["x-ojs-timestamp"].encode() + b"." + receipt.body
        secrets = [
            one.what["secret"]
            for one in calls[name]
            if one.kind in ("hook subscribe", "hook rotate") and one.at <= receipt.at
        ]
        known = [
            "sha256=" + hmac.new(s.encode(), signed, hashlib.sha256).hexdigest() for s in secrets
        ]
        given = headers["x-ojs-signature"].split(",")
        if not all(one in known for one in given):
            wrong(f"a delivery of {receipt.at:g} s has the signature {given}")
        body = msgspec.json.decode(receipt.body)
        if not body["type"].endswith(headers["x-ojs-event-type"]):
            wrong(f"{headers['x-ojs-event-type']} has the body of {body['type']}")
