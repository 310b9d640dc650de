"""Comparison of reports: changes of two, and a matrix of several backends."""

import random
from pathlib import Path

import msgspec
import pytest

from conformance.commands.cli import main
from conformance.report.document import build_report
from conformance.verdicts.result import CaseResult, Verdict
from tests.conformance.report.test_reports import EVIL, EXCHANGE, failed, report, result
from tests.conformance.unpack import unpacked

CLAUSE = "OJS-ENV-001"


def written(folder: Path, **reports: list[CaseResult]) -> list[str]:
    """Write a report of an implementation of each name; return the places."""
    places = []
    for name, cases in reports.items():
        made = report(*cases, manifest={"implementation": {"name": name, "version": "1"}})
        place = folder / f"{name}.json"
        place.write_bytes(msgspec.json.encode(made))
        places.append(str(place))
    return places


def test_two_reports_have_a_table_and_their_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = [result("A", Verdict.PASS), failed("B"), result("C", Verdict.PASS)]
    new = [failed("A"), result("B", Verdict.PASS), result("D", Verdict.PASS)]
    assert main(["compare", *written(tmp_path, old=old, new=new)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "[1] old 1: not conformant (http://server, 2026-01-02T03:04:05Z)",
        "[2] new 1: not conformant (http://server, 2026-01-02T03:04:05Z)",
        "",
        "                  [1]  [2]",
        "conformant up to    -    -",
        "level 0 Core      2/3  2/3",
        "all cases         2/3  2/3",
        "",
        "worse: 1",
        "    A: pass -> fail",
        "better: 1",
        "    B: fail -> pass",
        "only in the first: 1",
        "    C (pass)",
        "only in the second: 1",
        "    D (pass)",
    ]


def test_nothing_worse_is_a_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *written(tmp_path, a=[failed()], b=[failed()])]) == 0
    assert capsys.readouterr().out.endswith("no case changed\n")
    passed = [result("Z", Verdict.PASS)]
    assert main(["compare", *written(tmp_path, a=passed, b=[failed()])]) == 1


def test_more_reports_have_a_mark_for_each_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = written(
        tmp_path,
        a=[result("A", Verdict.PASS), result("B", Verdict.PASS, clauses=(CLAUSE,))],
        b=[result("A", Verdict.PASS), failed("B", clauses=(CLAUSE,))],
        c=[result("A", Verdict.PASS)],
    )
    assert main(["compare", *places]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("1 case with different verdicts")
    assert lines[-1] == "    ✓ ✗ .  B  OJS-ENV-001"


def test_equal_names_are_told_apart_by_their_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place,) = written(tmp_path, a=[result("A", Verdict.PASS)])
    other = tmp_path / "other.json"
    other.write_bytes(Path(place).read_bytes())
    assert main(["compare", place, str(other)]) == 0
    assert "[2] a 1 (other): conformant" in capsys.readouterr().out


def test_the_matrix_as_data(tmp_path: Path) -> None:
    places = written(
        tmp_path,
        a=[result("A", Verdict.PASS, clauses=(CLAUSE,))],
        b=[failed("A", clauses=(CLAUSE,)), result("B", Verdict.PASS)],
    )
    into = tmp_path / "matrix.json"
    main(["compare", *places, "--json", str(into)])
    made = msgspec.json.decode(into.read_bytes())
    assert made["schema"] == "ojs-conformance-matrix/1"
    assert [each["name"] for each in made["backends"]] == ["a 1", "b 1"]
    assert {row["test_id"]: row["verdicts"] for row in made["cases"]} == {
        "A": ["pass", "fail"],
        "B": [None, "pass"],
    }
    assert made["clauses"] == {CLAUSE: ["pass", "fail"]}


def page_of(folder: Path, **reports: list[CaseResult]) -> str:
    """Return the page of a comparison."""
    into = folder / "matrix.html"
    main(["compare", *written(folder, **reports), "--html", str(into)])
    return into.read_text()


def test_the_page_has_suites_at_once_and_details_packed(tmp_path: Path) -> None:
    skipped = result("A", Verdict.SKIPPED, skipped="precondition missing", reason="no cron")
    page = page_of(tmp_path, a=[failed("A", clauses=(CLAUSE,))], b=[skipped])
    assert "alert('x')</script>" not in page
    assert "data-suite='own/s'" in page
    details = unpacked(page)
    (row,) = details["rows"]
    assert (row["id"], row["verdicts"]) == ("A", ["fail", "skipped"])
    ours, theirs = row["details"]
    assert ours["failures"][0]["answer"].startswith("500 after 12 ms")
    assert theirs["reason"] == "precondition missing: no cron"
    assert details["clauses"][CLAUSE]["strength"] == "must"


def test_names_that_a_server_sends_are_no_markup(tmp_path: Path) -> None:
    places = []
    for name in ("a", "b"):
        made = build_report(
            [result("A", Verdict.PASS)],
            target=EVIL,
            run_at=EVIL,
            duration_ms=1,
            manifest={"implementation": {"name": EVIL, "version": name}},
        )
        place = tmp_path / f"{name}.json"
        place.write_bytes(msgspec.json.encode(made))
        places.append(str(place))
    into = tmp_path / "matrix.html"
    assert main(["compare", *places, "--html", str(into)]) == 0
    assert "<script>alert" not in into.read_text()


def test_a_page_of_many_bad_backends_stays_small(tmp_path: Path) -> None:
    def bad(seed: int) -> list[CaseResult]:
        def noise(at: int) -> str:
            return random.Random(f"{seed} {at}").randbytes(2000).hex()  # nothing makes it smaller

        return [
            msgspec.structs.replace(
                failed(f"suite.case_{at}", clauses=(CLAUSE,)),
                exchanges=(msgspec.structs.replace(EXCHANGE, body=noise(at)),),
            )
            for at in range(446)
        ]

    page = page_of(tmp_path, **{f"backend{at}": bad(at) for at in range(7)})
    assert len(page.encode()) < 300_000
    kept = [row for row in unpacked(page)["rows"] if "answer" in row["details"][0]["failures"][0]]
    assert [row["id"] for row in kept] == ["suite.case_0"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no report of ojs-conformance"),
        ('{"schema":"x"}', "is no report of ojs-conformance"),
    ],
)
def test_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    (tmp_path / "a").write_text(text)
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert told in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "b"), str(tmp_path / "a")]) == 2
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["a"], ["a", "a"]])
def test_one_report_is_not_compared(capsys: pytest.CaptureFixture[str], given: list[str]) -> None:
    assert main(["compare", *given]) == 2
    assert "two or more different reports" in capsys.readouterr().err
