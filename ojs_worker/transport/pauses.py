"""Pauses between retries, which grow with the failures in a row."""

from typing import Final

FIRST_S: Final = 0.25
LONGEST_S: Final = 15.0


def pause(failures: int, random: float, longest_s: float = LONGEST_S) -> float:
    """Return the seconds to wait after a number of failures in a row; `random` is between 0 and 1.

    Half of the pause is random, so that a thousand workers do not all call at once when their
    server comes back.
    """
    whole = min(FIRST_S * 2.0 ** min(max(failures - 1, 0), 20), longest_s)
    return whole * (0.5 + random / 2)
