"""The store contract: requirements of jobs, and claims that skip jobs."""

from ojs_server.store.base import Store
from ojs_server.store.records import Claimed
from tests.store.records import START, a_job, ids, put


def claim_meeting(
    store: Store,
    *met: tuple[str, str],
    queues: tuple[str, ...] = ("q",),
    types: tuple[str, ...] | None = None,
    n: int = 10,
) -> list[Claimed]:
    with store.transaction() as tx:
        return tx.claim_meeting(queues, types, met, n)


def test_each_demand_of_the_waiting_jobs_is_found_once(store: Store) -> None:
    put(
        store,
        a_job("a", queue="q", demand="x"),
        a_job("b", queue="q", demand="x"),
        a_job("c", queue="q", demand="y"),
        a_job("d", queue="r", demand="x"),
        a_job("e", queue="q"),
        a_job("f", queue="q", demand="z", state="scheduled"),
    )
    with store.transaction() as tx:
        assert sorted(tx.demands(["q", "r", "none"])) == [("q", "x"), ("q", "y"), ("r", "x")]
        assert tx.demands(["none"]) == []


def test_only_what_is_met_is_claimed_in_the_order_of_the_queue(store: Store) -> None:
    put(
        store,
        a_job("plain", queue="q", seq=1),
        a_job("met", queue="q", seq=2, demand="x", priority=1),
        a_job("unmet", queue="q", seq=3, demand="y", priority=9),
        a_job("other", queue="r", seq=4, demand="x", priority=9),
        a_job("late", queue="q", seq=5),
    )
    met = (("q", "x"), ("r", "x"))
    claimed = claim_meeting(store, *met, queues=("q", "r"), n=3)
    assert ids(claimed) == ["met", "plain", "late"]
    assert [(one.job.state, one.job.attempt, one.job.started_at) for one in claimed] == [
        ("active", 1, START)
    ] * 3
    assert ids(claim_meeting(store, *met, queues=("q", "r"))) == ["other"]
    assert ids(claim_meeting(store)) == []


def test_types_expiry_and_pauses_count_as_in_every_claim(store: Store) -> None:
    put(
        store,
        a_job("other.type", queue="q", type="b"),
        a_job("expired", queue="q", type="a", expires_at=START),
        a_job("expired.met", queue="q", type="a", demand="x", expires_at=START),
        a_job("taken", queue="q", type="a", state="active"),
        a_job("good", queue="q", type="a", expires_at=START + 1),
        a_job("paused", queue="p", type="a"),
        a_job("paused.met", queue="p", type="a", demand="x"),
    )
    with store.transaction() as tx:
        tx.set_paused("p", True)
    met = (("q", "x"), ("p", "x"))
    assert ids(claim_meeting(store, *met, queues=("p", "q"), types=("a",))) == ["good"]


def test_gated_jobs_are_not_seen(store: Store) -> None:
    gated = {"rate_key": "k", "on_limit": "wait"}
    put(store, a_job("a", queue="q", demand="x", **gated), a_job("b", queue="q", **gated))
    with store.transaction() as tx:
        assert tx.demands(["q"]) == []
    assert claim_meeting(store, ("q", "x")) == []
