"""Reports: JUnit, the published form, the page and the badge."""

import random
import re
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from conformance.clauses import Clause
from conformance.report.badge import badge_svg
from conformance.report.document import Report, build_report, clause_verdicts
from conformance.report.junit import junit_xml
from conformance.report.page import curl_line, html_page
from conformance.report.published import published_report
from conformance.verdicts.exchanges import Exchange, Finding
from conformance.verdicts.result import CaseResult, FailedCheck, SkipReason, Verdict
from tests.conformance.unpack import unpacked

EVIL = "<script>alert('x')</script>\x00\x1b&"
EXCHANGE = Exchange(
    method="POST",
    url="http://server/jobs?a='b'",
    request_headers={"host": "server", "content-type": "application/json", "x-a": "it's"},
    request_body='{"a": "it\'s"}',
    status=500,
    headers={"content-type": "text/html"},
    body=EVIL,
    duration_ms=12,
)


def result(name: str, verdict: Verdict, **keys: Any) -> CaseResult:
    return CaseResult(
        **{
            "path": f"{name}.json",
            "test_id": name,
            "name": f"name of {name}",
            "suite": "own/s",
            "level": 0,
            "verdict": verdict,
            "duration_ms": 1500,
            **keys,
        }
    )


def failed(name: str = "B", **keys: Any) -> CaseResult:
    failure = FailedCheck(step_id="s", field="status", expected="200", actual=EVIL, exchange=0)
    return result(name, Verdict.FAIL, failures=(failure,), exchanges=(EXCHANGE,), **keys)


def results() -> list[CaseResult]:
    return [
        result("A", Verdict.PASS, clauses=("OJS-ENV-001", "OJS-ENV-002"), exchanges=(EXCHANGE,)),
        failed(clauses=("OJS-ENV-002",)),
        result("C", Verdict.ERROR, reason="setup failed", level=1),
        result("D", Verdict.SKIPPED, skipped=SkipReason.NOT_SUPPORTED, reason="no cron", level=2),
        result("E", Verdict.DEFECTIVE, reason="never sent", level=99, suite="ext"),
    ]


def report(*cases: CaseResult, **keys: Any) -> Report:
    given = {"target": "http://server", "run_at": "2026-01-02T03:04:05Z", "duration_ms": 9000}
    return build_report(cases or results(), **{**given, **keys})


def test_the_document_counts_by_level_and_clause() -> None:
    made = report()
    assert (made.conformant, made.conformant_level) == (False, -1)
    assert made.by_level["1"].errored == 1
    assert made.clauses == {"OJS-ENV-001": Verdict.PASS, "OJS-ENV-002": Verdict.FAIL}
    assert [case.exchanges != () for case in made.cases if case.test_id in "AB"] == [False, True]


def test_the_level_ends_below_the_first_failure() -> None:
    passed = [result(str(level), Verdict.PASS, level=level) for level in (0, 1, 3)]
    assert report(*passed).conformant_level == 3
    skipped = result("s", Verdict.SKIPPED, level=2)
    assert report(passed[0], passed[1], skipped).conformant_level == 1
    assert report(passed[0], failed(level=1), passed[2]).conformant_level == 0


def test_a_clause_is_as_bad_as_its_worst_case() -> None:
    both = [
        result("a", Verdict.SKIPPED, clauses=("X",)),
        result("b", Verdict.PASS, clauses=("X",)),
    ]
    assert clause_verdicts(both) == {"X": Verdict.PASS}
    assert clause_verdicts([*both, failed(clauses=("X",))]) == {"X": Verdict.FAIL}


def test_values_of_any_size_fit_into_a_report() -> None:
    long = FailedCheck(step_id="s", field="body", expected="x", actual="y" * 1_000_000)
    (case,) = report(result("A", Verdict.FAIL, failures=(long,))).cases
    assert case.failures[0].actual == "y" * 10_000 + " ... (1000000 characters)"


def test_junit_has_failures_as_failures() -> None:
    root = ElementTree.fromstring(junit_xml(report()))
    suites = {suite.get("name"): suite for suite in root}
    mine = suites["own/s"]
    counts = [mine.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["4", "1", "1", "1"]
    kinds = {
        case.get("name", "")[0]: [child.tag for child in case] for case in root.iter("testcase")
    }
    assert kinds == {"A": [], "B": ["failure"], "C": ["error"], "D": ["skipped"], "E": ["skipped"]}
    (failure,) = root.iter("failure")
    assert "[s] status: expected 200, got <script>" in (failure.text or "")


def test_the_published_form() -> None:
    made = published_report(report(), results(), requested_level=-1)
    assert made["test_suite_version"] == "1.0"
    assert made["results"]["by_level"]["0"] == {
        "total": 2,
        "passed": 1,
        "failed": 1,
        "skipped": 0,
        "errored": 0,
        "all_pass": False,
    }
    assert [case["status"] for case in made["failures"]] == ["fail", "error"]
    assert [case["status"] for case in made["skipped"]] == ["skip", "skip"]
    step = made["failures"][0]["step_results"][0]
    assert (step["status_code"], step["body"]) == (500, EVIL)
    assert made["failures"][0]["failures"][0]["message"].startswith("[s] status: expected 200")
    assert "failures" not in published_report(report(result("A", Verdict.PASS)), [])


def test_the_published_form_says_what_was_judged_where() -> None:
    manifest = {"implementation": {"name": "my-backend", "version": "2.0"}}
    made = published_report(report(manifest=manifest), results(), commit="a" * 40)
    assert made["report_schema_version"] == "1.1.0"
    assert made["backend"] == {"name": "my-backend", "version": "2.0", "url": "http://server"}
    assert made["commit"] == {"sha": "a" * 40}
    assert all(made["environment"][key] for key in ("os", "arch"))
    # A log lists a backend without a name by its target.
    unnamed = published_report(report(), results())
    assert (unnamed["backend"], "commit" in unnamed) == (
        {"name": "", "url": "http://server"},
        False,
    )


def test_the_page_shows_what_failed_and_runs_nothing_of_the_server() -> None:
    finding = Finding(operation="GET /x -> 200", pointer="#/paths/~1x", at="/a", message=EVIL)
    cases = [*results(), result("F", Verdict.PASS, findings=(finding,), exchanges=(EXCHANGE,))]
    text = "A job is sent with a `type`."
    clause = Clause(
        id="OJS-ENV-001",
        strength="must",
        side="server",
        sources=("core",),
        text=text,
        file="f",
        line=1,
    )
    page = html_page(report(*cases), {"OJS-ENV-001": clause})
    assert "alert('x')</script>" not in page
    assert page.count("<details") == page.count("</details>")
    for shown in ("not conformant", "#/paths/~1x", '<a href="#B">B</a>', "<b>up to 1 case</b>"):
        assert shown in page
    assert not re.search(r'(src|href)="http', page)
    details = unpacked(page)
    assert details["clauses"]["OJS-ENV-001"]["text"] == "A job is sent with a type."
    (failure,) = details["cases"]["B"]["failures"]
    assert failure["where"] == "[s] status"
    assert failure["answer"].startswith("500 after 12 ms")
    assert failure["again"].startswith("curl -i -X POST")


def test_a_page_of_hundreds_of_failures_stays_small() -> None:
    def noise(at: int) -> str:
        return random.Random(at).randbytes(2000).hex()  # incompressible

    cases = [
        failed(
            f"suite.case_{at}",
            clauses=("OJS-ENV-001", "OJS-ENV-002"),
        )
        for at in range(446)
    ]
    said = "What a case of the usual length says in its first line of text. " * 2
    cases = [
        msgspec.structs.replace(
            case, name=said, exchanges=(msgspec.structs.replace(EXCHANGE, body=noise(at)),)
        )
        for at, case in enumerate(cases)
    ]
    page = html_page(report(*cases), {})
    assert len(page.encode()) < 300_000
    details = unpacked(page)["cases"]
    # All fail for one reason: one of them shows how.
    assert [name for name, told in details.items() if "answer" in told["failures"][0]] == [
        "suite.case_0"
    ]
    assert "left out" in details["suite.case_1"]["failures"][0]


def test_the_curl_line_is_quoted_for_a_shell() -> None:
    assert curl_line(EXCHANGE) == (
        "curl -i -X POST 'http://server/jobs?a='\"'\"'b'\"'\"'' "
        "-H 'content-type: application/json' -H 'x-a: it'\"'\"'s' "
        '--data-binary \'{"a": "it\'"\'"\'s"}\''
    )


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (report(result("A", Verdict.PASS)), "Conformant Level 0"),
        (report(failed()), "not conformant"),
        (report(result("A", Verdict.PASS), failed(), selection="A & B"), "1 of 2 cases"),
    ],
)
def test_the_badge(made: Report, text: str) -> None:
    root = ElementTree.fromstring(badge_svg(made))
    assert text in [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]
