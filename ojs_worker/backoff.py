"""How long to wait before the next try. Chance is an argument."""

from typing import Final

FIRST_S: Final = 0.25
LONGEST_S: Final = 15.0


def pause(failures: int, luck: float, longest_s: float = LONGEST_S) -> float:
    """Seconds to wait after so many failures in a row; `luck` lies between 0 and 1.

    Half of the pause is left to chance, so that a thousand workers whose server comes back do not
    all knock at the same moment.
    """
    whole = min(FIRST_S * 2.0 ** min(max(failures - 1, 0), 20), longest_s)
    return whole * (0.5 + luck / 2)
