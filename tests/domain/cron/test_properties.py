"""Schedules compared to the simplest possible rule: check every minute against the clock."""

import calendar
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ojs_server.domain.cron.expression import Schedule, missed, next_fire, parse_cron
from ojs_server.domain.errors import InvalidRequest
from ojs_wire.values import format_timestamp, parse_timestamp

MINUTE = 60_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo")
# Days within a day or so of a change in one of the zones, and quiet ones.
DAYS = (
    "2026-03-07", "2026-03-28", "2026-10-24", "2026-10-31", "2026-04-04", "2026-10-03",
    "2026-04-23", "2026-10-29", "2024-02-28", "2026-02-27", "2026-12-30", "2026-07-01",
)  # fmt: skip


class Part(NamedTuple):
    """One field as it is written, and the values that it means."""

    text: str
    values: frozenset[int]


def part(lowest: int, highest: int) -> st.SearchStrategy[Part]:
    number = st.integers(lowest, highest)
    every = frozenset(range(lowest, highest + 1))
    size = highest - lowest + 1
    return st.one_of(
        st.just(Part("*", every)),
        st.integers(1, size).map(
            lambda step: Part(f"*/{step}", frozenset(range(lowest, highest + 1, step)))
        ),
        st.lists(number, min_size=1, max_size=4).map(
            lambda values: Part(",".join(map(str, values)), frozenset(values))
        ),
        st.tuples(number, number).map(
            lambda ends: Part(
                f"{min(ends)}-{max(ends)}", frozenset(range(min(ends), max(ends) + 1))
            )
        ),
    )


class Expression(NamedTuple):
    """A whole expression that knows by itself when it matches."""

    minute: Part
    hour: Part
    day: Part
    month: Part
    weekday: Part

    @property
    def text(self) -> str:
        return " ".join(field.text for field in self)

    def matches(self, local: datetime) -> bool:
        day = local.day in self.day.values
        weekday = local.isoweekday() % 7 in {value % 7 for value in self.weekday.values}
        starred = self.day.text.startswith("*") or self.weekday.text.startswith("*")
        return (
            local.minute in self.minute.values
            and local.hour in self.hour.values
            and local.month in self.month.values
            and (day and weekday if starred else day or weekday)
        )


# Mostly many hours and months, so that a short window sees runs.
EXPRESSIONS = st.builds(
    Expression,
    part(0, 59),
    st.one_of(
        st.just(Part("*", frozenset(range(24)))),
        st.just(Part("1-3", frozenset({1, 2, 3}))),
        part(0, 23),
    ),
    part(1, 31),
    st.one_of(st.just(Part("*", frozenset(range(1, 13)))), part(1, 12)),
    part(0, 7),
)


def read(text: str) -> Schedule | str:
    """The schedule, or why the text was refused."""
    try:
        return parse_cron(text)
    except InvalidRequest as refused:
        return refused.message


def plain_runs(expression: Expression, start: int, minutes: int, zone: ZoneInfo) -> list[int]:
    """The runs in (start, start + minutes], found by looking at each minute's wall clock."""
    found = []
    for minute in range(1, minutes + 1):
        moment = start + minute * MINUTE
        local = (EPOCH + timedelta(milliseconds=moment)).astimezone(zone)
        # The second showing of a repeated time carries fold 1.
        if local.fold == 0 and expression.matches(local):
            found.append(moment)
    return found


@given(
    EXPRESSIONS, st.sampled_from(DAYS), st.sampled_from(ZONES), st.integers(0, 1440),
    st.integers(60, 3000),
)  # fmt: skip
def test_a_schedule_fires_when_every_single_minute_is_looked_at(
    expression: Expression, day: str, zone_name: str, offset: int, length: int
) -> None:
    zone = ZoneInfo(zone_name)
    start = parse_timestamp(f"{day}T00:00:00Z") + offset * MINUTE
    end = start + length * MINUTE
    expected = plain_runs(expression, start, length, zone)
    schedule = read(expression.text)
    if isinstance(schedule, str):
        assert "never fires" in schedule
        assert expected == []
        return
    found = []
    moment = next_fire(schedule, start, zone)
    while moment is not None and moment <= end:
        found.append(moment)
        moment = next_fire(schedule, moment, zone)
    assert [format_timestamp(one) for one in found] == [format_timestamp(one) for one in expected]
    assert missed(schedule, start, end, zone) == (expected[-1] if expected else None)


@given(
    st.sampled_from(["*/15 * * * *", "30 2 * * *", "0 0 L * *", "0 12 15W * FRI#2", "7 7 29 2 *"]),
    st.integers(0, 4_000_000_000_000),
    st.integers(0, 10_000_000_000),
    st.sampled_from(ZONES),
)
def test_a_later_question_never_gets_an_earlier_answer(
    expression: str, after: int, more: int, zone_name: str
) -> None:
    schedule, zone = parse_cron(expression), ZoneInfo(zone_name)
    first, second = next_fire(schedule, after, zone), next_fire(schedule, after + more, zone)
    assert first is not None
    assert second is not None
    assert after < first <= second
    assert second > after + more
    # Nothing lies between the question and its answer.
    assert next_fire(schedule, first - 1, zone) == first


@given(st.integers(1980, 2100), st.integers(1, 12), st.integers(0, 6), st.integers(1, 5))
def test_nth_and_last_weekdays_agree_with_the_calendar(
    year: int, month: int, weekday: int, nth: int
) -> None:
    weeks = calendar.Calendar(firstweekday=6).monthdayscalendar(year, month)
    days = [week[weekday] for week in weeks if week[weekday]]
    start = parse_timestamp(f"{year}-{month:02}-01T00:00:00Z") - 1
    utc = ZoneInfo("UTC")

    def first_day(text: str) -> str | None:
        moment = next_fire(parse_cron(f"0 0 * {month} {text}"), start, utc)
        return None if moment is None else format_timestamp(moment)[:10]

    assert first_day(f"{weekday}L") == f"{year}-{month:02}-{days[-1]:02}"
    if nth <= len(days):
        assert first_day(f"{weekday}#{nth}") == f"{year}-{month:02}-{days[nth - 1]:02}"


@given(st.integers(1980, 2100), st.integers(1, 12), st.integers(1, 28))
@example(1999, 2, 28)  # a Sunday: the Monday after it is in another month
@example(2026, 8, 1)  # a Saturday: the Friday before it is in another month
def test_the_nearest_weekday_of_the_month_is_found(year: int, month: int, day: int) -> None:
    start = parse_timestamp(f"{year}-{month:02}-01T00:00:00Z") - 1
    moment = next_fire(parse_cron(f"0 0 {day}W {month} *"), start, ZoneInfo("UTC"))
    assert moment is not None
    found = (EPOCH + timedelta(milliseconds=moment)).date()
    assert (found.year, found.month) == (year, month)
    days = calendar.Calendar().itermonthdays2(year, month)
    weekdays = [number for number, weekday in days if number and weekday < calendar.SATURDAY]
    assert found.day in weekdays
    assert abs(found.day - day) == min(abs(other - day) for other in weekdays)


@given(st.text("0123456789*/,-LW#SUNMOJA@every hm ", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    schedule = read(text)
    if isinstance(schedule, str):
        assert schedule.startswith("`expression` ")
        return
    moment = next_fire(schedule, 0, ZoneInfo("UTC"))
    assert moment is not None
    assert moment > 0


@pytest.mark.parametrize("expression", ["* * * * * *", "*/15 * * * *", "0 0 1 1 *"])
@pytest.mark.parametrize("zone", ZONES)
def test_a_run_is_its_own_predecessors_successor(expression: str, zone: str) -> None:
    schedule = parse_cron(expression)
    now = parse_timestamp("2026-11-01T06:30:00Z")
    run = missed(schedule, parse_timestamp("2020-01-01T00:00:00Z"), now, ZoneInfo(zone))
    assert run is not None
    following = next_fire(schedule, run, ZoneInfo(zone))
    assert following is not None
    assert run <= now < following
