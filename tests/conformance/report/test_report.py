"""Tests of the console output and of the report document."""

import io

import msgspec

from conformance.report.console import case_line, summary_lines
from conformance.report.document import build_report
from conformance.report.progress import Progress
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict


def result(verdict: Verdict, reason: str = "", *failures: FailedCheck) -> CaseResult:
    """A result of case T-1."""
    return CaseResult(
        path="suite/t.json",
        test_id="T-1",
        name="made-up",
        level=0,
        verdict=verdict,
        reason=reason,
        failures=failures,
        duration_ms=12,
    )


def wrong(actual: str = '"active"') -> FailedCheck:
    """A failed check of a nested value."""
    return FailedCheck(
        step_id="s1", field="$.job", at=".state", expected='"available"', actual=actual
    )


def test_case_lines() -> None:
    assert [
        case_line(result(Verdict.PASS)),
        case_line(result(Verdict.FAIL)),
        case_line(result(Verdict.ERROR, "setup failed")),
        case_line(result(Verdict.SKIPPED, "deprecated: old")),
        case_line(result(Verdict.DEFECTIVE, "never sent")),
    ] == [
        "✓ T-1 made-up (12 ms)",
        "✗ T-1 made-up: fail",
        "✗ T-1 made-up: error (setup failed)",
        "- T-1 made-up: skipped (deprecated: old)",
        "~ T-1 made-up: defective (never sent)",
    ]


def test_the_summary_repeats_failures_with_expected_and_actual() -> None:
    results = [
        result(Verdict.PASS),
        result(Verdict.FAIL, "", wrong()),
        result(Verdict.SKIPPED, "deprecated: old"),
        result(Verdict.ERROR, "file is not JSON"),
    ]
    assert list(summary_lines(results)) == [
        "",
        "cases: 1 pass, 1 fail, 1 error, 1 skipped",
        "    ✗ T-1 made-up",
        "        (suite/t.json)",
        "        [s1] $.job.state",
        '            expected: "available"',
        '            actual:   "active"',
        "    ✗ T-1 made-up",
        "        (suite/t.json)",
        "        error: file is not JSON",
        "",
        "4 cases: 1 pass, 1 fail, 1 error, 1 skipped",
    ]


def test_failures_are_told_by_suite_with_their_clauses() -> None:
    def of(suite: str, name: str, verdict: Verdict, *clauses: str) -> CaseResult:
        made = result(verdict, "no", *([wrong()] if verdict is Verdict.FAIL else []))
        return msgspec.structs.replace(made, suite=suite, test_id=name, clauses=clauses)

    lines = list(
        summary_lines(
            [
                of("own/settle", "settle.b", Verdict.FAIL, "OJS-SET-001", "OJS-SET-002"),
                of("own/fetch", "fetch.a", Verdict.PASS),
                of("own/settle", "settle.a", Verdict.PASS),
            ]
        )
    )
    assert lines[1:5] == [
        "own/fetch: 1 pass",
        "own/settle: 1 pass, 1 fail",
        "    ✗ settle.b made-up",
        "        OJS-SET-001, OJS-SET-002 (suite/t.json)",
    ]


class Screen(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_the_run_is() -> None:
    screen, seconds = Screen(), iter((0.0, 2.0))
    progress = Progress(3, screen, lambda: next(seconds))
    progress.ended(result(Verdict.FAIL))
    assert screen.getvalue().endswith("✗ T-1 made-up: fail\n1 of 3 cases, 1 failed, 2 s")
    progress.over()
    assert screen.getvalue().endswith("\r\x1b[K")
    assert [each.verdict for each in progress.results] == [Verdict.FAIL]


def test_a_file_gets_the_lines_alone() -> None:
    out = io.StringIO()
    progress = Progress(2, out)
    progress.ended(result(Verdict.PASS))
    progress.over()
    assert out.getvalue() == "✓ T-1 made-up (12 ms)\n"


def test_the_summary_of_a_clean_run_is_its_total() -> None:
    assert list(summary_lines([result(Verdict.PASS)])) == ["", "1 case: 1 pass"]


def test_a_defective_case_shows_reason_and_values() -> None:
    lines = list(summary_lines([result(Verdict.DEFECTIVE, "never sent", wrong())]))
    assert "        defective: never sent" in lines
    assert '            actual:   "active"' in lines


def test_long_values_are_clipped() -> None:
    lines = list(summary_lines([result(Verdict.FAIL, "", wrong("x" * 1000))]))
    assert f"            actual:   {'x' * 400} ... (1000 long)" in lines


def test_the_report_counts_and_keeps_every_case() -> None:
    results = [result(verdict) for verdict in Verdict]
    report = build_report(results, target="http://h", run_at="2025-01-01T00:00:00Z", duration_ms=5)
    data = msgspec.json.decode(msgspec.json.encode(report))
    assert data["results"] == {
        "total": 6,
        "passed": 1,
        "failed": 1,
        "errored": 1,
        "skipped": 1,
        "defective": 1,
        "disputed": 1,
    }
    assert data["conformant"] is False
    assert [case["verdict"] for case in data["cases"]] == [verdict.value for verdict in Verdict]
    assert data["cases"][0]["path"] == "suite/t.json"


def test_skipped_and_defective_cases_do_not_spoil_conformance() -> None:
    results = [result(Verdict.PASS), result(Verdict.SKIPPED), result(Verdict.DEFECTIVE)]
    assert build_report(results, target="t", run_at="r", duration_ms=0).conformant
