"""Text for a terminal."""

import pytest

from ojs_cli.text import bar, cell, count, moment_ms, printable, span, sparkline


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain Zoë 漢字", "plain Zoë 漢字"),
        ("\x1b[2J\a\n\t\x9b", r"\x1b[2J\x07\x0a\x09\x9b"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\u2028b\ud800", r"a\u2028b\ud800"),
    ],
)
def test_what_would_drive_the_terminal_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (None, ""),
        (0, "0ms"),
        (999.6, "1000ms"),
        (1000, "1s"),
        (1250, "1.2s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (130_000, "2m10s"),
        (1_330_000, "22m"),
        (7_800_000, "2h10m"),
        (90_000_000, "1d1h"),
        (10 * 86_400_000 + 3_600_000, "10d"),
        (-5000, "-5s"),
    ],
)
def test_spans(milliseconds: float | None, shown: str) -> None:
    assert span(milliseconds) == shown


def test_values_become_one_line() -> None:
    assert [cell(one) for one in (None, True, 1.5, {"a": "\x1b"}, ["x", 1])] == [
        "",
        "yes",
        "1.5",
        '{"a":"\\u001b"}',
        '["x",1]',
    ]


def test_moments_that_cannot_be_read_are_none() -> None:
    assert moment_ms("1970-01-01T00:00:01.500Z") == 1500
    assert [moment_ms(one) for one in (None, 7, "soon", "+99999")] == [None] * 4


def test_pictures_of_numbers() -> None:
    assert bar(0.5) == "#####-----"
    assert bar(9) == "##########"
    assert sparkline([0, 1, 4]) == "▁▃█"
    assert sparkline([0, 0]) == "▁▁"
    assert (count(1, "job"), count(1200, "job")) == ("1 job", "1,200 jobs")
