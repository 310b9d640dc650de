"""Webhooks: signatures, parsed subscriptions, and the next step of a delivery."""

import hashlib
import hmac
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, InvalidRequest, OjsError, TooLarge, ValidationError
from ojs_server.domain.webhooks.delivery import (
    LADDER_MS,
    MAX_ATTEMPTS,
    MAX_PAUSE_MS,
    Delivery,
    Reply,
    replayed,
    taken,
    tried,
)
from ojs_server.domain.webhooks.request import changed, parse_changes, subscribed
from ojs_server.domain.webhooks.target import Reach
from ojs_server.domain.webhooks.webhook import (
    OVERLAP_MS,
    Webhook,
    paused,
    resumed,
    rotated,
    selection_of,
    signature,
)

NOW = 1_750_000_000_000
REACH = Reach()
DELIVERY = Delivery("dlv_1", "sub_1", "evt_1", "job.failed", b"{}", "pending", 0, NOW, NOW)


def webhook(**given: Any) -> Webhook:
    body = {"url": "https://example.com/x", "events": ["job.*"], **given}
    return subscribed(parse_changes(body, REACH), "sub_1", "secret-1", NOW)


def test_a_signature_covers_the_moment_and_the_body() -> None:
    expected = hmac.new(b"k1", b'1700000000.{"a":1}', hashlib.sha256).hexdigest()
    assert signature(("k1",), 1_700_000_000, b'{"a":1}') == f"sha256={expected}"
    both = signature(("k2", "k1"), 1_700_000_000, b'{"a":1}')
    assert both.split(",")[1] == f"sha256={expected}"


def test_the_old_secret_signs_for_a_day_more() -> None:
    after = rotated(webhook(), "secret-2", NOW)
    assert after.secrets(NOW + OVERLAP_MS - 1) == ("secret-2", "secret-1")
    assert after.secrets(NOW + OVERLAP_MS) == ("secret-2",)
    # Only the last two are known at any time.
    assert rotated(after, "secret-3", NOW).secrets(NOW) == ("secret-3", "secret-2")


def test_a_change_leaves_what_it_does_not_name() -> None:
    known = webhook(filter={"queues": ["a"], "job_types": ["t.x"]}, metadata={"team": 1})
    after = changed(parse_changes({"active": False}, REACH), known, NOW + 1)
    assert (after.active, after.selection, after.updated_at) == (False, known.selection, NOW + 1)
    bare = selection_of(changed(parse_changes({"filter": None}, REACH), known, NOW))
    assert (bare.queues, bare.job_types, bare.metadata) == ((), (), {"team": 1})


@pytest.mark.parametrize(
    ("body", "error", "field"),
    [
        ({"url": None}, InvalidRequest, "url"),
        ({"url": 7}, InvalidRequest, "url"),
        ({"events": None}, InvalidRequest, "events"),
        ({"events": []}, InvalidRequest, "events"),
        ({"events": "job.failed"}, InvalidRequest, "events"),
        ({"events": ["Job Failed"]}, InvalidRequest, "events"),
        ({"events": ["job.*.x"]}, InvalidRequest, "events"),
        ({"events": ["webhook.dead"]}, InvalidRequest, "events"),
        ({"events": [f"a{n}" for n in range(101)]}, InvalidRequest, "events"),
        ({"filter": []}, InvalidRequest, "filter"),
        ({"filter": {"queue": ["a"]}}, ValidationError, "filter.queue"),
        ({"filter": {"queues": ["A b"]}}, InvalidRequest, "filter.queues"),
        ({"filter": {"job_types": ["A"]}}, InvalidRequest, "filter.job_types"),
        ({"active": "yes"}, InvalidRequest, "active"),
        ({"metadata": []}, InvalidRequest, "metadata"),
        ({"metadata": {"a": "x" * 20_000}}, TooLarge, "metadata"),
        ({"secret": "short"}, InvalidRequest, "secret"),
        ({"secret": "x" * 257}, InvalidRequest, "secret"),
        ({"secret": "with\nbreak"}, InvalidRequest, "secret"),
        ({"secret": 12345678}, InvalidRequest, "secret"),
    ],
)
def test_a_wrong_request_is_refused(
    body: dict[str, Any], error: type[OjsError], field: str
) -> None:
    with pytest.raises(error) as refusal:
        webhook(**body)
    assert refusal.value.details is not None
    assert refusal.value.details["field"] == field
    assert "with\nbreak" not in refusal.value.message


def test_pauses_take_no_room_from_what_users_may_send() -> None:
    one = webhook(metadata={"a": "x" * 16_000})
    for position in range(0, 2000, 2):
        one = resumed(paused(one, position), position + 1)
    amended = changed(parse_changes({"url": "https://example.com/y"}, Reach()), one, 0)
    assert selection_of(amended) == selection_of(one)
    assert len(selection_of(one).pauses) == 1000


def test_a_secret_is_not_changed_beside_other_members() -> None:
    with pytest.raises(InvalidRequest, match="rotate-secret"):
        changed(parse_changes({"secret": "a-new-secret"}, REACH), webhook(), NOW)


def test_the_ladder_is_climbed_to_its_end() -> None:
    pauses, delivery, now = [], DELIVERY, NOW
    while delivery.status == "pending":
        delivery = taken(delivery, now, 60_000)
        assert delivery.due_at == now + 60_000
        delivery = tried(delivery, Reply(500, "the target answered 500", 5), now)
        if delivery.due_at is not None:
            pauses.append(delivery.due_at - now)
            now = delivery.due_at
    assert (delivery.status, delivery.attempt) == ("dead", MAX_ATTEMPTS)
    assert tuple(pauses) == LADDER_MS
    # A target that is away for a day is told in the end.
    assert sum(pauses) > 24 * 3_600_000


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (200, "delivered"),
        (204, "delivered"),
        (302, "dead"),
        (404, "dead"),
        (410, "dead"),
        (429, "pending"),
        (500, "pending"),
        (503, "pending"),
        (None, "pending"),
    ],
)
def test_what_an_answer_means(answer: int | None, status: str) -> None:
    after = tried(taken(DELIVERY, NOW, 1), Reply(answer, None, 1), NOW)
    assert after.status == status
    assert (after.due_at is None) is (status != "pending")
    assert (after.finished_at is None) is (status == "pending")


@pytest.mark.parametrize(
    ("asked", "pause"), [(90_000, 90_000), (5, LADDER_MS[0]), (1 << 40, MAX_PAUSE_MS)]
)
def test_a_target_may_ask_for_a_longer_pause(asked: int, pause: int) -> None:
    after = tried(taken(DELIVERY, NOW, 1), Reply(429, None, 1, asked), NOW)
    assert after.due_at == NOW + pause


def test_a_delivery_whose_last_attempt_was_lost_is_given_up() -> None:
    delivery = DELIVERY
    for _ in range(MAX_ATTEMPTS):
        delivery = taken(delivery, NOW, 1)
        assert delivery.status == "pending"
    assert taken(delivery, NOW, 1).status == "dead"


def test_only_an_ended_delivery_is_replayed() -> None:
    dead = tried(taken(DELIVERY, NOW, 1), Reply(404, "no", 1), NOW)
    again = replayed(dead, NOW + 5)
    assert (again.id, again.status, again.attempt, again.due_at) == ("dlv_1", "pending", 0, NOW + 5)
    with pytest.raises(Conflict):
        replayed(again, NOW)
