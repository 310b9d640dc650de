"""The records that a store returns besides those of the domain, and the arguments of its calls."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ojs_server.domain.jobs.job import Event, Job, Lease, StoredJob
from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.domain.schemas.schema import SchemaMark
from ojs_server.domain.webhooks.delivery import Delivery
from ojs_server.domain.webhooks.webhook import Webhook
from ojs_server.domain.workers.kind import Kind
from ojs_server.domain.workers.worker import Worker
from ojs_server.domain.workflows.record import WaitingJob, Workflow
from ojs_wire.codec import Json

# A position is a transaction's number and a running number inside it: rising with every
# commit, unique, and therefore both the FIFO sequence of jobs and the cursor of events.
POSITION_BITS = 18
MAX_POSITIONS = 1 << POSITION_BITS

# Time for which a holder could be heard after a start or a stall before its lease is judged.
LAPSE_GRACE_MS = 30_000

# Most distinct requirements of the jobs in a transaction's queues.
MAX_DEMANDS = 1000

# Most deliveries that are counted.
MAX_COUNTED = 10_000

# Beside the states, the counters of a queue hold how many bytes wait.
BYTES = "bytes"

# A workflow's id and a place in its plan.
NodePlace = tuple[str, int]

# Schemas by type, newest first.
Marks = Mapping[str, Sequence[SchemaMark]]


class Contended(msgspec.Struct, frozen=True):
    """Rows that many transactions want: limits by name, jobs and workers by id."""

    limits: Collection[str] = ()
    jobs: Collection[str] = ()
    workers: Collection[str] = ()


class Preload(msgspec.Struct, frozen=True):
    """The workers and jobs that a transaction surely locks and reads before it writes to them, and
    the queues in which it looks for what is due."""

    workers: Collection[str]
    jobs: Collection[str]
    queues: Collection[str] = ()


class PlacedEvent(msgspec.Struct, frozen=True):
    """A stored event with its position in the log and its time."""

    position: int
    at: int
    event: Event


class Claimed(msgspec.Struct, frozen=True):
    """A job that the claim just made active, with its payload."""

    job: Job
    args: Json
    meta: Json
    parent_results: Json | None = None


class Staged(msgspec.Struct, frozen=True):
    """A job that a program has enqueued within a transaction of its own, as a request body."""

    id: str
    tenant: str | None
    body: str
    staged_at: int


class StagedOutcome(msgspec.Struct, frozen=True):
    """The outcome of a staged job that was not stored as it is: an earlier job stands for it, or
    it was refused."""

    id: str
    at: int
    job_id: str | None = None
    code: str | None = None
    message: str | None = None
    details: Json | None = None


class Held(NamedTuple):
    """A job and the lease that is on it."""

    job: Job
    lease: Lease


class Leased(NamedTuple):
    """A job, and the lease on it where there is one."""

    job: Job
    lease: Lease | None


class WholeJob(NamedTuple):
    """A whole job, and the lease on it where there is one."""

    stored: StoredJob
    lease: Lease | None


class Keyed(NamedTuple):
    """A job and its fingerprint."""

    job: Job
    unique_key: bytes


class Lane(NamedTuple):
    """The jobs that a claim considers: of a queue, and optionally of one tenant or one type."""

    queue: str
    tenant: str | None = None
    type: str | None = None


class Stamped(msgspec.Struct, frozen=True):
    """The times of the first and the last change of a setting."""

    created_at: int
    updated_at: int


class QueueCounts(msgspec.Struct, frozen=True):
    """One queue: if it is paused, its time of creation, and its jobs by state."""

    name: str
    paused: bool
    created_at: int
    changed_at: int | None
    counts: Mapping[str, int]
    bytes: int = 0
    config: QueueConfig | None = None
    configured_at: int | None = None


class QueueSums(NamedTuple):
    """A queue as it is stored: its configuration, and the sums of its counters by state."""

    name: str
    paused: bool
    created_at: int
    changed_at: int | None
    scheduled: int
    available: int
    pending: int
    active: int
    completed: int
    retryable: int
    cancelled: int
    discarded: int
    bytes: int
    config: QueueConfig | None
    configured_at: int | None


class QueueLoad(NamedTuple):
    """The numbers of running, waiting (`depth`) and scheduled jobs of a queue, and their bytes."""

    active: int
    depth: int
    bytes: int
    scheduled: int = 0


class LoadedQueue(NamedTuple):
    """A queue by its name, and its load."""

    name: str
    load: QueueLoad


class QueueSlice(msgspec.Struct, frozen=True):
    """Jobs of one queue in a slice of all jobs: id, state, age; and the last id of the slice."""

    jobs: Sequence[tuple[str, str, int]]
    last: str


class LimitLoad(NamedTuple):
    """A limit, and how many jobs wait with its key."""

    limit: Limit
    waiting: int


class LimitPage(msgspec.Struct, frozen=True):
    """A page of limits by name, each with the number of jobs that wait with its key, and the number
    of all."""

    limits: Sequence[LimitLoad]
    total: int


class Released(NamedTuple):
    """A job of a key that may start next; `done` unless another node has it locked."""

    name: str
    job_id: str
    queue: str
    done: bool


class Receipt(msgspec.Struct, frozen=True):
    """The record of a request with an idempotency key, and of the jobs that it stored."""

    body_hash: bytes
    job_ids: tuple[str, ...]


class DueTimes(msgspec.Struct, frozen=True):
    """The next moment at which each kind of housekeeping has something to do."""

    job: int | None
    lease: int | None
    worker: int | None
    cron: int | None = None
    limit: int | None = None
    # Since when a worker lacks its session.
    dropped: int | None = None


class WorkerLoad(msgspec.Struct, frozen=True):
    """A worker and the jobs it holds."""

    worker: Worker
    job_ids: tuple[str, ...]


class KindRun(NamedTuple):
    """A kind of jobs, and one of the workers that run it."""

    kind: Kind
    worker_id: str | None


class KindWorkers(NamedTuple):
    """A kind of jobs of a room, and the workers that run it."""

    kind: Kind
    workers: tuple[str, ...]


class SchemaHead(NamedTuple):
    """A schema without its text."""

    mark: SchemaMark
    written: Json
    created_at: int
    uri: str | None


class WaitingNode(NamedTuple):
    """A job of a workflow that waits, and its position in the plan."""

    job: WaitingJob
    workflow_id: str
    node: int


class EventFilter(msgspec.Struct, frozen=True):
    """A filter of events; empty members match all. A type ending in `*` is a prefix."""

    types: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    subject: str | None = None
    tenant: str | None = None


class EventPage(msgspec.Struct, frozen=True):
    """Events after a cursor, and the cursor to go on from."""

    events: Sequence[PlacedEvent]
    cursor: int
    has_more: bool


class LogSpan(NamedTuple):
    """The positions of the oldest event kept and of the newest that can be read; 0 for none."""

    first: int
    last: int


class ListPosition(NamedTuple):
    """The position of a row in a list that is ordered from newest to oldest: its time and its id.

    It is a valid place to go on from even if the row has left the list since.
    """

    moment: int
    id: str


class JobPage(msgspec.Struct, frozen=True):
    """A page of jobs, newest first, and the number of all."""

    jobs: Sequence[StoredJob]
    total: int
    has_more: bool


class ScheduledIds(msgspec.Struct, frozen=True):
    """Ids of scheduled jobs in the order of their times, and the position to go on after.

    As with `JobIds`, a page may be short without being the last.
    """

    ids: Sequence[str]
    after: ListPosition | None


class JobIds(msgspec.Struct, frozen=True):
    """Ids of the jobs that match a filter, newest first, and the id after which to continue.

    A page may be short, even empty, without being the last, as the search for matching jobs is
    bounded.
    """

    ids: Sequence[str]
    after: str | None


class DeadLetterGroup(msgspec.Struct, frozen=True):
    """The dead letters of one job type and one type of error, and the newest of them."""

    type: str
    error_type: str | None
    count: int
    newest_at: int
    newest_id: str


class DeadLetterStats(msgspec.Struct, frozen=True):
    """The numbers of dead letters, and the times of the oldest and the newest."""

    by_queue: Mapping[str, int]
    by_error_type: Mapping[str | None, int]
    groups: Sequence[DeadLetterGroup]
    oldest_at: int | None
    newest_at: int | None


class EventTally(msgspec.Struct, frozen=True):
    """The number of events, counted up to a bound; `behind` if there are more."""

    total: int
    behind: bool


class WorkflowFilter(msgspec.Struct, frozen=True):
    """A filter of workflows; None matches all."""

    state: str | None = None
    kind: str | None = None
    name: str | None = None
    tenant: str | None = None


class WorkflowPage(msgspec.Struct, frozen=True):
    """A page of workflows, newest first, and the number of all."""

    workflows: Sequence[Workflow]
    total: int
    has_more: bool


class DeliveryFilter(msgspec.Struct, frozen=True):
    """A filter of deliveries; None matches all."""

    webhook_id: str | None = None
    status: str | None = None
    tenant: str | None = None


class DeliveryPage(msgspec.Struct, frozen=True):
    """Deliveries of a list, newest first, and how many there are, counted to `MAX_COUNTED`."""

    deliveries: Sequence[Delivery]
    total: int
    has_more: bool


class WebhookLoad(NamedTuple):
    """An active subscription, the time of its next delivery, and the number of waiting ones."""

    webhook: Webhook
    due_at: int | None
    waiting: int
