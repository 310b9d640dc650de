"""The requirements that published texts number, beside our clauses: in the list and in reports."""

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from conformance.case import server_cases
from conformance.clauses import own_spec, read_spec
from conformance.play.published_case import described
from conformance.published.requirements import (
    published_of,
    requirement_problems,
    requirements,
)
from conformance.report.console import summary_lines
from conformance.report.document import build_report
from conformance.report.junit import junit_xml
from conformance.report.sarif import sarif_log
from conformance.report.summary import summary_markdown
from conformance.spec.places import Published
from conformance.verdicts.outcome import result_of
from conformance.verdicts.result import FailedCheck, Verdict
from tests.conformance.cases import case_file, step

CLAUSES = own_spec().by_id()


def test_each_requirement_has_one_entry_and_clauses_that_bind_servers() -> None:
    ids = [each.id for each in requirements()]
    assert len(set(ids)) == len(ids) > 60
    sides = {CLAUSES[name].side for each in requirements() for name in each.clauses}
    assert sides == {"server"}
    assert all(each.clauses for each in requirements())


def test_clauses_have_their_requirements_then_their_places() -> None:
    found = published_of(["OJS-VIS-005", "OJS-QUE-001", "SHOP-1"])
    assert found[0] == "L1-VT-002"
    assert CLAUSES["OJS-VIS-005"].sources[0] in found
    assert published_of(["SHOP-1"]) == ()
    assert len(set(found)) == len(found)
    # A clause of ours has no place.
    (ours, *_) = [name for name, one in CLAUSES.items() if one.sources == ("extension",)]
    assert published_of([ours]) == ()


def test_the_list_is_compared_with_the_texts(tmp_path: Path) -> None:
    first, second, *_ = requirements()
    assert first.at.startswith("conformance 2.1.1:")
    line = int(first.at.rpartition(":")[2])
    (tmp_path / "spec").mkdir()
    text = "### 2.1.1 Envelope\n" + "\n" * (line - 2) + f"**{first.id}**: It must.\n"
    text += "\n" * (int(second.at.rpartition(":")[2]) - line - 1) + "Something else.\n"
    (tmp_path / "spec" / "ojs-conformance.md").write_text(text)
    (tmp_path / "clauses").mkdir()
    clause = f"**{first.clauses[0]}** (must, server; core) It must.\n"
    (tmp_path / "clauses" / "01-a.md").write_text(f"# A\n\nENV\n\n{clause}")
    spec = read_spec(tmp_path / "clauses")
    found = list(requirement_problems(spec, Published([tmp_path])))
    mine = [problem for problem in found if problem.startswith(f"requirement {first.id}: ")]
    missing = [f"requirement {first.id}: there is no clause {name}" for name in first.clauses[1:]]
    assert mine == missing
    assert f"requirement {second.id}: {second.at} does not name it" in found
    assert "requirement DR-001: there is no text disaster-recovery" in found


@pytest.mark.parametrize("is_file", [False, True])
def test_a_failed_case_is_reported_with_them(is_file: bool) -> None:
    check = FailedCheck(step_id="s", field="status", expected="200", actual="404")
    outcome = {"verdict": Verdict.FAIL, "failures": (check,)}
    if is_file:
        made = step(assertions={"status": 200})
        result = described(case_file(made, clauses=["OJS-VIS-005"]), **outcome)
    else:
        case = msgspec.structs.replace(server_cases()[0], clauses=("OJS-VIS-005",))
        result = result_of(case, "own/x", **outcome)
    report = build_report([result], target="t", run_at="2026-01-01T00:00:00Z", duration_ms=1)
    place = CLAUSES["OJS-VIS-005"].sources[0]
    assert {"L1-VT-002", place} <= set(report.cases[0].published)
    assert f"published: {', '.join(result.published)}" in "\n".join(summary_lines([result]))
    (failure,) = ElementTree.fromstring(junit_xml(report)).iter("failure")
    assert "published: L1-VT-002" in (failure.text or "")
    assert "L1-VT-002" in summary_markdown(report)
    (found,) = sarif_log(report, CLAUSES)["runs"][0]["results"]
    assert found["properties"]["published"] == result.published
