"""A bench and an engine over each kind of store."""

from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.rules import Rules
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.ops.bench import Bench, HandClock, environment, rng
from tests.ops.flows import Flows

# A busy machine may take seconds for thousands of rows.
ANSWER_S = 60.0


@pytest.fixture
def clock() -> HandClock:
    """Time, turned by hand."""
    return HandClock()


@pytest.fixture
def store(store_url: str, clock: HandClock) -> Iterator[Store]:
    """An empty store whose time is the hand clock."""
    opened = open_store(store_url, clock=clock, answer_s=ANSWER_S)
    yield opened
    opened.close()


@pytest.fixture
def bench(store: Store, clock: HandClock) -> Bench:
    """A node with the usual rules."""
    return Bench(store, clock)


@pytest.fixture
def flows(bench: Bench) -> Flows:
    """The workflows of that node."""
    return Flows(bench)


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[Engine]:
    """A node with its event loop."""
    running = Engine(store, Rules(), environment(rng()))
    yield running
    await running.close()


@pytest.fixture
def with_rules(store: Store, clock: HandClock) -> Callable[[Rules], Bench]:
    """A node with rules of the test's own."""
    return lambda rules: Bench(store, clock, rules)


@pytest.fixture
def nodes(postgres_store: str) -> Iterator[tuple[Bench, Store]]:
    """A node on PostgreSQL that does things, and the store of another."""
    clock = HandClock()
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(closing(open_store(postgres_store, clock=clock, node=name)))
            for name in "ab"
        )
        yield Bench(one, clock), other


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """A thread for what waits."""
    with ThreadPoolExecutor(1) as threads:
        yield threads
