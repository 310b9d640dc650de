"""The plan of a run follows from its seed."""

from hypothesis import given
from hypothesis import strategies as st

from conformance.guarantees.plan import KINDS, Round, plan_round

SEEDS = st.integers(1, 10**9)
NUMBERS = st.integers(1, 10_000)


@given(SEEDS, NUMBERS, st.integers(1, 12), st.integers(3, 30))
def test_equal_seeds_give_equal_rounds(seed: int, number: int, clients: int, count: int) -> None:
    def made() -> Round:
        return plan_round(seed, number, KINDS[1:], clients=clients, operations=count)

    plan = made()
    assert plan == made()
    assert [len(steps) for steps in plan.clients] == [count] * clients
    assert 0 < plan.at <= clients * count


@given(SEEDS, NUMBERS)
def test_another_seed_or_number_gives_another_round(seed: int, number: int) -> None:
    here = plan_round(seed, number, ["process"])
    assert plan_round(seed + 1, number, ["process"]).clients != here.clients
    assert plan_round(seed, number + 1, ["process"]).clients != here.clients


@given(SEEDS)
def test_kinds_take_turns(seed: int) -> None:
    kinds = [plan_round(seed, number, ["process", "store"]).kind for number in range(1, 5)]
    assert kinds == ["process", "store", "process", "store"]


def test_a_seed_gives_this_plan_for_good() -> None:
    plan = plan_round(7, 1, ["process"], clients=2, operations=5)
    assert (plan.at, plan.moment, plan.shift_s) == AT_SEED_7
    assert [[step.do for step in steps] for steps in plan.clients] == STEPS_OF_SEED_7


# A report that names a seed is replayed with later versions, too.
AT_SEED_7 = (5, "sent", 3177)
STEPS_OF_SEED_7 = [
    ["fetch", "fetch", "enqueue", "enqueue", "fetch"],
    ["enqueue", "complete", "complete", "cancel", "enqueue"],
]
