"""The identity of a run: version, hash of the cases, environment, and seed."""

import re

import pytest

from conformance.case import server_cases, worker_cases
from conformance.report.document import build_report
from conformance.report.page import html_page
from conformance.report.provenance import provenance_of
from conformance.report.summary import summary_markdown
from conformance.verdicts.result import CaseResult, Verdict
from tests.conformance.cases import case_file, step

FETCH = [case for case in server_cases() if case.suite == "fetch"]


def test_equal_cases_have_one_hash_in_any_order() -> None:
    first = provenance_of(FETCH, seed=7)
    assert first == provenance_of(FETCH[::-1], seed=7)
    assert re.fullmatch(r"[0-9a-f]{64}", first.cases)
    assert (first.seed, bool(first.version), bool(first.system)) == (7, True, True)


def test_other_cases_have_another_hash() -> None:
    file, other = (case_file(step(assertions={"status": each})) for each in (200, 201))
    hashes = {
        provenance_of(FETCH).cases,
        provenance_of(FETCH[1:]).cases,
        provenance_of(worker_cases()).cases,
        provenance_of(FETCH, [file]).cases,
        provenance_of(FETCH, [other]).cases,
    }
    assert len(hashes) == 5


@pytest.mark.parametrize("seed", [None, 42])
def test_reports_say_it(seed: int | None) -> None:
    passed = CaseResult(path="p", test_id="a", suite="s", verdict=Verdict.PASS)
    made = provenance_of(FETCH, seed=seed)
    report = build_report(
        [passed], target="t", run_at="2026-01-01T00:00:00Z", duration_ms=1, provenance=made
    )
    assert report.provenance == made
    for text in (summary_markdown(report), html_page(report, {})):
        assert f"cases {made.cases[:12]}" in text
        assert ("seed 42" in text) is (seed == 42)
