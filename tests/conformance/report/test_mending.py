"""Tests of the causes to mend first: failures of one operation and member are one cause."""

from typing import Any

import msgspec
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


def judged(name: str, *clauses: str, verdict: Verdict = Verdict.FAIL, **members: Any) -> CaseResult:
    made = failed(name, 1, **members)
    failures = made.failures if verdict is Verdict.FAIL else ()
    return msgspec.structs.replace(made, clauses=clauses, verdict=verdict, failures=failures)


def causes_of(*results: CaseResult) -> list[tuple[str, ...]]:
    return [each.cases for each in mendings(results)]


def test_a_clause_that_no_case_passes_is_one_cause_whatever_each_saw() -> None:
    status: dict[str, Any] = {
        "step_id": "POST jobs/1/activate",
        "field": "status",
        "actual": "404 not found",
    }
    one = judged("a", "OJS-LIF-013", **status)
    two = judged("b", "OJS-LIF-013", "OJS-ENQ-011", expected="it waits")
    three = judged("c", "OJS-ENQ-011", expected="it comes")
    other = judged("d", "OJS-LIF-001", expected="type: 1")
    (first, second) = mendings([one, two, three, other])
    assert (first.cases, second.cases) == (("a", "b", "c"), ("d",))
    assert (
        first.cause == "POST jobs/1/activate answers 404, no JSON error; it waits: b; it comes: b"
    )
    kept = judged("e", "OJS-LIF-013", "OJS-ENQ-011", verdict=Verdict.PASS)
    assert sorted(causes_of(one, two, three, kept)) == [("a",), ("b",), ("c",)]


def test_a_published_sentence_that_no_case_keeps_is_one_cause() -> None:
    one, two = judged("a", "OJS-VIS-005", expected="it ends"), judged("b", "OJS-RET-018")
    assert causes_of(one, two) == [("a", "b")]
    assert causes_of(one, judged("c", "OJS-CRN-007", expected="it is there")) == [("a",), ("c",)]


def test_a_word_for_another_is_a_cause_of_its_own() -> None:
    pending = {"step_id": "POST jobs", "actual": '"available"'}
    one = failed("a", 1, expected='state of the new job: "pending"', **pending)
    two = failed("b", 1, expected='state: "pending"', **pending)
    three = failed("c", 1, expected='state: "scheduled"', **pending)
    assert causes_of(one, two, three) == [("a", "b"), ("c",)]
    assert (
        mendings([one, two])[0].cause
        == 'POST jobs answers `state: "available"` instead of "pending"'
    )


def test_members_that_each_entry_of_a_list_lacks_are_one_cause() -> None:
    lacks = {"step_id": "GET jobs/1", "actual": "nothing"}
    results = [
        failed(name, 1, field=f"job.errors[0].{name}", **lacks) for name in ("code", "occurred_at")
    ]
    results += [failed("started_at", 1, field="job.started_at", **lacks)]
    assert [each.cause for each in mendings(results)] == [
        "GET jobs/1 answers without `job.errors[].code` and `job.errors[].occurred_at`",
        "GET jobs/1 answers without `job.started_at`",
    ]


def test_what_is_wrong_in_the_manifest_is_one_cause() -> None:
    manifest = {"step_id": "GET /ojs/manifest"}
    one = failed("a", 1, field="specversion", expected='"1.0"', actual='"2.0"', **manifest)
    two = failed("b", 1, field="implementation.language", actual="nothing", **manifest)
    (only,) = mendings([one, two])
    assert only.cases == ("a", "b")
    assert only.cause == (
        'GET /ojs/manifest answers `specversion: "2.0"` instead of "1.0"; '
        "GET /ojs/manifest answers without `implementation.language`"
    )


def test_another_refusal_is_no_refusal_of_what_has_to_be_taken() -> None:
    duplicate = '{"error":{"code":"duplicate"}}'
    result = seen(409, duplicate, field="status", expected="400", actual="409")
    assert [each.cause for each in mendings([result])] == ["FETCH answers 409 duplicate, not 400"]
