"""The published conformance cases of what is built, run against a real server on both stores."""

import os
from pathlib import Path

import httpx
import pytest

from conformance.execute import run_cases
from conformance.load import load_suites
from conformance.reset import http_reset
from conformance.verdict import Verdict
from tests.e2e.node import running

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("OJS_OFFICIAL_SAMPLE", ROOT / "../shared/official-sample"))
FOLDERS = (
    "level-0-core",
    "level-1-reliable",
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
)

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no published cases at {FOLDER}")


@pytest.mark.parametrize("folder", FOLDERS)
async def test_published_cases_pass(store_url: str, folder: str) -> None:
    files = load_suites([FOLDER / folder])
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
