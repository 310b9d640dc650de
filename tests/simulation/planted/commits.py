"""Wrong words about commits: to a caller, before or after what it says of them is true."""

from typing import Any

import msgspec

from ojs_server.ops.engine.availability import unavailable
from ojs_server.ops.engine.batch import Committed, UncommittedBatch
from ojs_server.ops.engine.group_commit import GroupCommit
from ojs_server.ops.jobs import enqueue
from ojs_server.store.base import OutcomeUnknown, StoreUnavailable
from ojs_server.store.sqlite import store as sqlite
from tests.faulty.planting import put, wrap
from tests.simulation.planted.registry import planted


class _Answered:
    """A caller that has its answer."""

    waits_until = 0.0

    def gone(self) -> bool:
        return False

    def resolve(self, outcome: object) -> None:
        """Ignore what comes later."""


@planted(sees="durability", needs="1 node, a crash in a commit", like="0003")
def answers_come_before_the_commit() -> None:
    """Callers of a small batch are answered once it is carried out, before it is committed."""

    def make(start: Any) -> Any:
        def answered_first(self: GroupCommit) -> None:
            put_batch = self._batches.put

            def put_answered(given: Any) -> None:
                batch, ops, begun = given
                if begun is not None and not begun.in_parts:
                    outcomes = begun._committed.outcomes
                    for (_, caller, _), outcome in zip(batch, outcomes, strict=True):
                        self._resolve(caller, outcome)
                    batch = [(op, _Answered(), at) for op, _, at in batch]
                put_batch((batch, ops, begun))

            put(self._batches, "put", put_answered)
            try:
                start(self)
            finally:
                put(self._batches, "put", put_batch)

        return answered_first

    wrap(GroupCommit, "_start", make)


@planted(
    sees="durability", needs="a commit whose answer is lost and that was not done", like="0021"
)
def unknown_outcomes_are_told_as_success() -> None:
    """A commit whose answer was lost is taken for done."""

    def make(resolved: Any) -> Any:
        def hopeful(self: Committed) -> Committed:
            if self.doubt is None:
                return self
            resolved(self)
            return msgspec.structs.replace(self, doubt=None, looked_up=True)

        return hopeful

    wrap(Committed, "resolved", make)


@planted(sees="events", needs="a commit whose answer is lost and that was done", like="0021")
def unknown_outcomes_are_told_as_refused() -> None:
    """A commit whose answer was lost is taken for undone: nobody is woken, all are refused."""

    def fearful(self: Committed) -> Committed:
        if self.doubt is None:
            return self
        return Committed(
            [unavailable("this was not stored") for _ in self.outcomes], looked_up=True
        )

    put(Committed, "resolved", fearful)


@planted(sees="durability", needs="a disk that fails in a commit", like="49dab521")
def failed_commits_are_told_as_success() -> None:
    """A commit that the store refuses is answered as if it was done."""

    def make(commit: Any) -> Any:
        def calm(self: UncommittedBatch) -> Committed:
            try:
                done: Committed = commit(self)
            except OutcomeUnknown:
                raise
            except StoreUnavailable:
                return self._committed
            return done

        return calm

    wrap(UncommittedBatch, "commit", make)


@planted(sees="refused", needs="1 node, a failed sync and then a crash", like="e43bdd4d")
def failed_commits_are_told_as_refused() -> None:
    """A commit whose sync failed is told as refused, though the next start may find it whole."""
    put(sqlite.SqliteStore, "_commit", lambda self: self._writer.execute("COMMIT"))


@planted(sees="durability", needs="1 node, a crash that loses what was not synchronised")
def commits_are_not_synchronised() -> None:
    """The database does not wait until a commit is on disk."""
    put(sqlite, "_PRAGMAS", {**sqlite._PRAGMAS, "synchronous": "OFF"})


@planted(sees="duplicates", needs="an enqueue of many whose answer is lost", like="0055")
def idempotency_keys_are_forgotten() -> None:
    """A repeated call with its idempotency key is carried out once more."""
    put(enqueue, "_known_receipt", lambda work, ops, made: {})
