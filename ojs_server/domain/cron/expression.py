"""Cron expressions and when they fire.

A schedule is a set of local wall-clock times, and each of them runs at most once:

    local time        2026-03-08 in New York         2026-11-01 in New York
    `30 2 * * *`      02:30 does not exist: no run   one run
    `30 1 * * *`      one run                        01:30 comes twice: the first runs
    `*/15 * * * *`    01:45, then 03:00              01:45 EDT, then 02:00 EST: none in between

So an expression that fires all day pauses while an hour is repeated; `@every` and the zone UTC keep
a constant interval. If both day fields are restricted, a day matches if either field does. A field
that starts with `*` does not count as restricted, and then both must match, as in crontab(5).
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from ojs_server.domain.cron.fields import (
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    DaysOfMonth,
    DaysOfWeek,
    parse_days_of_month,
    parse_days_of_week,
    parse_numbers,
)
from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.suggestions import nearest
from ojs_wire.values import MAX_NAME, MAX_TIME, kind_of, parse_duration

ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
# Least interval of `@every`, in milliseconds.
MIN_INTERVAL: Final = 1000

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ONE_MS: Final = timedelta(milliseconds=1)
# All fourteen calendars (leap or not, times seven weekdays) occur in the 28 years from 2000 on, and
# in any 40 years, even across a century without its leap day.
_ALL_CALENDARS: Final = 28
_HORIZON: Final = 41
_EVERY: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+", re.ASCII)
_AMOUNT: Final = re.compile(r"\d+(?:\.\d+)?[a-z]+", re.ASCII)


class Calendar(msgspec.Struct, frozen=True):
    """An expression of five or six fields."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: DaysOfMonth
    months: tuple[int, ...]
    weekdays: DaysOfWeek


class Every(msgspec.Struct, frozen=True):
    """`@every`: an even interval, counted from the registration, then from run to run."""

    interval_ms: int


Schedule = Calendar | Every


def parse_cron(given: object) -> Schedule:
    """Check an expression; an InvalidRequest names the field that is wrong."""
    if not isinstance(given, str):
        raise invalid("expression", f"must be a string such as `*/5 * * * *`, not {kind_of(given)}")
    if len(given) > MAX_NAME:
        raise invalid("expression", f"must have at most {MAX_NAME} characters")
    words = given.split()
    if words and words[0].startswith("@"):
        alias = words[0].lower()
        if alias == "@every":
            return _parse_every(words[1:])
        if alias not in ALIASES or len(words) > 1:
            known = [*ALIASES, "@every"]
            raise invalid(
                "expression",
                f"is `{given}`; allowed after `@`: {', '.join(known)} 1h30m{nearest(alias, known)}",
            )
        words = ALIASES[alias].split()
    return _parse_calendar(words)


def next_fire(schedule: Schedule, after: int, zone: ZoneInfo) -> int | None:
    """Return the first moment after `after` at which the schedule fires; None if there is none."""
    if isinstance(schedule, Every):
        moment = after + schedule.interval_ms
        return moment if moment <= MAX_TIME else None
    for local in _local_times(schedule, _wall_clock(after, zone)):
        fires = _first_instant(local, zone)
        if fires is not None and fires > after:
            return fires
    return None


def missed(schedule: Schedule, since: int, now: int, zone: ZoneInfo) -> int | None:
    """Return the newest due time after `since`, which alone is caught up on after a pause.

    `next_fire` of it is in the future.
    """
    if isinstance(schedule, Every):
        intervals = (now - since) // schedule.interval_ms
        return since + intervals * schedule.interval_ms if intervals > 0 else None
    due, newest = since, now
    if not _fires_within(schedule, due, now, zone):
        return None
    # Invariant: there is a due time after `due`, and none after `newest`.
    while newest - due > 1:
        middle = (due + newest) // 2
        if _fires_within(schedule, middle, now, zone):
            due = middle
        else:
            newest = middle
    return newest


def skipped_by_clock_change(
    schedule: Schedule, after: int, until: int, zone: ZoneInfo
) -> datetime | None:
    """Return the first scheduled local time that a clock change skipped between two moments."""
    if isinstance(schedule, Every):
        return None
    end = _wall_clock(until, zone)
    for local in _local_times(schedule, _wall_clock(after, zone)):
        if local > end:
            break
        if _first_instant(local, zone) is None:
            return local
    return None


def _parse_every(words: list[str]) -> Every:
    if len(words) != 1:
        raise invalid("expression", "needs one duration after `@every`, like `@every 1h30m`")
    text = words[0]
    try:
        parts = _AMOUNT.findall(text) if _EVERY.fullmatch(text) else [text]
        interval = sum(parse_duration(part) for part in parts)
        parse_duration(interval, 1)
    except ValueError as error:
        raise invalid("expression", f"has the interval `{text}`, which {error}") from None
    if interval < MIN_INTERVAL:
        raise invalid("expression", f"has the interval `{text}`; allowed: one second or more")
    return Every(interval)


def _parse_calendar(words: list[str]) -> Calendar:
    if len(words) not in (5, 6):
        raise invalid(
            "expression",
            f"has {len(words)} fields; allowed: 5 (minute, hour, day-of-month, month, "
            "day-of-week), or 6 with the second first",
            allowed=[5, 6],
        )
    second, minute, hour, day, month, weekday = words if len(words) == 6 else ["0", *words]
    calendar = Calendar(
        seconds=parse_numbers(SECOND, second),
        minutes=parse_numbers(MINUTE, minute),
        hours=parse_numbers(HOUR, hour),
        days=parse_days_of_month(day),
        months=parse_numbers(MONTH, month),
        weekdays=parse_days_of_week(weekday),
    )
    if next(_dates(calendar, date(2000, 1, 1), _ALL_CALENDARS), None) is None:
        raise _impossible(day, month, weekday)
    return calendar


def _impossible(day: str, month: str, weekday: str) -> InvalidRequest:
    return invalid(
        "expression",
        f"never fires: no year has a date with day-of-month `{day}`, month `{month}` and "
        f"day-of-week `{weekday}`; February has at most 29 days, April, June, September and "
        "November have 30",
        part="day-of-month",
        given=day,
    )


def _fires_within(schedule: Schedule, after: int, until: int, zone: ZoneInfo) -> bool:
    moment = next_fire(schedule, after, zone)
    return moment is not None and moment <= until


def _wall_clock(moment: int, zone: ZoneInfo) -> datetime:
    return (_EPOCH + moment * _ONE_MS).astimezone(zone).replace(tzinfo=None, fold=0)


def _first_instant(local: datetime, zone: ZoneInfo) -> int | None:
    """Return the first instant of the wall-clock time `local`; None if a clock change skips it."""
    instant = local.replace(tzinfo=zone).astimezone(UTC)
    moment = (instant - _EPOCH) // _ONE_MS
    return moment if _wall_clock(moment, zone) == local else None


def _local_times(calendar: Calendar, after: datetime) -> Iterator[datetime]:
    """Yield the wall-clock times after `after`, in order."""
    today = after.date()
    for day in _dates(calendar, today, _HORIZON):
        for hour in calendar.hours:
            if day == today and hour < after.hour:
                continue
            for minute in calendar.minutes:
                if day == today and (hour, minute) < (after.hour, after.minute):
                    continue
                for second in calendar.seconds:
                    local = datetime.combine(day, time(hour, minute, second))
                    if local > after:
                        yield local


def _dates(calendar: Calendar, start: date, years: int) -> Iterator[date]:
    """Yield the dates from `start` on, in order, for a number of years."""
    for year in range(start.year, start.year + years):
        for month in calendar.months:
            if (year, month) < (start.year, start.month):
                continue
            for day in _days(calendar, year, month):
                if (found := date(year, month, day)) >= start:
                    yield found


def _days(calendar: Calendar, year: int, month: int) -> list[int]:
    by_date = _days_by_date(calendar.days, year, month)
    by_weekday = _days_by_weekday(calendar.weekdays, year, month)
    if calendar.days.star or calendar.weekdays.star:
        return sorted(by_date & by_weekday)
    return sorted(by_date | by_weekday)


def _days_by_date(listed: DaysOfMonth, year: int, month: int) -> set[int]:
    first, length = monthrange(year, month)
    days = {day for day in listed.days if day <= length}
    if listed.last:
        days.add(length)
    near = {day for day in listed.nearest if day <= length}
    if listed.last_weekday:
        near.add(length)
    for day in near:
        # monthrange counts from Monday. A weekend day moves to the nearest weekday of the same
        # month.
        match (first + day - 1) % 7:
            case 5:
                days.add(day - 1 if day > 1 else day + 2)
            case 6:
                days.add(day + 1 if day < length else day - 2)
            case _:
                days.add(day)
    return days


def _days_by_weekday(listed: DaysOfWeek, year: int, month: int) -> set[int]:
    first, length = monthrange(year, month)
    days = set()
    for day in range(1, length + 1):
        # `weekday`: Sunday is 0 in cron, 6 in monthrange.
        weekday = (first + day) % 7
        nth = (day + 6) // 7
        if (
            weekday in listed.days
            or (weekday, nth) in listed.nth
            or (weekday in listed.last and day > length - 7)
        ):
            days.add(day)
    return days
