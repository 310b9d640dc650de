"""The base of all operations: a class for each request that changes something.

stage               its place in a transaction, which is its place in the order of locks
keys                conflict keys: operations that share one are never in the same transaction
job_count, light    its cost
lock                names the rows that it will lock
carry_out           does it, unless one function handles all operations of its stage
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import IntEnum, auto
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from ojs_server.domain.admin.action import Actor
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.workers.worker import Worker
from ojs_server.ops.rules import Rules
from ojs_server.ops.unit_of_work import Work, outcome_of
from ojs_server.store.base import Tx

Result = TypeVar("Result", covariant=True)


class Stage(IntEnum):
    """The steps of a transaction: in this order rows are locked (store/postgres/transaction.py).

    What was just enqueued or given back can be claimed. Up to `LOCK` each stage locks rows that
    only it has; there the rows are locked that operations of different later stages may share.
    """

    CONTROL = auto()
    SHARING = auto()
    WEBHOOKS = auto()
    ROUTING = auto()
    SCHEMAS = auto()
    DELIVERIES = auto()
    LOCK = auto()
    CRON = auto()
    ENQUEUE = auto()
    STAGED = auto()
    BULK_ENQUEUE = auto()
    START_WORKFLOWS = auto()
    SETTLE = auto()
    BEGIN = auto()
    CHECKPOINT = auto()
    PROGRESS = auto()
    PRIORITY = auto()
    AMEND = auto()
    NUMBER = auto()
    PURGE = auto()
    MOVE = auto()
    BULK = auto()
    PRESENCE = auto()
    CLEANUP = auto()
    JOIN = auto()
    # Of other systems, on rows of their own.
    OTHERS = auto()
    SESSIONS = auto()
    BEAT = auto()
    SIGNS = auto()
    SWEEP = auto()
    CLAIM = auto()
    CANCEL_WORKFLOWS = auto()
    RETRY_WORKFLOWS = auto()
    LIMITS = auto()
    LOGINS = auto()
    # A node's own row, which no other node waits for.
    PROBE = auto()


class Locks:
    """The rows that the operations of a batch will lock, as far as they can name them."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.webhooks: set[str] = set()
        # Cron entries by name, and whether all due ones are locked as well.
        self.cron: set[str] = set()
        self.due_cron = False
        # New jobs: their fingerprints, and the limits of their queues, keys and tenants.
        self.drafts: list[Sequence[Draft | None]] = []
        self.workers: set[str] = set()
        self.all_workers = False
        # Functions that find and lock workers, but skip those that another node has locked.
        self.searches: list[Callable[[Work], Iterable[Worker]]] = []
        self.jobs: set[str] = set()
        # Leases by job, if the job itself is not locked.
        self.leases: set[str] = set()
        # Workers whose leases and jobs are locked with them.
        self.leaving: set[str] = set()
        # Rows of other systems, which are locked after workers, by the function that locks them.
        self.others: defaultdict[Callable[[Tx, Sequence[str]], object], set[str]] = defaultdict(set)
        # Workflows to cancel, with their unfinished jobs.
        self.workflows: set[str] = set()
        # Queues to claim from. The tenants and pools of a claim are not known in advance.
        self.queues: set[str] = set()
        self.all_tenants = False
        self.all_pools = False


class Operation(msgspec.Struct, Generic[Result], frozen=True, kw_only=True):
    """A request to change something; its transaction produces a `Result`."""

    # The person who requested it, if any; recorded in the action log.
    by: Actor | None = None

    stage: ClassVar[Stage]
    # True if it is short enough to run on the event loop.
    light: ClassVar[bool] = False
    # True if it records or judges signs of life of workers. After its refusal, silence of a worker
    # proves nothing.
    tracks_workers: ClassVar[bool] = False
    # True if it takes jobs away from silent workers.
    expires_workers: ClassVar[bool] = False
    # True if it is due by time alone: it is carried out before waiting requests.
    due: ClassVar[bool] = False
    # True if it changes settings that every node caches.
    settings: ClassVar[bool] = False
    # True if it consists of other operations.
    composite: ClassVar[bool] = False

    @property
    def is_action(self) -> bool:
        """True if the action log is to have it, where a person requests it; a dry run is none."""
        return True

    @property
    def keys(self) -> tuple[object, ...]:
        """Conflict keys: operations that share one are never in the same transaction."""
        return ()

    @property
    def job_count(self) -> int:
        """Return the number of jobs that it enqueues, requests, or changes."""
        return 1

    def lock(self, locks: Locks) -> None:
        """Name the rows that it will lock."""

    def may_meet(self, limits: Collection[str]) -> bool:
        """Tell whether it may lock one of these limits without naming it."""
        return False

    def can_preload(self) -> bool:
        """Tell whether it locks only rows that it names, and reads these first."""
        return False

    def carry_out(self, work: Work) -> Result:
        """Carry the operation out, or raise its error; unused if its stage has a handler."""
        raise NotImplementedError(f"stage {self.stage.name} has no handler")


class Done(msgspec.Struct, frozen=True):
    """The result of an operation that returns only its time."""

    now: int


# An operation of any kind.
AnyOperation = Operation[Any]


class OnJob(Operation[Result], Generic[Result], frozen=True):
    """A request about one job."""

    job_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (self.job_id,)

    def lock(self, locks: Locks) -> None:
        locks.jobs.add(self.job_id)


class OnJobs(Operation[Result], Generic[Result], frozen=True):
    """A request about many jobs."""

    job_ids: tuple[str, ...]

    @property
    def keys(self) -> tuple[object, ...]:
        return self.job_ids

    @property
    def job_count(self) -> int:
        return len(self.job_ids)

    def lock(self, locks: Locks) -> None:
        locks.jobs.update(self.job_ids)


class OnWorker(Operation[Result], Generic[Result], frozen=True):
    """A request about one worker."""

    worker_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("worker", self.worker_id),)

    def lock(self, locks: Locks) -> None:
        locks.workers.add(self.worker_id)


class Composite(Operation[Result], Generic[Result], frozen=True):
    """Operations that are carried out among all others of their batch, and answered together."""

    composite = True

    @property
    def parts(self) -> Sequence[AnyOperation]:
        """Return the operations that it consists of."""
        raise NotImplementedError

    def outcome(self, answers: Sequence[Any]) -> Result | BaseException:
        """Return the result, or the error, made of the results of its parts."""
        raise NotImplementedError

    def lock(self, locks: Locks) -> None:
        for part in self.parts:
            part.lock(locks)

    def may_meet(self, limits: Collection[str]) -> bool:
        return any(part.may_meet(limits) for part in self.parts)


# The result of an operation, or the error for its caller.
Outcome = Any


class Handler(msgspec.Struct, frozen=True):
    """Carries out the operations of a stage; `at_once` where it locks for all of them at once."""

    run: Callable[[Work, Sequence[Any]], Sequence[Outcome]]
    at_once: bool = False


def _one_by_one(work: Work, ops: Sequence[AnyOperation]) -> Sequence[Outcome]:
    return [outcome_of(op.carry_out, work) for op in ops]


_ONE_BY_ONE: Final = Handler(_one_by_one)
_handlers: Final[dict[Stage, Handler]] = {}

Many = TypeVar("Many", bound=AnyOperation)
Reply = TypeVar("Reply")
Run = Callable[[Work, Sequence[Many]], Sequence[Reply | OjsError]]


def handles(
    stage: Stage, *, at_once: bool = False
) -> Callable[[Run[Many, Reply]], Run[Many, Reply]]:
    """Register a function that carries out all operations of a stage that are in one batch."""

    def register(run: Run[Many, Reply]) -> Run[Many, Reply]:
        assert stage not in _handlers, f"stage {stage.name} has a handler already"
        _handlers[stage] = Handler(run, at_once)
        return run

    return register


def handler_of(stage: Stage) -> Handler:
    """Return the handler of a stage; by default operations are carried out one by one."""
    return _handlers.get(stage, _ONE_BY_ONE)
