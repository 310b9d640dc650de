"""Carry out a batch of operations in one transaction."""

import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import msgspec

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.event_buffer import EventBuffer
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.environment import Chance
from ojs_server.ops.engine.availability import refusal, unavailable
from ojs_server.ops.finishing import finish
from ojs_server.ops.locking import gather, lock, preload_of
from ojs_server.ops.operation import AnyOperation, Composite, Outcome, Stage, handler_of
from ojs_server.ops.rules import Rules
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.base import (
    OutcomeUnknown,
    Overtaken,
    StaleWrite,
    Store,
    StoreBusy,
    StoreUnavailable,
    StoreUnreachable,
)

log = logging.getLogger("ojs.store")

# Attempts of an operation after write conflicts with other nodes.
TRIES: Final = 3
# Attempts of a single operation that other nodes overtake. They end at once, and a node on a busy
# machine is slower than the others many times in a row.
OVERTAKEN_TRIES: Final = 10
# Give up on one-by-one retries after this many lock timeouts: each further operation might wait as
# long.
WAITS: Final = 2
# Most jobs of a batch that is carried out on the event loop.
SMALL_JOBS: Final = 100


class LocksBusy(Unavailable):
    """The operation was not carried out, as another transaction holds its locks; it may be tried
    again."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "another server holds a lock that this needs and did not release it in time",
            headers={"Retry-After": "1"},
        )
        self.reason = reason


class Committed(msgspec.Struct, frozen=True):
    """The result of a batch: an outcome for each operation, and the wake-ups that follow.

    `refused` is the reason why the store took nothing of it, `lock_timeouts` has the errors of
    operations that timed out by themselves, waiting for a lock. With a `doubt`, it is unknown
    whether the store has committed it.
    """

    outcomes: list[Outcome]
    now: int = 0
    wakes: dict[str, int] = {}
    due_at: int | None = None
    ended: list[str] = []
    fetching: list[str] = []
    refused: str | None = None
    lock_timeouts: list[str] = []
    # True if the store does not answer at all.
    away: bool = False
    # True if an operation was refused that records or judges signs of life.
    refused_signs: bool = False
    # Number of operations whose outcome is unknown.
    unknown: int = 0
    # Last position of the event log; 0 if nothing was added.
    logged: int = 0
    freed: dict[str, int] = {}
    events: EventBuffer = msgspec.field(default_factory=EventBuffer)
    doubt: OutcomeUnknown | None = None
    # True if the store was asked for the outcome of the commit.
    looked_up: bool = False

    def resolved(self) -> "Committed":
        """Resolve the doubt by asking the store, which may take seconds; any thread may."""
        if self.doubt is None:
            return self
        try:
            if self.doubt.carried_out():
                return msgspec.structs.replace(self, doubt=None, looked_up=True)
        except OutcomeUnknown as error:
            if error is not self.doubt:
                log.error("%s", error)
            outcomes = [refusal(error) for _ in self.outcomes]
            return Committed(outcomes, refused=str(error), unknown=len(outcomes), looked_up=True)
        reason = "the connection to the store was lost before this was stored"
        return Committed([unavailable(reason) for _ in self.outcomes], looked_up=True)


class UncommittedBatch:
    """A batch that has been carried out, and waits for its commit."""

    def __init__(self, committed: Committed, transaction: ExitStack, *, in_parts: bool) -> None:
        self._committed = committed
        self._transaction = transaction
        # True if its outcomes are those of the parts of composite operations.
        self.in_parts = in_parts

    def commit(self) -> Committed:
        """Commit, and return the outcomes, which may be in doubt."""
        try:
            self._transaction.close()
        except OutcomeUnknown as error:
            return msgspec.structs.replace(self._committed, doubt=error)
        return self._committed


def is_small(ops: Sequence[AnyOperation]) -> bool:
    """True if a batch has few jobs, and only operations that read little."""
    jobs = 0
    for op in ops:
        jobs += op.job_count
        if not op.light or jobs > SMALL_JOBS:
            return False
    return True


def apply(
    store: Store,
    rules: Rules,
    rng: Chance,
    ops: Sequence[AnyOperation],
    tried: int = 1,
    *,
    schedulers: Schedulers | None = None,
    begun: UncommittedBatch | None = None,
    long_wait: bool = True,
) -> Committed:
    """Commit all operations together, or continue the batch that has `begun`; if that fails, each
    by itself.

    If a COMMIT got no answer, the result has a doubt, which the caller resolves. A refusal by the
    domain is an outcome like any other. Only an operation that the database cannot take fails, and
    it fails alone. On an embedded store a lock is always of the whole store, so nothing is tried by
    itself. Without `long_wait` a wait for a lock is short; if it times out, that is StoreBusy, or
    LocksBusy for a single operation.
    """
    schedulers = schedulers or Schedulers()
    try:
        carried_out = begun or begin(store, rules, rng, ops, schedulers, long_wait=long_wait)
        done = carried_out.commit()
        return _whole(ops, done) if carried_out.in_parts else done
    except StaleWrite as error:
        # Another node changed the same rows, so decide again on the new ones.
        overtaken = isinstance(error, Overtaken)
        most = OVERTAKEN_TRIES if overtaken and len(ops) == 1 else TRIES
        if tried < most and (len(ops) == 1 or overtaken):
            return apply(
                store, rules, rng, ops, tried + 1, schedulers=schedulers, long_wait=long_wait
            )
        if len(ops) == 1:
            return Committed([refusal(error)])
    except StoreUnavailable as error:
        busy = isinstance(error, StoreBusy)
        if busy and not long_wait:
            if len(ops) > 1:
                raise
            return held(ops, str(error))
        if busy and (len(ops) == 1 or store.embedded):
            return _refused(ops, error, lock_timeouts=[str(error)])
        if isinstance(error, StoreUnreachable) or not _answers(store):
            return _refused(ops, error, away=True)
        if len(ops) == 1:
            return _refused(ops, error)
    except Exception as error:
        if len(ops) == 1 and ops == _parts(ops):
            return Committed([error])
    smaller = _parts(ops) if len(ops) == 1 else ops
    done = one_by_one(store, rules, rng, smaller, schedulers, long_wait=long_wait)
    return done if smaller is ops else _whole(ops, done)


def one_by_one(
    store: Store,
    rules: Rules,
    rng: Chance,
    ops: Sequence[AnyOperation],
    schedulers: Schedulers,
    *,
    long_wait: bool = True,
) -> Committed:
    """Commit each operation in its own transaction, until the store is lost."""
    done: list[Committed] = []
    lock_timeouts: list[str] = []
    for place, op in enumerate(ops, 1):
        if op.expires_workers and any(part.refused_signs for part in done):
            # It would judge workers whose signs of life have just been refused.
            done.append(
                _refused([op], StoreUnavailable("the heartbeat of a worker was not stored"))
            )
            continue
        part = apply(store, rules, rng, [op], schedulers=schedulers, long_wait=long_wait).resolved()
        if part.looked_up:
            part = msgspec.structs.replace(part, refused_signs=_tracks_workers([op]))
        done.append(part)
        if part.away and place < len(ops):
            lost = StoreUnavailable(part.refused or "")
            done.append(_refused(ops[place:], lost, away=True))
            break
        lock_timeouts += done[-1].lock_timeouts
        if lock_timeouts and place < len(ops) and (store.embedded or len(lock_timeouts) >= WAITS):
            untried = ops[place:]
            reason = lock_timeouts[-1]
            done.append(
                _refused(untried, StoreBusy(reason)) if long_wait else held(untried, reason)
            )
            break
    return _merged(done)


def _parts(ops: Sequence[AnyOperation]) -> Sequence[AnyOperation]:
    """Return the operations to carry out, with composite ones replaced by their parts."""
    for op in ops:
        if op.composite:
            return [
                part for op in ops for part in (op.parts if isinstance(op, Composite) else (op,))
            ]
    return ops


def _whole(ops: Sequence[AnyOperation], done: Committed) -> Committed:
    """Return the outcome of each operation, made of those of its parts."""
    answers = iter(done.outcomes)
    outcomes = [
        op.outcome([next(answers) for _ in op.parts])
        if isinstance(op, Composite)
        else next(answers)
        for op in ops
    ]
    return msgspec.structs.replace(done, outcomes=outcomes)


def _merged(parts: Sequence[Committed]) -> Committed:
    wakes: Counter[str] = Counter()
    freed: Counter[str] = Counter()
    logged = max(part.logged for part in parts)
    reasons = [part.refused for part in parts]
    for part in parts:
        wakes.update(part.wakes)
        freed.update(part.freed)
    return Committed(
        outcomes=[outcome for part in parts for outcome in part.outcomes],
        now=parts[-1].now,
        wakes=wakes,
        due_at=min((p.due_at for p in parts if p.due_at is not None), default=None),
        ended=[job_id for part in parts for job_id in part.ended],
        fetching=[worker_id for part in parts for worker_id in part.fetching],
        # A refused operation does not make the store unavailable if another one wrote something;
        # one that had nothing to write proves nothing.
        refused=None if logged else next((why for why in reversed(reasons) if why), None),
        refused_signs=any(part.refused_signs for part in parts),
        unknown=sum(part.unknown for part in parts),
        lock_timeouts=[reason for part in parts for reason in part.lock_timeouts],
        away=any(part.away for part in parts),
        logged=logged,
        freed=freed,
        events=EventBuffer(event for part in parts for event in part.events),
    )


def begin(
    store: Store,
    rules: Rules,
    rng: Chance,
    whole: Sequence[AnyOperation],
    schedulers: Schedulers,
    *,
    long_wait: bool = True,
) -> UncommittedBatch:
    """Carry out all operations in a transaction, and leave it open for its commit."""
    ops = _parts(whole)
    stages: defaultdict[Stage, list[int]] = defaultdict(list)
    for index, op in enumerate(ops):
        stages[op.stage].append(index)
    outcomes: list[Outcome] = [None] * len(ops)
    # An embedded store has only one writer, which needs no row locks.
    locks = None if store.embedded else gather(rules, ops)
    preload = None if locks is None else preload_of(ops, locks)
    with ExitStack() as stack:
        tx = stack.enter_context(store.transaction(preload, long_wait=long_wait))
        work = Work(tx, rules, rng, schedulers)
        if locks is not None and any(op.settings for op in ops):
            tx.lock_settings()
        if len(ops) == 1 or (len(stages) == 1 and handler_of(ops[0].stage).at_once):
            # The handler locks in the same order by itself.
            locks = None
        if locks is not None and locks.webhooks:
            tx.load_webhooks(locks.webhooks)
        for stage, indexes in sorted(stages.items()):
            if locks is not None and stage > Stage.LOCK:
                lock(work, locks, preload)
                locks = None
            own = ops if len(stages) == 1 else [ops[index] for index in indexes]
            answers = handler_of(stage).run(work, own)
            for index, answer in zip(indexes, answers, strict=True):
                outcomes[index] = answer
        finish(work, ops, outcomes)
        work.flush()
        transaction = stack.pop_all()
    committed = Committed(
        outcomes=outcomes,
        now=work.now,
        wakes=dict(work.wakes),
        due_at=work.due_at,
        ended=work.ended,
        fetching=work.fetching,
        logged=work.logged,
        freed=dict(work.freed),
        events=work.events,
    )
    return UncommittedBatch(committed, transaction, in_parts=ops is not whole)


def _answers(store: Store) -> bool:
    try:
        store.ping()
    except StoreUnavailable:
        return False
    return True


def _refused(
    ops: Sequence[AnyOperation],
    error: Exception,
    *,
    lock_timeouts: Sequence[str] = (),
    away: bool = False,
) -> Committed:
    return Committed(
        [refusal(error) for _ in ops],
        refused=str(error),
        lock_timeouts=[*lock_timeouts],
        away=away,
        refused_signs=_tracks_workers(ops),
    )


def _tracks_workers(ops: Sequence[AnyOperation]) -> bool:
    """True if one of these operations records or judges signs of life."""
    return any(op.tracks_workers for op in _parts(ops))


def held(ops: Sequence[AnyOperation], reason: str) -> Committed:
    """Return the outcomes for operations that wait for a lock of another transaction."""
    return Committed([LocksBusy(reason) for _ in ops], lock_timeouts=[reason])
