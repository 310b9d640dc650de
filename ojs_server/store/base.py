"""The interface of a store: its transactions, its readers, and its errors."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from ojs_server.domain.admin.server_node import Announcement, ServerNode
from ojs_server.domain.admin.vacuum_holder import VacuumHolder
from ojs_server.store.errors import (
    OutcomeUnknown,
    Overtaken,
    SchemaError,
    StaleWrite,
    StoreBusy,
    StoreDenied,
    StoreUnavailable,
    StoreUnreachable,
)
from ojs_server.store.records import Contended, Preload
from ojs_server.store.tables.contract import Reader, Tx

__all__ = [
    "Callbacks",
    "Clock",
    "Listener",
    "OutcomeUnknown",
    "Overtaken",
    "Reader",
    "SchemaError",
    "StaleWrite",
    "Store",
    "StoreBusy",
    "StoreDenied",
    "StoreUnavailable",
    "StoreUnreachable",
    "Tx",
]

Clock = Callable[[], int]

# Jobs became available through another node: how many by queue, or None for anywhere.
OnWake = Callable[[Mapping[str, int] | None], None]


# Another node has added to the event log, up to a position; None where that is not known.
OnLog = Callable[[int | None], None]


# Called when something falls due at a moment of the store's clock.
OnDue = Callable[[int], None]


# Called when a program has staged jobs.
OnStaged = Callable[[], None]


def _ignore() -> None:
    """Ignore that there are staged jobs."""


def _ignore_moment(moment: int | None) -> None:
    """Ignore a place of the log, or a due moment."""


class Callbacks(msgspec.Struct, frozen=True):
    """The functions that a node's listener calls."""

    on_wake: OnWake
    on_log: OnLog = _ignore_moment
    on_due: OnDue = _ignore_moment
    on_staged: OnStaged = _ignore


class Listener(Protocol):
    """Receives the notices of other nodes about available jobs and new events."""

    async def run(self) -> None:
        """Listen until cancelled."""


class Store(Protocol):
    """A database. Calls block; the server makes them off its event loop.

    If it is `embedded`, only commits wait, for the disk; all else happens in this process.
    """

    kind: str
    embedded: bool
    location: str

    @property
    def node(self) -> str:
        """Return the id of this node."""

    @property
    def is_open(self) -> bool:
        """Tell whether the database has been found and migrated; nothing works before."""

    def open(self) -> None:
        """Find the database, and migrate it.

        Raise StoreUnavailable if that may go later, and StoreDenied or SchemaError if it will not.
        """

    @property
    def lost_connections(self) -> int:
        """Return the number of connections that were lost, each of which is replaced."""

    def transaction(
        self, preload: Preload | None = None, *, long_wait: bool = True
    ) -> AbstractContextManager[Tx]:
        """Return a write transaction: it commits at the end of the block, and rolls back on an
        exception.

        Rows in `preload` may be locked and read at once, before any other lock. StoreBusy is
        raised if a lock is not obtained in time. Without `long_wait` the wait is short, and an
        embedded store does not wait at all.
        """

    def reader(self) -> AbstractContextManager[Reader]:
        """Return a connection for reading."""

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""

    def displaced(self) -> str | None:
        """Return why no change is kept: which file of the database is not under its name any more.
        None if all are."""

    def listener(self, callbacks: Callbacks) -> Listener | None:
        """Return a listener for other nodes' notices; None if there are no other nodes."""

    def note_waiting(self, until: int) -> None:
        """Notify other nodes that fetches wait here, until a moment of the store's clock."""

    def note_following(self, for_ms: int) -> None:
        """Ask other nodes to announce the events that they add to the log, for a time from now."""

    def announce(self, announcement: Announcement) -> None:
        """Note that this node is up, and what it says of itself."""

    def withdraw(self) -> None:
        """Note that this node has stopped."""

    def nodes(self) -> list[ServerNode]:
        """Return the nodes that were announced and have not been withdrawn."""

    def held(self, requested: Contended, for_ms: int) -> Contended:
        """Return those of these rows that another transaction has locked, if that has been open for
        some time.

        Jobs count, too, if that transaction holds the limit of their key. Limits of queues and
        tenants that are held are all returned.
        """

    def end_silent_transactions(self) -> int:
        """End transactions of servers that fell silent while they hold locks; return how many. To
        be called about once a second."""

    def vacuum_holders(self) -> list[VacuumHolder]:
        """Return what has kept the database from removing old row versions for long. To be called
        about twice a minute."""

    def durability_warnings(self) -> list[str]:
        """Return the settings of the database under which a confirmed commit could be lost."""

    def close(self) -> None:
        """Close the connections to the database."""
