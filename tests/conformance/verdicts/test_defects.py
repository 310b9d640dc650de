"""Demands that no server can meet are told from those that it fails."""

from typing import Any

import pytest

from conformance.verdicts.defects import contradictions
from tests.conformance.cases import case, step


def nack(number: int, **error: Any) -> dict[str, Any]:
    """A failure report as a worker sends it."""
    error = {"code": "handler_error", "message": f"failure {number}", **error}
    return step("POST", id=f"nack-{number}", path="/nack", body={"job_id": "j", "error": error})


def test_a_type_that_nobody_sent_is_impossible() -> None:
    history = step(
        id="look",
        assertions={
            "body": {
                "$.job.errors[0].type": "ConnectionTimeout",
                "$.job.errors[1].type": "RateLimited",
                "$.job.errors[1].message": "never sent either",
                "$.job.state": "discarded",
            }
        },
    )
    assert contradictions(case(nack(1), nack(2), history)) == {
        ("look", "$.job.errors[0].type"): (
            '$.job.errors[0].type is to be "ConnectionTimeout", which no step ever sends'
        ),
        ("look", "$.job.errors[1].type"): (
            '$.job.errors[1].type is to be "RateLimited", which no step ever sends'
        ),
    }


@pytest.mark.parametrize(
    "report",
    [
        nack(1, type="ConnectionTimeout"),
        nack(1, details={"error_class": "ConnectionTimeout"}),
        nack(1, message="ConnectionTimeout: no route"),
        step("POST", raw_body="ConnectionTimeout", id="raw"),
        step(path="/x?type=ConnectionTimeout", id="query"),
        step(headers={"X-Error": "ConnectionTimeout"}, id="header"),
    ],
)
def test_a_type_that_some_step_sends_is_possible(report: dict[str, Any]) -> None:
    history = step(id="look", assertions={"body": {"errors[0].type": "ConnectionTimeout"}})
    assert contradictions(case(nack(0), report, history)) == {}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        # The server's own error answer, and an error that the server found itself.
        ("$.error.type", "validation_error"),
        ("$.job.error.type", "timeout"),
        # More entries than reports: the second failure is one that the server found.
        ("$.job.errors[1].type", "timeout"),
        ("$.job.errors[*].type", "contains:timeout"),
        ("$.job.errors[0].code", "timeout"),
        ("$.job.errors[0].type", "string:nonempty"),
        ("$.job.errors[0].type", "string:nonsense"),
        ("$.job.errors[0].type", ""),
        ("$.job.errors[0].type", {"$in": ["a", "b"]}),
        ("$.job.errors[0].type", "{{steps.nack-1.response.body.type}}"),
        ("$.jobs[?(@.id=='{{steps.nack-1.response.body.id}}')].errors[0].type", "timeout"),
    ],
)
def test_other_demands_are_for_the_server_to_meet(path: str, wanted: object) -> None:
    history = step(id="look", assertions={"body": {path: wanted}})
    assert contradictions(case(nack(1), history)) == {}


def test_only_reports_before_the_look_count() -> None:
    history = step(id="look", assertions={"body": {"errors[0].type": "timeout"}})
    assert contradictions(case(history, nack(1))) == {}


def test_a_text_error_or_an_array_body_is_no_report() -> None:
    history = step(id="look", assertions={"body": {"errors[0].type": "timeout"}})
    others = [step("POST", id="a", body={"error": "text"}), step("POST", id="b", body=["error"])]
    assert contradictions(case(*others, history)) == {}


def test_quotes_and_other_letters_are_found_in_what_was_sent() -> None:
    history = step(id="look", assertions={"body": {"errors[0].type": 'Größe "x"'}})
    assert contradictions(case(nack(1, type='Größe "x"'), history)) == {}
