"""Tests of the choice of PostgreSQL's programs, and of the loud failure if there are none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import postgres_programs
from tests.postgres_programs import DISTRIBUTION, MISSING, NEEDED, VARIABLE, chosen, version_in

ROOT = Path(__file__).parents[1]
RUN = """
import sys, pytest
from tests import postgres_programs
postgres_programs.PLACES = ()
wanted = ["-m", "store_sqlite or store_distribution"]
sys.exit(pytest.main([*sys.argv[1:], "-p", "no:cacheprovider", *wanted]))
"""


def programs(folder: Path, version: str) -> Path:
    """Make programs that only print their version."""
    folder.mkdir()
    for name in NEEDED:
        program = folder / name
        program.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    return folder


def test_programs_tell_their_version(tmp_path: Path) -> None:
    folder = programs(tmp_path / "bin", "16.4 (Debian 16.4-1)")
    assert version_in(folder) == 16
    (folder / "initdb").unlink()
    assert version_in(folder) is None


def test_the_oldest_programs_that_are_supported_are_the_distributions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in (14, 17, 16):
        programs(tmp_path / str(version), f"{version}.1")
    monkeypatch.setattr(postgres_programs, "PLACES", (f"{tmp_path}/*",))
    postgres_programs.distribution.cache_clear()
    try:
        assert postgres_programs.distribution() == tmp_path / "16"
        monkeypatch.setenv(VARIABLE, DISTRIBUTION)
        assert chosen(tmp_path) == tmp_path / "16"
    finally:
        postgres_programs.distribution.cache_clear()


def test_a_folder_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = programs(tmp_path / "bin", "17.2")
    monkeypatch.setenv(VARIABLE, str(folder))
    assert chosen(tmp_path) == folder
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(RuntimeError, match="initdb, pg_ctl, postgres are not all in that folder"):
        chosen(tmp_path)


@pytest.mark.parametrize("ci", [True, False])
def test_a_machine_without_it_is_told(tmp_path: Path, ci: bool) -> None:
    """In CI it is a failure, and elsewhere a line at the end of the run."""
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {"PATH": str(tmp_path), **({"CI": "true"} if ci else {})}
    ended = subprocess.run(
        [sys.executable, "-c", RUN, "tests/store/contract/test_receipts.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == (1 if ci else 0), ended.stdout
    assert MISSING in ended.stdout
    assert ("NOT RUN: 3 tests on the distribution's PostgreSQL" in ended.stdout) != ci
