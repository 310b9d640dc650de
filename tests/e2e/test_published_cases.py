"""The published conformance cases of all levels built, run against a real server on both stores."""

import os
from pathlib import Path

import httpx
import pytest

from conformance.language.load import load_suites
from conformance.language.model import CaseFile
from conformance.play.published_case import run_cases
from conformance.play.reset import http_reset
from conformance.runs.runner import Plan, run
from conformance.verdicts.result import SkipReason, Verdict
from tests.e2e.node import running

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("OJS_OFFICIAL_SAMPLE", ROOT / "../shared/official-sample"))
FOLDERS = (
    "level-0-core",
    pytest.param("level-1-reliable", marks=pytest.mark.long),
    "level-2-scheduled",
    "level-3-workflows",
    "level-4-advanced",
    "ext-progress",
    "ext-durable-execution",
    "ext-admin-api",
    "ext-backpressure",
    "ext-rate-limiting",
    "ext-dead-letter",
    "ext-webhooks",
    "ext-multi-tenancy",
    "ext-fair-scheduling",
    # Small ones share a server.
    "ext-job-versioning ext-schema-registry ext-federation ext-ml-resources ext-ai-agents"
    " ext-encryption ext-serverless wasi ext-middleware ext-graceful-shutdown",
)

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no published cases at {FOLDER}")


@pytest.mark.parametrize("folder", FOLDERS)
async def test_published_cases_pass(store_url: str, folder: str) -> None:
    files = load_suites([FOLDER / name for name in folder.split()])
    async with (
        running(store_url, "--conformance") as node,
        httpx.AsyncClient(base_url=node.url, timeout=30) as client,
    ):
        reset = http_reset(client, "/ojs/v1/admin/reset")
        results = await run_cases(files, client, reset=reset)
    assert len(results) == len(files)
    for result in results:
        # A case that contradicts its own input is reported apart, with its reason.
        allowed = (Verdict.PASS, Verdict.DEFECTIVE)
        failures = "\n".join(str(failure) for failure in result.failures)
        assert result.verdict in allowed, f"{result.test_id} {result.name}: {failures}"
    assert sum(result.verdict is Verdict.PASS for result in results) > 0


def _is_quick(file: CaseFile) -> bool:
    assert file.case is not None
    return sum(step.delay_ms + step.duration_ms for step in file.case.all_steps) < 300


async def test_all_that_does_not_pass_is_explained(store_url: str) -> None:
    """Strictly and as the published runner plays, also on a server that was used before."""
    files = [file for file in load_suites([FOLDER]) if _is_quick(file)]
    async with running(store_url, "--conformance") as node:
        as_published = Plan(files=files, url=node.url, compat=True)
        first, second = [(await run(as_published)).results for _ in range(2)]
        bad = [result for result in (*first, *second) if result.is_bad]
        assert [result.test_id for result in bad if not result.causes] == []
        causes = [cause for result in bad for cause in result.causes]
        assert {cause.name for cause in causes} >= {"no-captures", "shared-names"}
        assert all(cause.places for cause in causes if cause.kind == "quirk")
        strict = (await run(Plan(files=files, url=node.url))).results
    for result in strict:
        unsupported = result.skipped is SkipReason.NOT_SUPPORTED and result.reason != ""
        allowed = result.verdict in (Verdict.PASS, Verdict.DEFECTIVE) or unsupported
        assert allowed, f"{result.test_id}: {result.verdict} {result.reason}"
