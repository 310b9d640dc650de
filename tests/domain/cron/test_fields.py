"""Parsing the fields of a cron expression, and the error message for each invalid one."""

from zoneinfo import ZoneInfo

import pytest

from ojs_server.domain.cron.expression import Calendar, Every, next_fire, parse_cron
from ojs_server.domain.errors import InvalidRequest


def calendar(expression: str) -> Calendar:
    schedule = parse_cron(expression)
    assert isinstance(schedule, Calendar)
    return schedule


@pytest.mark.parametrize(
    ("minute", "values"),
    [
        ("7", {7}),
        ("*", set(range(60))),
        ("1-4", {1, 2, 3, 4}),
        ("*/20", {0, 20, 40}),
        ("5/20", {5, 25, 45}),
        ("10-20/5", {10, 15, 20}),
        ("*/60", {0}),
        ("3,1,3", {1, 3}),
        ("50-59/3,0", {0, 50, 53, 56, 59}),
    ],
)
def test_numbers_ranges_steps_and_lists(minute: str, values: set[int]) -> None:
    assert calendar(f"{minute} * * * *").minutes == tuple(sorted(values))


def test_names_in_any_case() -> None:
    assert calendar("0 0 * jan,Mar-MAY *").months == (1, 3, 4, 5)
    assert calendar("0 0 * * mon-FRI").weekdays.days == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("weekday", "days"),
    [("0", {0}), ("7", {0}), ("SUN", {0}), ("5-7", {5, 6, 0}), ("FRI-SUN", {5, 6, 0})],
)
def test_both_0_and_7_are_sunday(weekday: str, days: set[int]) -> None:
    assert calendar(f"0 0 * * {weekday}").weekdays.days == days


def test_five_fields_fire_at_second_zero_and_a_sixth_leads() -> None:
    assert calendar("1 2 * * *").seconds == (0,)
    six = calendar("*/30 1 2 * * *")
    assert (six.seconds, six.minutes, six.hours) == ((0, 30), (1,), (2,))


def test_the_special_days() -> None:
    days = calendar("0 0 L,LW,15W,3 * *").days
    assert days.last
    assert days.last_weekday
    assert days.nearest == {15}
    assert days.days == {3}
    weekdays = calendar("0 0 * * 5L,SUNL,MON#2,7#5").weekdays
    assert weekdays.last == {5, 0}
    assert weekdays.nth == {(1, 2), (0, 5)}


@pytest.mark.parametrize(
    ("alias", "expression"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("@Daily", "0 0 * * *"),
    ],
)
def test_aliases(alias: str, expression: str) -> None:
    assert parse_cron(alias) == parse_cron(expression)


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("1h30m", 5_400_000),
        ("90s", 90_000),
        ("1500ms", 1500),
        ("1s500ms", 1500),
        ("1.5h", 5_400_000),
        ("PT1H30M", 5_400_000),
        ("2d", 172_800_000),
    ],
)
def test_every(text: str, interval: int) -> None:
    assert parse_cron(f"@every {text}") == Every(interval)


@pytest.mark.parametrize(
    ("expression", "part", "message"),
    [
        ("60 * * * *", "minute", "minute `60`, which is out of range; allowed: 0-59"),
        ("99 25 32 13 8", "minute", "minute `99`, which is out of range"),
        ("0 24 * * *", "hour", "hour `24`, which is out of range; allowed: 0-23"),
        ("60 0 0 * * *", "second", "second `60`"),
        ("0 0 0 * *", "day-of-month", "day-of-month `0`, which is out of range; allowed: 1-31"),
        ("0 0 32W * *", "day-of-month", "day-of-month `32`, which is out of range"),
        ("0 0 * 13 *", "month", "allowed: 1-12 or JAN-DEC"),
        ("0 0 * * 8", "day-of-week", "allowed: 0-7 or SUN-SAT"),
        ("0 0 * * 8L", "day-of-week", "day-of-week `8`, which is out of range"),
        ("0 0 * JANN *", "month", r'`JANN`, which is not known; .*; did you mean "JAN"\?'),
        ("0 0 * * FRY", "day-of-week", r'did you mean "FRI"\?'),
        ("five 0 * * *", "minute", "minute `FIVE`, which is not known; allowed: 0-59$"),
        ("*/0 * * * *", "minute", r"step 0; allowed: 1-60"),
        ("*/61 * * * *", "minute", r"step 61; allowed: 1-60"),
        ("0 22-2 * * *", "hour", "runs backwards; write 22-23,0-2"),
        ("0 0 * * *-5", "day-of-week", "cannot be read"),
        ("0 0 ? * *", "day-of-month", "cannot be read"),
        ("5W * * * *", "minute", "cannot be read"),
        ("0 0 1--5 * *", "day-of-month", "cannot be read"),
        ("0 0 * * 1#6", "day-of-week", "must have 1 to 5 after `#`"),
        ("0 0 * * 1#0", "day-of-week", "must have 1 to 5 after `#`"),
        ("0 0 * * L", "day-of-week", "like 5L"),
        ("1,,2 * * * *", "minute", "empty list entry"),
        ("0 0 31 2 *", "day-of-month", "never fires.*`31`, month `2`"),
        ("0 0 30 2 *", "day-of-month", "never fires"),
        ("0 0 31 4,6,9,11 *", "day-of-month", "never fires"),
        ("0 0 30W FEB *", "day-of-month", "never fires"),
        ("0 0 */3 2 MON#5", "day-of-month", "never fires"),
    ],
)
def test_a_wrong_field_is_named(expression: str, part: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message) as refused:
        parse_cron(expression)
    assert refused.value.details is not None
    assert refused.value.details["field"] == "expression"
    assert refused.value.details["part"] == part


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("", 0),
        ("   ", 0),
        ("* * *", 3),
        ("not a valid cron", 4),
        ("0 0 0 0 0 0 0", 7),
    ],
)
def test_a_wrong_number_of_fields_is_refused(expression: str, count: int) -> None:
    with pytest.raises(InvalidRequest, match=rf"has {count} fields; allowed: 5 .*, or 6"):
        parse_cron(expression)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("@dayly", r'allowed after `@`: @yearly.*; did you mean "@daily"\?'),
        ("@daily 5", "allowed after `@`"),
        ("@every", "needs one duration"),
        ("@every 1h 30m", "needs one duration"),
        ("@every soon", "interval `soon`, which must be a duration"),
        ("@every 5", "interval `5`, which must be a duration"),
        ("@every 1h30", "interval `1h30`, which must be a duration"),
        ("@every 999ms", "one second or more"),
        ("@every 0s", "one second or more"),
        ("@every 800000h800000h", "a hundred years"),
        ("* " * 200, "at most 255 characters"),
        (5, "must be a string such as .*, not a number"),
        (None, "not null"),
    ],
)
def test_a_wrong_alias_interval_or_kind_is_refused(expression: object, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        parse_cron(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 29 2 *",  # in leap years
        "0 0 31 2,3 *",
        "0 0 31 2 MON",  # either day suffices
        "0 0 * 2 FRI#5",  # a leap year that starts its February on a Friday
        "0 0 L 2 *",
    ],
)
def test_what_fires_now_and_then_is_taken(expression: str) -> None:
    assert next_fire(calendar(expression), 0, ZoneInfo("UTC")) is not None
