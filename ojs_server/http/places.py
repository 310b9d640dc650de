"""A bound on the number of calls that do something at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from ojs_server.domain.errors import Unavailable
from ojs_wire import codes


class Places:
    """Places for calls that do something, for instance wait for jobs."""

    def __init__(self, most: int, doing: str) -> None:
        self._most = most
        self._doing = doing
        self._taken = 0

    @contextmanager
    def take(self) -> Iterator[None]:
        """Take a place; raises Unavailable if there is none."""
        if self._taken >= self._most:
            raise Unavailable(
                f"{self._taken} calls {self._doing} already",
                code=codes.OVERLOADED,
                headers={"Retry-After": "1"},
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
