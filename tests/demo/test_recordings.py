"""Recordings of the command line: the terminal's screens, and the animated picture."""

from xml.etree import ElementTree

import pytest

from demo.animation import REST_S, Frame, animated
from demo.terminal import Terminal


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("a\r\nb", ["a", "b", ""]),
        ("a\r\nb\r\nc\r\nd", ["b", "c", "d"]),
        ("\x1b[?1049h\x1b[2J\x1b[2;1Hx\x1b[K", ["", "x", ""]),
        ("one\r\ntwo\r\n\x1b[1A\x1b[2Kthree", ["one", "three", ""]),
        ("x\r\ny\x1b[2;1H\x1b[K", ["x", "", ""]),
        ("long\rnew", ["new", "", ""]),
        ("a\x1b[31mb\x1b[0m", ["a\x1b[31mb\x1b[0m", "", ""]),
        ("\x1b[1mx\r\x1b[2my", ["\x1b[2my", "", ""]),
    ],
)
def test_a_terminal_shows_what_was_written(written: str, lines: list[str]) -> None:
    whole, pieces = Terminal(3), Terminal(3)
    whole.feed(written)
    for one in written:
        pieces.feed(one)
    assert whole.lines == pieces.lines == lines


def test_screens_follow_each_other_in_one_picture() -> None:
    frames = [
        Frame(5.0, ("first <&>", "\x1b[31mred\x1b[0m")),
        Frame(6.0, ("second", "")),
    ]
    picture = animated(frames, 20, "a title")
    root = ElementTree.fromstring(picture)
    texts = "".join(root.itertext())
    assert "first" in texts
    assert "second" in texts
    assert root.find("{*}title") is not None
    assert f"{1 + REST_S:.1f}s step-end infinite" in texts
    # The second one begins after one of four seconds.
    assert "25.00% { visibility: visible }" in texts
    assert "<script" not in picture


def test_a_line_that_stays_is_drawn_once() -> None:
    lines = ("head", "\x1b[7mfoot\x1b[0m")
    frames = [Frame(float(at), (*lines, str(at))) for at in range(10, 30)]
    picture = animated(frames, 20, "t")
    assert (picture.count(">head<"), picture.count(">foot<")) == (1, 1)
    root = ElementTree.fromstring(picture)
    shown = [group for group in root.findall(".//{*}g") if group.get("class") == "last"]
    # Without movement the last screen is shown.
    assert ["".join(group.itertext()) for group in shown] == ["29"]
    assert len(root.findall(".//{*}rect")) == 2
