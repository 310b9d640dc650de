"""The places that clauses cite are looked up in copies of the published texts and cases."""

from pathlib import Path

import pytest

from conformance.commands.cli import main
from conformance.sources import place_of
from conformance.spec.places import Published

TEXT = """# Core

## 1. Names

### 1.2 Short names

Names are short.

#### Why

They are read often.

## Appendix A: History

It grew.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "ojs-core.md").write_text(TEXT)
    (tmp_path / "ojs-error-catalog.md").write_text("One error.\n")
    (tmp_path / "openapi.yaml").write_text("openapi: 3.1.0\n")
    cases = tmp_path / "suites" / "level-0-core"
    cases.mkdir(parents=True)
    (cases / "name.json").write_text('{"test_id": "L0-NAM-001"}')
    return tmp_path


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("core 1.2:7", None),
        ("against core 1.2:11", None),
        ("core A:15", None),
        ("core:1", None),
        ("openapi:1", None),
        ("error-catalog:1", None),
        ("case L0-NAM-001", None),
        ("core 1.3:7", "line 7 of core is in section 1.2"),
        ("core 1.2:8", "core has nothing on line 8"),
        ("core 1.2:70", "core has nothing on line 70"),
        ("cron 1:1", "there is no text cron"),
        ("case L0-NAM-002", "there is no case L0-NAM-002"),
    ],
)
def test_a_place_has_to_be_there(folder: Path, source: str, problem: str | None) -> None:
    place = place_of(source)
    assert place is not None
    assert Published([folder]).problem(place) == problem


def test_the_check_lists_clauses_whose_places_are_not_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "ours"
    spec.mkdir()
    (spec / "README.md").write_text("| Source | What it is |\n|---|---|\n| `core` | it |\n")
    (spec / "decisions.md").write_text("")
    (spec / "01-envelope.md").write_text(
        "**OJS-ENV-001** (may, client; core 1.2:7) It is so.\n\n"
        "**OJS-ENV-002** (may, client; core 1.2:15) And so.\n"
    )
    main(["spec", "check", "--spec", str(spec), "--published", str(folder)])
    lines = capsys.readouterr().out.splitlines()
    found = [line for line in lines if "core" in line]
    assert found == ["01-envelope.md:3: OJS-ENV-002: core 1.2:15: line 15 of core is in section A"]
