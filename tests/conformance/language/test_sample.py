"""The published sample loads unchanged, every file in its own dialect."""

import os
from pathlib import Path

import pytest

from conformance.language.load import load_suites
from conformance.language.model import CaseFile

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("OJS_OFFICIAL_SAMPLE", ROOT / "../shared/official-sample"))

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no published cases at {FOLDER}")


@pytest.fixture(scope="module")
def files() -> list[CaseFile]:
    """Every file of the sample."""
    return load_suites([FOLDER])


def test_every_file_is_there_in_order(files: list[CaseFile]) -> None:
    assert len(files) == len(list(FOLDER.rglob("*.json")))
    assert [file.test_id for file in files] == sorted(file.test_id for file in files)


def test_every_file_can_be_judged(files: list[CaseFile]) -> None:
    for file in files:
        assert file.case is not None, file.problems
        assert file.level is not None
        assert file.problems == (), file.path


def test_the_dialects_are_told_apart(files: list[CaseFile]) -> None:
    found = {Path(file.path).parent.name: file.dialect for file in files if file.dialect != "A"}
    assert found == {"ext-durable-execution": "B", "ext-federation": "C", "ext-ml-resources": "C"}
