"""Time that has passed, also while the machine was asleep."""

import time
from typing import Final

# The monotonic clock of Linux stands still while the system is suspended; this one does not.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", None)


def seconds() -> float:
    """Seconds since some moment in the past; differences count."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
