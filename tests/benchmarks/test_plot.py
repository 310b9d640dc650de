"""Charts: every value has its place, and the axes have round numbers."""

import re
from xml.etree import ElementTree

import pytest

from benchmarks.plot import Axis, svg

LINE = "{http://www.w3.org/2000/svg}polyline"
TEXT = "{http://www.w3.org/2000/svg}text"


def points(drawn: str) -> list[list[tuple[float, float]]]:
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", line.attrib["points"])]
        for line in ElementTree.fromstring(drawn).iter(LINE)
    ]


def texts(drawn: str) -> list[str | None]:
    return [text.text for text in ElementTree.fromstring(drawn).iter(TEXT)]


def test_a_line_goes_through_its_values_in_order() -> None:
    drawn = svg("t", Axis("x"), Axis("y"), {"a": [(2, 50), (0, 0), (1, 100)]})
    ((begin, low), (middle, high), (end, half)) = points(drawn)[0]
    assert middle - begin == pytest.approx(end - middle)
    assert low - half == pytest.approx((low - high) / 2)


def test_steps_of_the_same_ratio_are_as_wide_on_a_log_axis() -> None:
    drawn = svg("t", Axis("x", "log"), Axis("y"), {"a": [(1, 1), (10, 1), (100, 1)]})
    (left, _), (middle, _), (right, _) = points(drawn)[0]
    assert middle - left == pytest.approx(right - middle)
    assert {"1", "10", "100"} <= set(texts(drawn))


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (3, "0 1 2 3"),
        (47, "0 10 20 30 40 50"),
        (1810, "0 500 1,000 1,500 2,000"),
        (0, "0 0.2 0.4 0.6 0.8 1"),
        (4.2e6, "0 1,000,000 2,000,000"),
    ],
)
def test_the_axis_has_round_numbers(highest: float, ticks: str) -> None:
    drawn = svg("t", Axis("x"), Axis("y"), {"a": [(0, highest), (7.5, highest)]})
    assert ticks.split() == texts(drawn)[1 : 1 + len(ticks.split())]


def test_labels_are_no_markup() -> None:
    drawn = svg("a < b", Axis("x"), Axis("y"), {"<&>": [(0, 1), (1, 2)], "other": [(0, 2)]})
    assert texts(drawn)[0] == "a < b"
    assert len(points(drawn)) == 2
    assert "<&>" in texts(drawn)


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        svg("t", Axis("x"), Axis("y"), {"a": []})
