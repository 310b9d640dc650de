"""A progress bar on standard error for work that takes longer than a second; only on a terminal."""

import sys
from types import TracebackType
from typing import Any, Final, Self

from ojs_cli.session import Session

PATIENCE_S: Final = 1.0


class Progress:
    """A progress line with the count, the rate and the time left; it appears after one second."""

    def __init__(self, session: Session, what: str, total: int | None, *, start: int = 0) -> None:
        self._now = session.environment.monotonic
        self._what = what
        self._total = total
        self._start = start
        self._begun = self._now()
        self._shown: Any = None
        self._task: Any = None
        self._enabled = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def at(self, done: int, what: str | None = None) -> None:
        """Show the count that is done, and what it counts."""
        if not self._enabled:
            return
        if self._shown is None:
            if self._now() - self._begun < PATIENCE_S:
                return
            self._show()
        self._shown.update(self._task, completed=done, description=what or self._what)

    def _show(self) -> None:
        from rich import progress

        from ojs_cli.console import Console

        self._shown = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.speed:.0f}/s"),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._shown.add_task(self._what, total=self._total, completed=self._start)
        self._shown.start()
