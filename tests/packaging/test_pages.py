"""The pages of the documentation work as they are printed, from the wheel, in environments with
what the pages install and nothing else."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.page import ROOT, Block, Page, blocks, missing
from tests.packaging.playing import Reader
from tests.packaging.plays import guides, judge, operations, worker

# Each installs the wheel and starts several programs, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(600)

Play = Callable[[Page, Reader], Awaitable[None]]
PLAYS: Final[dict[str, tuple[Play, ...]]] = {
    "README.md": (guides.readme,),
    "docs/adapters.md": (operations.adapters,),
    "docs/any-language.md": (judge.any_language,),
    "docs/cli.md": (guides.command_line,),
    "docs/clients.md": (operations.clients,),
    "docs/conformance.md": (judge.conformance,),
    "docs/dashboard.md": (guides.dashboard,),
    "docs/django.md": (guides.django,),
    "docs/fastapi.md": (operations.fastapi,),
    "docs/guarantees.md": (judge.guarantees,),
    "docs/operations.md": (operations.operations,),
    "docs/package.md": (guides.package,),
    "docs/production.md": (operations.production,),
    "docs/testing.md": (guides.testing,),
    "docs/transactions.md": (operations.transactions,),
    "docs/tutorial.md": (guides.tutorial, guides.tutorial_with_keys),
    "docs/worker.md": (worker.worker, worker.worker_with_keys),
}
# The only blocks that are not played: page, heading and kind, and the reason.
NOT_PLAYED: Final = {
    ("README.md", "The states of a job", "text"): "a picture",
    ("docs/architecture.md", "Where things are", "text"): "a picture",
    ("docs/production.md", "Production", "text"): "a picture",
    ("docs/operations.md", "Containers", "dockerfile"): "needs Docker, and an image from elsewhere",
    ("docs/guarantees.md", "Stores", "sh"): "needs Redis, and a server from elsewhere",
}
# Notes on decisions, pages made of docstrings, figures, and patches of published cases.
APART: Final = (
    "docs/decisions/",
    "docs/reference/",
    "docs/performance.md",
    "docs/published-cases/",
)
PAGES: Final = [
    name
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if not (name := page.relative_to(ROOT).as_posix()).startswith(APART)
]


@pytest.fixture
def reader(tmp_path: Path, unpacked: Path, request: pytest.FixtureRequest) -> Reader:
    """A reader with an empty folder."""
    return Reader(tmp_path, unpacked, request)


def unplayed(name: str, left: list[Block]) -> list[Block]:
    """Return the blocks of a page that have to be played."""
    return [block for block in left if (name, block.section, block.kind) not in NOT_PLAYED]


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("name", "play"),
    [(name, play) for name, plays in PLAYS.items() for play in plays],
    ids=[play.__name__ for plays in PLAYS.values() for play in plays],
)
async def test_each_block_of_the_page_works(name: str, play: Play, reader: Reader) -> None:
    page = Page(name)
    await play(page, reader)
    assert unplayed(name, page.left) == []


def test_each_page_with_a_block_is_played() -> None:
    assert {name for name in PAGES if unplayed(name, blocks(name))} == PLAYS.keys()


def test_each_block_that_is_not_played_is_there_once() -> None:
    places = [(name, block.section, block.kind) for name in PAGES for block in blocks(name)]
    assert [places.count(place) for place in NOT_PLAYED] == [1] * len(NOT_PLAYED)


def test_a_block_that_was_not_taken_is_noticed() -> None:
    page = Page("README.md")
    page.take("Install")
    assert "A worker in ten lines" in {block.section for block in unplayed("README.md", page.left)}


def test_the_tutorial_is_short() -> None:
    commands = [
        line
        for block in blocks("docs/tutorial.md")
        if block.kind == "sh"
        for line in block.text.splitlines()
    ]
    assert 8 <= len(commands) <= 10


def test_what_is_shown_is_really_compared() -> None:
    shown = {"state": "active", "jobs": [{"attempt": 1}]}
    assert missing(shown, {"state": "active", "jobs": [{"attempt": 1, "id": "x"}]}) == []
    assert missing(shown, {"state": "available", "jobs": [{"attempt": 1}]})
    assert missing(shown, {"state": "active", "jobs": []})
    assert missing(shown, {"jobs": [{"attempt": 1}]})
