"""A store that can be told to refuse changes, or not to answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ojs_server.store.base import OutcomeUnknown, StoreBusy, StoreUnavailable

INNER = "connection to 10.1.2.3 refused"


class Refusing:
    """Stands before a store."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.refuses = False
        # Leave commits unanswered, and report their outcome only once `tells` is set.
        self.forgets = False
        self.tells = threading.Event()
        self.carried_out: bool | None = None
        # Readers and writers wait while this is cleared.
        self.flows = threading.Event()
        self.flows.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def transaction(self, preload: Any = None, *, long_wait: bool = True) -> Iterator[Any]:
        """One write transaction, or none."""
        if self._store.embedded and not long_wait and not self.flows.is_set():
            raise StoreBusy(INNER)
        self.flows.wait()
        if self.refuses:
            raise StoreUnavailable(INNER)
        with self._store.transaction(preload, long_wait=long_wait) as tx:
            yield tx
            if self.forgets:
                raise OutcomeUnknown(INNER, self._told)

    def _told(self) -> bool:
        self.tells.wait()
        if self.carried_out is None:
            raise OutcomeUnknown(INNER)
        return self.carried_out

    @contextmanager
    def reader(self) -> Iterator[Any]:
        """The store's, once it flows."""
        self.flows.wait()
        with self._store.reader() as reader:
            yield reader

    def ping(self) -> None:
        """Answer unless the store is told not to; refusing changes does not affect it."""
        self.flows.wait()
        self._store.ping()
