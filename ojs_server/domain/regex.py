"""Bound the backtracking of regular expressions that clients send.

Python's `re` tries the ways of matching one after the other, so a pattern may not have too many of
them.
"""

import re
from typing import Final

# Repeated groups backtrack exponentially; for back references and look-around no bound is known.
_REPEATED_GROUP: Final = re.compile(r"\)[+*{]|\\[1-9]|\(\?[^:]")
# Each `?`, and each alternative inside a group, doubles the steps.
_CHOICES: Final = re.compile(r"(?<!\()\?|\|")
# Each of these multiplies the steps by the length of the text; `{3}` does not.
_REPETITIONS: Final = re.compile(r"[+*]|\{[0-9]*,[0-9]*\}")


def is_boundless(pattern: str) -> bool:
    """True if the number of ways to match cannot be bounded."""
    return _REPEATED_GROUP.search(pattern) is not None


def choices(pattern: str) -> int:
    """Return the number of doublings of the ways to match."""
    # Alternatives outside of groups are tried one after the other, and multiply nothing.
    return len(_CHOICES.findall(pattern)) if "(" in pattern else pattern.count("?")


def ways(pattern: str, size: int) -> int:
    """Return the maximum number of ways in which a search can match a pattern against a text of
    some length."""
    anchored = pattern.startswith("^") and "|" not in pattern
    powers = len(_REPETITIONS.findall(pattern)) + (not anchored)
    return int(max(1, size) ** max(1, powers) << choices(pattern))
