"""Statistics: sums for both steps, spans without gaps, quantiles and rates."""

import pytest

from ojs_server.domain.admin.statistics import (
    ALL,
    BOUNDS,
    HOUR_MS,
    MINUTE_MS,
    Count,
    Period,
    by_steps,
    per_minute,
    quantile,
    spans,
)

NOON = 1_750_075_200_000


def test_a_count_goes_into_both_steps_of_its_queue_and_of_all() -> None:
    at = NOON + 5 * MINUTE_MS
    counts = [Count("a", at, "processed", 3, 2), Count("b", at, "processed", 3, 5)]
    assert by_steps(counts) == {
        (MINUTE_MS, "a", at, "processed", 3): 2,
        (MINUTE_MS, "b", at, "processed", 3): 5,
        (MINUTE_MS, ALL, at, "processed", 3): 7,
        (HOUR_MS, "a", NOON, "processed", 3): 2,
        (HOUR_MS, "b", NOON, "processed", 3): 5,
        (HOUR_MS, ALL, NOON, "processed", 3): 7,
    }


def test_spans_have_no_gaps_and_add_up() -> None:
    counts = [
        Count(ALL, NOON, "processed", 0, 1),
        Count(ALL, NOON + MINUTE_MS, "processed", 0, 2),
        Count(ALL, NOON + MINUTE_MS, "processed", 4, 1),
        Count(ALL, NOON + MINUTE_MS, "failed", 0, 4),
        Count(ALL, NOON + 11 * MINUTE_MS, "enqueued", 0, 6),
    ]
    five = 5 * MINUTE_MS
    assert spans(counts, five, NOON + 1, NOON + 2 * five + 1) == [
        Period(NOON, processed=4, failed=4, runs={0: 3, 4: 1}),
        Period(NOON + five),
        Period(NOON + 2 * five, enqueued=6),
    ]


@pytest.mark.parametrize(
    ("runs", "part", "answer"),
    [
        ({}, 0.5, None),
        ({0: 10}, 0.5, 2),
        ({0: 10}, 1, 5),
        ({0: 50, 3: 50}, 0.99, 50),
        ({len(BOUNDS): 1}, 0.5, 2_700_000),
    ],
)
def test_quantiles_lie_within_their_bucket(
    runs: dict[int, int], part: float, answer: int | None
) -> None:
    found = quantile(runs, part)
    assert found == (None if answer is None else pytest.approx(answer, abs=1))


def test_a_rate_looks_back_over_one_minute() -> None:
    minutes = [Period(NOON - MINUTE_MS, processed=60), Period(NOON, processed=10)]
    assert per_minute(minutes, NOON, "processed") == 70
    assert per_minute(minutes, NOON + 45_000, "processed") == 25
    assert per_minute(minutes[1:], NOON + 45_000, "processed") == 10
    assert per_minute([], NOON, "processed") == 0
