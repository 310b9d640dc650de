"""Callers that wait for the outcomes of their operations."""

import asyncio
from contextvars import ContextVar
from typing import Any, Final, Protocol

from ojs_server.ops.operation import AnyOperation, Outcome


class Caller(Protocol):
    """The caller of an operation."""

    @property
    def waits_until(self) -> float:
        """The moment of the stopwatch up to which it is ready to wait for an outcome."""

    def gone(self) -> bool:
        """True if the caller was cancelled."""

    def resolve(self, outcome: Outcome) -> None:
        """Deliver the outcome: the operation is committed, or was refused with an error."""


# The time, by the monotonic clock, up to which the client of this request is ready to wait.
WAITS_UNTIL: Final[ContextVar[float]] = ContextVar("waits_until", default=0.0)


class Awaited(asyncio.Future[Any]):
    """A task that waits for the outcome."""

    gone = asyncio.Future.cancelled

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.waits_until = WAITS_UNTIL.get()

    def resolve(self, outcome: Outcome) -> None:
        """Set the outcome, unless the task was cancelled."""
        if self.done():
            return
        if isinstance(outcome, BaseException):
            self.set_exception(outcome)
        else:
            self.set_result(outcome)


class HeldUp:
    """A caller whose operation met a lock, and is tried again until a deadline."""

    def __init__(self, caller: Caller, until: float) -> None:
        self.until = until
        self.gone = caller.gone
        self.resolve = caller.resolve
        self.waits_until = caller.waits_until


# An operation, its caller, and the time of its arrival.
Waiting = tuple[AnyOperation, Caller, float]
