"""Must and should, the published standard and the rest: in verdicts, exit codes and reports."""

from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from conformance.case import server_cases
from conformance.clauses import own_spec
from conformance.commands.cli import main
from conformance.report.console import case_line, summary_lines
from conformance.report.document import build_report
from conformance.report.junit import junit_xml
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict
from conformance.verdicts.strength import is_published, level_of, profile_of, strength_of
from tests.conformance.fake_server import FakeServer

CLAUSES = own_spec().by_id()
SHOULD = next(name for name, one in CLAUSES.items() if one.strength == "should")
MUST = next(name for name, one in CLAUSES.items() if is_published(one) and one.strength == "must")
OURS = next(name for name, one in CLAUSES.items() if one.sources == ("extension",))
FAILURE = FailedCheck(step_id="s", field="status", expected="1", actual="2")


def failed(name: str, **keys: Any) -> CaseResult:
    given = {"path": "p", "suite": "s", "failures": (FAILURE,), **keys}
    return CaseResult(test_id=name, verdict=Verdict.FAIL, **given)


def test_one_clause_that_must_be_is_enough() -> None:
    assert [strength_of(each) for each in ((SHOULD,), (MUST, SHOULD), ())] == [
        "should",
        "must",
        "must",
    ]


def test_one_clause_without_a_published_source_is_too_much() -> None:
    assert [profile_of(each) for each in ((MUST,), (MUST, OURS), ())] == [
        "published",
        "full",
        "full",
    ]


@pytest.mark.parametrize(
    ("sources", "published"),
    [
        (("core 6.2:310",), True),
        (("openapi:12", "case L0-ENV-001"), True),
        (("core 6.2:310", "against case L0-ENV-001"), True),
        (("core",), False),
        (("core 6.2:310", "decision 7"), False),
        (("core 6.2:310", "clients"), False),
        (("extension",), False),
    ],
)
def test_published_is_what_names_its_places_and_nothing_else(
    sources: tuple[str, ...], published: bool
) -> None:
    assert is_published(msgspec.structs.replace(CLAUSES[MUST], sources=sources)) is published


def test_what_published_sources_dispute_convicts_nobody_under_published() -> None:
    result = failed("a", dispute="OJS-RET-001 (retry 3:40, against case L1-RET-001)")
    under = result.under("published")
    assert (under.verdict, under.is_bad, under.failures) == (Verdict.DISPUTED, False, (FAILURE,))
    assert under.reason.endswith("against case L1-RET-001)")
    assert result.under("full") is result
    assert failed("b").under("published").verdict is Verdict.FAIL
    report = build_report([result], target="t", run_at="2026-01-01T00:00:00Z", duration_ms=1)
    published, full = report.profiles["published"], report.profiles["full"]
    assert (published.must.disputed, published.conformant) == (1, True)
    assert (full.must.failed, full.conformant) == (1, False)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(500, Verdict.FAIL), (502, Verdict.FAIL), (409, Verdict.DISPUTED), (501, Verdict.DISPUTED)],
)
def test_a_server_error_keeps_to_no_published_source(status: int, verdict: Verdict) -> None:
    seen = Exchange(method="POST", url="http://127.0.0.1/ojs/v1/jobs", status=status)
    check = msgspec.structs.replace(FAILURE, exchange=0)
    result = failed("a", dispute="OJS-UNI-013 (x)", failures=(check,), exchanges=(seen,))
    assert result.under("published").verdict is verdict


def test_the_core_holds_nothing_but_the_core() -> None:
    core = [case for case in server_cases() if level_of(case) == 0]
    assert len(core) > 40
    for case in core:
        assert not case.capability
        assert all(is_published(CLAUSES[clause]) for clause in case.clauses)
    assert {level_of(case) for case in server_cases()} == {0, 1, 2, 3, 4, 99}


def test_what_should_be_spoils_a_run_where_that_is_asked() -> None:
    only = failed("a", strength="should")
    assert (only.spoils(), only.spoils("should"), failed("b").spoils()) == (False, True, True)
    assert case_line(only).endswith("fail (should)")
    lines = list(summary_lines([only, failed("b", profile="full")]))
    assert lines[-2:] == [
        "1 of the failures are about what must be, 1 should be",
        "1 of the failures are about published texts, 1 about what this suite asks for beside them",
    ]


def test_the_report_has_a_verdict_on_each_profile() -> None:
    results = [failed("a", profile="full"), failed("b", strength="should")]
    report = build_report(results, target="t", run_at="2026-01-01T00:00:00Z", duration_ms=1)
    published, full = report.profiles["published"], report.profiles["full"]
    assert (published.conformant, full.conformant, report.conformant) == (True, False, False)
    assert (published.must.total, published.should.failed, full.must.failed) == (0, 1, 1)
    (suite,) = ElementTree.fromstring(junit_xml(report))
    assert [suite.get(name) for name in ("failures", "skipped")] == ["1", "1"]
    (skipped,) = suite.iter("skipped")
    assert (skipped.get("message") or "").startswith("should: [s] status")


@pytest.mark.parametrize(("more", "code"), [([], 0), (["--fail-on", "should"], 1)])
def test_the_exit_code_follows(
    more: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    should = [c for c in server_cases() if strength_of(c.clauses) == "should" and not c.own_server]
    arguments = ["run", "--url", "http://server", "--case", should[0].id, *more]
    assert main(arguments, transport=FakeServer().transport()) == code
    assert "fail (should)" in capsys.readouterr().out


def test_the_published_profile_leaves_out_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--list", "--profile", "published"]) == 0
    listed = set(capsys.readouterr().out.split())
    cases = {case.id: case for case in server_cases()}
    assert {profile_of(cases[name].clauses) for name in listed} == {"published"}
    assert 100 < len(listed) < len(cases)
