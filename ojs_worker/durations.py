"""Conversion of durations and times from Python's types."""

from datetime import datetime, timedelta

from ojs_wire.values import format_timestamp, parse_duration, parse_moment

# A timedelta, a number of seconds, or a text such as `90s`, `5m` or `PT1M30S`.
Duration = timedelta | float | str
# A datetime with a time zone, or a timestamp such as `2026-01-31T09:00:00Z`.
Moment = datetime | str


def milliseconds(value: Duration, name: str) -> int:
    """Read a timedelta, a number of seconds, or a text such as `90s`, `5m` or `PT1M30S`."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    try:
        return parse_duration(value, 1000)
    except ValueError as error:
        raise ValueError(f"`{name}` {error}") from None


def moment(value: Moment, name: str) -> str:
    """Return a time in its form on the wire; a datetime needs its time zone."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"`{name}` must have a time zone, such as datetime.now(UTC)")
        return format_timestamp(int(value.timestamp() * 1000))
    try:
        parse_moment(value, 0)
    except ValueError as error:
        raise ValueError(f"`{name}` {error}") from None
    return value
