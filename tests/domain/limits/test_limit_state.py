"""The arithmetic of rate limits: never more than allowed, and never closed for ever."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.limits import limit_state as limits
from ojs_server.domain.limits.limit_state import MOMENTS, Capacity, Limit, capacity, start
from ojs_server.domain.limits.rate_limit import Policy, Window

NOW = 1_700_000_000_000

steps = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 5)), max_size=200)
windows = st.builds(Window, st.integers(1, 8), st.integers(1, 1000))


def played(limit: Limit, asked: Sequence[tuple[int, int]]) -> list[int]:
    """Time passes and so many want to start, again and again; the moments of those that did."""
    now, starts = NOW, []
    for pause, wanted in asked:
        now += pause
        free = capacity(limit, now).count
        count = wanted if free is None else min(wanted, free)
        if count:
            limit = start(limit, now, count)
            starts += [now] * count
    return starts


# A busy machine may take its time.
@given(windows, steps)
def test_no_stretch_of_a_period_holds_more_starts_than_the_rate(
    window: Window, asked: list[tuple[int, int]]
) -> None:
    starts = played(Limit("k", Policy(rate=window)), asked)
    for first in starts:
        inside = [at for at in starts if first <= at < first + window.period_ms]
        assert len(inside) <= window.limit


@given(st.integers(MOMENTS, 300), st.integers(1, 20))
def test_a_rate_with_many_starts_stays_within_its_limit_and_memory(most: int, pause: int) -> None:
    limit = Limit("k", Policy(rate=Window(most, 1000)))
    starts: list[int] = []
    for step in range(2 * most):
        now = NOW + step * pause
        if capacity(limit, now).count:
            limit = start(limit, now)
            starts.append(now)
        assert len(limit.starts) <= MOMENTS
    assert all(sum(first <= at < first + 1000 for at in starts) <= most for first in starts)


@given(windows, steps)
def test_throttled_starts_keep_their_distance(window: Window, asked: list[tuple[int, int]]) -> None:
    starts = played(Limit("k", Policy(throttle=window)), asked)
    gap = window.period_ms / window.limit
    for index, at in enumerate(starts):
        for count, later in enumerate(starts[index + 1 :], start=1):
            # Moments are whole milliseconds.
            assert later - at > gap * count - 1


@given(windows, windows, st.integers(1, 5), steps)
def test_a_key_closed_by_time_opens_at_the_moment_it_names_and_not_before(
    rate: Window, throttle: Window, concurrency: int, asked: list[tuple[int, int]]
) -> None:
    limit = Limit("k", Policy(None, rate, throttle), held_until=NOW + concurrency)
    now = NOW
    for pause, wanted in asked:
        now += pause
        found = capacity(limit, now)
        if found.count == 0:
            assert found.opens_at is not None
            assert capacity(limit, found.opens_at).count != 0
            assert capacity(limit, found.opens_at - 1).count == 0
        else:
            limit = start(limit, now, min(wanted, found.count or wanted))


@given(st.integers(0, 5), st.lists(st.booleans(), max_size=60))
def test_no_more_run_than_the_concurrency(most: int, story: list[bool]) -> None:
    limit, running = Limit("k", Policy(most)), 0
    for begins in story:
        if begins and capacity(limit, NOW).count:
            limit, running = start(limit, NOW), running + 1
        elif not begins and running:
            limit, running = limits.finish(limit, 1), running - 1
        assert limit.active == running <= most
        assert capacity(limit, NOW).count == most - running


def test_what_waits_for_a_job_to_end_is_not_opened_by_time() -> None:
    limit = Limit("k", Policy(1, Window(1, 1000)))
    full = start(limit, NOW)
    assert capacity(full, NOW) == Capacity(0, "concurrency", 1, 1)
    assert capacity(limits.finish(full, 1), NOW) == Capacity(0, "rate", 1, 1, NOW + 1000)


def test_a_level_4_case_gets_its_second_job_within_a_second_and_a_half() -> None:
    limit = start(Limit("k", Policy(rate=Window(1, 1000))), NOW + 990)
    assert capacity(limit, NOW + 1000).count == 0
    assert capacity(limit, NOW + 1989).count == 0
    assert capacity(limit, NOW + 1990).count == 1


def test_a_throttle_spreads_what_a_rate_would_let_through_at_once() -> None:
    window = Window(10, 1000)
    assert capacity(Limit("k", Policy(rate=window)), NOW).count == 10
    throttled = Limit("k", Policy(throttle=window))
    assert capacity(throttled, NOW).count == 1
    after = start(throttled, NOW)
    assert capacity(after, NOW).opens_at == NOW + 100


def test_a_fast_throttle_lets_several_start_within_a_millisecond() -> None:
    assert capacity(Limit("k", Policy(throttle=Window(4000, 1000))), NOW).count == 4


def test_a_hold_closes_a_key_and_only_grows() -> None:
    limit = limits.hold(limits.hold(Limit("k"), NOW + 50), NOW + 20)
    assert capacity(limit, NOW) == Capacity(0, "hold", opens_at=NOW + 50)
    assert capacity(limit, NOW + 50).count is None


@pytest.mark.parametrize(
    ("override", "until", "free"),
    [(Policy(5), None, 5), (Policy(5), 10, 5), (Policy(5), 0, 1), (Policy(0), 10, 0)],
)
def test_an_override_counts_while_it_lasts(override: Policy, until: int | None, free: int) -> None:
    limit = Limit(
        "k",
        Policy(1),
        override=override,
        override_until=None if until is None else NOW + until,
    )
    assert capacity(limit, NOW).count == free


def test_a_key_closed_by_an_override_opens_when_that_ends() -> None:
    limit = Limit("k", Policy(1), override=Policy(0), override_until=NOW + 10)
    assert capacity(limit, NOW).opens_at == NOW + 10
    assert capacity(limit, NOW + 10).count == 1


def test_a_limit_tells_its_present_stretch() -> None:
    limit = start(start(Limit("k", Policy(rate=Window(5, 1000))), NOW), NOW + 300, 2)
    assert limits.started(limit, NOW + 999) == 3
    assert limits.resets_at(limit, NOW + 999) == NOW + 1000
    assert limits.started(limit, NOW + 1000) == 2
    assert limits.resets_at(limit, NOW + 2000) is None
    assert limits.started(Limit("k"), NOW) == 0
    assert limits.resets_at(Limit("k"), NOW) is None


def test_a_policy_that_is_lowered_holds_back_until_enough_has_ended() -> None:
    limit = start(Limit("k", Policy(3)), NOW, 3)
    lowered = msgspec.structs.replace(limit, policy=Policy(1))
    assert capacity(limits.finish(lowered, 2), NOW).count == 0
    assert capacity(limits.finish(lowered, 3), NOW).count == 1
