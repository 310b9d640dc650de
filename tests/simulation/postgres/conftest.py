"""The place of duels on the test process's own server."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.postgres import Database
from tests.simulation.postgres.arena import Arena


@pytest.fixture(scope="module")
def arena(postgres_database: Database) -> Iterator[Arena]:
    """Two nodes in an empty store."""
    with postgres_database.store() as url, closing(Arena(url)) as made:
        yield made
