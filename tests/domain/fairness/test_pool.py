"""Pools: parsing, the order of their queues, and no starvation."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.errors import OjsError
from ojs_server.domain.fairness.pool import Pool, PoolOrder, Starving, declared, parse_pool
from ojs_server.domain.fairness.weighted_fair import FairScheduler, StarvationGuard

QUEUES = ("a", "b", "c")


def order(pool: Pool, now: int = 0, **active: int) -> PoolOrder:
    return PoolOrder(pool, FairScheduler(), StarvationGuard(), active, now)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"queues": ["a", "b", "a"]}, Pool(("a", "b"))),
        (
            {"queues": {"a": {"weight": 70}, "b": {}, "c": None}, "strategy": "weighted"},
            Pool(QUEUES, strategy="weighted", weights={"a": 70, "b": 1, "c": 1}),
        ),
        (
            {"queues": ["a"], "weights": {"a": 0}, "isolated": True, "concurrency": 3},
            Pool(("a",), 3, weights={"a": 0}, isolated=True),
        ),
        (
            {"queues": ["a"], "starvation_prevention": {"enabled": True, "min_dispatch_ratio": 1}},
            Pool(("a",), starving=Starving(30_000, 1.0)),
        ),
        ({"queues": ["a"], "starvation_prevention": {"enabled": False}}, Pool(("a",))),
    ],
)
def test_a_pool_is_read(body: dict[str, Any], wanted: Pool) -> None:
    assert parse_pool(body) == wanted
    assert parse_pool(wanted.as_wire()) == wanted


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "queues"),
        ({"queues": []}, "queues"),
        ({"queues": ["A"]}, "queues"),
        ({"queues": {"a": {"weigth": 1}}}, "queues.a.weigth"),
        ({"queues": {"a": 3}}, "queues.a"),
        ({"queues": ["a"], "weights": {"b": 1}}, "weights"),
        ({"queues": ["a"], "weights": {"a": 1001}}, "weights.a"),
        ({"queues": ["a"], "strategy": "wieghted"}, "strategy"),
        ({"queues": ["a"], "strategie": "strict"}, "strategie"),
        ({"queues": ["a"], "isolated": 1}, "isolated"),
        (
            {"queues": ["a"], "starvation_prevention": {"enabled": True, "min_dispatch_ratio": 2}},
            "starvation_prevention.min_dispatch_ratio",
        ),
        (
            {"queues": ["a"], "starvation_prevention": {"enabled": True, "rotation_interval": "x"}},
            "starvation_prevention.rotation_interval",
        ),
    ],
)
def test_a_bad_pool_is_refused(body: dict[str, Any], field: str) -> None:
    with pytest.raises(OjsError) as caught:
        parse_pool(body)
    assert (caught.value.details or {})["field"] == field


def test_a_worker_says_its_pool_by_name_or_label() -> None:
    assert declared({"pool": "p", "labels": ["pool:q"]}) == "p"
    assert declared({"labels": ["canary", "pool:q"]}) == "q"
    assert declared({}) is None


def test_strategies_choose_the_next_queue() -> None:
    strict = order(Pool(QUEUES, strategy="strict"))
    assert [strict.next(QUEUES) for _ in range(3)] == ["a", "a", "a"]
    turns = order(Pool(QUEUES))
    assert [turns.next(QUEUES) for _ in range(4)] == ["a", "b", "c", "a"]
    weighted = order(Pool(QUEUES, strategy="weighted", weights={"a": 4, "b": 0}))
    assert Counter(weighted.next(QUEUES) for _ in range(10)) == {"a": 8, "c": 2}
    least = order(Pool(QUEUES, strategy="least-loaded"), a=2, c=1)
    assert [least.next(QUEUES) for _ in range(4)] == ["b", "b", "c", "a"]


@given(st.sampled_from([0.05, 0.1, 0.25, 0.5]), st.integers(1, 400))
def test_a_queue_that_waits_is_served_within_its_part_of_the_turns(
    share: float, count: int
) -> None:
    pool = Pool(QUEUES, strategy="strict", starving=Starving(10**9, share))
    strict = order(pool)
    taken = [strict.next(QUEUES) for _ in range(count)]
    most = round(1 / share) + len(QUEUES)
    for name in QUEUES:
        waited = 0
        for one in taken:
            waited = 0 if one == name else waited + 1
            assert waited <= most


def test_a_queue_that_waits_is_served_in_time() -> None:
    pool = Pool(QUEUES, strategy="strict", starving=Starving(1000, 0.001))
    turns, guard, told = FairScheduler(), StarvationGuard(), list[str]()

    def at(now: int, *queues: str) -> str:
        return PoolOrder(pool, turns, guard, {}, now, told.append).next(queues)

    assert [at(0, "a", "b"), at(999, "a", "b"), at(1000, "a", "b")] == ["a", "a", "b"]
    assert told == ["b"]
    # A queue that had no jobs for a while has not waited.
    assert at(1500, "a") == "a"
    assert at(2400, "a", "b") == "a"
