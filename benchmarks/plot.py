"""Draw line charts as SVG, for docs/benchmarks."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal
from xml.sax.saxutils import escape

import msgspec

FOLDER: Final = Path("docs/benchmarks")

Scale = Literal["linear", "log"]
Points = Sequence[tuple[float, float]]

_WIDTH: Final = 640
_HEIGHT: Final = 320
_LEFT: Final = 70
_RIGHT: Final = 150
_TOP: Final = 40
_BOTTOM: Final = 50
_COLOURS: Final = ("#1f6fb4", "#d9531e", "#2c8f3c", "#7a4fb0")
_STEPS: Final = (1, 2, 2.5, 5, 10)


class Axis(msgspec.Struct, frozen=True):
    """The label and the scale of an axis."""

    label: str
    scale: Scale = "linear"


def draw(name: str, title: str, x: Axis, y: Axis, lines: Mapping[str, Points]) -> Path:
    """Write a chart; the y axis begins at 0, the x axis where the values do."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    path.write_text(svg(title, x, y, lines), encoding="utf-8")
    print(f"drawn in {path}")
    return path


def svg(title: str, x: Axis, y: Axis, lines: Mapping[str, Points]) -> str:
    """The text of a chart."""
    points = [point for line in lines.values() for point in line]
    if not points:
        raise ValueError("there is nothing to draw")
    left, right = min(p[0] for p in points), max(p[0] for p in points)
    ticks = _ticks(max(p[1] for p in points))
    top = ticks[-1]

    def across(value: float) -> float:
        begin, end, at = (math.log(v) if x.scale == "log" else v for v in (left, right, value))
        share = (at - begin) / (end - begin) if end > begin else 0.5
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def down(value: float) -> float:
        return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
    ]
    for tick in ticks:
        at = down(tick)
        parts.append(f'<path d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:,.10g}</text>'
        )
    places = sorted({p[0] for p in points}) if x.scale == "log" else _ticks(right)
    for place in places:
        if place >= left:
            parts.append(
                f'<text x="{across(place):.1f}" y="{_HEIGHT - _BOTTOM + 18}"'
                f' text-anchor="middle">{place:,.10g}</text>'
            )
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 10}">{escape(x.label)}</text>')
    parts.append(f'<text x="{_LEFT}" y="{_TOP - 6}" fill="#555">{escape(y.label)}</text>')
    for (label, line), colour in zip(lines.items(), _COLOURS, strict=False):
        path = " ".join(f"{across(px):.1f},{down(py):.1f}" for px, py in sorted(line))
        end_x, end_y = sorted(line)[-1]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{across(end_x) + 6:.1f}" y="{down(end_y) + 4:.1f}" fill="{colour}">'
            f"{escape(label)}</text>"
        )
    return "\n".join([*parts, "</svg>", ""])


def _ticks(highest: float) -> list[float]:
    """Round values from 0 to at least the highest, no more than six."""
    highest = highest or 1.0
    unit = 10.0 ** math.floor(math.log10(highest / 5))
    step = next(unit * step for step in _STEPS if unit * step * 5 >= highest)
    return [step * n for n in range(math.ceil(highest / step) + 1)]
