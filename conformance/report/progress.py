"""The output of a run while it goes on: a line for each case, and on a terminal what is left."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

from conformance.report.console import case_line
from conformance.verdicts.result import CaseResult
from conformance.verdicts.strength import Profile

_CLEAR = "\r\x1b[K"


class Progress:
    """Prints each case as it ends, and keeps the results so far."""

    def __init__(
        self,
        total: int,
        out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        profile: Profile = "full",
    ) -> None:
        self.results: list[CaseResult] = []
        self._total = total
        self._profile = profile
        self._out = out or sys.stdout
        self._clock = clock
        self._started = clock()
        self._moves = self._out.isatty()

    def ended(self, result: CaseResult) -> None:
        """Print the line of a case; on a terminal, the last line says how far the run is."""
        result = result.under(self._profile)
        self.results.append(result)
        print(f"{self._clear()}{case_line(result)}", file=self._out)
        if self._moves and len(self.results) < self._total:
            self._out.write(self._state())
        self._out.flush()

    def over(self) -> None:
        """Remove the line about what is left, as at Ctrl-C."""
        self._out.write(self._clear())
        self._out.flush()

    def _clear(self) -> str:
        return _CLEAR if self._moves else ""

    def _state(self) -> str:
        done = len(self.results)
        bad = sum(result.is_bad for result in self.results)
        took = self._clock() - self._started
        return f"{done} of {self._total} cases, {bad} failed, {took:.0f} s"
