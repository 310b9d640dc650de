"""Exceptions of a handler after which its jobs are retried, and those after which they are not."""

from typing import Any, Final

import msgspec

from ojs_worker.errors import PermissionDenied

Exceptions = type[BaseException] | tuple[type[BaseException], ...]


class Retrying(msgspec.Struct, frozen=True):
    """Without `retry_on` every exception is retried but `PermissionDenied`, with it only those;
    `no_retry_on` are not. Where both name an exception or its base classes, the nearest class
    decides."""

    retry_on: tuple[type[BaseException], ...] = ()
    no_retry_on: tuple[type[BaseException], ...] = ()

    def retries(self, error: BaseException) -> bool:
        """True if a job is tried again after this exception."""
        for kind in type(error).__mro__:
            if kind in self.no_retry_on:
                return False
            if kind in self.retry_on:
                return True
            if kind is PermissionDenied:
                # A retry would use the same key.
                return False
        return not self.retry_on


ALWAYS: Final = Retrying()


def retrying(retry_on: Exceptions | None, no_retry_on: Exceptions | None) -> Retrying:
    """Check what a decorator was given."""
    checked = Retrying(_types(retry_on, "retry_on"), _types(no_retry_on, "no_retry_on"))
    if both := {*checked.retry_on} & {*checked.no_retry_on}:
        named = sorted(kind.__name__ for kind in both)
        raise ValueError(f"{named[0]} is in `retry_on` and in `no_retry_on`")
    return checked


def _types(exceptions: Any, name: str) -> tuple[type[BaseException], ...]:
    types = (
        exceptions if isinstance(exceptions, tuple) else () if exceptions is None else (exceptions,)
    )
    for kind in types:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError(f"`{name}` holds {kind!r}, which is no class of exceptions")
    return types
