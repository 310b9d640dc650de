"""The store contract: combined writes, sent ahead where that saves a round trip."""

import msgspec
import pytest

from ojs_server.domain.jobs.job import Lease
from ojs_server.store.base import StaleWrite, Store
from tests.store.records import ON_ALL_VERSIONS, a_job, a_lease, an_event, change, hold, put, record

HELD = a_job("j1", state="active", attempt=1)
FREE = a_job("j2", state="available")


def leases(store: Store) -> dict[str, Lease]:
    with store.transaction() as tx:
        return tx.load_leases(["j1", "j3"])


@ON_ALL_VERSIONS
def test_jobs_that_leave_active_lose_their_leases(store: Store) -> None:
    hold(store, a_lease("j1"), a_lease("j3"))
    put(store, FREE)
    held = record(store, "j1")
    with store.transaction() as tx:
        changes = [change(held, state="completed"), change(FREE.job, state="cancelled")]
        tx.write_changes(changes)
        tx.drop_leases(["j1"])
    assert (record(store, "j1").state, record(store, "j2").state) == ("completed", "cancelled")
    assert set(leases(store)) == {"j3"}


@ON_ALL_VERSIONS
def test_a_stale_change_ends_no_lease(store: Store) -> None:
    hold(store, a_lease("j1"))
    stale = change(msgspec.structs.replace(record(store, "j1"), attempt=9), state="completed")

    def settle() -> None:
        with store.transaction() as tx:
            tx.write_changes([stale])
            tx.drop_leases(["j1"])

    with pytest.raises(StaleWrite):
        settle()
    assert set(leases(store)) == {"j1"}


@ON_ALL_VERSIONS
def test_counters_and_events_are_one_ledger(store: Store) -> None:
    for moved, count in [({}, 0), ({"q": {"available": 2}}, 0), ({}, 2), ({"q": {"active": 1}}, 2)]:
        with store.transaction() as tx:
            tx.add_counts(moved)
            last = tx.insert_events([an_event()] * count)
        assert bool(last) == bool(count)
        with store.reader() as reader:
            assert last in (0, reader.log_span().last)
    with store.reader() as reader:
        (queue,) = reader.queues()
    assert (queue.name, queue.counts["available"], queue.counts["active"]) == ("q", 2, 1)
