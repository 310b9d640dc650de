"""Durations in all spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_wire.values import MAX_DURATION, format_duration, parse_duration

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT0S", 0),
        ("PT1S", 1000),
        ("PT0.5S", 500),
        ("PT0.0004S", 0),
        ("PT1.9999S", 2000),
        ("PT5M", 300_000),
        ("PT1H", 3_600_000),
        ("PT1H30M15.25S", 5_415_250),
        ("P1D", DAY),
        ("P1DT1H", DAY + 3_600_000),
        ("P2W", 14 * DAY),
        ("P1M", 30 * DAY),
        ("P1Y", 365 * DAY),
        ("P1Y2M3W4DT5H6M7S", (365 + 60 + 21 + 4) * DAY + 18_367_000),
        ("PT99999S", 99_999_000),
        ("P100Y", MAX_DURATION),
        ("12m", 720_000),
        ("90s", 90_000),
        ("500ms", 500),
        ("1.5h", 5_400_000),
        ("2d", 2 * DAY),
        ("0s", 0),
    ],
)
def test_texts(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds
    assert parse_duration(text, 1000) == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "P1",
        "PT1",
        "P1DT",
        "P1H",
        "PT1D",
        "PT.5S",
        "PT0.5M",
        "P0.5D",
        "PT1,5S",
        "-PT1S",
        "PT-1S",
        "+PT1S",
        "pt1s",
        "PT1s",
        " PT1S",
        "PT1S\n",
        "PT1S1S",
        "PT1S1M",
        "P1D1W",
        "30",
        "30 s",
        "30S",
        "30sec",
        "-30s",
        "1e3s",
        ".5s",
        "1w",
        "\u0663s",
        "PT\u0663S",
        "soon",
    ],
)
def test_other_texts_are_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="such as PT30S"):
        parse_duration(text, 1000)


@pytest.mark.parametrize(
    "value", ["P101Y", "PT" + "9" * 400 + "S", "9" * 5000 + "d", -1, 1e300, MAX_DURATION, -0.001]
)
def test_durations_beyond_a_hundred_years_or_below_zero_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="between zero and a hundred years"):
        parse_duration(value, 1000)


@pytest.mark.parametrize(
    ("value", "unit", "milliseconds"),
    [(30, 1000, 30_000), (30, 1, 30), (0, 1000, 0), (1.5, 1000, 1500), (0.0001, 1000, 0)],
)
def test_a_bare_number_takes_the_unit_of_its_field(
    value: float, unit: int, milliseconds: int
) -> None:
    assert parse_duration(value, unit) == milliseconds


@pytest.mark.parametrize("value", [5, 0, 1.5])
def test_a_bare_number_needs_a_field_with_a_unit(value: object) -> None:
    with pytest.raises(ValueError, match="with its unit"):
        parse_duration(value)


@pytest.mark.parametrize("value", [None, True, False, [], {}])
def test_other_kinds_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be a duration such as PT30S or 30s, not"):
        parse_duration(value, 1000)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "PT0S"),
        (1, "PT0.001S"),
        (500, "PT0.5S"),
        (1000, "PT1S"),
        (90_000, "PT90S"),
        (DAY, "P1D"),
        (7 * DAY, "P7D"),
        (DAY + 1000, "PT86401S"),
        (10_000, "PT10S"),
    ],
)
def test_the_normalised_form(milliseconds: int, text: str) -> None:
    assert format_duration(milliseconds) == text


@given(st.integers(0, MAX_DURATION))
def test_every_duration_returns_from_its_text(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds)) == milliseconds
