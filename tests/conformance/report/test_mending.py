"""Tests of the causes to mend first: failures of one operation and member are one cause."""

import pytest

from conformance.report.console import summary_lines
from conformance.report.mending import Mending, mendings
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict


def failed(name: str, level: int, **members: str) -> CaseResult:
    given = {"step_id": "check", "field": "claim", "expected": "a", "actual": "b", **members}
    failure = FailedCheck(**given)  # type: ignore[arg-type]
    return CaseResult(
        path="p", test_id=name, level=level, verdict=Verdict.FAIL, failures=(failure,)
    )


def queue_of(number: int) -> dict[str, str]:
    name = f'"q-0123456{number}-{number}"'
    return {"step_id": "POST jobs", "field": "job.queue", "expected": name, "actual": '"default"'}


def test_cases_that_differ_in_values_alone_have_one_cause() -> None:
    results = [failed("a", 1, **queue_of(1)), failed("b", 0), failed("c", 0, **queue_of(2))]
    assert mendings(results) == [
        Mending(cause='POST jobs answers `job.queue: "default"`', level=0, cases=("a", "c")),
        Mending(cause="a: b", level=0, cases=("b",)),
    ]


def test_the_most_frequent_comes_first_and_then_core() -> None:
    results = [
        failed("a", 4),
        failed("b", 4),
        failed("c", 1, expected="x"),
        failed("d", 0, expected="y"),
    ]
    assert [each.cases for each in mendings(results)] == [("a", "b"), ("d",), ("c",)]


def seen(status: int, body: str, media: str = "application/json", **members: str) -> CaseResult:
    """A failed case whose answer to a FETCH was kept."""
    fetch = Exchange(
        method="POST",
        url="http://127.0.0.1:8080/ojs/v1/workers/fetch?x=1",
        status=status,
        headers={"content-type": f"{media}; charset=utf-8"},
        body=body,
    )
    given = {"step_id": "POST workers/fetch", "exchange": 0, "expected": "200", **members}
    failure = FailedCheck(**given)  # type: ignore[arg-type]
    return CaseResult(
        path="p", test_id="a", verdict=Verdict.FAIL, failures=(failure,), exchanges=(fetch,)
    )


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        (
            seen(404, "404 page not found", "text/plain", field="status", actual="404"),
            "FETCH answers 404 as text/plain, no JSON error",
        ),
        (
            seen(404, '{"error":{"code":"not_found"}}', field="status", actual="404"),
            "FETCH answers 404 not_found",
        ),
        (
            seen(400, '{"error":{"code":"invalid_request"}}', field="status", actual="400"),
            "FETCH answers 400 invalid_request to what it has to take",
        ),
        (
            seen(500, "", "text/html", field="status", actual="500"),
            "FETCH answers 500 as text/html, no JSON error",
        ),
        (
            seen(200, "{}", field="status", expected='{"$in":[400,422]}', actual="200 {}"),
            "FETCH answers 200 to what it has to refuse",
        ),
        (
            seen(200, "{}", field="jobs[0].attempt", expected="1", actual="0"),
            "FETCH answers `jobs[].attempt: 0` instead of 1",
        ),
        (
            seen(200, "{}", step_id="check", field="claim", expected="attempt: 1", actual="0"),
            "FETCH answers `attempt: 0` instead of 1",
        ),
        (
            seen(200, "{}", field="jobs", actual="nothing ($ has no key 'jobs')"),
            "FETCH answers without `jobs`",
        ),
        (
            seen(
                200, "{}", step_id="check", field="claim", expected="both within 4 s", actual="no"
            ),
            "both within 4 s: no",
        ),
        (
            seen(
                200,
                "{}",
                step_id="POST /ojs/v1/workers/fetch -> 200",
                field="contract",
                expected="#/components/schemas/Job/pattern",
                actual="'7' does not match '^[0-9a-f]'",
            ),
            "FETCH breaks #/components/schemas/Job/pattern: '7' does not match '^[0-9a-f]'",
        ),
    ],
)
def test_a_cause_is_told_by_operation_and_member(result: CaseResult, cause: str) -> None:
    assert [each.cause for each in mendings([result])] == [cause]


def test_what_could_not_be_judged_is_told_by_its_reason() -> None:
    error = CaseResult(path="p", test_id="a", verdict=Verdict.ERROR, reason="no server")
    assert [each.cause for each in mendings([error])] == ["no server"]


def test_what_passes_is_not_to_be_mended() -> None:
    assert mendings([CaseResult(path="p", test_id="a", verdict=Verdict.PASS)]) == []


def test_the_summary_tells_causes_that_several_cases_share() -> None:
    lines = list(summary_lines([failed("a", 0), failed("b", 0)]))
    assert lines[-4:-2] == ["mend first:", "    up to 2 cases: a: b"]
    assert "mend first:" not in list(summary_lines([failed("a", 0)]))
