"""Text for a terminal: control characters made visible, ages and numbers made short."""

import unicodedata
from datetime import datetime
from typing import Any, Final

# Control and format characters (these can turn the text), surrogates and line separators.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_STEPS: Final = ((86_400, "d"), (3600, "h"), (60, "m"))


def identity(item: dict[str, Any]) -> Any:
    """Return the id of a thing, or its name."""
    names = ("id", "name", "key", "job_id", "type")
    return next((found for name in names if (found := item.get(name))), "")


def printable(text: str) -> str:
    """Escape what would move the cursor, change colours or turn the line around."""
    if text.isprintable():
        return text
    return "".join(
        _escaped(character) if unicodedata.category(character) in _HIDDEN else character
        for character in text
    )


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cell(value: Any) -> str:
    """Show a value of JSON in one line."""
    import json

    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    return printable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def moment_ms(value: Any) -> int | None:
    """Parse a timestamp of the API; None without one."""
    if not isinstance(value, str):
        return None
    try:
        return round(datetime.fromisoformat(value).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def span(milliseconds: float | None) -> str:
    """Show a duration in two units at most, such as `2h10m`."""
    if milliseconds is None:
        return ""
    if milliseconds < 0:
        return f"-{span(-milliseconds)}"
    if milliseconds < 1000:
        return f"{milliseconds:.0f}ms"
    seconds = int(milliseconds // 1000)
    for place, (size, unit) in enumerate(_STEPS):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            below, name = _STEPS[place + 1] if place + 1 < len(_STEPS) else (1, "s")
            part = rest // below
            return f"{whole}{unit}{part}{name}" if part and whole < 10 else f"{whole}{unit}"
    return f"{seconds}s" if seconds >= 10 else f"{milliseconds / 1000:.1f}s".replace(".0s", "s")


def age(value: Any, now_ms: int) -> str:
    """Show how long ago a timestamp was."""
    moment = moment_ms(value)
    return "" if moment is None else span(max(now_ms - moment, 0))


def between(start: Any, end: Any) -> str:
    """Show the time between two timestamps of the server."""
    first, last = moment_ms(start), moment_ms(end)
    return "" if first is None or last is None else span(last - first)


def elided(id: str) -> str:
    """Shorten an id so that it can still be looked up."""
    return id if len(id) <= 16 else f"{id[:8]}…{id[-6:]}"


def count(number: int, noun: str) -> str:
    """Say how many, such as `1 job` and `2 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def bar(share: float, width: int = 10) -> str:
    """Draw a share from 0 to 1."""
    filled = round(min(max(share, 0.0), 1.0) * width)
    return "#" * filled + "-" * (width - filled)


def sparkline(values: list[float]) -> str:
    """Draw a row of numbers in one line."""
    levels = "▁▂▃▄▅▆▇█"
    top = max(values, default=0)
    if top <= 0:
        return levels[0] * len(values)
    return "".join(levels[min(int(value / top * 8), 7)] for value in values)
