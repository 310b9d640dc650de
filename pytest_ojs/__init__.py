"""The pytest plugin: fixtures for tests with jobs.

pytest loads this module in every run, so everything else is imported when a fixture is used. It is
not part of `ojs_worker`, as importing that takes time.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ojs_worker import Worker
    from ojs_worker.testing import Sandbox

OPTION = "ojs_worker"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one setting: where the workers are."""
    parser.addini(
        OPTION,
        "workers whose jobs the fixture `ojs` runs, such as myapp.jobs:worker",
        type="args",
        default=[],
    )


@pytest.fixture
def ojs_workers(pytestconfig: pytest.Config) -> "list[Worker]":
    """The workers of the fixture `ojs`: those that the setting `ojs_worker` names. A fixture of
    this name in a conftest.py takes its place."""
    from ojs_worker.target import NoWorker, find_worker

    try:
        return [find_worker(target) for target in pytestconfig.getini(OPTION)]
    except NoWorker as error:
        pytest.fail(f"the setting {OPTION}: {error}", pytrace=False)


@pytest.fixture
def ojs(ojs_workers: "list[Worker]") -> "Iterator[Sandbox]":
    """A sandbox: a private OJS server on which the test's jobs are stored, run and looked at.
    For tests with an event loop and without; see docs/testing.md."""
    from ojs_worker.testing import Sandbox, ServerMissing

    with ExitStack() as stack:
        try:
            sandbox = stack.enter_context(Sandbox(*ojs_workers))
        except ServerMissing as error:
            pytest.fail(str(error), pytrace=False)
        yield sandbox


@pytest.fixture
def ojs_inline(ojs: "Sandbox") -> "Iterator[Sandbox]":
    """Sandbox in which every enqueue runs its job at once."""
    with ojs.inline():
        yield ojs
