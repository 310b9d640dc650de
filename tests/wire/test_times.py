"""Timestamps and relative times."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_wire.values import MAX_TIME, format_timestamp, parse_moment, parse_timestamp

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01t00:00:01z", 1000),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T00:00:00.123456789Z", 123),
        ("1970-01-01T00:00:00.999999999999999999999Z", 999),
        ("1970-01-01T23:59:00+23:59", 0),
        ("2024-02-29T12:00:00Z", 1_709_208_000_000),
        ("2030-01-31T09:00:00+05:30", 1_896_060_600_000),
        ("9999-12-31T23:59:59.999Z", MAX_TIME),
    ],
)
def test_moments_are_read(text: str, moment: int) -> None:
    assert parse_timestamp(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2030-01-31",
        "2030-01-31T09:00:00",
        "2030-01-31T09:00Z",
        "2030-01-31 09:00:00Z",
        "2030-01-31T09:00:00 Z",
        "2030-01-31T09:00:00.Z",
        "2030-01-31T09:00:00,5Z",
        "2030-01-31T09:00:00+0100",
        "2030-01-31T09:00:00+01",
        "2030-01-31T24:00:00Z",
        "2030-01-31T09:60:00Z",
        "2030-01-31T09:00:00+05:99",
        "2030-01-31T09:00:00+24:00",
        "20300131T090000Z",
        "02030-01-31T09:00:00Z",
        "2030-01-31T09:00:00Z\n",
        "\u0662030-01-31T09:00:00Z",
        "tomorrow",
    ],
)
def test_other_spellings_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="like 2030-01-31T09:00:00Z"):
        parse_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        "2030-02-30T09:00:00Z",
        "2023-02-29T09:00:00Z",
        "2030-13-01T09:00:00Z",
        "2030-00-01T09:00:00Z",
        "2016-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
    ],
)
def test_moments_that_never_were_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a valid time"):
        parse_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        "1969-12-31T23:59:59Z",
        "1969-12-31T23:59:59.999Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-00:01",
    ],
)
def test_years_that_cannot_be_written_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="between 1970 and 9999"):
        parse_timestamp(text)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1000, "1970-01-01T00:00:01Z"),
        (1_700_000_000_120, "2023-11-14T22:13:20.120Z"),
        (MAX_TIME, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_the_fraction_is_left_out_when_zero_and_else_has_three_digits(
    moment: int, text: str
) -> None:
    assert format_timestamp(moment) == text


@given(st.integers(0, MAX_TIME))
def test_every_moment_returns_from_its_text(moment: int) -> None:
    text = format_timestamp(moment)
    assert parse_timestamp(text) == moment
    assert datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000 == pytest.approx(
        moment, abs=1
    )


@given(st.integers(DAY, MAX_TIME - DAY), st.integers(1 - 24 * 60, 24 * 60 - 1))
def test_an_offset_changes_the_text_and_not_the_moment(moment: int, offset: int) -> None:
    local = format_timestamp(moment + offset * 60_000).removesuffix("Z")
    hours, minutes = divmod(abs(offset), 60)
    zone = f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    assert parse_timestamp(local + zone) == moment


def test_relative_times_count_from_now() -> None:
    assert parse_moment("+PT5S", 1_000) == 6_000
    assert parse_moment("+500ms", 1_000) == 1_500
    assert parse_moment("1970-01-01T00:00:07Z", 1_000) == 7_000
    assert parse_moment("+P100W", MAX_TIME - 1) == MAX_TIME


@pytest.mark.parametrize("value", [None, 5, True, [], {}, 1.5])
def test_a_moment_is_a_text(value: object) -> None:
    with pytest.raises(ValueError, match="must be a timestamp or a relative time such as"):
        parse_moment(value, 0)


@pytest.mark.parametrize("text", ["+", "+5", "+PT", "+-PT5S", "++PT5S", "-PT5S", "PT5S"])
def test_a_relative_time_is_a_plus_and_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_moment(text, 0)
