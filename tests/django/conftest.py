"""The databases of the shop, and the server of its jobs."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command

from ojs_django import get_worker
from ojs_worker.testing import Sandbox
from tests.django.project import on_sqlite


@pytest.fixture(scope="session")
def new_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the tables of the shop, to be copied."""
    path = tmp_path_factory.mktemp("shop") / "new.db"
    with on_sqlite(path):
        call_command("migrate", run_syncdb=True, verbosity=0)
    return path


@pytest.fixture
def shop(new_shop: Path, tmp_path: Path) -> Iterator[Path]:
    """The empty database of the shop."""
    path = tmp_path / "shop.db"
    shutil.copyfile(new_shop, path)
    with on_sqlite(path):
        yield path


@pytest.fixture
def ojs() -> Iterator[Sandbox]:
    """A private server, on which the jobs of the project are stored and run."""
    with Sandbox(get_worker()) as sandbox:
        yield sandbox
