"""The demo plays to its end, with fewer jobs, and notices what is wrong."""

import subprocess
import sys

import pytest

from demo.handover import KINDS, table
from ojs_worker import Job
from tests.spec.clauses import ROOT


def test_it_plays_and_accounts_for_every_job() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "demo.handover", "--jobs", "40"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "worker one was sent SIGTERM" in done.stdout
    assert "every job is accounted for" in done.stdout
    for kind in KINDS:
        assert f"\n{kind.name} " in done.stdout


def test_a_job_that_ended_otherwise_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = {kind.name: kind for kind in KINDS}
    jobs = [Job(id=kind.name, type="test.x", state=kind.ends, attempt=1) for kind in KINDS]
    assert table(kinds, jobs)
    jobs[0] = Job(id=jobs[0].id, type="test.x", state="active", attempt=1)
    assert not table(kinds, jobs)
    assert "WRONG" in capsys.readouterr().out
