"""The summary in Markdown: verdicts, causes and cases, in which no text of a server is markup."""

from typing import Any

from conformance.report.document import Report, build_report
from conformance.report.summary import summary_markdown
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict


def result(name: str, actual: str = "0", **members: Any) -> CaseResult:
    failure = FailedCheck(step_id="FETCH", field="jobs[0].attempt", expected="1", actual=actual)
    given = {"verdict": Verdict.FAIL, "failures": (failure,), **members}
    return CaseResult(path="p", test_id=name, name="A title", suite="s", **given)


def report(*results: CaseResult, **members: Any) -> Report:
    given = {"target": "http://h", "run_at": "2026-01-01T00:00:00Z", "duration_ms": 1, **members}
    return build_report(results, **given)


def test_it_says_the_verdicts_the_causes_and_the_cases() -> None:
    results = [
        result("a.one", clauses=("OJS-FET-007",)),
        result("a.two", strength="should", profile="full"),
        result("a.three", verdict=Verdict.PASS, failures=()),
    ]
    text = summary_markdown(report(*results, claims="the manifest claims level 4"))
    assert text.splitlines() == [
        "## Open Job Spec: not conformant",
        "",
        "http://h, 2026-01-01T00:00:00Z",
        "",
        "In its manifest: the manifest claims level 4",
        "",
        "| | Cases | Passed | Failed | Not judged | Skipped | Disputed |",
        "|---|---|---|---|---|---|---|",
        "| published: must | 2 | 1 | 1 | 0 | 0 | 0 |",
        "| full: must | 2 | 1 | 1 | 0 | 0 | 0 |",
        "| full: should | 1 | 0 | 1 | 0 | 0 | 0 |",
        "",
        "### 2 of 2 failures by 1 of 1 causes",
        "",
        r"1. FETCH answers \`jobs\[\].attempt: 0\` instead of 1 (2)",
        "",
        "<details><summary>2 failed cases</summary>",
        "",
        "- a.one: A title OJS-FET-007",
        "- a.two (should): A title",
        "",
        "</details>",
    ]


def test_a_conformant_server_has_verdicts_alone() -> None:
    text = summary_markdown(report(result("a", verdict=Verdict.PASS, failures=())))
    assert text.startswith("## Open Job Spec: conformant\n")
    assert "failures" not in text
    assert "details" not in text


def test_no_text_of_a_server_is_markup() -> None:
    text = summary_markdown(report(result("a", actual="<img src=x> [a](b) | @all\n# b")))
    assert "<img" not in text.replace("\\<", "")
    assert "\n# b" not in text
    assert r"\| \@all \# b" in text


def test_long_lists_are_cut() -> None:
    text = summary_markdown(report(*(result(f"c{n}", actual=f"{n}") for n in range(120))))
    assert "- and 20 more" in text
    assert len(text) < 20_000
