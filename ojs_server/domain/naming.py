"""Suggesting the name that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(given: object, known: Iterable[str]) -> str:
    """A clause such as `; did you mean "queue"?`, or nothing where no name is near."""
    if not isinstance(given, str):
        return ""
    close = get_close_matches(given[:100], list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""
