"""Since when the store has been reachable without a gap."""

import pytest

from ojs_server.loops.reachability import GAP_MS, Reachability

AT = 1_700_000_000_000


def test_it_begins_with_the_first_answer() -> None:
    seen = Reachability()
    assert seen.observe(AT, 50) == AT
    assert seen.since == AT


def test_short_pauses_are_no_gap() -> None:
    seen = Reachability()
    seen.observe(AT, 0)
    for step in range(1, 50):
        assert seen.observe(AT + step * GAP_MS, step * GAP_MS) == AT


@pytest.mark.parametrize(
    ("store", "stopwatch"), [(GAP_MS + 1, 10), (10, GAP_MS + 1), (GAP_MS + 1, GAP_MS + 1)]
)
def test_a_gap_by_either_clock_starts_anew(store: int, stopwatch: int) -> None:
    seen = Reachability()
    seen.observe(AT, 0)
    assert seen.observe(AT + store, stopwatch) == AT + store
    assert seen.observe(AT + store + 1, stopwatch + 1) == AT + store
