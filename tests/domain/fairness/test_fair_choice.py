"""Fair claims: the order of queues, priorities before turns of tenants, and limits."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.fairness.fair_choice import Candidate, InOrder, choose
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.tenants.tenant import DEFAULT, Tenant

CANDIDATES = st.lists(
    st.tuples(st.sampled_from(["q", "r"]), st.sampled_from([None, "a", "b"]), st.integers(-2, 2)),
    max_size=30,
).map(
    lambda rows: [
        Candidate(f"j{seq}", queue, tenant, priority, seq)
        for seq, (queue, tenant, priority) in enumerate(rows)
    ]
)


def chosen(candidates: list[Candidate], limit: int = 9, **more: Any) -> list[str]:
    given: dict[str, Any] = {"tenants": {}, "capacities": {}, "schedulers": Schedulers(), **more}
    return [one.id for one in choose(candidates, ["q", "r"], limit, order=InOrder(), **given)]


@given(CANDIDATES, st.integers(1, 40))
def test_order_of_queues_priorities_and_arrival_holds(
    candidates: list[Candidate], limit: int
) -> None:
    got = choose(
        candidates,
        ["q", "r"],
        limit,
        order=InOrder(),
        tenants={},
        capacities={},
        schedulers=Schedulers(),
    )
    assert len(got) == len({one.id for one in got}) == min(limit, len(candidates))
    # Never across queues or priorities, whoever's turn it is.
    assert [(one.queue, -one.priority) for one in got] == sorted(
        (one.queue, -one.priority) for one in got
    )
    # Each tenant's jobs of one queue and priority as they came.
    for key in {(one.queue, one.tenant, one.priority) for one in got}:
        own = [one.seq for one in got if (one.queue, one.tenant, one.priority) == key]
        assert own == sorted(own)


@given(CANDIDATES, st.integers(0, 5), st.integers(0, 5))
def test_no_more_is_chosen_than_there_is_room_for(
    candidates: list[Candidate], tenant_capacity: int, queue_capacity: int
) -> None:
    capacities = {"a/": tenant_capacity, "r": queue_capacity}
    got = choose(
        candidates,
        ["q", "r"],
        99,
        order=InOrder(),
        tenants={},
        capacities=dict(capacities),
        schedulers=Schedulers(),
    )
    assert sum(one.tenant == "a" for one in got) <= tenant_capacity
    assert sum(one.queue == "r" for one in got) <= queue_capacity
    left = set(candidates) - set(got)
    assert all(one.tenant == "a" or one.queue == "r" for one in left)


def test_a_boost_raises_the_priorities_of_a_tenant() -> None:
    jobs = [Candidate("low", "q", "a", 0, 1), Candidate("high", "q", "b", 3, 2)]
    assert chosen(jobs) == ["high", "low"]
    assert chosen(jobs, tenants={"a": Tenant(priority_boost=4)}) == ["low", "high"]


def test_jobs_without_a_tenant_share_a_turn() -> None:
    jobs = [Candidate(f"n{n}", "q", None, 0, n) for n in range(2)]
    jobs += [Candidate("d", "q", DEFAULT, 0, 3), Candidate("a", "q", "a", 0, 4)]
    assert chosen(jobs, 2, schedulers=Schedulers()) == ["n0", "a"]
