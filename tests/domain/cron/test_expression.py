"""Fire times of schedules: calendars, leap years, both kinds of day, and catching up."""

from zoneinfo import ZoneInfo

import pytest

from ojs_server.domain.cron.expression import missed, next_fire, parse_cron, skipped_by_clock_change
from ojs_wire.values import MAX_TIME, format_timestamp, parse_timestamp

UTC = ZoneInfo("UTC")


def fires(expression: str, after: str, count: int, zone: ZoneInfo = UTC) -> list[str]:
    """The next runs, without the seconds' end."""
    schedule, moment, found = parse_cron(expression), parse_timestamp(after), []
    for _ in range(count):
        following = next_fire(schedule, moment, zone)
        assert following is not None
        found.append(format_timestamp(following))
        moment = following
    return found


def days(expression: str, after: str, count: int) -> list[str]:
    return [moment[:10] for moment in fires(f"0 0 {expression}", after, count)]


def test_the_moment_itself_is_past() -> None:
    assert fires("0 9 * * *", "2026-01-05T08:59:59.999Z", 1) == ["2026-01-05T09:00:00Z"]
    assert fires("0 9 * * *", "2026-01-05T09:00:00Z", 1) == ["2026-01-06T09:00:00Z"]
    assert fires("0 9 * * *", "2026-01-05T09:00:00.001Z", 1) == ["2026-01-06T09:00:00Z"]


def test_seconds() -> None:
    assert fires("*/25 59 23 31 12 *", "2026-12-31T23:59:10Z", 3) == [
        "2026-12-31T23:59:25Z",
        "2026-12-31T23:59:50Z",
        "2027-12-31T23:59:00Z",
    ]


def test_hours_are_those_of_the_zone() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    assert fires("0 9 * * *", "2026-01-05T00:00:00Z", 1, tokyo) == ["2026-01-06T00:00:00Z"]


def test_a_leap_day_comes_every_four_years_but_not_in_2100() -> None:
    assert days("29 2 *", "2026-01-01T00:00:00Z", 2) == ["2028-02-29", "2032-02-29"]
    assert days("29 2 *", "2096-03-01T00:00:00Z", 1) == ["2104-02-29"]


def test_a_leap_day_on_one_weekday_is_found_across_a_century() -> None:
    # 2072 and 2112 are neighbours: Mondays of 29 February, forty years apart.
    assert days("* 2 MON#5", "2072-03-01T00:00:00Z", 1) == ["2112-02-29"]


def test_day_31_skips_short_months() -> None:
    expected = ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31"]
    assert days("31 * *", "2026-01-01T00:00:00Z", 4) == expected


def test_either_day_suffices_when_both_are_restricted() -> None:
    expected = ["2026-06-05", "2026-06-12", "2026-06-13", "2026-06-19"]
    assert days("13 6 FRI", "2026-06-01T00:00:00Z", 4) == expected


def test_both_days_must_agree_when_one_starts_with_a_star() -> None:
    assert days("*/2 6 FRI", "2026-06-01T00:00:00Z", 2) == ["2026-06-05", "2026-06-19"]
    assert days("13 * */5", "2026-01-01T00:00:00Z", 2) == ["2026-02-13", "2026-03-13"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("L * *", ["2026-02-28", "2026-03-31"]),
        ("LW * *", ["2026-02-27", "2026-03-31"]),  # 28 February is a Saturday
        ("14W 2 *", ["2026-02-13"]),  # a Saturday moves back
        ("15W 2 *", ["2026-02-16"]),  # a Sunday moves on
        ("16W 2 *", ["2026-02-16"]),
        ("1W 8 *", ["2026-08-03"]),  # never into the month before
        ("31W 5 *", ["2026-05-29"]),  # nor into the month after
        ("* * FRIL", ["2026-02-27", "2026-03-27"]),
        ("* * 0#2", ["2026-02-08", "2026-03-08"]),
        ("* * MON#5", ["2026-03-30", "2026-06-29"]),
        ("1 * MON#1", ["2026-02-01", "2026-02-02", "2026-03-01", "2026-03-02"]),
    ],
)
def test_special_days(expression: str, expected: list[str]) -> None:
    assert days(expression, "2026-01-31T12:00:00Z", len(expected)) == expected


def test_an_interval_counts_from_the_last_run() -> None:
    assert fires("@every 1h30m", "2026-01-05T00:00:10Z", 2) == [
        "2026-01-05T01:30:10Z",
        "2026-01-05T03:00:10Z",
    ]
    assert next_fire(parse_cron("@every 2s"), MAX_TIME - 1000, UTC) is None


def test_a_local_time_that_never_exists_never_fires() -> None:
    # The second Sunday of March is the day on which New York's clocks leave this hour out.
    zone = ZoneInfo("America/New_York")
    schedule = parse_cron("30 2 * 3 SUN#2")
    assert next_fire(schedule, parse_timestamp("2026-01-01T00:00:00Z"), zone) is None


@pytest.mark.parametrize(
    ("expression", "since", "now", "expected"),
    [
        ("0 0 * * *", "2026-01-01T00:00:00Z", "2026-01-04T12:00:00Z", "2026-01-04T00:00:00Z"),
        ("0 0 * * *", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("0 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T23:59:59.999Z", None),
        ("0 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", None),
        ("* * * * * *", "2020-01-01T00:00:00Z", "2026-01-01T00:00:00.500Z", "2026-01-01T00:00:00Z"),
        ("@every 1h", "2026-01-01T00:10:00Z", "2026-01-01T05:00:00Z", "2026-01-01T04:10:00Z"),
        ("@every 1h", "2026-01-01T00:10:00Z", "2026-01-01T01:10:00Z", "2026-01-01T01:10:00Z"),
        ("@every 1h", "2026-01-01T00:10:00Z", "2026-01-01T01:09:59Z", None),
        ("@every 1h", "2026-01-01T00:10:00Z", "2025-12-01T00:00:00Z", None),
    ],
)
def test_one_run_makes_up_for_a_pause(
    expression: str, since: str, now: str, expected: str | None
) -> None:
    schedule = parse_cron(expression)
    run = missed(schedule, parse_timestamp(since), parse_timestamp(now), UTC)
    assert (None if run is None else format_timestamp(run)) == expected
    following = next_fire(schedule, run or parse_timestamp(now), UTC)
    assert following is not None
    assert following > parse_timestamp(now)


def test_an_interval_swallows_no_local_time() -> None:
    schedule = parse_cron("@every 1h")
    year = 365 * 86_400_000
    assert skipped_by_clock_change(schedule, 0, year, ZoneInfo("America/New_York")) is None
