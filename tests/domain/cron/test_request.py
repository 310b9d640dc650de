"""Cron registrations in all their dialects, and refusals that name the wrong member."""

from typing import Any

import pytest

from ojs_server.domain.cron.entry import (
    CronEntry,
    Meeting,
    Overlap,
    definition_of,
    draft_of,
    meet,
)
from ojs_server.domain.cron.request import parse_changes, registered
from ojs_server.domain.errors import OjsError, TooLarge, ValidationError
from ojs_wire import codec

NOW = 1_700_000_000_000


def entry_from(*, strict: bool = False, **body: Any) -> CronEntry:
    whole = {"name": "a", "expression": "@daily", **body}
    if "job_template" not in whole:
        whole.setdefault("type", "t")
    given = {key: value for key, value in whole.items() if value is not None}
    return registered(parse_changes(given), None, NOW, strict=strict)


def _as(name: str, expression: str) -> dict[str, Any]:
    """The expression under another name."""
    return {"expression": None, name: expression}


def template_from(**body: Any) -> dict[str, Any]:
    return definition_of(entry_from(**body)).job_template


def test_what_is_left_out_has_its_default() -> None:
    entry = entry_from()
    assert (entry.timezone, entry.overlap, entry.enabled) == ("UTC", "skip", True)
    assert definition_of(entry).job_template == {"type": "t", "args": []}
    assert entry.next_run_at == 1_700_006_400_000


@pytest.mark.parametrize("name", ["expression", "cron", "schedule"])
def test_an_expression_has_three_names_and_is_kept_as_it_was_written(name: str) -> None:
    entry = entry_from(**_as(name, "@HOURLY"))
    assert entry.expression == "@HOURLY"


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ("skip", Overlap.SKIP),
        ("allow", Overlap.ALLOW),
        ("cancel", Overlap.CANCEL_PREVIOUS),
        ("cancel_previous", Overlap.CANCEL_PREVIOUS),
        ("replace", Overlap.CANCEL_PREVIOUS),
        ("queue", Overlap.ENQUEUE),
        ("enqueue", Overlap.ENQUEUE),
    ],
)
def test_overlap_policies_have_aliases(given: str, policy: Overlap) -> None:
    assert entry_from(overlap_policy=given).overlap == policy


@pytest.mark.parametrize(
    ("given", "enabled"),
    [
        ({}, True),
        ({"enabled": False}, False),
        ({"status": "paused"}, False),
        ({"status": "disabled"}, False),
        ({"status": "active"}, True),
        ({"status": "paused", "enabled": True}, True),
    ],
)
def test_an_entry_is_enabled_unless_it_says_otherwise(given: dict[str, Any], enabled: bool) -> None:
    entry = entry_from(**given)
    assert entry.enabled is enabled
    assert (entry.next_run_at is not None) is enabled


def test_the_job_may_stand_apart_or_beside() -> None:
    job = {"type": "mail.send", "args": [1], "options": {"queue": "q"}}
    assert template_from(job_template=job) == job
    assert template_from(**job) == job
    assert template_from(type="mail.send", args=[1], queue="q") == {
        "type": "mail.send",
        "args": [1],
        "queue": "q",
    }
    # In the order in which it was written, on every server.
    many = {
        "retry": {},
        "queue": "q",
        "args": [],
        "timeout": 1,
        "priority": 1,
        "type": "t",
    }
    assert list(template_from(**many)) == list(many)
    # An entry that is sent back as it was read says everything twice.
    assert template_from(job_template=job, type="other", queue="r", id="a") == job


@pytest.mark.parametrize(
    "given",
    [
        {"meta": {"k": 1}},
        {"options": {"meta": {"k": 1}}},
        {"options": {"metadata": {"k": 1}}},
        {"metadata": {"k": 1}},
    ],
)
def test_meta_is_taken_from_wherever_it_stands(given: dict[str, Any]) -> None:
    assert template_from(**given)["meta"] == {"k": 1}


def test_the_meta_of_a_run_cannot_be_forged() -> None:
    entry = entry_from(options={"metadata": {"cron_name": "b"}}, meta={"cron_name": "c"})
    draft = draft_of(entry, NOW, NOW + 5, lease_ms=0)
    assert codec.decode(draft.meta) == {
        "cron_name": "a",
        "cron_scheduled_at": "2023-11-14T22:13:20Z",
        "cron_triggered_at": "2023-11-14T22:13:20.005Z",
    }


@pytest.mark.parametrize(
    ("member", "value", "says"),
    [
        ("name", "", "lower-case letter or digit"),
        ("name", "Daily", "lower-case letter or digit"),
        ("name", "-a", "lower-case letter or digit"),
        ("name", "a b", "lower-case letter or digit"),
        ("name", "a\n", "lower-case letter or digit"),
        ("name", "a" * 256, "255 characters at most"),
        ("name", 7, "must be a string"),
        ("expression", "not a valid cron", "has 4 fields"),
        ("expression", "0 0 0 0 0 0 0", "has 7 fields"),
        ("expression", "* * *", "has 3 fields"),
        ("expression", "99 25 32 13 8", "out of range; allowed: 0-59"),
        ("expression", "", "has 0 fields"),
        ("expression", "   ", "has 0 fields"),
        ("expression", "* " * 5000, "at most 255 characters"),
        ("expression", "0 0 31 2 *", "never fires"),
        ("expression", "0 0 30 2 *", "never fires"),
        ("expression", "*/0 * * * *", "has the step 0"),
        ("expression", "0 0 * * FRY", 'did you mean "FRI"'),
        ("expression", "@dayly", 'did you mean "@daily"'),
        ("expression", "@every", "needs one duration"),
        ("expression", "@every 5", "`5`"),
        ("expression", "@every 10ms", "one second or more"),
        ("expression", 5, "must be a string"),
        ("timezone", "EST", 'did you mean "America/New_York"'),
        ("timezone", "+05:00", "fixed offset"),
        ("timezone", "UTC+5", "fixed offset"),
        ("timezone", "Europe/Berlim", 'did you mean "Europe/Berlin"'),
        ("timezone", "../etc/passwd", "not an IANA name"),
        ("timezone", "", "not an IANA name"),
        ("timezone", "x" * 10_000, "not an IANA name"),
        ("timezone", 5, "must be an IANA name"),
        ("overlap_policy", "skipp", 'did you mean "skip"'),
        ("overlap_policy", 1, "must be one of skip, allow, cancel_previous, enqueue"),
        ("enabled", "yes", "must be true or false"),
        ("status", "activ", 'did you mean "active"'),
        ("description", 5, "must be a string"),
        ("description", "d" * 1025, "at most 1024 characters"),
        ("job_template", [], "must be an object"),
        ("type", "No Type", "must be dot-separated words"),
        ("args", {}, "must be an array"),
        ("options", [], "must be an object"),
        ("meta", [], "must be an object"),
        ("pending", True, "cannot be set"),
        ("priority", 1000, "must be an integer"),
        ("queue", "No Queue", "must start and end"),
        ("scheduled_at", "tomorrow", "must be"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(member: str, value: Any, says: str) -> None:
    with pytest.raises(OjsError) as refused:
        entry_from(**{member: value})
    error = refused.value
    assert error.answer_code.status == 400
    assert error.details is not None
    assert error.details["field"] == member
    assert f"`{member}`" in error.message
    assert says in error.message
    assert len(error.message) < 600


@pytest.mark.parametrize("name", ["cron", "schedule"])
def test_an_expression_is_refused_under_the_name_it_was_sent_by(name: str) -> None:
    with pytest.raises(OjsError, match=f"^`{name}` has 3 fields") as refused:
        entry_from(**_as(name, "* * *"))
    assert refused.value.details is not None
    assert refused.value.details["field"] == name


@pytest.mark.parametrize("member", ["name", "expression", "type"])
def test_what_is_missing_is_named(member: str) -> None:
    body = {"name": "a", "expression": "@daily", "type": "t"}
    del body[member]
    with pytest.raises(OjsError, match=f"^`{member}` is missing"):
        registered(parse_changes(body), None, NOW, strict=False)


@pytest.mark.parametrize("member", ["id", "pending"])
def test_a_template_has_no_id_and_is_not_pending(member: str) -> None:
    with pytest.raises(OjsError, match=f"^`{member}` cannot be set"):
        entry_from(job_template={"type": "t", member: "x"})


def test_a_meta_that_leaves_no_room_for_that_of_a_run_is_refused_at_once() -> None:
    with pytest.raises(OjsError, match="`meta` has"):
        entry_from(meta={"k": "x" * (64 * 1024 - 10)})


def test_a_job_that_is_too_large_is_refused() -> None:
    with pytest.raises(TooLarge, match="`job_template` has"):
        entry_from(args=["x" * 64 * 1024])


def test_strict_refuses_options_that_are_not_known() -> None:
    with pytest.raises(ValidationError, match=r"options\.priorty.*priority"):
        entry_from(strict=True, options={"priorty": 1})


@pytest.mark.parametrize(
    ("policy", "outstanding", "held", "meeting"),
    [
        ("skip", False, 0, Meeting.RUN),
        ("skip", True, 0, Meeting.SKIP),
        ("skip", False, 1, Meeting.SKIP),
        ("allow", True, 0, Meeting.RUN),
        ("cancel_previous", True, 0, Meeting.REPLACE),
        ("enqueue", False, 0, Meeting.RUN),
        ("enqueue", True, 0, Meeting.HOLD),
        ("enqueue", False, 1, Meeting.HOLD),
        ("enqueue", True, 99, Meeting.HOLD),
        ("enqueue", True, 100, Meeting.SKIP),
    ],
)
def test_the_policy_decides_only_while_a_run_is_on(
    policy: str, outstanding: bool, held: int, meeting: Meeting
) -> None:
    entry = CronEntry("a", "@daily", "UTC", policy, True, b"{}", 0, 0, 0, held=held)
    assert meet(entry, outstanding=outstanding) is meeting
