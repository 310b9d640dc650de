"""Tests of the causes to mend first: failures that begin alike are one cause, core comes first."""

from conformance.report.console import summary_lines
from conformance.report.mending import Mending, mendings
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


def test_cases_that_differ_in_names_alone_have_one_cause() -> None:
    results = [failed("a", 1, **queue_of(1)), failed("b", 0), failed("c", 0, **queue_of(2))]
    cause = 'POST jobs: job.queue: expected "{name}", got "default"'
    assert mendings(results) == [
        Mending(cause=cause, level=0, cases=("a", "c")),
        Mending(cause="expected a, got b", level=0, cases=("b",)),
    ]


def test_core_comes_before_what_is_more_frequent() -> None:
    results = [failed("a", 4), failed("b", 4), failed("c", 0, expected="core")]
    assert [each.cases for each in mendings(results)] == [("c",), ("a", "b")]


def test_an_unexpected_status_is_told_with_its_code() -> None:
    bodies = [f'400 {{"error": {{"code": "invalid_request", "at": {n}}}}}' for n in range(2)]
    results = [failed(f"c{n}", 0, field="status", actual=body) for n, body in enumerate(bodies)]
    (found,) = mendings(results)
    assert str(found) == "up to 2 cases: status: expected a, got 400 invalid_request"


def test_what_could_not_be_judged_is_told_by_its_reason() -> None:
    error = CaseResult(path="p", test_id="a", verdict=Verdict.ERROR, reason="no server")
    assert [each.cause for each in mendings([error])] == ["no server"]


def test_what_passes_is_not_to_be_mended() -> None:
    assert mendings([CaseResult(path="p", test_id="a", verdict=Verdict.PASS)]) == []


def test_the_summary_tells_causes_that_several_cases_share() -> None:
    lines = list(summary_lines([failed("a", 0), failed("b", 0)]))
    assert lines[-4:-2] == ["mend first:", "    up to 2 cases: expected a, got b"]
    assert "mend first:" not in list(summary_lines([failed("a", 0)]))
