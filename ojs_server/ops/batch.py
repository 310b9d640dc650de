"""Carrying out a batch of operations in one transaction."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, Protocol, get_args

import msgspec

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.happened import Happened
from ojs_server.domain.turns import Rota
from ojs_server.ops import (
    beat,
    bulk,
    bulk_enqueue,
    checkpoint,
    claim,
    control,
    cron,
    deliveries,
    enqueue,
    move,
    opening,
    presence,
    priority,
    probe,
    progress,
    rooms,
    routing,
    schemas,
    sessions,
    settle,
    sharers,
    signs,
    sweep,
    webhooks,
    workflow,
    workflow_moves,
)
from ojs_server.ops.availability import refusal, unavailable
from ojs_server.ops.exchange import Exchange, RepeatableAck, RepeatableFail
from ojs_server.ops.locking import foresee, lock
from ojs_server.ops.work import Chance, Rules, Work
from ojs_server.store.base import OutcomeUnknown, StaleWrite, Store, StoreBusy, StoreUnavailable

log = logging.getLogger("ojs.store")

# How often an operation is tried again that another node was faster than.
TRIES: Final = 3
# So many operations that alone waited for a lock in vain are enough: it is not their fault, and
# each of the others would wait as long.
WAITS: Final = 2


class Operation(Protocol):
    """A request to change something."""

    @property
    def keys(self) -> tuple[object, ...]:
        """What no other operation of the same transaction may touch."""


# An outcome is the operation's own result, or the error that its caller is to see.
Outcome = Any

Handler = Callable[[Work, Sequence[Any]], Sequence[Outcome]]

# In this order inside a transaction: what was just enqueued or given back can be claimed. Rows are
# locked before that, in the order that store/postgres/transaction.py gives.
HANDLERS: Final[tuple[tuple[tuple[type, ...], Handler], ...]] = (
    (
        (
            control.SetPaused,
            control.Configure,
            control.Maintain,
            control.Collect,
            control.Reset,
        ),
        control.run,
    ),
    (get_args(sharers.Operation), sharers.run),
    # Their rows are nobody else's, so it does not matter when they are locked.
    (
        (
            webhooks.Subscribe,
            webhooks.AmendWebhook,
            webhooks.RotateSecret,
            webhooks.Unsubscribe,
            webhooks.Replay,
        ),
        webhooks.run,
    ),
    ((routing.SaveRouting, routing.DropRouting), routing.run),
    ((schemas.RegisterSchema, schemas.RemoveSchema), schemas.run),
    ((deliveries.Spread, deliveries.Take, deliveries.Report), deliveries.run),
    ((cron.Register, cron.Amend, cron.Forget, cron.Trigger, cron.Fire), cron.run),
    ((enqueue.Enqueue,), enqueue.run),
    ((bulk_enqueue.BulkEnqueue,), bulk_enqueue.run),
    ((workflow.Start,), workflow.run_starts),
    (
        (
            settle.Ack,
            settle.Fail,
            settle.Cancel,
            settle.Activate,
            settle.Revive,
            settle.Rerun,
            settle.Remove,
            RepeatableAck,
            RepeatableFail,
        ),
        settle.run,
    ),
    ((rooms.Begin,), rooms.begin),
    ((checkpoint.Save, checkpoint.Clear), checkpoint.run),
    ((progress.Advance,), progress.run),
    ((priority.Prioritize,), priority.run),
    ((control.Purge, control.Drop), control.run),
    ((move.Move,), move.run),
    ((bulk.Bulk,), bulk.run),
    (get_args(presence.Coming), presence.run),
    ((presence.Cleanup,), presence.clean_up),
    ((rooms.Join,), rooms.join),
    ((sessions.OpenSession, sessions.DropSession), sessions.run),
    ((beat.Beat,), beat.run),
    ((signs.Heard,), signs.run),
    ((sweep.Sweep,), sweep.run),
    ((claim.Claim,), claim.run),
    ((workflow.Cancel,), workflow.run_cancels),
    # Limits are locked after everything else.
    ((opening.Open, opening.Override), opening.run),
    # A row of this node's own, which nobody else waits for.
    ((probe.Probe,), probe.run),
)
# What changes that which every node knows.
_SETTINGS: Final[set[type]] = {
    *(control.SetPaused, control.Configure, control.Maintain, control.Reset, control.Drop),
    *get_args(sharers.Operation),
    *(routing.SaveRouting, routing.DropRouting, schemas.RegisterSchema, schemas.RemoveSchema),
}
_ON_WEBHOOKS: Final[set[type]] = {*get_args(webhooks.Operation), deliveries.Spread}
# Groups whose handlers lock for all of their operations at once.
_AT_ONCE: Final[set[type]] = {
    *(enqueue.Enqueue, *get_args(settle.OnJob), settle.Remove, RepeatableAck, RepeatableFail),
    *(checkpoint.Save, checkpoint.Clear, progress.Advance, priority.Prioritize),
    *(beat.Beat, signs.Heard, sweep.Sweep, claim.Claim),
}
# What takes so little that a loop may do it between two requests.
_SMALL: Final[set[type]] = {
    *(enqueue.Enqueue, settle.Ack, settle.Fail, RepeatableAck, RepeatableFail),
    *(claim.Claim, beat.Beat),
}
_SMALL_JOBS: Final = 100
_GROUP_OF: Final = {kind: index for index, (kinds, _) in enumerate(HANDLERS) for kind in kinds}
# The groups before this one have rows of their own, which come first in the order of locks.
_FIRST_TO_LOCK: Final = _GROUP_OF[cron.Register]


# Calls by which a worker is heard, and what judges whether it was: where one of them is refused,
# silence says nothing.
_HEARD: Final[set[type]] = {
    *(beat.Beat, claim.Claim, settle.Ack, settle.Fail, RepeatableAck, RepeatableFail),
    *(progress.Advance, checkpoint.Save, presence.Register, sessions.OpenSession),
    *(sweep.Sweep, signs.Heard, probe.Probe),
}


class Held(Unavailable):
    """Somebody else holds what an operation is about, which was not carried out; it may be tried
    again."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "another server is at what this is about, and not done with it in time",
            headers={"Retry-After": "1"},
        )
        self.reason = reason


class Committed(msgspec.Struct, frozen=True):
    """What a batch came to: an outcome per operation, and what the server does next.

    `refused` says why the store took nothing of it, `in_vain` what the operations heard that alone
    waited in vain for a lock. With a `doubt`, all this is so only if the store carried it out.
    """

    outcomes: list[Outcome]
    now: int = 0
    wakes: dict[str, int] = {}
    due_at: int | None = None
    ended: list[str] = []
    heard: list[str] = []
    refused: str | None = None
    in_vain: list[str] = []
    # The store does not answer at all.
    away: bool = False
    # A worker has called in vain.
    unheard: bool = False
    # How many of the operations came to an end that nobody knows.
    unknown: int = 0
    # How far the event log reaches now; 0 where nothing was added.
    logged: int = 0
    rooms: dict[str, int] = {}
    events: Happened = msgspec.field(default_factory=Happened)
    doubt: OutcomeUnknown | None = None
    # The store was asked what had become of it.
    asked: bool = False

    def settled(self) -> "Committed":
        """Settle the doubt by asking the store, which may take seconds; any thread may."""
        if self.doubt is None:
            return self
        try:
            if self.doubt.carried_out():
                return msgspec.structs.replace(self, doubt=None, asked=True)
        except OutcomeUnknown as error:
            log.error("%s", error)
            outcomes = [refusal(error) for _ in self.outcomes]
            return Committed(outcomes, refused=str(error), unknown=len(outcomes), asked=True)
        reason = "the store was lost before this was stored"
        return Committed([unavailable(reason) for _ in self.outcomes], asked=True)


class Begun:
    """A batch that has been carried out, and waits for its commit."""

    def __init__(self, committed: Committed, transaction: ExitStack) -> None:
        self._committed = committed
        self._transaction = transaction

    def commit(self) -> Committed:
        """Commit, and return the outcomes, which may be in doubt."""
        try:
            self._transaction.close()
        except OutcomeUnknown as error:
            return msgspec.structs.replace(self._committed, doubt=error)
        return self._committed


# Those that may be about more than one job.
_JOBS_OF: Final[Mapping[type, Callable[[Any], int]]] = {
    enqueue.Enqueue: lambda op: len(op.drafts),
    bulk_enqueue.BulkEnqueue: lambda op: len(op.drafts),
    workflow.Start: lambda op: len(op.definition.drafts),
    claim.Claim: lambda op: op.count,
    Exchange: lambda op: sum(map(jobs_of, op.parts)),
    beat.Beat: lambda op: len(op.active_ids or ()),
    bulk.Bulk: lambda op: len(op.ids),
    control.Purge: lambda op: len(op.job_ids),
    move.Move: lambda op: len(op.job_ids),
}


def jobs_of(op: Operation) -> int:
    """How many jobs a request brings, asks for, or is about; one at least."""
    count = _JOBS_OF.get(type(op))
    return 1 if count is None else count(op) or 1


def is_small(ops: Sequence[Operation]) -> bool:
    """Whether a batch has few jobs, and only calls that do not look far."""
    room = _SMALL_JOBS
    for op in _parts(ops):
        if isinstance(op, claim.Claim):
            room -= op.count + 1
        elif isinstance(op, enqueue.Enqueue):
            room -= len(op.drafts)
        elif type(op) in _SMALL:
            room -= 1
        else:
            return False
    return room >= 0


def apply(
    store: Store,
    rules: Rules,
    luck: Chance,
    ops: Sequence[Operation],
    tries: int = TRIES,
    *,
    rota: Rota | None = None,
    begun: Begun | None = None,
    patient: bool = True,
) -> Committed:
    """Commit all operations together, where they are `begun` as they are; if that fails, each
    by itself.

    A COMMIT that was not answered leaves a doubt, about which whoever calls has the store asked.
    A domain refusal is an outcome like any other. Only an operation that the database cannot
    take fails, and it fails alone. Whoever holds an embedded store holds all of it: then there is
    nothing to try by itself. Who is not `patient` waits for a lock but for a moment: where that was
    in vain it is StoreBusy, or `Held` for an operation by itself.
    """
    rota = rota or Rota()
    try:
        carried_out = begun or begin(store, rules, luck, ops, rota, patient=patient)
        return _whole(ops, carried_out.commit())
    except StaleWrite as error:
        # Another node was faster; what was decided on is to be looked at again.
        if len(ops) == 1:
            if tries > 1:
                return apply(store, rules, luck, ops, tries - 1, rota=rota, patient=patient)
            return Committed([refusal(error)])
    except StoreUnavailable as error:
        busy = isinstance(error, StoreBusy)
        if busy and not patient:
            if len(ops) > 1:
                raise
            return held(ops, str(error))
        if len(ops) == 1 or (busy and store.embedded):
            return _refused(ops, error, in_vain=[str(error)] if busy else [])
        if not _answers(store):
            return _refused(ops, error, away=True)
    except Exception as error:
        if len(ops) == 1 and ops == _parts(ops):
            return Committed([error])
    smaller = _parts(ops) if len(ops) == 1 else ops
    done = one_by_one(store, rules, luck, smaller, rota, patient=patient)
    return done if smaller is ops else _whole(ops, done)


def one_by_one(
    store: Store,
    rules: Rules,
    luck: Chance,
    ops: Sequence[Operation],
    rota: Rota,
    *,
    patient: bool = True,
) -> Committed:
    """Commit each operation by itself, until that is hopeless."""
    done: list[Committed] = []
    in_vain: list[str] = []
    for place, op in enumerate(ops, 1):
        if isinstance(op, sweep.Sweep) and any(part.unheard for part in done):
            # It would take from those that have just called in vain.
            done.append(_refused([op], StoreUnavailable("a worker was not heard")))
            continue
        part = apply(store, rules, luck, [op], rota=rota, patient=patient).settled()
        if part.asked:
            part = msgspec.structs.replace(part, unheard=_hears([op]))
        done.append(part)
        in_vain += done[-1].in_vain
        if in_vain and place < len(ops) and (store.embedded or len(in_vain) >= WAITS):
            untried = ops[place:]
            reason = in_vain[-1]
            done.append(_refused(untried, StoreBusy(reason)) if patient else held(untried, reason))
            break
    return _merged(done)


def _parts(ops: Sequence[Operation]) -> Sequence[Operation]:
    """What operations are carried out as."""
    if Exchange not in set(map(type, ops)):
        return ops
    return [part for op in ops for part in (op.parts if isinstance(op, Exchange) else (op,))]


def _whole(ops: Sequence[Operation], done: Committed) -> Committed:
    """The outcome of each operation from those of its parts."""
    if Exchange not in set(map(type, ops)):
        return done
    answers = iter(done.outcomes)
    outcomes = [
        op.outcome([next(answers) for _ in op.parts]) if isinstance(op, Exchange) else next(answers)
        for op in ops
    ]
    return msgspec.structs.replace(done, outcomes=outcomes)


def _merged(parts: Sequence[Committed]) -> Committed:
    wakes: Counter[str] = Counter()
    rooms: Counter[str] = Counter()
    logged = max(part.logged for part in parts)
    reasons = [part.refused for part in parts]
    for part in parts:
        wakes.update(part.wakes)
        rooms.update(part.rooms)
    return Committed(
        outcomes=[outcome for part in parts for outcome in part.outcomes],
        now=parts[-1].now,
        wakes=wakes,
        due_at=min((p.due_at for p in parts if p.due_at is not None), default=None),
        ended=[job_id for part in parts for job_id in part.ended],
        heard=[worker_id for part in parts for worker_id in part.heard],
        # One operation that the database cannot take is not the end of writing; but that others had
        # nothing to write says nothing.
        refused=None if logged else next((why for why in reversed(reasons) if why), None),
        unheard=any(part.unheard for part in parts),
        unknown=sum(part.unknown for part in parts),
        in_vain=[reason for part in parts for reason in part.in_vain],
        logged=logged,
        rooms=rooms,
        events=Happened(event for part in parts for event in part.events),
    )


def begin(
    store: Store,
    rules: Rules,
    luck: Chance,
    whole: Sequence[Operation],
    rota: Rota,
    *,
    patient: bool = True,
) -> Begun:
    """Carry out all operations in a transaction, and leave it open for its commit."""
    ops = _parts(whole)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for index, op in enumerate(ops):
        groups[_GROUP_OF[type(op)]].append(index)
    kinds = set(map(type, ops))
    # The one writer of an embedded store has everything to itself.
    locked = store.embedded or len(ops) == 1 or (len(groups) == 1 and type(ops[0]) in _AT_ONCE)
    foreseen = None if store.embedded else foresee(ops)
    outcomes: list[Outcome] = [None] * len(ops)
    with ExitStack() as stack:
        tx = stack.enter_context(store.transaction(foreseen, patient=patient))
        work = Work(tx, rules, luck, rota)
        if not (store.embedded or _SETTINGS.isdisjoint(kinds)):
            tx.lock_settings()
        if not (locked or _ON_WEBHOOKS.isdisjoint(kinds)):
            webhooks.lock(work, ops)
        for place, indexes in sorted(groups.items()):
            if not locked and place >= _FIRST_TO_LOCK:
                lock(work, ops, foreseen)
                locked = True
            handler = HANDLERS[place][1]
            if handler is claim.run:
                # Claims lock limits, which come after workflows in the order of locks.
                workflow_moves.advance(work)
            answers = handler(work, [ops[index] for index in indexes])
            for index, answer in zip(indexes, answers, strict=True):
                outcomes[index] = answer
        workflow_moves.advance(work)
        work.flush()
        transaction = stack.pop_all()
    committed = Committed(
        outcomes=outcomes,
        now=work.now,
        wakes=dict(work.wakes),
        due_at=work.due_at,
        ended=work.ended,
        heard=work.heard,
        logged=work.logged,
        rooms=dict(work.rooms),
        events=work.events,
    )
    return Begun(committed, transaction)


def _answers(store: Store) -> bool:
    try:
        store.ping()
    except StoreUnavailable:
        return False
    return True


def _refused(
    ops: Sequence[Operation], error: Exception, *, in_vain: Sequence[str] = (), away: bool = False
) -> Committed:
    return Committed(
        [refusal(error) for _ in ops],
        refused=str(error),
        in_vain=[*in_vain],
        away=away,
        unheard=_hears(ops),
    )


def _hears(ops: Sequence[Operation]) -> bool:
    """Tell whether one of these operations hears or judges workers."""
    return not _HEARD.isdisjoint(map(type, _parts(ops)))


def held(ops: Sequence[Operation], reason: str) -> Committed:
    """Outcomes of operations that wait for a lock of somebody else."""
    return Committed([Held(reason) for _ in ops], in_vain=[reason])
