"""Matching of jobs in assertions, and the messages of those that fail."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from unittest.mock import ANY

import msgspec
import pytest

from ojs_worker import Job
from ojs_worker.testing.matching import Criteria, complaint, describe, matching


def job(number: int = 1, **members: Any) -> Job:
    given = {"id": f"job-{number}", "type": "email.send", "state": "available", **members}
    return msgspec.convert(given, Job)


@dataclass
class Address:
    street: str
    since: date


ADDRESS = {"street": "Hill 1", "since": "2030-01-31"}


@pytest.mark.parametrize(
    ("wanted", "members"),
    [
        (Criteria(), {}),
        (Criteria(type="email.send"), {}),
        (Criteria(args=[]), {}),
        (Criteria(args=["a", 1]), {"args": ["a", 1]}),
        (Criteria(args=("a", ANY)), {"args": ["a", {"deep": [1]}]}),
        (Criteria(args={"to": "ada"}), {"args": [{"to": "ada"}]}),
        (Criteria(args={"to": ANY, "cc": ["b"]}), {"args": [{"cc": ["b"], "to": None}]}),
        (Criteria(args=[{"to": "ada"}]), {"args": [{"to": "ada"}]}),
        (Criteria(args=[Address("Hill 1", date(2030, 1, 31))]), {"args": [ADDRESS]}),
        (Criteria(args={"at": Address("Hill 1", date(2030, 1, 31))}), {"args": [{"at": ADDRESS}]}),
        (Criteria(args=[{1: "one"}]), {"args": [{"1": "one"}]}),
        (Criteria(args=[1.0, True]), {"args": [1, True]}),
        (Criteria(queue="mail", priority=3), {"queue": "mail", "priority": 3}),
        (Criteria(meta={"user": 7}), {"meta": {"user": 7, "trace": "x"}}),
        (Criteria(at="2030-01-31T09:00:00Z"), {"scheduled_at": "2030-01-31T10:00:00+01:00"}),
        (
            Criteria(at=datetime(2030, 1, 31, 9, tzinfo=UTC)),
            {"scheduled_at": "2030-01-31T09:00:00.000Z"},
        ),
        (Criteria(states=("available", "active")), {}),
        (Criteria(result=None), {"state": "completed"}),
        (Criteria(result={"n": ANY}), {"result": {"n": 1}}),
        (Criteria(error="ValueError"), {"error": {"type": "ValueError", "message": "no"}}),
        (Criteria(error="such user"), {"error": {"type": "X", "message": "no such user"}}),
        (Criteria(run=True), {"attempt": 1}),
    ],
)
def test_a_job_is_meant(wanted: Criteria, members: dict[str, Any]) -> None:
    assert wanted.differences(job(**members)) == []


@pytest.mark.parametrize(
    ("wanted", "members", "difference"),
    [
        (Criteria(type="email.sent"), {}, "type is email.send, not email.sent"),
        (Criteria(args=[1]), {"args": [1, 2]}, "args are [1, 2], not [1]"),
        (Criteria(args=[1]), {"args": [True]}, "args are [True], not [1]"),
        (Criteria(args=[True]), {"args": [1]}, "args are [1], not [True]"),
        (Criteria(args={"to": "ada"}), {"args": ["ada"]}, "args are ['ada'], which names none"),
        (Criteria(args={"to": "a"}), {"args": [{"to": "b"}]}, "args.to is 'b', not 'a'"),
        (Criteria(args={"to": "a"}), {"args": [{}]}, "args has no to"),
        (Criteria(args={}), {"args": [{"to": "b"}]}, "args has to as well"),
        (Criteria(args=[{"a": 1}]), {"args": [{"a": 1, "b": 2}]}, "not [{'a': 1}]"),
        (Criteria(queue="mail"), {}, "queue is default, not mail"),
        (Criteria(priority=3), {}, "priority is 0, not 3"),
        (Criteria(meta={"user": 7}), {"meta": {"user": 8}}, "meta.user is 8, not 7"),
        (Criteria(meta={"user": 7}), {}, "meta has no user"),
        (Criteria(at="2030-01-31T09:00:00Z"), {}, "its time is now, not 2030-01-31T09:00:00Z"),
        (
            Criteria(states=("active", "completed")),
            {},
            "state is available, not active or completed",
        ),
        (Criteria(result=1), {"result": 2}, "result is 2, not 1"),
        (Criteria(error="ValueError"), {}, "its error is not ValueError"),
        (Criteria(run=True), {}, "it has not been run"),
    ],
)
def test_another_job_is_told_from_it(
    wanted: Criteria, members: dict[str, Any], difference: str
) -> None:
    (found,) = wanted.differences(job(**members))
    assert difference in found


def test_of_a_job_in_another_state_no_result_is_spoken_of() -> None:
    wanted = Criteria(states=("completed",), result=1)
    assert wanted.differences(job()) == ["state is available, not completed"]


def test_one_is_enough_where_no_number_is_given() -> None:
    jobs = [job(1), job(2), job(3, type="report.make")]
    wanted = Criteria(type="email.send")
    assert complaint(jobs, wanted, "enqueued", None) is None
    assert complaint(jobs, wanted, "enqueued", 2) is None
    assert [one.id for one in matching(jobs, wanted)] == ["job-1", "job-2"]


def test_the_nearest_come_first_with_what_is_different() -> None:
    jobs = [
        job(1, queue="bulk", args=[{"to": "eve"}]),
        job(2, args=[{"to": "bob"}]),
        job(3, type="report.make"),
        job(4, type="report.make"),
    ]
    wanted = Criteria(type="email.send", args={"to": "ada"}, queue="default")
    assert complaint(jobs, wanted, "enqueued", None) == (
        "email.send with args {'to': 'ada'} on queue default: none was enqueued\n"
        "the nearest:\n"
        "  email.send [{'to': 'bob'}] on default, available, attempt 0 (job-2)\n"
        "    args.to is 'bob', not 'ada'\n"
        "  email.send [{'to': 'eve'}] on bulk, available, attempt 0 (job-1)\n"
        "    args.to is 'eve', not 'ada'\n"
        "    queue is bulk, not default\n"
        "there are also: report.make (2)"
    )


def test_a_type_that_is_nearly_right_is_named() -> None:
    said = complaint([job(1)], Criteria(type="email.sent"), "enqueued", None)
    assert said is not None
    assert "did you mean email.send?" in said
    said = complaint([job(1)], Criteria(type="xyz"), "enqueued", None)
    assert said == "xyz: none was enqueued\nthere are: email.send (1)"


def test_nothing_at_all_is_said_so() -> None:
    assert complaint([], Criteria(), "enqueued", None) == (
        "any job: none was enqueued\nthere are no jobs at all"
    )


def test_a_wrong_number_shows_those_that_there_are() -> None:
    jobs = [job(1), job(2, args=[1])]
    said = complaint(jobs, Criteria(type="email.send", args=[]), "enqueued", 2)
    assert said is not None
    assert said.startswith("email.send with args []: 1 was enqueued, not 2\nthese are:\n  email")
    assert "the nearest others:" in said
    assert "args are [1], not []" in said
    said = complaint(jobs, Criteria(), "enqueued", 0)
    assert said is not None
    assert said.startswith("any job: 2 were enqueued, not 0\nthese are:\n")
    assert "nearest" not in said


def test_all_that_was_wanted_is_named() -> None:
    wanted = Criteria(
        meta={"a": 1}, priority=2, at="2030-01-31T09:00:00Z", result=3, error="E", queue="q"
    )
    assert wanted.words() == (
        "any job on queue q with meta {'a': 1} of priority 2 for 2030-01-31T09:00:00Z"
        " with result 3 with error E"
    )


def test_a_job_with_an_error_tells_it_and_long_values_are_cut() -> None:
    text = describe(job(args=["x" * 1000], error={"type": "E", "message": "no"}, attempt=2))
    assert len(text) < 500
    assert text.endswith("attempt 2, error E: 'no' (job-1)")
