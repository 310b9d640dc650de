"""The published sample loads unchanged: every file can be judged or names its dialect."""

import os
from pathlib import Path

import pytest

from conformance.load import load_suites
from conformance.model import CaseFile

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("OJS_OFFICIAL_SAMPLE", ROOT / "../shared/official-sample"))
OTHER_DIALECTS = {"ext-durable-execution": "B", "ext-federation": "C", "ext-ml-resources": "C"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no published cases at {FOLDER}")


@pytest.fixture(scope="module")
def files() -> list[CaseFile]:
    """Every file of the sample."""
    return load_suites([FOLDER])


def test_every_file_is_there_in_order(files: list[CaseFile]) -> None:
    assert len(files) == len(list(FOLDER.rglob("*.json")))
    assert [file.test_id for file in files] == sorted(file.test_id for file in files)


def test_every_file_decodes_and_only_other_dialects_are_refused(files: list[CaseFile]) -> None:
    refused = {}
    for file in files:
        assert file.case is not None, file.problems
        assert file.level is not None
        if file.problems:
            refused[Path(file.path).parent.name] = file.problems
    assert refused.keys() == OTHER_DIALECTS.keys()
    for folder, problems in refused.items():
        assert len(problems) == 1
        assert problems[0].startswith(f"unsupported dialect {OTHER_DIALECTS[folder]}: step ")
