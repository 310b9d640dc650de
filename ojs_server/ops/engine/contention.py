"""Carry out batches while another server holds row locks: postpone the operations that need them.

A whole batch waits for one lock. If the wait times out, another server may have been suspended in
the middle of a transaction. The locked rows are then looked up, and only the operations that need
rows of an old transaction are held back.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.environment import Environment
from ojs_server.ops.engine.batch import Committed, LocksBusy, apply, one_by_one
from ojs_server.ops.locking import needs_of
from ojs_server.ops.operation import AnyOperation
from ojs_server.ops.rules import Rules
from ojs_server.store.base import Store, StoreBusy, StoreUnavailable
from ojs_server.store.records import Contended

# Locks of younger transactions are waited for as usual.
OLD_MS: Final = 250
# Time after a lock timeout during which blocked operations are looked up before each batch.
SUSPECTS_S: Final = 1.0


class Contention:
    """Carries out the batches of a server that shares its store with others."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        environment: Environment,
        schedulers: Schedulers | None = None,
    ) -> None:
        self._store = store
        self._rules = rules
        self._rng = environment.chance
        self._schedulers = schedulers or Schedulers()
        self._stopwatch = environment.monotonic
        self._suspects_until = 0.0

    def carry_out(self, ops: Sequence[AnyOperation]) -> Committed:
        """Commit all operations except those that get LocksBusy."""
        if self._stopwatch() < self._suspects_until:
            return self._around(self._held_up(ops), ops, "the lock is not released yet")
        return self._committed(ops)

    def _committed(self, ops: Sequence[AnyOperation]) -> Committed:
        try:
            done = apply(
                self._store,
                self._rules,
                self._rng,
                ops,
                schedulers=self._schedulers,
                long_wait=False,
            )
        except StoreBusy as error:
            self._suspect()
            if held_up := self._held_up(ops):
                return self._around(held_up, ops, str(error))
            return one_by_one(
                self._store, self._rules, self._rng, ops, self._schedulers, long_wait=False
            )
        if done.lock_timeouts:
            self._suspect()
        return done

    def _around(self, held_up: set[int], ops: Sequence[AnyOperation], reason: str) -> Committed:
        """Commit the operations that are not held up."""
        rest = [op for place, op in enumerate(ops) if place not in held_up]
        done = self._committed(rest) if rest else Committed([])
        answers = iter(done.outcomes)
        outcomes = [
            LocksBusy(reason) if place in held_up else next(answers) for place in range(len(ops))
        ]
        return msgspec.structs.replace(done, outcomes=outcomes)

    def _suspect(self) -> None:
        self._suspects_until = self._stopwatch() + SUSPECTS_S
        with suppress(StoreUnavailable):
            self._store.end_silent_transactions()

    def _held_up(self, ops: Sequence[AnyOperation]) -> set[int]:
        """Return the indexes of the operations that need rows of an old transaction."""
        wants = [needs_of(self._rules, op) for op in ops]
        try:
            held = self._store.held(_together(wants), OLD_MS)
        except StoreUnavailable:
            return set()
        found = {
            place
            for place, (op, needed) in enumerate(zip(ops, wants, strict=True))
            if _meet(needed, held) or op.may_meet(held.limits)
        }
        if found:
            self._suspects_until = self._stopwatch() + SUSPECTS_S
        return found


def _together(wants: Sequence[Contended]) -> Contended:
    return Contended(
        {name for one in wants for name in one.limits},
        {name for one in wants for name in one.jobs},
        {name for one in wants for name in one.workers},
    )


def _meet(needed: Contended, held: Contended) -> bool:
    return any(
        name in there
        for names, there in (
            (needed.limits, held.limits),
            (needed.jobs, held.jobs),
            (needed.workers, held.workers),
        )
        for name in names
    )
