"""Defective published cases: their pages, and patches that are made from edits of JSON texts."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from conformance.commands import spec as commands
from conformance.commands.cli import FAILED, PASSED, main
from conformance.published.defects import (
    INDEX,
    Defect,
    Defects,
    head,
    index_page,
    own_defects,
    page_name,
    patch,
    read_defects,
)
from conformance.published.edits import Add, BadEdit, Edit, Remove, Replace, edited
from conformance.sources import place_of
from tests.spec.clauses import ROOT

PAGES = ROOT / "docs" / "published-cases"
CASE = """{
  "test_id": "L0-NAM-001",
  "steps": [
    {
      "id": "a",
      "assertions": { "status": 201 }
    }
  ]
}
"""
TABLE = """
cases_at: abc1234
texts_at: def5678
places: {"core 1.2:5": "names are short"}
left_out: []
defects:
  - id: L0-NAM-001
    path: level-0-core/name.json
    wrong: It wants a long name.
    honest: It answers a short one.
    against: ["core 1.2:5"]
    edits:
      - {op: replace, at: /steps/0/assertions/status, was: 201, now: 200}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(commands, "own_defects", lambda: read_defects(TABLE))
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "ojs-core.md").write_text("# Core\n\n### 1.2 Names\n\nThey are short.\n")
    (tmp_path / "suites" / "level-0-core").mkdir(parents=True)
    (tmp_path / "suites" / "level-0-core" / "name.json").write_text(CASE)
    return tmp_path


def _made(folder: Path) -> int:
    mended = ["--mended", str(folder / "mended")]
    return main(
        ["spec", "defects", "--published", str(folder), "--to", str(folder / "pages"), *mended]
    )


def test_a_page_has_the_case_the_place_and_a_patch(folder: Path) -> None:
    assert _made(folder) == PASSED
    page = (folder / "pages" / "L0-NAM-001.md").read_text("utf-8")
    assert "`suites/level-0-core/name.json` of openjobspec/ojs-conformance at abc1234" in page
    assert "- `spec/ojs-core.md`, section 1.2, line 5: names are short.\n" in page
    assert page.endswith(
        "```diff\n"
        "--- a/suites/level-0-core/name.json\n"
        "+++ b/suites/level-0-core/name.json\n"
        "@@ -3,7 +3,7 @@\n"
        '   "steps": [\n'
        "     {\n"
        '       "id": "a",\n'
        '-      "assertions": { "status": 201 }\n'
        '+      "assertions": { "status": 200 }\n'
        "     }\n"
        "   ]\n"
        " }\n"
        "```\n"
    )


def test_the_index_and_the_mended_case_are_written(folder: Path) -> None:
    _made(folder)
    assert "[L0-NAM-001](L0-NAM-001.md)" in (folder / "pages" / INDEX).read_text("utf-8")
    mended = (folder / "mended" / "level-0-core" / "name.json").read_text("utf-8")
    assert mended == CASE.replace("201", "200")


@pytest.mark.parametrize(
    ("path", "old", "new", "problem"),
    [
        (
            "suites/level-0-core/name.json",
            "201",
            "202",
            "L0-NAM-001: level-0-core/name.json: /steps/0/assertions/status is 202 instead of 201",
        ),
        ("spec/ojs-core.md", "1.2", "1.3", "core 1.2:5: line 5 of core is in section 1.3"),
    ],
)
def test_another_version_is_refused(
    folder: Path, path: str, old: str, new: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = folder / path
    changed.write_text(changed.read_text("utf-8").replace(old, new))
    assert _made(folder) == FAILED
    assert capsys.readouterr().out.splitlines() == [
        problem,
        "1 problems: these are not the cases at abc1234 and the texts at def5678; "
        "nothing is written",
    ]
    assert not (folder / "pages").exists()


def test_a_case_that_is_not_there_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "suites" / "level-0-core" / "name.json").unlink()
    assert _made(folder) == FAILED
    assert "L0-NAM-001: level-0-core/name.json: there is no such file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "edit", "expected"),
    [
        ('{ "a": 1 }', Replace(at="/a", was=1, now=[2]), '{ "a": [2] }'),
        ('{"a": [1, {"b": 2}]}', Replace(at="/a/1/b", was=2, now=3), '{"a": [1, {"b": 3}]}'),
        ('{"a/b": {"~": 1}}', Replace(at="/a~1b/~0", was=1, now=2), '{"a/b": {"~": 2}}'),
        ('{ "a": 1, "b": 2 }', Remove(at="/b", was=2), '{ "a": 1 }'),
        ('{ "a": 1, "b": 2 }', Remove(at="/a", was=1), '{ "b": 2 }'),
        ('{"a": 1}', Remove(at="/a", was=1), "{}"),
        ('{ "a": 1 }', Add(at="/b", now=2), '{ "a": 1, "b": 2 }'),
        ('{"a": {}}', Add(at="/a/b", now=True), '{"a": {"b": true}}'),
        ('{\n  "a": 1\n}', Add(at="/b", now="ü"), '{\n  "a": 1,\n  "b": "ü"\n}'),
        ('{\n  "a": 1,\n  "b": 2\n}', Add(at="/c", now=3), '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}'),
    ],
)
def test_the_rest_of_the_text_stays_as_it_is(text: str, edit: Edit, expected: str) -> None:
    assert edited(text, edit) == expected


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (Replace(at="/a", was=True, now=2), "/a is 1 instead of true"),
        (Replace(at="/b", was=1, now=2), "there is nothing at /b"),
        (Remove(at="/a", was=2), "/a is 1 instead of 2"),
        (Add(at="/a", now=2), "/a is there already"),
        (Add(at="/b/c", now=2), "there is nothing at /b"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(edit: Edit, problem: str) -> None:
    with pytest.raises(BadEdit, match=problem):
        edited('{"a": 1}', edit)


def test_a_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(BadEdit, match="is no JSON"):
        edited('{"a": [1, }', Remove(at="/a", was=1))


def test_a_patch_says_where_the_last_line_does_not_end() -> None:
    assert patch("x.json", "1", "2").endswith(
        "-1\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n"
    )


def test_every_place_is_used_and_has_the_form_of_a_source() -> None:
    read = own_defects()
    used = {source for defect in read.defects for source in defect.against}
    assert used == set(read.places)
    assert [source for source in read.places if place_of(source) is None] == []


def test_every_case_is_there_once() -> None:
    read = own_defects()
    assert len({defect.id for defect in read.defects}) == len(read.defects)
    assert len({defect.path for defect in read.defects}) == len(read.defects)


def test_new_ids_are_not_those_of_other_cases() -> None:
    new = [edit.now for edit in _edits(own_defects()) if edit.at == "/test_id"]
    assert len(new) == len(set(new))
    assert set(new).isdisjoint(defect.id for defect in own_defects().defects)


def test_the_pages_are_those_of_the_table() -> None:
    read = own_defects()
    names = {INDEX, *(page_name(defect) for defect in read.defects)}
    assert {path.name for path in PAGES.iterdir()} == names
    assert (PAGES / INDEX).read_text("utf-8") == index_page(read)


@pytest.mark.parametrize("defect", own_defects().defects, ids=lambda defect: defect.id)
def test_a_page_is_that_of_its_defect(defect: Defect) -> None:
    read = own_defects()
    page = (PAGES / page_name(defect)).read_text("utf-8")
    assert page.startswith(head(read, defect))
    patched = page.removeprefix(head(read, defect))
    assert patched.startswith(f"--- a/suites/{defect.path}\n+++ b/suites/{defect.path}\n@@ ")
    added = _joined(patched, "+")
    removed = _joined(patched, "-")
    for edit in defect.edits:
        if not isinstance(edit, Remove):
            assert _squeezed(json.dumps(edit.now, ensure_ascii=False)) in added
        if not isinstance(edit, Add):
            assert _squeezed(json.dumps(edit.was, ensure_ascii=False)) in removed


def _edits(read: Defects) -> list[Replace | Add]:
    edits = [edit for defect in read.defects for edit in defect.edits]
    return [edit for edit in edits if not isinstance(edit, Remove)]


def _joined(patched: str, sign: str) -> str:
    """Join the lines of one side of a patch, without spaces."""
    lines = [line[1:] for line in patched.splitlines() if line[:1] in (sign, " ")]
    return _squeezed("".join(lines))


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_undefect_members_of_the_table_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="wrongs"):
        read_defects(TABLE.replace("    wrong:", "    wrongs: x\n    wrong:"))
