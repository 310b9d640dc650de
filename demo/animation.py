"""Screens of a terminal, one after the other, in one SVG that moves without scripts."""

import io
from collections.abc import Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

# The last screen stays for this long before the first one comes again.
REST_S: Final = 3.0
_PARTS: Final = "\x00".join(
    ("{styles}", "{backgrounds}", "{matrix}", "{lines}", "{terminal_width}", "{terminal_height}")
)
_MARGIN: Final = 12
_FONT: Final = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"


class Frame(msgspec.Struct, frozen=True):
    """The screen of a terminal, and the time at which it appeared."""

    at_s: float
    lines: tuple[str, ...]


def animated(frames: Sequence[Frame], width: int, title: str) -> str:
    """Draw frames as one picture that repeats."""
    whole = frames[-1].at_s - frames[0].at_s + REST_S
    styles: list[str] = []
    bodies: list[str] = []
    across, down = "0", "0"
    for number, frame in enumerate(frames):
        parts = _drawn(frame, width, f"f{number}")
        style, backgrounds, matrix, lines, across, down = parts
        begins = (frame.at_s - frames[0].at_s) / whole * 100
        following = frames[number + 1].at_s if number + 1 < len(frames) else frames[0].at_s + whole
        ends = (following - frames[0].at_s) / whole * 100
        styles.append(style)
        styles.append(
            f"@keyframes k{number} {{ 0% {{ visibility: {'visible' if not number else 'hidden'} }}"
            f" {begins:.2f}% {{ visibility: visible }} {ends:.2f}% {{ visibility: hidden }}"
            f" 100% {{ visibility: hidden }} }}"
            f" #s{number} {{ animation: k{number} {whole:.1f}s step-end infinite }}"
        )
        bodies.append(
            f'<g id="s{number}"><defs>{lines}</defs>{backgrounds}'
            f'<g class="f{number}-matrix">{matrix}</g></g>'
        )
    wide, high = float(across) + 2 * _MARGIN, float(down) + 2 * _MARGIN
    ground = SVG_EXPORT_THEME.background_color.hex
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img">'
        f"<title>{title}</title><style>text {{ {_FONT}; font-size: 20px; white-space: pre }} "
        # Whoever wants no movement sees the last screen.
        "@media (prefers-reduced-motion: reduce) { g[id] { animation: none !important; "
        f"visibility: hidden }} #s{len(frames) - 1} {{ visibility: visible !important }} }} "
        f"{' '.join(styles)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{ground}"/>'
        f'<g transform="translate({_MARGIN}, {_MARGIN})">{"".join(bodies)}</g></svg>\n'
    )


def _drawn(frame: Frame, width: int, name: str) -> list[str]:
    console = Console(file=io.StringIO(), record=True, width=width, color_system="standard")
    for line in frame.lines:
        text = Text.from_ansi(line)
        text.truncate(width)
        console.print(text, no_wrap=True, highlight=False)
    return console.export_svg(unique_id=name, code_format=_PARTS).split("\x00")
