"""The workflow for the builds of backends is one, and its steps do what it says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.packaging.page import ROOT

RECIPE: Final = ROOT / "docs" / "examples" / "conformance.yml"
WORKFLOWS: Final = (RECIPE, *sorted((ROOT / ".github" / "workflows").glob("*.yml")))
BIN: Final = Path(sys.executable).parent


def lint(workflow: Path) -> subprocess.CompletedProcess[str]:
    """Compare a workflow with GitHub's schema, which the linter brings."""
    command = ("-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", workflow)
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_has_the_form_of_one(workflow: Path) -> None:
    ended = lint(workflow)
    assert ended.returncode == 0, ended.stdout


def test_a_wrong_workflow_is_noticed(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(RECIPE.read_text().replace("runs-on:", "run-on:"))
    assert lint(wrong).returncode == 1


@pytest.mark.parametrize(("broken", "code"), [(False, 0), (True, 1)])
def test_its_steps_judge_a_backend_and_show_the_summary(
    tmp_path: Path, broken: bool, code: int
) -> None:
    steps = {step.get("name"): step for step in _steps()}
    backend = "exit 7" if broken else f'exec {BIN}/ojs-server --port "$2" --database "$4/ojs.db"'
    judge = f'exec {BIN}/ojs-conformance "$@" --case fetch.first_in_first_out'
    for name, script in (("backend", backend), ("ojs-conformance", judge)):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    page = tmp_path / "page.md"
    page.write_text("before\n")
    assert _run(steps["Judge the backend"], tmp_path) == code
    # The others run whatever became of that one.
    assert [steps[name]["if"] for name in ("Show the summary", "Keep the reports")] == [
        "always()"
    ] * 2
    assert _run(steps["Show the summary"], tmp_path) == 0
    verdict = "not conformant" if broken else "conformant"
    assert page.read_text().startswith(f"before\n## Open Job Spec: {verdict}\n")
    kept = tmp_path / steps["Keep the reports"]["with"]["path"]
    results = json.loads((kept / "report.json").read_bytes())["results"]
    assert (results["passed"], results["errored"]) == ((0, 1) if broken else (1, 0))


def _steps() -> list[dict[str, Any]]:
    read = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    steps: list[dict[str, Any]] = read["jobs"]["conformance"]["steps"]
    return steps


def _run(step: dict[str, Any], folder: Path) -> int:
    """Run a step as GitHub does; return its exit code."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={"PATH": f"{folder}:/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(folder / "page.md")},
        check=False,
        timeout=110,
    ).returncode
