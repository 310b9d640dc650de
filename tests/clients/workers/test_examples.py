"""The workers of `docs/examples/` pass every case, in each language whose tools are there."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from conformance.case import worker_cases
from conformance.runs.worker_runner import WorkerPlan, run_worker
from conformance.verdicts.contract import own_contract
from conformance.verdicts.result import Verdict
from tests.missing import not_run

pytestmark = [pytest.mark.clients, pytest.mark.long, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs" / "examples"
BUILT = ROOT / "build" / "clients" / "workers"
RUST = EXAMPLES / "rust" / "Cargo.toml"
# None of them settles many jobs in one call.
SKIPPED = {"settling_many.each_once", "settling_many.repeated_whole"} | {
    "settling_many.one_refused_among_many"
}


class Example(msgspec.Struct, frozen=True):
    """A worker: the tool that it cannot do without, how it is built, and how it is started."""

    tool: str
    start: Sequence[str]
    build: Sequence[str] = ()


EXAMPLES_BY_LANGUAGE = {
    "python": Example(sys.executable, [sys.executable, "-I", str(EXAMPLES / "worker.py")]),
    "node": Example("node", ["node", str(EXAMPLES / "worker.mjs")]),
    "go": Example(
        "go",
        [str(BUILT / "worker-go")],
        ["go", "build", "-o", str(BUILT / "worker-go"), str(EXAMPLES / "worker.go")],
    ),
    "java": Example(
        "javac",
        ["java", "-cp", str(BUILT), "Worker"],
        ["javac", "-nowarn", "-d", str(BUILT), str(EXAMPLES / "Worker.java")],
    ),
    "rust": Example(
        "cargo",
        [str(BUILT / "rust" / "release" / "worker")],
        [
            *("cargo", "build", "--release", "--locked", "--manifest-path", str(RUST)),
            *("--target-dir", str(BUILT / "rust")),
        ],
    ),
}


@pytest.fixture(params=EXAMPLES_BY_LANGUAGE)
def command(request: pytest.FixtureRequest) -> Sequence[str]:
    """Build a worker, and return the command that starts it."""
    language: str = request.param
    example = EXAMPLES_BY_LANGUAGE[language]
    if shutil.which(example.tool) is None:
        not_run(f"the worker in {language} needs {example.tool}, which is missing")
    BUILT.mkdir(parents=True, exist_ok=True)
    if example.build:
        subprocess.run(example.build, check=True, timeout=800)
    return example.start


async def test_a_worker_of_the_documentation_passes_every_case(command: Sequence[str]) -> None:
    plan = WorkerPlan(
        command=command,
        cases=worker_cases(),
        time_scale=0.1,
        patience_s=30,
        jobs=5,
        checker=own_contract(),
        contract="fail",
    )
    results = await run_worker(plan)
    assert {
        result.test_id: [result.reason, *map(str, result.failures)]
        for result in results
        if result.verdict is not Verdict.PASS and result.test_id not in SKIPPED
    } == {}
    assert len(results) == len(plan.cases)
