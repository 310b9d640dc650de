"""SARIF: the form that code scanning and editors read."""

from typing import Any

import msgspec

from conformance.clauses import Clause
from conformance.report.sarif import sarif_log
from conformance.verdicts.result import CaseResult, Verdict
from tests.conformance.report.test_reports import EVIL, failed, report, result

FIRST, SECOND = (
    Clause(
        id=f"OJS-ENV-00{number}",
        strength=strength,
        side="server",
        sources=("core",),
        text="A job has a `type`. It is a string.",
        file="01-envelope.md",
        line=7,
    )
    for number, strength in ((1, "must"), (2, "should"))
)
CLAUSES = {clause.id: clause for clause in (FIRST, SECOND)}


def run_of(*cases: CaseResult, **keys: Any) -> dict[str, Any]:
    """Return the one run of a log that was written and read again."""
    log = msgspec.json.decode(msgspec.json.encode(sarif_log(report(*cases, **keys), CLAUSES)))
    assert (log["version"], log["$schema"].rpartition("/")[2]) == (
        "2.1.0",
        "sarif-schema-2.1.0.json",
    )
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def test_a_failed_case_is_a_result_with_its_clause_as_rule() -> None:
    run = run_of(failed("B", clauses=(FIRST.id, SECOND.id), path="conformance/cases/b c.py"))
    assert run["tool"]["driver"]["name"] == "ojs-conformance"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [FIRST.id, SECOND.id]
    assert rules[0]["shortDescription"]["text"] == "A job has a type."
    assert rules[0]["fullDescription"]["text"] == "A job has a type. It is a string."
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == ["error", "warning"]
    (found,) = run["results"]
    assert (found["ruleId"], found["level"]) == (FIRST.id, "error")
    assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
    assert found["message"]["text"].startswith("name of B\n[s] status: expected 200, got <script>")
    place = found["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "conformance/cases/b%20c.py"},
        "region": {"startLine": 1},
    }
    related = found["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "spec/01-envelope.md"
    assert related["region"]["startLine"] == 7
    assert found["webRequest"]["method"] == "POST"
    assert found["webResponse"]["statusCode"] == 500
    assert found["webResponse"]["body"]["text"] == EVIL


def test_what_only_should_be_is_a_warning() -> None:
    (found,) = run_of(failed("B", clauses=(SECOND.id,), strength="should"))["results"]
    assert found["level"] == "warning"


def test_a_published_case_is_its_own_rule() -> None:
    run = run_of(failed("L0-001", spec_ref="core 3.1", path="/suites/a.json"))
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule == {"id": "L0-001", "shortDescription": {"text": "name of L0-001 (core 3.1)"}}
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "file:///suites/a.json"}


def test_only_what_is_bad_is_a_result_and_each_has_its_own_fingerprint() -> None:
    run = run_of(
        result("A", Verdict.PASS),
        failed("B"),
        result("C", Verdict.ERROR, reason="cannot be read"),
        result("D", Verdict.SKIPPED),
    )
    assert [found["properties"]["verdict"] for found in run["results"]] == ["fail", "error"]
    prints = [found["partialFingerprints"]["case/v1"] for found in run["results"]]
    assert prints == ["own/s/B", "own/s/C"]


def test_a_run_that_was_ended_says_so() -> None:
    (invocation,) = run_of(failed("B"), interrupted=True)["invocations"]
    assert invocation["executionSuccessful"] is False
