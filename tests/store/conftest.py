"""The stores under test, each with a manual clock."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from ojs_server.systems.jobmanager import tables as jobmanager_tables  # noqa: F401
from tests.store.records import HandClock

# The tables of other systems are imported above: rules on all statements then see theirs as well,
# whichever tests run in the process.

OpenNode = Callable[[str], Store]


@pytest.fixture
def clock() -> HandClock:
    """The clock of every store of the test."""
    return HandClock()


@pytest.fixture
def store(store_url: str, clock: HandClock) -> Iterator[Store]:
    """An empty store, once for each kind."""
    with closing(open_store(store_url, clock=clock, node="a")) as store:
        yield store


@pytest.fixture
def node(postgres_store: str, clock: HandClock) -> Iterator[OpenNode]:
    """Opens nodes of these names on one PostgreSQL store."""
    with ExitStack() as opened:

        def open_node(name: str) -> Store:
            store = open_store(postgres_store, clock=clock, node=name)
            return opened.enter_context(closing(store))

        yield open_node
