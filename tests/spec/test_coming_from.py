"""The pages for users of other libraries: our names exist, and none of theirs is missing."""

import inspect
import re
from pathlib import Path
from typing import Any, Final

import click
import procrastinate
import pytest
from procrastinate import blueprints, job_context, jobs, manager, tasks, worker

import ojs_worker
import ojs_worker.testing
from ojs_cli.grammar import Root
from ojs_worker import settings
from ojs_worker.client.options import NAMES
from ojs_worker.handlers.registry import Handler
from ojs_worker.transport import Reply, Request
from tests.spec.clauses import ROOT

PAGES: Final = sorted((ROOT / "docs" / "coming-from").glob("*.md"))
CELL: Final = re.compile(r"(?<!\\)\|")
NAME: Final = re.compile(r"`([^`]+)`")


class Nowhere:
    """A transport of a client that asks nobody."""

    async def send(self, request: Request) -> Reply:
        raise NotImplementedError

    async def close(self) -> None: ...


def rows(page: Path) -> list[list[str]]:
    """The rows of all tables of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found = [CELL.split(line)[1:-1] for line in lines if line.startswith("| ")]
    assert {len(row) for row in found} == {3}
    return [row for row in found if row[1].strip() != "Here"]


def exists(name: str) -> bool:
    """Tell whether one of our names exists, however it is written."""
    if name.endswith("="):
        return name[:-1] in {*NAMES, *inspect.signature(ojs_worker.Worker.job).parameters}
    if name.startswith("--"):
        return name in {setting.flag for setting in settings.TABLE}
    if name.startswith("ojs "):
        return command(name.split()[1:])
    if name.startswith("ojs-worker "):
        return name == "ojs-worker run"
    first, *rest = name.lstrip("@").split(".")
    roots: dict[str, Any] = {
        "client": ojs_worker.Client(transport=Nowhere()),
        "ctx": ojs_worker.Context,
        "handle": ojs_worker.JobHandle,
        "handler": Handler,
        "job": ojs_worker.Job,
        "ojs": ojs_worker.testing.Sandbox,
        "router": ojs_worker.Router(),
        "worker": ojs_worker.Worker(),
    }
    if first not in roots:
        return not rest and any(hasattr(one, first) for one in (ojs_worker, ojs_worker.testing))
    place = roots[first]
    for part in rest:
        if isinstance(place, type) and part in attributes(place):
            return part == rest[-1]
        if not hasattr(place, part):
            return False
        place = getattr(place, part)
    return True


def attributes(kind: type) -> set[str]:
    """The names that a class and its bases set in their constructors."""
    sources = (inspect.getsource(one) for one in kind.__mro__ if one.__module__.startswith("ojs_"))
    return {name for source in sources for name in re.findall(r"self\.(\w+)(?::.*)? = ", source)}


def command(words: list[str]) -> bool:
    """Tell whether `ojs` has a command."""
    place: click.Command | None = Root()
    for word in words:
        if not isinstance(place, click.Group):
            return False
        place = place.get_command(click.Context(place), word)
    return place is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_of_our_names_exists(page: Path) -> None:
    names = {name.partition("(")[0] for row in rows(page) for name in NAME.findall(row[1])}
    assert len(names) > 35
    assert [name for name in sorted(names) if not exists(name)] == []


def test_none_of_procrastinates_methods_is_missing() -> None:
    (page,) = (page for page in PAGES if page.stem == "procrastinate")
    told = {
        word
        for row in rows(page)
        for name in NAME.findall(row[0])
        for word in re.findall(r"\w+", name)
    }
    kinds = (
        procrastinate.App,
        blueprints.Blueprint,
        jobs.Job,
        jobs.JobDeferrer,
        job_context.JobContext,
        manager.JobManager,
        tasks.Task,
        worker.Worker,
    )
    public = {name for kind in kinds for name in dir(kind) if not name.startswith("_")}
    options = {
        name
        for made in (procrastinate.RetryStrategy, tasks.Task, worker.Worker)
        for name in inspect.signature(made).parameters
    } - {"app", "blueprint", "func"}
    assert sorted({*public, *options, *procrastinate.__all__} - told) == []
