"""The limit on the connections of a server.

At the limit, a new connection replaces the one that has waited for its client for longest.
Connections to which an answer is due are left alone, and so are streams.
"""

import logging
from collections import deque
from collections.abc import Callable, Set
from contextlib import suppress
from enum import IntEnum
from importlib import import_module
from operator import itemgetter
from typing import Any, Final, Protocol

# Windows has no resource limits.
resource: Any = None
with suppress(ImportError):
    resource = import_module("resource")

log = logging.getLogger("ojs.http")

# Descriptors for other things than client connections: the store, the log, webhooks.
RESERVED: Final = 64
MOST_BY_DEFAULT: Final = 10_000
# Pause between log messages about a reached limit.
_REPORT_EVERY_S: Final = 10.0
# Pause between scans for a connection to close, after one that found none.
_LOOK_EVERY_S: Final = 1.0


class Waits(IntEnum):
    """The client's next step on a connection, in the order in which connections make room."""

    LEAVE = 0
    ASK = 1
    SEND_BODY = 2


class Member(Protocol):
    """A connection that counts towards the limit."""

    def waits(self) -> tuple[Waits, float] | None:
        """Return the client's next step and since when it is due; None on the server's turn."""

    def make_room(self) -> None:
        """Close this connection."""


class ConnectionLimit:
    """The limit on a server's connections, and the choice of the one that is closed for a new
    one."""

    def __init__(self, most: int, count: Callable[[int], None]) -> None:
        self.most = most
        # Called with the number of connections that are closed or refused.
        self._count = count
        # Connections to close next, and their state at the last scan.
        self._next: deque[tuple[tuple[Waits, float], Member]] = deque()
        self._look_at = 0.0
        self._report_at = 0.0
        self._closed = self._refused = 0
        self._longest_s = 0.0

    def has_room(self, newest: Member, members: Set[Any], now: float) -> bool:
        """Make room for the newest member, which is counted already; False if all others are
        busy."""
        if len(members) <= self.most:
            return True
        found = self._pop()
        if found is None and now >= self._look_at:
            self._look(newest, members, now)
            found = self._pop()
        if found is not None:
            since, member = found
            self._closed += 1
            self._longest_s = max(self._longest_s, now - since)
            member.make_room()
        else:
            self._refused += 1
        self._count(1)
        self._warn(now)
        return found is not None

    def _look(self, newest: Member, members: Set[Any], now: float) -> None:
        found = [
            (waits, member)
            for member in members
            if member is not newest and (waits := member.waits()) is not None
        ]
        # Sorted once for many newcomers: a scan for each of them would cost too much.
        self._next.extend(sorted(found, key=itemgetter(0)))
        if not found:
            self._look_at = now + _LOOK_EVERY_S

    def _pop(self) -> tuple[float, Member] | None:
        while self._next:
            waits, member = self._next.popleft()
            # Skip it if it has continued since, or is gone.
            if member.waits() == waits:
                return waits[1], member
        return None

    def _warn(self, now: float) -> None:
        if now < self._report_at:
            return
        self._report_at = now + _REPORT_EVERY_S
        log.warning(
            "all %d connections are taken: %d that waited for their clients were closed "
            "(for up to %.1f s), %d new ones refused; --max-connections is the bound",
            self.most,
            self._closed,
            self._longest_s,
            self._refused,
        )
        self._closed = self._refused = 0
        self._longest_s = 0.0


def raised_limit() -> int | None:
    """Raise the limit of file descriptors as far as possible, and return it; None for no limit."""
    if resource is None:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            # Some systems report a hard limit that they do not grant.
            return _bounded(soft)
    return _bounded(hard)


def _bounded(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit


def most_connections(requested: int | None, descriptors: int | None, others: int) -> int:
    """Return the default bound of connections for a limit of file descriptors."""
    if descriptors is None:
        return requested or MOST_BY_DEFAULT
    # If descriptors are few, half of them are for clients.
    room = max(descriptors - RESERVED - others, descriptors // 2)
    if requested is not None and requested > room:
        log.warning(
            "max_connections is %d, but %d descriptors leave room for %d connections",
            requested,
            descriptors,
            room,
        )
    return min(requested or MOST_BY_DEFAULT, room)
