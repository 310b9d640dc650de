"""The pages of the documentation work as they are printed, from the wheel, in environments with
what the pages install and nothing else."""

import re
import venv
from pathlib import Path

import pytest

from tests.packaging.page import ROOT, Block, blocks, missing
from tests.packaging.playing import install, play
from tests.packaging.shell import shell

# Each installs the wheel and starts several programs, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An empty environment in a folder of its own."""
    made = tmp_path / "shop" / ".venv"
    venv.create(made, with_pip=False)
    return made


def test_the_tutorial_is_short() -> None:
    commands = [
        line
        for block in blocks("docs/tutorial.md")
        if block.kind == "sh"
        for line in block.text.splitlines()
    ]
    assert 8 <= len(commands) <= 10


@pytest.mark.long
async def test_the_readme_works(tmp_path: Path, wheel: Path) -> None:
    environment = tmp_path / "shop" / ".venv"
    async with shell(tmp_path) as run:
        for section in ("Install", "A worker in ten lines"):
            await play(blocks("README.md", section), run, environment, wheel)
    # A new database, without the worker that would run the jobs of the walk.
    (tmp_path / "shop" / "ojs.db").unlink()
    async with shell(tmp_path, environment) as run:
        await run.run("ojs-server &")
        await run.says("… listens on …")
        walk = blocks("README.md", "A job's way through")
        assert sum(block.kind == "json" for block in walk) >= 8
        await play(walk, run, environment, wheel)


@pytest.mark.long
async def test_the_page_on_an_index_works(tmp_path: Path, environment: Path, wheel: Path) -> None:
    install(environment, "pip install '../ojs-reference[server]'", wheel)
    async with shell(tmp_path, environment) as run:
        await run.run("cd shop")
        await play(blocks("docs/package.md"), run, environment, wheel)
        await run.says("… it has handlers for email.send")


@pytest.mark.long
async def test_the_page_on_the_command_line_works(
    tmp_path: Path, environment: Path, wheel: Path
) -> None:
    (first, *commands) = [block for block in blocks("docs/cli.md") if block.kind == "sh"]
    install(environment, "pip install '../ojs-reference[server]'", wheel)
    async with shell(tmp_path, environment) as run:
        await run.run("cd shop; export HOME=$PWD; mkdir -p .config/fish/completions; ojs-server &")
        await run.says("… listens on …")
        await play([first], run, environment, wheel)
        await run.run("ojs enqueue mail.send 1 --queue mail")
        # The servers of the page are not there.
        here = [Block("sh", block.text.replace("--server live", "")) for block in commands]
        await play(here, run, environment, wheel)


def keys_of_the_page() -> dict[str, str]:
    """Return the environment that the tutorial names for a server with keys."""
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"`(OJS_KEYS|OJS_AUTH_TOKEN)=(\S+)`", page))
    return {name: value.replace("KEY", "the-key-of-the-tutorial") for name, value in found.items()}


def test_the_tutorial_names_keys() -> None:
    assert set(keys_of_the_page()) == {"OJS_KEYS", "OJS_AUTH_TOKEN"}


@pytest.mark.long
@pytest.mark.parametrize("variables", [{}, keys_of_the_page()], ids=["without-keys", "with-keys"])
async def test_every_step_of_the_tutorial_works(
    tmp_path: Path, wheel: Path, variables: dict[str, str]
) -> None:
    async with shell(tmp_path, variables=variables) as run:
        await play(blocks("docs/tutorial.md"), run, tmp_path / "shop" / ".venv", wheel)


# The assertion that fails on the page.
FAILING = """
from myapp.jobs import sign_up

def test_it(ojs):
    sign_up("ada@example.org")
    ojs.assert_enqueued("email.send", args={"to": "eve@example.org"})
"""


@pytest.mark.long
async def test_every_example_of_the_page_on_testing_works(
    tmp_path: Path, environment: Path, wheel: Path
) -> None:
    *shown, failure = blocks("docs/testing.md")
    async with shell(tmp_path, environment) as run:
        await run.run("cd shop")
        await play(shown, run, environment, wheel)
        (environment.parent / "tests" / "test_failing.py").write_text(FAILING)
        await run.run("pytest tests/test_failing.py || true")
        await run.says(failure.text)
        await run.run("python3 -c 'import uvicorn' 2>&1 | grep ModuleNotFoundError")


def test_what_is_shown_is_really_compared() -> None:
    shown = {"state": "active", "jobs": [{"attempt": 1}]}
    assert missing(shown, {"state": "active", "jobs": [{"attempt": 1, "id": "x"}]}) == []
    assert missing(shown, {"state": "available", "jobs": [{"attempt": 1}]})
    assert missing(shown, {"state": "active", "jobs": []})
    assert missing(shown, {"jobs": [{"attempt": 1}]})
