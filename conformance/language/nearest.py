"""Suggests the known name closest to a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``nearest: 'x'`` for the most similar known name, or ``nothing known``."""
    # A cutoff of zero always names one, so that the reader sees what kind of name was meant.
    found = get_close_matches(name, sorted(set(known)), n=1, cutoff=0.0)
    return f"nearest: {found[0]!r}" if found else "nothing known"
