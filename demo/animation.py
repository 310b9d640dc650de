"""Screens of a terminal, one after the other, in one SVG that moves without scripts.

A line that stays for several screens is drawn once, and shown for all of that time.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

# Time for which the last screen stays before the first one is shown again.
REST_S: Final = 3.0
_MARGIN: Final = 12
_FONT: Final = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_ACROSS: Final = 12.2
_DOWN: Final = 24.4
# The baseline of the text, from the top of its row.
_BASE: Final = 18.5


class Frame(msgspec.Struct, frozen=True):
    """The screen of a terminal, and the time at which it appeared."""

    at_s: float
    lines: tuple[str, ...]


class _Palette:
    """Short class names for the styles of a picture."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __getitem__(self, rules: str) -> str:
        return self._names.setdefault(rules, f"c{len(self._names)}")

    def css(self) -> str:
        return " ".join(f".{name} {{ {rules} }}" for rules, name in self._names.items())


def animated(frames: Sequence[Frame], width: int, title: str) -> str:
    """Draw frames as one picture that repeats."""
    times = [frame.at_s - frames[0].at_s for frame in frames]
    times.append(times[-1] + REST_S)
    palette = _Palette()
    console = Console(width=width, color_system="standard")
    bodies: dict[tuple[int, int], list[str]] = {}
    for row, line, first, after in _stays(frames):
        drawn = _drawn(console, line, row, width, palette)
        bodies.setdefault((first, after), []).append(drawn)
    styles, groups = [], []
    for number, ((first, after), drawn_lines) in enumerate(bodies.items()):
        if (first, after) == (0, len(frames)):
            groups.append(f"<g>{''.join(drawn_lines)}</g>")
            continue
        styles.append(_shown(number, times[first] / times[-1], times[after] / times[-1], times[-1]))
        last = ' class="last"' if after == len(frames) else ""
        groups.append(f'<g id="s{number}"{last}>{"".join(drawn_lines)}</g>')
    wide = width * _ACROSS + 2 * _MARGIN
    high = max(len(frame.lines) for frame in frames) * _DOWN + 2 * _MARGIN
    ground = SVG_EXPORT_THEME.background_color.hex
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img">'
        f"<title>{escape(title)}</title>"
        f"<style>text {{ {_FONT}; font-size: 20px; white-space: pre }} {palette.css()} "
        # Show only the last screen to users who prefer reduced motion.
        "@media (prefers-reduced-motion: reduce) { g[id] { animation: none !important; "
        "visibility: hidden } g.last { visibility: visible !important } } "
        f"{' '.join(styles)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{ground}"/>'
        f'<g transform="translate({_MARGIN}, {_MARGIN})">{"".join(groups)}</g></svg>\n'
    )


def _stays(frames: Sequence[Frame]) -> Iterator[tuple[int, str, int, int]]:
    """Yield each line with its row, the first frame that has it, and the one after the last."""
    for row in range(max(len(frame.lines) for frame in frames)):
        lines = [frame.lines[row] if row < len(frame.lines) else "" for frame in frames]
        first = 0
        for place in range(1, len(lines) + 1):
            if place == len(lines) or lines[place] != lines[first]:
                if lines[first].strip():
                    yield row, lines[first], first, place
                first = place


def _shown(number: int, begins: float, ends: float, whole_s: float) -> str:
    """Make a group visible from one share of the whole time to another."""
    steps = {0.0: "hidden", 1.0: "hidden"} | {begins: "visible"}
    steps[ends] = "visible" if ends == 1 else "hidden"
    frames = " ".join(f"{at:.2%} {{ visibility: {now} }}" for at, now in sorted(steps.items()))
    return (
        f"@keyframes k{number} {{ {frames} }} "
        f"#s{number} {{ animation: k{number} {whole_s:.1f}s step-end infinite }}"
    )


def _drawn(console: Console, line: str, row: int, width: int, palette: _Palette) -> str:
    """Draw a line: the grounds of its parts, and its text."""
    text = Text.from_ansi(line)
    text.truncate(width)
    grounds, parts = [], []
    column = 0
    for segment in text.render(console):
        size = cell_len(segment.text)
        across = f'x="{column * _ACROSS:.0f}"'
        length = f"{size * _ACROSS:.0f}"
        column += size
        fill, ground = _colours(segment.style or Style.null())
        if ground is not None and size:
            y = f'y="{row * _DOWN:.1f}" width="{length}" height="{_DOWN:.1f}"'
            grounds.append(f'<rect class="{palette[ground]}" {across} {y}/>')
        if segment.text.strip():
            shown = f'class="{palette[fill]}" {across} textLength="{length}"'
            parts.append(f"<tspan {shown}>{escape(segment.text, quote=False)}</tspan>")
    return f'{"".join(grounds)}<text y="{row * _DOWN + _BASE:.1f}">{"".join(parts)}</text>'


def _colours(style: Style) -> tuple[str, str | None]:
    """Return the rules for the letters of a style, and for what is behind them."""
    rules = dict(
        rule.strip().split(": ")
        for rule in style.get_html_style(SVG_EXPORT_THEME).split(";")
        if ": " in rule
    )
    letters, paper = SVG_EXPORT_THEME.foreground_color.hex, SVG_EXPORT_THEME.background_color.hex
    if style.reverse:
        # rich swaps only colours that the style sets, not the default ones.
        letters, paper = paper, letters
    fill, ground = rules.get("color", letters), rules.get("background-color")
    if style.reverse and ground is None:
        ground = paper
    weight = "; font-weight: bold" if "font-weight" in rules else ""
    return f"fill: {fill}{weight}", None if ground is None else f"fill: {ground}"
