"""Failures that a test plants: the delivery fails without its handler being called."""

import copy
from collections import defaultdict
from typing import Any

from ojs_worker.job import Job
from ojs_worker.middleware import Inner

Planted = BaseException | type[BaseException] | str


class Plants:
    """Errors that a test has planted for the next deliveries of job types."""

    def __init__(self) -> None:
        self._next: dict[str, list[BaseException]] = defaultdict(list)
        self._all: dict[str, BaseException] = {}

    def next(self, type: str, error: Planted, times: int) -> None:
        """Let the next deliveries of a type fail, this many times."""
        if times < 1:
            raise ValueError(f"`times` must be at least 1, not {times}")
        self._next[type] += [_exception(error)] * times

    def all(self, type: str, error: Planted) -> None:
        """Let every delivery of a type fail."""
        self._all[type] = _exception(error)

    def clear(self) -> None:
        """Remove all planted errors."""
        self._next.clear()
        self._all.clear()

    async def layer(self, job: Job, context: Any, call_next: Inner) -> Any:
        """Raise the planted error in place of the handler, as the innermost layer of middleware."""
        waiting = self._next[job.type]
        error = waiting.pop(0) if waiting else self._all.get(job.type)
        if error is None:
            return await call_next()
        # A copy, because raising one object twice adds up the tracebacks.
        raise copy.copy(error)


def _exception(error: Planted) -> BaseException:
    if isinstance(error, str):
        return RuntimeError(error)
    return error() if isinstance(error, type) else error
