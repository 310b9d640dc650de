"""The store contract: tenants of jobs, waiting tenants, settings of tenants and pools."""

from typing import Any

from ojs_server.domain.fairness.pool import Pool
from ojs_server.domain.fairness.sharing import ALONE
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.limits.rate_limit import Window
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.store.base import Store
from ojs_server.store.records import Lane
from tests.store.records import ON_ALL_VERSIONS, START, put, undone
from tests.store.records import a_job as some_job


def a_job(job_id: str, **fields: Any) -> StoredJob:
    """A job of one queue."""
    return some_job(job_id, **{"queue": "q", **fields})


@ON_ALL_VERSIONS
def test_lanes_are_looked_at_in_their_order(store: Store) -> None:
    put(
        store,
        a_job("a1", tenant="a", seq=3),
        a_job("a2", tenant="a", seq=4, priority=1),
        a_job("b1", tenant="b", seq=1, type="other"),
        a_job("n1", seq=2),
        a_job("late", tenant="a", seq=5, expires_at=START - 1),
        a_job("held", tenant="a", seq=0, rate_key="k", on_limit="wait"),
        a_job("r1", tenant="a", queue="r", seq=6),
    )

    def look(*lanes: Lane, limit: int = 9) -> set[str]:
        with undone(store) as tx:
            return {one.id for one in tx.waiting(lanes, limit)}

    assert look(Lane("q")) == {"a1", "a2", "b1", "n1"}
    assert look(Lane("q"), limit=1) == {"a2"}
    assert look(Lane("q", "a"), Lane("q", "b")) == {"a1", "a2", "b1"}
    assert look(Lane("q", "a"), Lane("q", "b"), limit=1) == {"a2", "b1"}
    assert look(Lane("q", None, "other"), Lane("r", "a")) == {"b1", "r1"}
    assert look(Lane("q", "a", "other"), Lane("r", "b")) == set()
    with store.transaction() as tx:
        tx.set_paused("q", True)
    assert look(Lane("q", "a"), Lane("q")) == set()


@ON_ALL_VERSIONS
def test_tenants_that_wait_are_found_by_name(store: Store) -> None:
    put(store, *(a_job(f"{t}{n}", tenant=t, seq=n) for n, t in enumerate("cabbac")), a_job("n"))
    put(store, a_job("r", tenant="z", queue="r"), a_job("e", tenant="d", state="scheduled"))
    with undone(store) as tx:
        assert sorted(tx.tenants_waiting({"q": "", "r": "", "s": ""}, 9)) == [
            ("q", "a"),
            ("q", "b"),
            ("q", "c"),
            ("r", "z"),
        ]
        assert tx.tenants_waiting({"q": "a"}, 1) == [("q", "b")]


def test_only_what_still_waits_is_taken(store: Store) -> None:
    put(store, a_job("a", tenant="t"), a_job("b"), a_job("c", state="scheduled"))
    with store.transaction() as tx:
        taken = tx.claim_chosen(["a", "b", "c", "none"])
    assert {one.job.id: (one.job.state, one.job.attempt, one.job.tenant) for one in taken} == {
        "a": ("active", 1, "t"),
        "b": ("active", 1, None),
    }
    with store.transaction() as tx:
        assert tx.claim_chosen(["a"]) == []
    with store.reader() as reader:
        assert reader.tenants_of(["a", "b", "none"]) == {"a": "t", "b": None}


def test_tenants_and_pools_are_held_by_every_transaction(store: Store) -> None:
    tenant, pool = Tenant(3, Window(5, 1000)), Pool(("q",), weights={"q": 2})
    with undone(store) as tx:
        assert tx.sharing == ALONE
        tx.save_tenant("lost", tenant)
    with store.transaction() as tx:
        assert tx.sharing.tenants == {}
        tx.save_tenant("a", tenant)
        tx.save_pool("p", pool)
        tx.add_counts({"b/": {"available": 1}, "b/q": {"available": 1}})
    with store.transaction() as tx:
        assert tx.sharing.tenancy
        assert (tx.sharing.tenants, tx.sharing.pools) == ({"a": tenant}, {"p": pool})
    with store.reader() as reader:
        assert [(name, one) for name, one, _ in reader.tenants()] == [("a", tenant), ("b", None)]
        assert [(name, one) for name, one, _ in reader.pools()] == [("p", pool)]
        assert [queue.name for queue in reader.queues_of_tenant("b")] == ["q"]
        # Counters of tenants are no queues.
        assert reader.queues() == []
    with store.transaction() as tx:
        tx.delete_tenant("a")
        tx.delete_pool("p")
    with store.transaction() as tx:
        assert (tx.sharing.tenants, tx.sharing.pools) == ({}, {})
        tx.wipe()
    with store.transaction() as tx:
        assert not tx.sharing.tenancy


@ON_ALL_VERSIONS
def test_types_of_available_jobs_are_told_by_queue_and_tenant(store: Store) -> None:
    put(
        store,
        *(a_job(f"a{n}", type="a") for n in range(3)),
        a_job("b1", type="b", tenant="t"),
        a_job("b2", type="b"),
        a_job("c1", type="c", tenant="u", queue="r"),
        a_job("d1", type="d", state="completed"),
        a_job("e1", type="e", rate_key="k", on_limit="wait"),
    )
    with store.reader() as reader:
        assert reader.available_types(["q", "r", "s"], None) == ["a", "b", "c"]
        assert reader.available_types(["q"], None) == ["a", "b"]
        assert reader.available_types(["q", "r"], "t") == ["b"]
        assert reader.available_types(["q"], "u") == []
        assert reader.available_types([], None) == reader.available_types([], "t") == []


@ON_ALL_VERSIONS
def test_the_queues_of_each_tenant_are_counted(store: Store) -> None:
    with store.transaction() as tx:
        for name in ("a/", "a/q", "a/r", "ab/", "ab/q", "q", "a.b/q"):
            tx.add_counts({name: {"available": 1}})
    with store.reader() as reader:
        assert reader.count_queues(["ab", "a", "none"]) == {"a": 2, "ab": 1, "none": 0}
        assert reader.count_queues([]) == {}
