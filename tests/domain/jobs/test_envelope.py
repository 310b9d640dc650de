"""The envelope of a job: unknown fields are kept, options normalised, managed fields ignored."""

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from ojs_server.domain.errors import ValidationError
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.http.jobs.views import envelope
from ojs_wire import codec
from tests.domain.sample_jobs import NOW, lease, made

BODY: dict[str, Any] = {"type": "email.send", "args": []}
ID = "0190a0f0-0000-7000-8000-000000000001"


def stored(**given: Any) -> StoredJob:
    return made(parse_draft({**BODY, **given}))


def spec(**given: Any) -> dict[str, Any]:
    found: dict[str, Any] = codec.decode(stored(**given).job.spec)
    return found


def members(text: bytes) -> Counter[str]:
    """The names of an object, with how often each is there."""
    objects: list[list[str]] = []
    json.loads(text, object_pairs_hook=lambda pairs: objects.append([name for name, _ in pairs]))
    # The outermost comes last.
    return Counter(objects[-1])


def test_unknown_fields_are_kept_as_they_are() -> None:
    extra = {"x_text": "a", "x_deep": {"b": [1, None]}, "x_number": 5, "x_null": None}
    assert spec(**extra) == extra
    shown = codec.decode(envelope(stored(**extra)))
    assert {name: shown[name] for name in extra} == extra


def test_options_are_shown_in_their_normalised_form() -> None:
    assert spec(
        timeout="PT2S",
        visibility_timeout="1m",
        retry={"initial_interval": "500ms"},
        tags=["a"],
        schema="urn:x",
        rate_limit={"max_per_second": 2},
        unique={"key": "args"},
    ) == {
        "timeout_ms": 2000,
        "visibility_timeout_ms": 60_000,
        "retry": {
            "max_attempts": 3,
            "initial_interval": "PT0.5S",
            "initial_interval_ms": 500,
            "backoff_coefficient": 2.0,
            "max_interval": "PT300S",
            "max_interval_ms": 300_000,
            "jitter": True,
            "non_retryable_errors": [],
            "on_exhaustion": "discard",
            "backoff_strategy": "exponential",
        },
        "tags": ["a"],
        "schema": "urn:x",
        "rate_limit": {"max_per_second": 2},
        "unique": {"keys": ["args"], "on_conflict": "reject"},
    }


@pytest.mark.parametrize("version", ["1.0", "1.0.0-rc.1", "1.0.0", None])
def test_known_versions_are_accepted_and_answered_as_1_0(version: str | None) -> None:
    assert codec.decode(envelope(stored(specversion=version)))["specversion"] == "1.0"


def test_a_job_may_be_sent_back_as_it_was_answered() -> None:
    """No name of the envelope can be set by a client, so none appears twice."""
    job = msgspec.structs.replace(
        stored(timeout=5, tags=["t"]).job,
        enqueued_at=NOW,
        scheduled_at=NOW,
        expires_at=NOW,
        started_at=NOW,
        completed_at=NOW,
        finished_at=NOW,
        retry_delay_ms=5,
        error=b"{}",
        errors=b"[]",
    )
    for state in ("cancelled", "discarded", "retryable", "active"):
        job = msgspec.structs.replace(job, state=state, due_at=NOW)
        answered = codec.decode(envelope(StoredJob(job, b"[]", b"{}", None, b"5"), lease()))
        again = envelope(stored(**{**answered, "error": "mine", "state": "mine"}), lease())
        assert set(members(again).values()) == {1}
        shown = codec.decode(again)
        assert (shown["state"], shown["attempt"]) == ("available", 0)
        assert "error" not in shown
        assert "result" not in shown


@pytest.mark.parametrize(
    "name",
    [
        "state",
        "attempt",
        "created_at",
        "enqueued_at",
        "started_at",
        "completed_at",
        "cancelled_at",
        "discarded_at",
        "next_attempt_at",
        "next_retry_at",
        "retry_delay_ms",
        "lease_expires_at",
        "worker_id",
        "error",
        "errors",
        "result",
        "deduplicated",
        "parent_results",
    ],
)
@pytest.mark.parametrize("value", ["mine", 77, {"mine": 1}, None])
def test_managed_fields_are_ignored_whatever_they_hold(name: str, value: object) -> None:
    assert stored(**{name: value}) == stored()


@pytest.mark.parametrize(
    ("given", "where", "nearest"),
    [
        ({"options": {"priorty": 1}}, "options.priorty", "priority"),
        ({"options": {"retry": {"max_attempt": 1}}}, "retry.max_attempt", "max_attempts"),
        ({"retry": {"backof_strategy": "none"}}, "retry.backof_strategy", "backoff_strategy"),
        ({"retry_policy": {"jiter": True}}, "retry.jiter", "jitter"),
        ({"unique": {"on_conflicts": "ignore"}}, "unique.on_conflicts", "on_conflict"),
    ],
)
def test_strict_mode_refuses_unknown_members_and_names_the_nearest(
    given: dict[str, Any], where: str, nearest: str
) -> None:
    assert parse_draft({**BODY, **given}).type == BODY["type"]
    with pytest.raises(ValidationError) as refused:
        parse_draft({**BODY, **given}, strict=True)
    assert f"`{where}` is not known" in refused.value.message
    assert f'did you mean "{nearest}"?' in refused.value.message
    assert refused.value.details is not None
    assert refused.value.details["field"] == where
    assert nearest in refused.value.details["allowed"]


def test_strict_mode_accepts_what_is_known_and_keeps_unknown_fields_of_the_job() -> None:
    body = {**BODY, "x_mine": 1, "options": {"queue": "q", "retry": {"jitter": True}}}
    assert parse_draft(body, strict=True) == parse_draft(body)
    with pytest.raises(ValidationError, match=r"`options.x+` is not known$"):
        parse_draft({**BODY, "options": {"x" * 300: 1}}, strict=True)


@pytest.mark.parametrize(
    ("given", "state", "enqueued", "scheduled", "due"),
    [
        ({}, "available", NOW, None, None),
        ({"scheduled_at": "+PT5S"}, "scheduled", None, NOW + 5000, NOW + 5000),
        ({"scheduled_at": "2020-01-01T00:00:00Z"}, "available", NOW, 1_577_836_800_000, None),
        ({"scheduled_at": "+PT0S"}, "available", NOW, NOW, None),
        ({"expires_at": "+PT5S"}, "available", NOW, None, NOW + 5000),
        (
            {"scheduled_at": "+PT5S", "expires_at": "+PT2S"},
            "scheduled",
            None,
            NOW + 5000,
            NOW + 2000,
        ),
        (
            {"scheduled_at": "+PT5S", "expires_at": "+PT9S"},
            "scheduled",
            None,
            NOW + 5000,
            NOW + 5000,
        ),
        ({"pending": True}, "pending", None, None, None),
        ({"pending": True, "expires_at": "+PT9S"}, "pending", None, None, NOW + 9000),
        ({"pending": True, "scheduled_at": "+PT5S"}, "pending", None, NOW + 5000, None),
    ],
)
def test_a_new_job_starts_in_the_state_that_its_times_ask_for(
    given: dict[str, Any], state: str, enqueued: int | None, scheduled: int | None, due: int | None
) -> None:
    job = stored(**given).job
    assert (job.state, job.enqueued_at, job.scheduled_at, job.due_at) == (
        state,
        enqueued,
        scheduled,
        due,
    )
    assert (job.created_at, job.attempt, job.releases, job.seq) == (NOW, 0, 0, 1000)
    assert (job.started_at, job.completed_at, job.finished_at) == (None, None, None)
