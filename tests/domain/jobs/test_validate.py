"""Validation of an enqueue request into a draft, field by field."""

from operator import attrgetter
from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest, OjsError, TooLarge, ValidationError
from ojs_server.domain.jobs.deadlines import NO_LIMITS
from ojs_server.domain.jobs.request_shape import Shape
from ojs_server.domain.jobs.validate import MAX_ENVELOPE, MAX_META, Draft, hash_of, parse_draft
from ojs_wire import codec

BODY = {"type": "email.send", "args": [1, {"a": None}]}
ID = "0190a0f0-0000-7000-8000-000000000001"


def draft(**given: Any) -> Draft:
    return parse_draft({**BODY, **given})


def spec(made: Draft) -> dict[str, Any]:
    found: dict[str, Any] = codec.decode(made.shape.spec)
    return found


def test_a_plain_job_has_the_defaults() -> None:
    assert draft() == Draft(
        Shape(
            type="email.send",
            queue="default",
            priority=0,
            max_attempts=3,
            scheduled_at=None,
            expires_at=None,
            pending=False,
            limits=NO_LIMITS,
            metadata={},
            unique=None,
            outranked=None,
            rate_limit=None,
            version=None,
            spec=b"{}",
            plain=True,
        ),
        args=b'[1,{"a":null}]',
        meta=b"{}",
    )


FIELDS: list[tuple[str, object, str, object]] = [
    ("queue", "mail", "shape.queue", "mail"),
    ("priority", -100, "shape.priority", -100),
    ("priority", 100, "shape.priority", 100),
    ("priority", 5.0, "shape.priority", 5),
    ("scheduled_at", "+PT5S", "shape.scheduled_at", "+PT5S"),
    ("delay_until", "2030-01-31T09:00:00Z", "shape.scheduled_at", "2030-01-31T09:00:00Z"),
    ("expires_at", "+90s", "shape.expires_at", "+90s"),
    ("pending", True, "shape.pending", True),
    ("timeout", 2, "shape.limits.run_ms", 2000),
    ("timeout", "PT2M", "shape.limits.run_ms", 120_000),
    ("timeout", 0, "shape.limits.run_ms", None),
    ("timeout_ms", 1500, "shape.limits.run_ms", 1500),
    ("timeout_ms", 0, "shape.limits.run_ms", None),
    ("visibility_timeout", 60, "shape.limits.lease_ms", 60_000),
    ("visibility_timeout", "PT1M", "shape.limits.lease_ms", 60_000),
    ("visibility_timeout_ms", 700, "shape.limits.lease_ms", 700),
    ("enqueue_ttl", 30, "shape.limits.ttl_ms", 30_000),
    ("enqueue_ttl", 0.5, "shape.limits.ttl_ms", 500),
    ("enqueue_ttl", "PT30S", "shape.limits.ttl_ms", 30_000),
    ("enqueue_ttl_ms", 700, "shape.limits.ttl_ms", 700),
    ("enqueue_ttl_ms", "2s", "shape.limits.ttl_ms", 2000),
    ("total_timeout", "12m", "shape.limits.total_ms", 720_000),
    ("total_timeout_ms", 90, "shape.limits.total_ms", 90),
    ("heartbeat_timeout", "500ms", "shape.limits.heartbeat_ms", 500),
    ("heartbeat_timeout_ms", 15_000, "shape.limits.heartbeat_ms", 15_000),
    ("retry", {"max_attempts": 9}, "shape.max_attempts", 9),
    ("retry_policy", {"max_attempts": 9}, "shape.max_attempts", 9),
    ("metadata", {"a": 1}, "meta", b'{"a":1}'),
]


@pytest.mark.parametrize(("name", "value", "attribute", "wanted"), FIELDS)
def test_every_option_is_read_in_both_places(
    name: str, value: object, attribute: str, wanted: object
) -> None:
    assert attrgetter(attribute)(draft(**{name: value})) == wanted
    assert attrgetter(attribute)(draft(options={name: value})) == wanted


@pytest.mark.parametrize(("name", "value", "attribute", "wanted"), FIELDS)
def test_null_is_as_good_as_absent(
    name: str, value: object, attribute: str, wanted: object
) -> None:
    assert draft(**{name: None}) == draft() == draft(options={name: None}) == draft(options=None)
    assert attrgetter(attribute)(draft(**{name: value}, options={name: None})) == wanted


@pytest.mark.parametrize(
    ("flat", "option", "attribute", "wanted"),
    [
        ({"queue": "a"}, {"queue": "b"}, "shape.queue", "b"),
        ({"priority": 1}, {"priority": 2}, "shape.priority", 2),
        (
            {"retry": {"max_attempts": 5}},
            {"retry_policy": {"max_attempts": 1}},
            "shape.max_attempts",
            1,
        ),
        (
            {"retry_policy": {"max_attempts": 5}},
            {"retry": {"max_attempts": 1}},
            "shape.max_attempts",
            1,
        ),
        ({"timeout_ms": 10}, {"timeout": 60}, "shape.limits.run_ms", 60_000),
        ({"timeout": 60}, {"timeout_ms": 0}, "shape.limits.run_ms", None),
        (
            {"visibility_timeout_ms": 10},
            {"visibility_timeout": 60},
            "shape.limits.lease_ms",
            60_000,
        ),
        ({"total_timeout": 10}, {"total_timeout_ms": 60}, "shape.limits.total_ms", 60),
        ({"scheduled_at": "+1s"}, {"delay_until": "+2s"}, "shape.scheduled_at", "+2s"),
        ({"delay_until": "+1s"}, {"scheduled_at": "+2s"}, "shape.scheduled_at", "+2s"),
        ({"meta": {"a": 1, "b": 1}}, {"metadata": {"b": 2}}, "meta", b'{"a":1,"b":2}'),
    ],
)
def test_options_win_also_under_another_name(
    flat: dict[str, Any], option: dict[str, Any], attribute: str, wanted: object
) -> None:
    assert attrgetter(attribute)(draft(**flat, options=option)) == wanted


def test_a_grace_period_is_added_to_the_timeout_only_where_the_job_sets_it() -> None:
    assert draft(timeout=2, grace_period=3).shape.limits.run_ms == 5000
    assert draft(timeout=2, grace_period="PT0.5S").shape.limits.run_ms == 2500
    assert draft(timeout=2).shape.limits.run_ms == 2000
    assert draft(grace_period=3).shape.limits.run_ms is None
    assert spec(draft(timeout=2, grace_period=3)) == {"timeout_ms": 2000, "grace_period": 3}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"type": None}, "type"),
        ({"type": 5}, "type"),
        ({"type": "Email.Send"}, "type"),
        ({"type": ""}, "type"),
        ({"type": "a" * 256}, "type"),
        ({"args": None}, "args"),
        ({"args": {}}, "args"),
        ({"args": "x"}, "args"),
        ({"id": "x"}, "id"),
        ({"id": ID.upper()}, "id"),
        ({"id": 5}, "id"),
        ({"queue": "Mail"}, "queue"),
        ({"queue": 5}, "queue"),
        ({"queue": ""}, "queue"),
        ({"priority": 101}, "priority"),
        ({"priority": -101}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"meta": []}, "meta"),
        ({"metadata": "x"}, "metadata"),
        ({"scheduled_at": 5}, "scheduled_at"),
        ({"scheduled_at": "2030-01-31T09:00:00"}, "scheduled_at"),
        ({"delay_until": "later"}, "delay_until"),
        ({"expires_at": "+5"}, "expires_at"),
        ({"pending": 1}, "pending"),
        ({"timeout": "long"}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout_ms": []}, "timeout_ms"),
        ({"grace_period": "x"}, "grace_period"),
        ({"grace_period": {"deep": 1}}, "grace_period"),
        ({"timeout": 5, "grace_period": -1}, "grace_period"),
        ({"visibility_timeout": 0}, "visibility_timeout"),
        ({"visibility_timeout": True}, "visibility_timeout"),
        ({"visibility_timeout_ms": -5}, "visibility_timeout_ms"),
        ({"tags": "x"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"tags": ["x"] * 101}, "tags"),
        ({"unique": 5}, "unique"),
        ({"rate_limit": 5}, "rate_limit"),
        ({"schema": 5}, "schema"),
        ({"schema": ""}, "schema"),
        ({"schema": "x" * 2049}, "schema"),
        ({"specversion": "2.0"}, "specversion"),
        ({"specversion": ["1.0"]}, "specversion"),
        ({"options": []}, "options"),
        ({"options": "x"}, "options"),
    ],
)
def test_a_bad_field_is_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        draft(**given)
    assert refused.value.details == {"field": field}
    assert refused.value.message.startswith(f"`{field}` ")
    assert refused.value.answer_code.status == 400


@pytest.mark.parametrize("missing", ["type", "args"])
def test_type_and_args_are_needed(missing: str) -> None:
    with pytest.raises(InvalidRequest, match=f"`{missing}` is missing"):
        parse_draft({name: value for name, value in BODY.items() if name != missing})


@pytest.mark.parametrize("body", [None, [], "x", 5, True])
def test_a_job_is_an_object(body: object) -> None:
    with pytest.raises(InvalidRequest, match="must be a JSON object, not"):
        parse_draft(body)


def test_a_bad_policy_in_either_place_is_a_validation_error() -> None:
    for given in ({"retry": {"max_attempts": -1}}, {"options": {"retry": {"max_attempts": -1}}}):
        with pytest.raises(ValidationError, match="max_attempts"):
            draft(**given)


def test_sizes_are_bounded() -> None:
    room = MAX_META - len('{"a":""}')
    assert len(draft(meta={"a": "x" * room}).meta) == MAX_META
    with pytest.raises(TooLarge, match=f"{MAX_META + 1} bytes; at most {MAX_META}"):
        draft(meta={"a": "x" * (room + 1)})
    fixed = len(b'[""]') + len(b"{}") + len(b"{}")
    assert len(draft(args=["x" * (MAX_ENVELOPE - fixed)]).args) == MAX_ENVELOPE - 4
    for given in ({"args": ["x" * (MAX_ENVELOPE - fixed + 1)]}, {"extra": "x" * MAX_ENVELOPE}):
        with pytest.raises(TooLarge, match=f"at most {MAX_ENVELOPE}") as refused:
            draft(**given)
        assert refused.value.answer_code.status == 413


def test_a_request_is_hashed_only_where_the_client_chose_the_id() -> None:
    assert draft(id=ID).request_hash == hash_of(
        {"args": BODY["args"], "id": ID, "type": "email.send"}
    )
    assert draft(id=ID).request_hash != draft(id=ID, priority=1).request_hash
    assert draft(id=None).id is None
    assert draft(id=None).request_hash is None


def status(given: dict[str, Any]) -> int:
    """Return the HTTP status of the server's answer."""
    try:
        draft(**given)
    except OjsError as error:
        return error.answer_code.status
    return 201


def test_every_error_is_one_that_the_server_can_answer() -> None:
    for value in (None, True, 0, -1, 1.5, "", "x", [], {}, ["x"], {"x": 1}, "x" * 3000, [None]):
        for name in (*(field for field, *_ in FIELDS), "id", "unique", "tags", "schema", "meta"):
            for given in ({name: value}, {"options": {name: value}}):
                assert status(given) in (201, 400, 413, 422)
