"""Commits that wait for a standby and are interrupted meanwhile."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

import pytest

from ojs_server.store.base import OutcomeUnknown
from ojs_server.store.postgres.store import PostgresStore
from tests.postgres import Server
from tests.store.postgres.conftest import InThread
from tests.store.postgres.proxy import proxy_before
from tests.store.postgres.server import blocked, query, wait_until
from tests.store.postgres.test_outcomes import ON_BOTH_DURABLE, OURS, add, carried_out, stored
from tests.store.records import a_job, put

WAITING = f"SELECT pid {OURS} AND wait_event = 'SyncRep'"


@contextmanager
def lacking_a_standby(server: Server, patience_s: float) -> Iterator[PostgresStore]:
    """A store with the job "before", whose commits wait for a standby that is not there."""
    with closing(PostgresStore(server.url, node="a", patience_s=patience_s)) as store:
        put(store, a_job("before"))
        server.require_standby("nobody")
        yield store


def waiting(url: str, *before: int) -> int:
    """Return the one connection whose commit waits for a standby, besides those before it."""
    found: list[int] = []

    def one_waits() -> bool:
        found[:] = [pid for (pid,) in query(url, WAITING) if pid not in before]
        return len(found) == 1

    wait_until(one_waits)
    return found[0]


@ON_BOTH_DURABLE
def test_a_commit_whose_wait_was_cancelled_is_asked_for_until_it_is_safe(
    durable_postgres: Server, threaded: InThread
) -> None:
    url = durable_postgres.url
    with lacking_a_standby(durable_postgres, patience_s=120) as store:
        asked = threaded(carried_out, store, partial(add, job_id="j1"))
        first = waiting(url)
        query(url, f"SELECT pg_cancel_backend({first})")
        # The transaction is committed here; the query for its outcome waits for the standby too.
        second = waiting(url, first)
        assert (asked.done(), stored(url)) == (False, ["before", "j1"])
        query(url, f"SELECT pg_cancel_backend({second})")
        waiting(url, first, second)
        assert not asked.done()
        durable_postgres.require_standby("")
        assert asked.result() is True


def test_a_commit_that_no_standby_has_is_of_unknown_outcome(
    durable_postgres: Server, threaded: InThread
) -> None:
    url = durable_postgres.url
    with lacking_a_standby(durable_postgres, patience_s=1) as store:
        asked = threaded(carried_out, store, partial(add, job_id="j1"))
        query(url, f"SELECT pg_cancel_backend({waiting(url)})")
        with pytest.raises(OutcomeUnknown):
            asked.result()
        durable_postgres.require_standby("")
        put(store, a_job("j2"))
    assert stored(url) == ["before", "j1", "j2"]


@ON_BOTH_DURABLE
def test_a_server_that_restarts_during_the_wait_makes_no_commit_safe(
    durable_postgres: Server, threaded: InThread
) -> None:
    url = durable_postgres.url
    with lacking_a_standby(durable_postgres, patience_s=120) as store:
        asked = threaded(carried_out, store, partial(add, job_id="j1"))
        waiting(url)
        durable_postgres.stop()
        durable_postgres.start()
        waiting(url)
        assert (asked.done(), stored(url)) == (False, ["before", "j1"])
        durable_postgres.require_standby("")
        assert asked.result() is True


@ON_BOTH_DURABLE
def test_a_commit_that_is_under_way_is_waited_for(
    durable_postgres: Server, threaded: InThread
) -> None:
    url = durable_postgres.url
    with (
        proxy_before(url) as proxy,
        closing(PostgresStore(proxy.url, node="a", patience_s=120)) as store,
    ):
        put(store, a_job("before"))
        durable_postgres.require_standby("nobody")
        asked = threaded(carried_out, store, partial(add, job_id="j1"))
        waiting(url)
        proxy.cut()
        wait_until(lambda: blocked(url) == 1)
        assert (asked.done(), stored(url)) == (False, ["before"])
        durable_postgres.require_standby("")
        assert asked.result() is True
    assert stored(url) == ["before", "j1"]
