"""Changes of JSON values that faults of servers and workers make."""

import unicodedata
from collections.abc import Callable
from typing import Any

Change = Callable[[Any], Any]


def mapped(value: Any, change: Change) -> Any:
    """Return a JSON value in which each text, number, truth value and null is changed."""
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {name: mapped(item, change) for name, item in value.items()}
    return change(value)


def shortened(value: Any) -> Any:
    """Return a fraction with 15 digits."""
    return float(f"{value:.15g}") if type(value) is float else value


def rounded(value: Any) -> Any:
    """Return an integer of which only 15 digits are left."""
    return int(float(f"{value:.15g}")) if type(value) is int else value


def composed(value: Any) -> Any:
    """Return a text in the composed form of Unicode."""
    return unicodedata.normalize("NFC", value) if type(value) is str else value


def decomposed(value: Any) -> Any:
    """Return a text in the decomposed form of Unicode."""
    return unicodedata.normalize("NFD", value) if type(value) is str else value


def trimmed(value: Any) -> Any:
    """Return a text without blanks at its ends."""
    return value.strip() if type(value) is str else value
