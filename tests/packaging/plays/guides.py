"""Plays of the README and of the pages that a reader follows from top to bottom."""

import re
import shutil
from typing import Final

from tests.packaging.page import ROOT, Page
from tests.packaging.playing import Reader
from tests.packaging.plays.judge import MAKE, SELECTING, workers
from tests.packaging.shell import Shell, shell

# The assertion that fails on the page on testing.
FAILING: Final = """
from myapp.jobs import sign_up

def test_it(ojs):
    sign_up("ada@example.org")
    ojs.assert_enqueued("email.send", args={"to": "eve@example.org"})
"""


async def readme(page: Page, reader: Reader) -> None:
    async with shell(reader.folder) as run:
        await reader.play(page.take("Install"), run)
        await reader.play(page.take("A worker in ten lines"), run)
        await run.run(MAKE)
        await reader.play(page.take("Start"), run)
    # A new database, without the worker that would run the jobs of the walk.
    (reader.shop / "ojs.db").unlink()
    reader.install("pip install 'ojs-reference[conformance]'")
    shutil.copy(ROOT / "docs/examples/worker.mjs", reader.shop)
    async with shell(reader.shop, reader.environment, replaced=workers()) as run:
        await run.run("ojs-server &")
        await run.says("… listens on …")
        walk = page.take("A job's way through")
        assert sum(block.kind == "json" for block in walk) >= 8
        await reader.play(walk, run)
        await run.run(f"{MAKE}\n{SELECTING}")
        await reader.play(page.take("Test a server or a worker for conformance"), run)
    url = reader.request.getfixturevalue("postgres_url")
    replaced = {"postgresql://ojs@localhost/ojs": f"'{url}'"}
    async with shell(reader.shop, reader.environment, replaced=replaced) as run:
        await reader.play(page.take("Where the data is"), run)
        await run.says("… listens on …")


async def package(page: Page, reader: Reader) -> None:
    async with reader.starts("pip install '../ojs-reference[server]'") as run:
        await reader.play(page.take(), run)
        await run.says("… it has handlers for email.send")


async def django(page: Page, reader: Reader) -> None:
    async with reader.starts() as run:
        await reader.play(page.take(), run)
        await run.says("OK")


def keys_of_the_tutorial() -> dict[str, str]:
    """Return the environment that the tutorial names for a server with keys."""
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"`(OJS_KEYS|OJS_AUTH_TOKEN)=(\S+)`", page))
    assert set(found) == {"OJS_KEYS", "OJS_AUTH_TOKEN"}
    return {name: value.replace("KEY", "the-key-of-the-tutorial") for name, value in found.items()}


async def tutorial(page: Page, reader: Reader) -> None:
    async with shell(reader.folder) as run:
        await reader.play(page.take(), run)


async def tutorial_with_keys(page: Page, reader: Reader) -> None:
    async with shell(reader.folder, variables=keys_of_the_tutorial()) as run:
        await reader.play(page.take(), run)


async def command_line(page: Page, reader: Reader) -> None:
    """With keys, which the servers of the page have."""
    variables = {"OJS_KEYS": "admin:the-key-of-staging"}
    replaced = {"https://ojs.staging.example.org": "http://127.0.0.1:8080"}
    install = "pip install '../ojs-reference[server]'"
    async with reader.starts(install, variables, replaced) as run:
        await run.run("unset OJS_URL; ojs-server &")
        await run.says("… listens on …")
        await reader.play(page.take("The command line"), run)
        await reader.play(page.take("Which server"), run)
        reader.write("~/.config/ojs/staging.key", "the-key-of-staging")
        await run.run("ojs enqueue mail.send 1 --queue mail")
        await reader.play(page.take("Filters"), run)
        await reader.play(page.take("Moving jobs"), run)
        await run.run("mkdir -p .config/fish/completions")
        await reader.play(page.take("Completion"), run)


async def testing(page: Page, reader: Reader) -> None:
    async with reader.starts() as run:
        failure = page.one("Asserting", "text")
        await reader.play(page.take(), run)
        reader.write("tests/test_failing.py", FAILING)
        await run.run("pytest tests/test_failing.py || true")
        await run.says(failure.text)
        await run.run("python3 -c 'import uvicorn' 2>&1 | grep ModuleNotFoundError")


async def dashboard(page: Page, reader: Reader) -> None:
    install = "pip install '../ojs-reference[server]'"
    async with reader.starts(install, replaced={"jobs.example": "127.0.0.1"}) as run:
        await run.run("ojs-server &")
        await run.says("… listens on …")
        await reader.play(page.take(), run)
        await _answers(run, "http://127.0.0.1:8081/ui/")
        await run.run("curl -sS http://127.0.0.1:8081/ojs/manifest")


async def _answers(run: Shell, url: str) -> None:
    """Wait until a URL answers, which it does soon after the program has named it."""
    await run.run(f"until curl -sS {url}; do :; done")
