"""Filters of jobs: parsing, and the jobs that match."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.jobs.filter import JobFilter, from_query, parse_filter
from ojs_server.domain.jobs.job import State
from tests.domain.sample_jobs import NOW, job

ERROR = b'{"type":"Smtp.Timeout"}'


def parse(**given: Any) -> JobFilter:
    return parse_filter(given, NOW)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, JobFilter()),
        ({"queue": "q", "type": "a.b"}, JobFilter(queue="q", type="a.b")),
        ({"type": "a.*"}, JobFilter(prefix="a.")),
        ({"type": "*"}, JobFilter(prefix="")),
        ({"state": "active"}, JobFilter(states=(State.ACTIVE,))),
        (
            {"state": "active,pending", "states": ["active"]},
            JobFilter(states=(State.ACTIVE, State.PENDING)),
        ),
        ({"priority": 3.0}, JobFilter(priority=3)),
        ({"since": "2023-11-14T22:13:20Z"}, JobFilter(since=NOW)),
        (
            {"since": "2023-11-14T22:13:20Z", "enqueued_after": "2023-11-14T22:13:21Z"},
            JobFilter(since=NOW + 1000),
        ),
        ({"older_than": "PT1S", "until": "2023-11-14T22:13:20Z"}, JobFilter(until=NOW - 1000)),
        ({"older_than": 1}, JobFilter(until=NOW - 1000)),
        ({"older_than": "2023-11-14T22:13:20Z"}, JobFilter(until=NOW)),
        ({"error_type": "E", "meta": {"a": 1}}, JobFilter(error_type="E", meta={"a": 1})),
        (
            {"id_prefix": "01A2-f", "tag": "vip", "text": '"a":1'},
            JobFilter(id_prefix="01a2-f", tag="vip", text='"a":1'),
        ),
        (dict.fromkeys(("queue", "type", "state", "since", "meta", "priority")), JobFilter()),
    ],
    ids=str,
)
def test_a_filter_is_read(given: dict[str, Any], wanted: JobFilter) -> None:
    assert parse(**given) == wanted


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("queue", ""),
        ("queue", "Q"),
        ("queue", 1),
        ("type", "A"),
        ("type", "a..*"),
        ("type", "a*b"),
        ("type", "x" * 256),
        ("state", ""),
        ("state", "running"),
        ("state", []),
        ("state", [[]]),
        ("states", {"active": True}),
        ("priority", True),
        ("priority", "1"),
        ("priority", 101),
        ("since", "yesterday"),
        ("since", "+PT1S"),
        ("until", 5),
        ("older_than", "x"),
        ("older_than", True),
        ("older_than", "2023-11-14T22:13:20"),
        ("error_type", 1),
        ("id_prefix", "xyz"),
        ("id_prefix", "0" * 37),
        ("tag", ["vip"]),
        ("text", "a"),
        ("text", "a" * 256),
        ("meta", {}),
        ("meta", []),
        ("meta", {str(n): n for n in range(21)}),
    ],
    ids=str,
)
def test_a_wrong_member_is_named(member: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(**{member: value})
    assert refused.value.details is not None
    assert refused.value.details["field"] == f"filter.{member}"


def test_an_unknown_member_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidRequest, match='did you mean "queue"'):
        parse(queu="q")


def test_only_what_the_call_can_do_is_allowed() -> None:
    with pytest.raises(InvalidRequest, match="allowed: discarded"):
        parse_filter({"state": "active"}, NOW, allowed=(State.DISCARDED,))
    default = parse_filter({}, NOW, states=(State.DISCARDED,), ended=True)
    assert default == JobFilter(states=(State.DISCARDED,), ended=True)


def test_an_empty_parameter_counts_as_left_out() -> None:
    query = {"queue": "", "type": "a", "priority": "-5", "limit": "9"}
    assert from_query(query, ("queue", "type", "priority")) == {"type": "a", "priority": -5}
    assert from_query({"priority": "high"}, ("priority",)) == {"priority": "high"}


@pytest.mark.parametrize(
    ("wanted", "means"),
    [
        (JobFilter(), True),
        (JobFilter(queue="mail", type="email.send", priority=3), True),
        (JobFilter(queue="other"), False),
        (JobFilter(type="email"), False),
        (JobFilter(prefix="email."), True),
        (JobFilter(prefix="sms."), False),
        (JobFilter(states=(State.ACTIVE, State.DISCARDED)), True),
        (JobFilter(states=(State.ACTIVE,)), False),
        (JobFilter(priority=0), False),
        (JobFilter(since=NOW - 50, ended=True), True),
        (JobFilter(since=NOW - 49, ended=True), False),
        (JobFilter(until=NOW - 50, ended=True), False),
        (JobFilter(until=NOW - 49, ended=True), True),
        (JobFilter(error_type="Smtp.Timeout"), True),
        (JobFilter(error_type="Smtp"), False),
    ],
    ids=str,
)
def test_a_job_is_meant_if_all_holds(wanted: JobFilter, means: bool) -> None:
    assert wanted.matches(job("discarded", finished_at=NOW - 50, error=ERROR)) is means


def test_an_error_counts_for_dead_letters_only() -> None:
    assert not JobFilter(error_type="Smtp.Timeout").matches(job("retryable", error=ERROR))


def test_a_job_that_has_not_ended_has_no_end_to_compare() -> None:
    assert not JobFilter(since=0, ended=True).matches(job("active"))
    assert not JobFilter(until=NOW * 2, ended=True).matches(job("active"))


@pytest.mark.parametrize(
    ("meta", "means"),
    [
        (b'{"a":1,"b":{"c":[1]}}', True),
        (b'{"more":0,"b":{"c":[1]},"a":1}', True),
        (b'{"a":true,"b":{"c":[1]}}', False),
        (b'{"a":1}', False),
        (b"{}", False),
    ],
    ids=str,
)
def test_meta_is_compared_as_json(meta: bytes, means: bool) -> None:
    assert JobFilter(meta={"a": 1, "b": {"c": [1]}}).matches_meta(meta) is means


@pytest.mark.parametrize(
    ("wanted", "simple"),
    [
        (JobFilter(queue="q", states=(State.ACTIVE,)), True),
        (JobFilter(type="t"), False),
        (JobFilter(priority=0), False),
        (JobFilter(since=0), False),
    ],
    ids=str,
)
def test_counters_know_queues_and_states_only(wanted: JobFilter, simple: bool) -> None:
    assert wanted.simple is simple


@pytest.mark.parametrize(
    ("spec", "means"),
    [(b'{"tags":["a","vip"]}', True), (b'{"tags":["vi"],"x":"vip"}', False), (b"{}", False)],
)
def test_a_tag_is_one_of_those_that_a_job_has(spec: bytes, means: bool) -> None:
    assert JobFilter(tag="vip").matches_tags(spec) is means
    assert JobFilter().matches_tags(spec) is True
