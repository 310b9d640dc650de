"""The clock that stands still."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ojs_worker.testing import Clock

START = datetime(2030, 1, 31, 9, tzinfo=UTC)


def test_it_begins_now_and_stands_still() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=2)
    clock = Clock()
    assert before <= clock.now <= datetime.now(UTC)
    assert clock.now == clock()


@pytest.mark.parametrize("at", [START, "2030-01-31T09:00:00Z", "2030-01-31T10:00:00+01:00"])
def test_it_can_begin_anywhere(at: Any) -> None:
    clock = Clock(at)
    assert clock.now == START
    assert clock.ms == 1_896_080_400_000


@pytest.mark.parametrize("by", [90, "90s", "PT1M30S", timedelta(seconds=90)])
def test_time_passes_by_any_duration(by: Any) -> None:
    clock = Clock(START)
    assert clock.advance(by) == clock.now == START + timedelta(seconds=90)


def test_time_passes_up_to_a_moment() -> None:
    clock = Clock(START)
    clock.advance_to("2030-02-01T00:00:00Z")
    assert clock.now == datetime(2030, 2, 1, tzinfo=UTC)
    clock.advance_to("+PT1H")
    assert clock.now == datetime(2030, 2, 1, 1, tzinfo=UTC)


def test_time_does_not_go_back() -> None:
    clock = Clock(START)
    with pytest.raises(ValueError, match="forward only; it is 2030-01-31T09:00:00"):
        clock.advance_to("2030-01-31T08:59:59Z")
    with pytest.raises(ValueError, match="`by`"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="`at` must have a time zone"):
        Clock(datetime(2030, 1, 1))  # noqa: DTZ001
    assert clock.now == START


def test_the_way_there_is_left_to_whoever_turns() -> None:
    clock, turns = Clock(START), list[int]()
    clock.turn = turns.append
    assert clock.advance("1s") == START
    assert turns == [clock.ms + 1000]
