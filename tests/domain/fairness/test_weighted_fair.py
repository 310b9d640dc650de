"""Weighted fair scheduling: turns in proportion to weights, and the bound on waiting."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.fairness.weighted_fair import MOST, FairScheduler, Schedulers

WEIGHTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 50), min_size=2)


@given(WEIGHTS, st.integers(1, 300))
def test_between_two_turns_of_one_no_other_has_more_than_its_share(
    weights: dict[str, int], count: int
) -> None:
    turns = FairScheduler()
    taken = [turns.take(weights, weights) for _ in range(count)]
    for name in weights:
        places = [place for place, one in enumerate(taken) if one == name]
        for start, end in pairwise(places):
            between = Counter(taken[start + 1 : end])
            for other, times in between.items():
                assert times <= weights[other] // weights[name] + 1


@given(WEIGHTS, st.integers(1, 5))
def test_whole_rounds_are_shared_by_weight(weights: dict[str, int], rounds: int) -> None:
    turns, total = FairScheduler(), sum(weights.values())
    taken = Counter(turns.take(weights, weights) for _ in range(rounds * total))
    for name, weight in weights.items():
        # Strides are rounded, so the last turns of a round may fall to the next one.
        assert abs(taken[name] - rounds * weight) <= len(weights)


@given(st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=60))
def test_only_those_who_want_a_turn_have_one(wanting: list[set[str]]) -> None:
    turns = FairScheduler()
    assert all(turns.take(names, {}) in names for names in wanting)


def test_who_comes_back_has_saved_nothing_up() -> None:
    turns = FairScheduler()
    for _ in range(100):
        turns.take(["a"], {})
    taken = [turns.take(["a", "b"], {}) for _ in range(10)]
    assert Counter(taken) == {"a": 5, "b": 5}


def test_a_weight_of_nothing_waits_for_all_others() -> None:
    turns = FairScheduler()
    assert [turns.take(["a", "b"], {"a": 0}) for _ in range(3)] == ["b", "b", "b"]
    assert turns.take(["a"], {"a": 0}) == "a"


def test_what_is_remembered_is_bounded() -> None:
    schedulers = Schedulers()
    for number in range(MOST + 5):
        schedulers.of(f"q{number}")
        schedulers.leave_off(f"q{number}", "t")
    assert schedulers.left_off("q0") == "t"
    assert schedulers.left_off(f"q{MOST + 1}") == ""
    schedulers.leave_off("q0", "")
    assert schedulers.left_off("q0") == ""
