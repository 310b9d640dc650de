"""The specification, its cases and verdicts as data."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.case import adapter_cases, server_cases, worker_cases
from conformance.clauses import own_spec
from conformance.commands.cli import main
from conformance.verdicts.result import Verdict
from tests.conformance.report.test_reports import failed, report, result

CASE = server_cases()[0]


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return what the command prints."""
    assert main(["spec", "data", *arguments]) == 0
    made = msgspec.json.decode(capsys.readouterr().out)
    assert isinstance(made, dict)
    return made


def test_every_clause_and_case_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    made = data(capsys)
    assert (made["schema"], made["backends"]) == ("ojs-spec-data/1", [])
    clauses = {each["id"]: each for each in made["clauses"]}
    assert list(clauses) == [clause.id for clause in own_spec().clauses]
    cases = {each["id"]: each for each in made["cases"]}
    assert len(cases) == len(server_cases()) + len(worker_cases()) + len(adapter_cases())
    assert {case.id: cases[case.id]["clauses"] for case in worker_cases()} == {
        case.id: list(case.clauses) for case in worker_cases()
    }
    for name in CASE.clauses:
        clause = clauses[name]
        assert CASE.id in clause["cases"]
        assert clause["sources"]
        assert clause["verdicts"] == []
    assert cases[CASE.id]["level"] == CASE.level
    assert cases[worker_cases()[0].id]["level"] is None


def test_verdicts_are_in_the_order_of_the_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = []
    for name, case in (
        ("one", result(CASE.id, Verdict.PASS, clauses=CASE.clauses)),
        ("two", failed(CASE.id, clauses=CASE.clauses)),
        ("three", result("other.case", Verdict.PASS)),
    ):
        place = tmp_path / name
        made = report(case, manifest={"implementation": {"name": name}})
        place.write_bytes(msgspec.json.encode(made))
        given += ["--report", str(place)]
    found = data(capsys, *given)
    assert [each["name"] for each in found["backends"]] == ["one", "two", "three"]
    verdicts = ["pass", "fail", None]
    (mine,) = (each for each in found["cases"] if each["id"] == CASE.id)
    assert mine["verdicts"] == verdicts
    (clause,) = (each for each in found["clauses"] if each["id"] == CASE.clauses[0])
    assert clause["verdicts"] == verdicts


def test_a_report_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "data", "--report", "/nowhere.json"]) == 2
    assert "cannot read /nowhere.json" in capsys.readouterr().err
