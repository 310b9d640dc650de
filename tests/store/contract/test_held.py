"""The store contract: rows locked by an old transaction are reported."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import psycopg
import pytest

from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.limits.rate_limit import NO_LIMITS
from ojs_server.store.base import Store, StoreBusy
from ojs_server.store.open import open_store
from ojs_server.store.records import Contended
from tests.store.records import ON_ALL_VERSIONS, HandClock, a_job, a_worker

WANTED = Contended(("k1", "k2", "\0"), ("j1", "j2", "j3", "\0"), ("w1", "w2", "\0"))


@pytest.fixture
def other(store_url: str, store: Store, clock: HandClock) -> Iterator[Store]:
    """Another server, where there can be one."""
    with ExitStack() as opened:
        yield (
            store
            if store.embedded
            else opened.enter_context(closing(open_store(store_url, clock=clock, node="b")))
        )


@ON_ALL_VERSIONS
def test_rows_that_an_old_transaction_has_are_told(store: Store, other: Store) -> None:
    with store.transaction() as tx:
        names = ("#queue:q", "k1", "k2")
        tx.insert_limits([Limit(name, NO_LIMITS, used_at=0) for name in names])
        tx.insert_jobs([a_job("j1"), a_job("j2", rate_key="k1"), a_job("j3", rate_key="k2")])
        tx.save_workers([a_worker("w1"), a_worker("w2")])
    assert store.held(WANTED, 0) == Contended(set(), set(), set()) or store.embedded
    with other.transaction() as tx:
        tx.load_workers(["w1"])
        tx.load_jobs(["j1"])
        assert len(tx.load_limits(["#queue:q", "k1"])) == 2
        if store.embedded:
            # SQLite has one writer, which holds the whole file.
            assert store.held(WANTED, 0) == Contended()
            return
        assert store.held(WANTED, 3_600_000) == Contended(set(), set(), set())
        held = store.held(WANTED, 0)
    assert held == Contended({"#queue:q", "k1"}, {"j1", "j2"}, {"w1"})
    assert store.held(WANTED, 0) == Contended(set(), set(), set())


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_nobody_is_waited_for_to_find_out(store: Store, store_url: str) -> None:
    with psycopg.connect(store_url) as somebody:
        somebody.execute("LOCK TABLE jobs")
        with pytest.raises(StoreBusy):
            store.held(WANTED, 0)
