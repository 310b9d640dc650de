"""The transactions and reads of one of several nodes that share a SQLite store."""

from collections.abc import Callable, Iterable, Mapping

from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.workers.worker import Worker
from ojs_server.store.base import StoreBusy
from ojs_server.store.postgres.listen import Notice
from ojs_server.store.postgres.transaction import MAX_NOTICE
from ojs_server.store.records import Contended, Leased, Preload
from ojs_server.store.sqlite.read import SqliteReader
from ojs_server.store.sqlite.transaction import SqliteTx
from ojs_server.store.tables.events import Events
from ojs_wire.codec import encode


class NodeReader(SqliteReader):
    """Reads of one of several nodes."""

    complete_to: int | None = None

    def log_end(self) -> int:
        """Return the position of the oldest silent transaction, or one behind all."""
        return super().log_end() if self.complete_to is None else self.complete_to


class NodeTx(SqliteTx):
    """A transaction of one of several nodes."""

    def belong_to(
        self,
        node: str,
        others_wait: Callable[[str, int], bool],
        followed: bool,
        locked: Callable[[Contended], bool],
        complete_to: int | None,
    ) -> None:
        """Note the node; whether others want to hear of jobs and of events; whether rows are
        locked; and the end of the log, if a silent transaction holds it up."""
        self.node = node
        self.notices: list[Notice] = []
        self._others_wait = others_wait
        self._followed = followed
        self._locked = locked
        self._complete_to = complete_to
        self._changes = self._connection.total_changes()

    @property
    def changed(self) -> bool:
        """True if anything was written."""
        return self._connection.total_changes() != self._changes

    def need(self, rows: Contended) -> None:
        """Lock rows: StoreBusy if a silent transaction has one of them."""
        if self._locked(rows):
            raise StoreBusy("canceling statement due to lock timeout")

    def preload(self, preload: Preload) -> None:
        """Lock the rows that are known beforehand."""
        self.need(Contended((), preload.jobs, preload.workers))

    def log_end(self) -> int:
        """Return the position of the oldest transaction, this one included."""
        return super().log_end() if self._complete_to is None else self._complete_to

    def announce(self, queues: Mapping[str, int]) -> None:
        """Send one notice, at commit, if a fetch waits at another node."""
        if self._others_wait(self.node, self.now):
            long = len(encode({"node": self.node, "queues": queues})) > MAX_NOTICE
            self._notify(Notice(self.node, None if long else dict(queues)))

    def announce_due(self, moment: int) -> None:
        """Send one notice, at commit."""
        self._notify(Notice(self.node, due_at=moment))

    def insert_events(self, events: Events) -> int:
        """Append to the event log, and tell the nodes that follow it."""
        last = super().insert_events(events)
        if last and self._followed:
            self._notify(Notice(self.node, position=last))
        return last

    def lock(
        self,
        workers: Iterable[str],
        jobs: Iterable[str],
        leases: Iterable[str],
        leaving: Iterable[str] = (),
    ) -> None:
        """Lock the rows of a whole batch."""
        self.need(Contended((), {*jobs, *leases}, {*workers, *leaving}))

    def load_workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers."""
        names = list(ids)
        self.need(Contended(workers=names))
        return super().load_workers(names)

    def load_jobs(self, ids: Iterable[str]) -> dict[str, Leased]:
        """Lock and read jobs with their leases."""
        names = list(ids)
        self.need(Contended(jobs=names))
        return super().load_jobs(names)

    def load_limits(self, names: Iterable[str]) -> dict[str, Limit]:
        """Lock and read limits."""
        listed = list(names)
        self.need(Contended(limits=listed))
        return super().load_limits(listed)

    def _notify(self, notice: Notice) -> None:
        # A notice that is sent twice in a transaction arrives once.
        if notice not in self.notices:
            self.notices.append(notice)
