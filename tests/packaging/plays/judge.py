"""Plays of the pages on the conformance suite, which judge by a few cases instead of all."""

import inspect
import shutil
from typing import Final

from conformance.adapter_cases import kills
from conformance.cases import fetch
from conformance.worker_cases import telling
from tests.packaging.page import ROOT, Page
from tests.packaging.playing import Reader
from tests.packaging.plays.programs import needs, program

# Targets are looked up only: what they do is tested elsewhere, and not with the wheel.
MAKE: Final = f'make() {{ command make --dry-run -C {ROOT} "$@" >/dev/null; }}'
# Has each run judge by these cases only.
SELECTING: Final = """
ojs-conformance() {
  case "$*" in
    *" --cases "*) command ojs-conformance "$@"; return;;
  esac
  case $1 in
    run) command ojs-conformance run --case fetch.first_in_first_out \
      --case deliveries.testing_a_target "${@:2}";;
    worker) command ojs-conformance worker --case doing.an_empty_result "${@:2}";;
    adapter) command ojs-conformance adapter --case transactions.savepoint_released "${@:2}";;
    guarantees) command ojs-conformance guarantees --settle-timeout 1 "${@:2}";;
    *) command ojs-conformance "$@";;
  esac
}
"""


def workers() -> dict[str, str]:
    """Return what stands for the worker in Node where that is not installed."""
    ours = f"python3 {ROOT}/docs/examples/worker.py"
    pages = ("node worker.mjs", "node docs/examples/worker.mjs")
    return {} if program("node") else dict.fromkeys(pages, ours)


async def conformance(page: Page, reader: Reader) -> None:
    replaced = {
        **workers(),
        "https://jobs.example.com": "http://127.0.0.1:8080",
        "https://judge.example.com/hooks": "http://127.0.0.1:9000/hooks",
    }
    async with reader.starts("pip install '../ojs-reference[server]'", replaced=replaced) as run:
        (reader.shop / "docs").symlink_to(ROOT / "docs")
        server = reader.environment / "bin" / "my-server"
        server.write_text('#!/bin/sh\nexec ojs-server --port "$2" --database "$4/ojs.db"\n')
        server.chmod(0o755)
        await run.run(f"{MAKE}\n{SELECTING}\nojs-server --webhook-private --webhook-plain &")
        await run.says("… listens on …")
        await reader.play(page.take("The conformance suite"), run)
        await reader.play(page.take("The server under test"), run)
        await run.says("✓ deliveries.testing_a_target …")
        names = ("redis", "postgres", "lite", "theirs")
        for name in names:
            shutil.copy(reader.shop / "reports" / "report.json", reader.shop / f"{name}.json")
        await reader.play(page.take("Signed reports"), run)
        await reader.play(page.take("Several backends"), run)
        await reader.play(page.take("Cases of your own"), run)
        await reader.play(page.take("Judging a worker"), run)
        for version in ("OLD", "NEW", "main", "my-proposal"):
            shutil.copytree(ROOT / "spec", reader.shop / version / "spec")
            shutil.copy(ROOT / "openapi.yaml", reader.shop / version)
        await reader.play(page.take("For authors of the specification"), run)
        await reader.play(page.take("Testing the suite"), run)
    # The cases that the page shows, which the runs above have played.
    server_case, worker_case, adapter_case = page.take("Writing a case", "python")
    assert server_case.text in inspect.getsource(fetch)
    assert worker_case.text in inspect.getsource(telling)
    assert adapter_case.text in inspect.getsource(kills)


async def any_language(page: Page, reader: Reader) -> None:
    needs("node", "docs/any-language.md")
    async with reader.starts("pip install '../ojs-reference[conformance]'") as run:
        (reader.shop / "docs").symlink_to(ROOT / "docs")
        await reader.play(page.take(), run)


async def guarantees(page: Page, reader: Reader) -> None:
    # One kill instead of many.
    fewer = {"--kills 50": "--kills 1"}
    command = "pip install '../ojs-reference[server,conformance]'"
    async with reader.starts(command, replaced=fewer) as run:
        await run.run(SELECTING)
        await reader.play(page.take("Guarantees, counted by kills"), run)
    assert "DR-003" in (reader.shop / "guarantees.md").read_text()
