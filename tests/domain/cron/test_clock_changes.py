"""Clock changes: a local time left out does not run, a repeated one runs once, the first time."""

from zoneinfo import ZoneInfo

import pytest

from ojs_server.domain.cron.expression import missed, next_fire, parse_cron, skipped_by_clock_change
from ojs_wire.values import format_timestamp, parse_timestamp

# Zone, its change, the moment just before, and the local hours that are left out or repeated:
# New York    8 March 02:00 -> 03:00     1 November 02:00 -> 01:00
# Berlin     29 March 02:00 -> 03:00    25 October  03:00 -> 02:00
# Lord Howe   4 October 02:00 -> 02:30   5 April    02:00 -> 01:30
NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"


def runs(expression: str, zone: str, after: str, until: str) -> list[str]:
    """All runs between two moments, as UTC times of day."""
    schedule, end, found = parse_cron(expression), parse_timestamp(until), []
    moment = next_fire(schedule, parse_timestamp(after), ZoneInfo(zone))
    while moment is not None and moment <= end:
        found.append(format_timestamp(moment)[5:16])
        moment = next_fire(schedule, moment, ZoneInfo(zone))
    return found


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        (NEW_YORK, "30 2 * * *", "2026-03-07T00:00:00Z", ["03-07T07:30", "03-09T06:30"]),
        (BERLIN, "30 2 * * *", "2026-03-28T00:00:00Z", ["03-28T01:30", "03-30T00:30"]),
        (LORD_HOWE, "15 2 * * *", "2026-10-02T12:00:00Z", ["10-02T15:45", "10-04T15:15"]),
    ],
)
def test_a_time_left_out_does_not_run_that_day(
    zone: str, expression: str, after: str, expected: list[str]
) -> None:
    until = f"2026-{expected[-1]}:00Z"
    assert runs(expression, zone, after, until) == expected


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        (NEW_YORK, "0 3 * * *", "2026-03-08T00:00:00Z", ["03-08T07:00", "03-09T07:00"]),
        (BERLIN, "0 3 * * *", "2026-03-28T12:00:00Z", ["03-29T01:00", "03-30T01:00"]),
        (LORD_HOWE, "30 2 * * *", "2026-10-03T12:00:00Z", ["10-03T15:30", "10-04T15:30"]),
    ],
)
def test_the_first_time_after_the_gap_runs(
    zone: str, expression: str, after: str, expected: list[str]
) -> None:
    assert runs(expression, zone, after, f"2026-{expected[-1]}:00Z") == expected


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        (NEW_YORK, "30 1 * * *", "2026-10-31T12:00:00Z", ["11-01T05:30", "11-02T06:30"]),
        (BERLIN, "30 2 * * *", "2026-10-24T12:00:00Z", ["10-25T00:30", "10-26T01:30"]),
        (LORD_HOWE, "45 1 * * *", "2026-04-04T12:00:00Z", ["04-04T14:45", "04-05T15:15"]),
    ],
)
def test_a_repeated_time_runs_once_the_first_time(
    zone: str, expression: str, after: str, expected: list[str]
) -> None:
    assert runs(expression, zone, after, f"2026-{expected[-1]}:00Z") == expected


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        # Asked in the middle of the repetition: what it repeats is past.
        (NEW_YORK, "*/30 * * * *", "2026-11-01T06:10:00Z", "11-01T07:00"),
        (BERLIN, "*/30 * * * *", "2026-10-25T01:10:00Z", "10-25T02:00"),
        (LORD_HOWE, "*/10 * * * *", "2026-04-04T15:05:00Z", "04-04T15:30"),
        (NEW_YORK, "30 1 * * *", "2026-11-01T06:29:59Z", "11-02T06:30"),
    ],
)
def test_within_the_repetition_nothing_runs_again(
    zone: str, expression: str, after: str, expected: str
) -> None:
    assert runs(expression, zone, after, f"2026-{expected}:00Z") == [expected]


@pytest.mark.parametrize(
    ("zone", "after", "until", "expected"),
    [
        # The real time between runs stays even across a gap ...
        (
            NEW_YORK,
            "2026-03-08T06:30:00Z",
            "2026-03-08T07:15:00Z",
            ["03-08T06:45", "03-08T07:00", "03-08T07:15"],
        ),
        (
            BERLIN,
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:15:00Z",
            ["03-29T00:45", "03-29T01:00", "03-29T01:15"],
        ),
        (
            LORD_HOWE,
            "2026-10-03T15:00:00Z",
            "2026-10-03T15:45:00Z",
            ["10-03T15:15", "10-03T15:30", "10-03T15:45"],
        ),
        # ... and has a rest while the clock repeats itself.
        (
            NEW_YORK,
            "2026-11-01T05:30:00Z",
            "2026-11-01T07:15:00Z",
            ["11-01T05:45", "11-01T07:00", "11-01T07:15"],
        ),
        (
            BERLIN,
            "2026-10-25T00:30:00Z",
            "2026-10-25T02:15:00Z",
            ["10-25T00:45", "10-25T02:00", "10-25T02:15"],
        ),
        (
            LORD_HOWE,
            "2026-04-04T14:30:00Z",
            "2026-04-04T15:45:00Z",
            ["04-04T14:45", "04-04T15:30", "04-04T15:45"],
        ),
    ],
)
def test_every_quarter_of_an_hour(zone: str, after: str, until: str, expected: list[str]) -> None:
    assert runs("*/15 * * * *", zone, after, until) == expected


def test_utc_and_intervals_keep_an_even_beat() -> None:
    after, until = "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"
    expected = ["11-01T05:45", "11-01T06:00", "11-01T06:15", "11-01T06:30"]
    assert runs("*/15 * * * *", "UTC", after, until) == expected
    assert runs("@every 15m", NEW_YORK, after, until) == expected


def test_a_day_left_out_whole_does_not_run() -> None:
    # Samoa crossed the date line: 30 December 2011 did not happen there.
    after, until = "2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z"
    expected = ["12-29T22:00", "12-30T22:00", "12-31T22:00"]
    assert runs("0 12 * * *", "Pacific/Apia", after, until) == expected
    schedule = parse_cron("0 12 30 12 *")
    assert next_fire(schedule, parse_timestamp(after), ZoneInfo("Pacific/Apia")) == parse_timestamp(
        "2012-12-29T22:00:00Z"
    )


@pytest.mark.parametrize(
    ("zone", "expression", "after", "until", "expected"),
    [
        (NEW_YORK, "30 2 * * *", "2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z", "03-08T02:30"),
        (BERLIN, "*/15 * * * *", "2026-03-29T00:45:00Z", "2026-03-29T01:00:00Z", "03-29T02:00"),
        (LORD_HOWE, "15 2 * * *", "2026-10-02T16:00:00Z", "2026-10-04T16:00:00Z", "10-04T02:15"),
        (NEW_YORK, "30 3 * * *", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z", None),
        (NEW_YORK, "30 1 * * *", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z", None),
        (NEW_YORK, "30 2 9 3 *", "2026-03-07T07:30:00Z", "2026-03-08T12:00:00Z", None),
        (NEW_YORK, "30 2 * 3 SUN#2", "2026-03-09T12:00:00Z", "2027-03-01T12:00:00Z", None),
        ("UTC", "30 2 8 3 *", "2026-03-07T12:00:00Z", "2066-03-09T12:00:00Z", None),
    ],
)
def test_what_a_clock_change_swallowed_is_told(
    zone: str, expression: str, after: str, until: str, expected: str | None
) -> None:
    schedule = parse_cron(expression)
    local = skipped_by_clock_change(
        schedule, parse_timestamp(after), parse_timestamp(until), ZoneInfo(zone)
    )
    assert (None if local is None else local.isoformat()[5:16]) == expected


def test_catching_up_keeps_to_the_rules_of_clock_changes() -> None:
    zone = ZoneInfo(NEW_YORK)
    half_past_two = parse_cron("30 2 * * *")
    run = missed(
        half_past_two,
        parse_timestamp("2026-03-07T12:00:00Z"),
        parse_timestamp("2026-03-08T20:00:00Z"),
        zone,
    )
    assert run is None
    quarter = parse_cron("*/15 * * * *")
    run = missed(
        quarter,
        parse_timestamp("2026-11-01T00:00:00Z"),
        parse_timestamp("2026-11-01T06:40:00Z"),
        zone,
    )
    assert run == parse_timestamp("2026-11-01T05:45:00Z")
