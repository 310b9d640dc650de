"""The store contract: what a transaction can do, and what can be read without one.

A store decides nothing. `ops/` reads through a `Tx`, lets `domain/` decide, and hands the
decision back to be written, guarded by the state it leaves. All moments are milliseconds.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from ojs_server.domain.dead_letter import Mark
from ojs_server.domain.happened import Happened
from ojs_server.domain.job import Change, Event, Job, Lease, StoredJob
from ojs_server.domain.job_filter import JobFilter
from ojs_server.domain.limit import Limit
from ojs_server.domain.maintenance import Maintenance
from ojs_server.domain.queue_config import QueueConfig
from ojs_server.domain.sharing import Sharing
from ojs_server.domain.statistics import Count
from ojs_server.domain.workers import Worker
from ojs_server.domain.workflow_record import MemberProgress, WorkflowView
from ojs_server.store.beside import BesideReader, BesideTx
from ojs_server.store.cron import CronReader, CronTx
from ojs_server.store.kinds import KindReader, KindTx
from ojs_server.store.records import (
    Claimed,
    Contended,
    DeadLetterStats,
    DueTimes,
    EventFilter,
    EventPage,
    EventTally,
    Foreseen,
    Held,
    JobIds,
    JobPage,
    Leased,
    LimitLoad,
    LimitPage,
    LogSpan,
    Opened,
    Place,
    QueueCounts,
    QueueLoad,
    Receipt,
    ScheduledIds,
    Span,
    WholeJob,
    WorkerLoad,
)
from ojs_server.store.routing import RoutingReader, RoutingTx
from ojs_server.store.schemas import SchemaReader, SchemaTx
from ojs_server.store.sharing import SharingReader, SharingTx
from ojs_server.store.webhooks import WebhookReader, WebhookTx
from ojs_server.store.workflows import WorkflowFilter, WorkflowPage, WorkflowTx

Clock = Callable[[], int]

# A position is a transaction's number and a running number inside it: rising with every
# commit, unique, and therefore both the FIFO sequence of jobs and the cursor of events.
POSITION_BITS = 18
MAX_POSITIONS = 1 << POSITION_BITS

# After a start or a stall a lease is judged when its holder could be heard for this long.
JUDGED_AFTER_MS = 30_000

# How many demands of the jobs in a transaction's queues are told apart.
MAX_DEMANDS = 1000

# What a wipe empties, in the order of locks.
WIPED = (
    "queues",
    "maintenance",
    "tenants",
    "pools",
    "routings",
    "schemas",
    "webhooks",
    "deliveries",
    "cron",
    "cron_runs",
    "workers",
    "worker_kinds",
    "job_kinds",
    "jobs",
    "leases",
    "checkpoints",
    "progress",
    "earlier_holders",
    "job_numbers",
    "workflows",
    "workflow_jobs",
    "limits",
    "queue_counts",
    "events",
    "event_tally",
    "statistics",
    "receipts",
)

# Beside the states, the counters of a queue hold how many bytes wait.
BYTES = "bytes"


class StoreUnavailable(Exception):
    """The database cannot be reached or refuses to work; nothing was committed."""


class StoreBusy(StoreUnavailable):
    """Somebody else held what was asked for, for longer than it is waited for."""


class OutcomeUnknown(Exception):
    """The database did not say what became of a COMMIT: it may have been carried out, or not."""

    def __init__(self, message: str, ask: Callable[[], bool] | None = None) -> None:
        super().__init__(message)
        self._ask = ask

    def carried_out(self) -> bool:
        """Ask the database, which may take seconds; raises OutcomeUnknown if it cannot say.

        Any thread may ask. Where the transaction was not carried out, it cannot be any more.
        """
        if self._ask is None:
            raise self
        return self._ask()


class StaleWrite(Exception):
    """A guarded write found another state than the one it was decided on."""


class SchemaError(Exception):
    """The database's schema is newer than this program, or missing."""


class Tx(WorkflowTx, WebhookTx, SchemaTx, RoutingTx, SharingTx, KindTx, CronTx, BesideTx, Protocol):
    """One write transaction. Nothing is visible to others before it commits."""

    now: int
    # The configured queues, as they were when the transaction began.
    configs: Mapping[str, QueueConfig]
    # The maintenance that was on then.
    maintenance: Maintenance | None
    # What tenants and pools there were then.
    sharing: Sharing

    def lock_settings(self) -> None:
        """Wait for every other transaction that changes what all nodes know: settings of queues,
        tenants, pools, routings, schemas, maintenance."""

    def position(self) -> int:
        """The next place in commit order."""

    def positions(self, count: int) -> list[int]:
        """So many of them, each above the one before it."""

    def lock(
        self,
        workers: Iterable[str],
        jobs: Iterable[str],
        leases: Iterable[str],
        leaving: Iterable[str] = (),
    ) -> None:
        """Lock workers, then jobs, then leases by job, before anything is read.

        For a batch of several kinds of operations: each kind locks in an order of its own, and
        two nodes could wait for each other in a circle. What `leaving` workers hold is included.
        """

    # Jobs.
    def insert_jobs(self, jobs: Sequence[StoredJob]) -> set[str]:
        """Store new jobs; answers the ids that were there before and stay as they were."""

    def insert_new_jobs(self, jobs: Sequence[StoredJob]) -> None:
        """Store jobs with ids that were just made: nobody else has them."""

    def load_jobs(self, ids: Iterable[str]) -> dict[str, Leased]:
        """Lock and read jobs with their leases."""

    def load_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each of these ids that exists."""

    def seize_jobs(self, ids: Iterable[str]) -> dict[str, Job]:
        """Lock and read jobs, without waiting for those that another transaction has."""

    def load_whole(self, ids: Iterable[str]) -> dict[str, StoredJob]:
        """Read jobs with their payloads."""

    def load_due(self, limit: int) -> list[Job]:
        """Lock the jobs whose `due_at` has come, earliest first."""

    def due_queues(self, queues: Iterable[str]) -> list[str]:
        """Those of these queues, in their order, in which a scheduled job or a retry is due."""

    def load_due_in(self, queues: Sequence[str], each: int) -> list[Job]:
        """Lock the scheduled jobs and retries of queues that are due and have not expired: so many
        of each queue at most, earliest first."""

    def claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        """Make up to `limit` available jobs active: queues in order, priority, then FIFO."""

    def demands(self, queues: Iterable[str]) -> list[tuple[str, str]]:
        """What the available jobs of queues ask of their worker, each (queue, demand) once.

        Of more than `MAX_DEMANDS` some are left out.
        """

    def claim_meeting(
        self,
        queues: Sequence[str],
        job_types: Sequence[str] | None,
        met: Sequence[tuple[str, str]],
        limit: int,
    ) -> list[Claimed]:
        """Claim jobs that ask for nothing, or for one of `met`.

        Those that ask for nothing are found among the first jobs of a queue and type only, so
        that many that ask for something else cost no more than that.
        """

    # Claims that share look first, choose, and take what they chose; see ops/sharing.py.
    def write_changes(self, changes: Sequence[Change]) -> None:
        """Store decided transitions, each guarded by the state and attempt it leaves."""

    def ended_by(self, job_id: str) -> str | None:
        """The worker with which a locked job ended."""

    def delete_jobs(self, ids: Sequence[str]) -> None:
        """Remove jobs for good."""

    def mark_dead(self, marks: Sequence[Mark]) -> None:
        """Note what jobs that were just discarded are found and counted by."""

    def override_jobs(self, jobs: Sequence[StoredJob]) -> None:
        """Store the queue, policies, payload and fingerprint of locked jobs as they are now."""

    def save_priorities(self, jobs: Sequence[Job]) -> None:
        """Store the priorities of locked jobs."""

    def load_surplus(self, most: int, own: Mapping[str, int], limit: int) -> list[Job]:
        """Lock dead letters that are kept beyond `most` of their queue, each queue's oldest first.

        Queues that are among `own` have a number of their own.
        Queues are told apart by their counters, so that only full ones are looked at.
        """

    def lock_unique(self, keys: Iterable[bytes]) -> None:
        """Keep these fingerprints from every other transaction until this one ends."""

    def find_unique(self, wanted: Iterable[tuple[bytes, str]]) -> dict[bytes, list[Job]]:
        """The newest job that has each of these fingerprints in each of these states."""

    # What lies beside jobs; their rows are locked by then.
    # Leases.
    def insert_leases(self, leases: Sequence[Lease]) -> None:
        """Note who holds the jobs that were just claimed."""

    def move_leases(self, queue: str, ids: Iterable[str]) -> None:
        """Note another queue for leases of locked jobs. In place: a beat may wait for them."""

    def drop_leases(self, job_ids: Sequence[str]) -> None:
        """End leases."""

    def load_leases(self, job_ids: Iterable[str]) -> dict[str, Lease]:
        """Lock and read leases by job."""

    def load_fetches(self, fetch_ids: Sequence[str]) -> list[Lease]:
        """The leases still held that these fetches were answered with."""

    def extend_leases(self, leases: Sequence[Lease]) -> None:
        """Store the new `expires_at` of leases."""

    def load_lapsed(self, judged_since: int, until: int, limit: int) -> list[Held]:
        """Lock the jobs whose lease or run time was over by the moment `until`.

        A job that was handed out before `judged_since` (its `started_at`) is judged only when
        min(lease, 30 s) has passed since then, so that a server that was away robs no live
        worker; one handed out later could be heard of all along and is judged at once.
        """

    def load_held(self, worker_ids: Sequence[str]) -> list[Held]:
        """Lock the jobs that these workers hold."""

    # Workers.
    def load_workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers."""

    def load_all_workers(self) -> list[Worker]:
        """Lock and read every worker that is not gone."""

    def load_silent_workers(self, before: int, limit: int) -> list[Worker]:
        """Lock those not gone, not heard of after `before`, longest first; fetch-only never."""

    def load_dropped_workers(self, before: int, limit: int) -> list[Worker]:
        """Lock those not gone that lost their session by `before`, and were not heard of since."""

    def load_changed_workers(
        self, unreachable: int, offline: int, deleted: int, limit: int
    ) -> list[Worker]:
        """Lock those whose last sign of life is from before one of these moments, and of whom
        that has not been told yet."""

    def load_offline_workers(self, silent: int, gone: int, limit: int) -> list[Worker]:
        """Lock those not deleted, not heard of after `silent` or gone by `gone`."""

    def save_workers(self, workers: Sequence[Worker]) -> None:
        """Insert or replace workers."""

    def delete_workers(self, before: int, limit: int) -> int:
        """Remove workers that were deleted before a moment, or went and were not."""

    # Kinds of jobs that workers name.
    def start_lease(self, job_id: str) -> None:
        """The holder of a locked job has begun."""

    # Queues, events, keys.
    def set_paused(self, queue: str, paused: bool) -> None:
        """Pause or resume a queue, known or not."""

    def save_config(self, queue: str, config: QueueConfig) -> None:
        """Configure a queue, known or not."""

    def delete_queue(self, queue: str) -> None:
        """Forget a queue's configuration and counters; it has no jobs."""

    def queue_names(self) -> list[str]:
        """All queues, by name."""

    def queue_loads(self, names: Iterable[str]) -> dict[str, QueueLoad]:
        """What runs and waits in queues, without what this transaction has not written yet."""

    def count_jobs(self, names: Iterable[str]) -> dict[str, int]:
        """How many jobs queues have, in all states."""

    def oldest_waiting(self, queue: str, limit: int) -> list[Job]:
        """Lock the available jobs of a queue that were there first, oldest first."""

    def add_counts(self, deltas: Mapping[str, Mapping[str, int]]) -> None:
        """Move the counters of queues: jobs by state, and `BYTES`."""

    # Limits. They are locked after all jobs and leases, those of queues (which sort first) before
    # those of keys; whoever holds one waits for no job.
    def insert_limits(self, limits: Sequence[Limit]) -> None:
        """Store new limits; those that exist stay as they are."""

    def load_limits(self, names: Iterable[str]) -> dict[str, Limit]:
        """Lock and read limits."""

    def load_opening(self, limit: int) -> list[Limit]:
        """Lock the limits whose `opens_at` has come."""

    def save_limits(self, limits: Sequence[Limit]) -> None:
        """Store locked limits as they are now."""

    def open_gates(self, wanted: Mapping[str, int]) -> list[Opened]:
        """Let the next so many jobs of each key, queue and type be claimed, that were not."""

    def gated_keys(self, names: Iterable[str]) -> set[str]:
        """Which of these keys have jobs that may not be claimed yet."""

    def keep_taken(self, job_ids: Sequence[str]) -> None:
        """Claimed jobs with a rate key start; until then they may be sent back."""

    def send_back(self, jobs: Sequence[tuple[str, bool]]) -> None:
        """Undo the claim of jobs with a rate key, each gated or not."""

    def prune_limits(self, before: int, limit: int) -> int:
        """Look at limits not used since a moment, and remove those that no job names.

        Answers how many were looked at.
        """

    def insert_events(self, events: Happened | Sequence[Event]) -> int:
        """Append to the event log, each at the next position; answers the last one.

        Nodes that follow the log are told at commit.
        """

    def tally_events(self, limit: int) -> EventTally | None:
        """Count up to `limit` events more, also into the statistics.

        None while another node is at it.
        """

    def prune_statistics(self, step: int, before: int, limit: int) -> int:
        """Remove the statistics of spans from before a moment."""

    def save_maintenance(self, maintenance: Maintenance | None) -> None:
        """Begin, change or end maintenance."""

    def delete_events(self, before: int, surplus: int, limit: int) -> int:
        """Remove the oldest events that are counted: those before a moment, and `surplus` more."""

    def insert_receipts(
        self, receipts: Mapping[tuple[str, str, str], Receipt]
    ) -> dict[tuple[str, str, str], Receipt]:
        """Store receipts under (principal, operation, key); answers those already there."""

    def delete_receipts(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Take back receipts of this transaction."""

    def prune_receipts(self, before: int, limit: int) -> int:
        """Remove receipts older than a moment."""

    # Cron entries. They are locked before any job is.
    def load_states(self, ids: Iterable[str]) -> dict[str, str]:
        """The states of those of these jobs that exist, without locking them."""

    def announce(self, queues: Mapping[str, int]) -> None:
        """Tell the other nodes, at commit, that jobs became available."""

    def announce_due(self, moment: int) -> None:
        """Tell the other nodes, at commit, that something falls due at a moment."""

    def touch(self) -> str:
        """Write what changes nothing, so that the commit has to reach the disk; answers who takes
        it, in words for the log."""

    def wipe(self) -> None:
        """Remove everything; for conformance runs only."""


class Reader(
    WebhookReader,
    SchemaReader,
    RoutingReader,
    SharingReader,
    KindReader,
    CronReader,
    BesideReader,
    Protocol,
):
    """Reads outside of a transaction; each sees everything that was committed before."""

    def now(self) -> int:
        """The store's clock."""

    def ping(self) -> None:
        """Touch the database."""

    def job(self, job_id: str) -> WholeJob | None:
        """One whole job and who holds it."""

    def ended_by(self, job_id: str) -> str | None:
        """The worker with which a job ended."""

    def metas(self, ids: Sequence[str]) -> list[bytes]:
        """The `meta` of these jobs."""

    def dead_letters(
        self, wanted: JobFilter, limit: int, offset: int, after: Place | None
    ) -> JobPage:
        """Discarded jobs, newest first; `after` is the place where a page ended."""

    def dead_letter_stats(self) -> DeadLetterStats:
        """Counts of discarded jobs by queue and by error."""

    def find_jobs(
        self, wanted: JobFilter, limit: int, after: str | None = None, offset: int = 0
    ) -> JobIds:
        """The jobs that a filter means, newest first by id, after an id."""

    def find_scheduled(
        self,
        wanted: JobFilter,
        limit: int,
        after: Place | None = None,
        offset: int = 0,
        *,
        latest_first: bool = False,
    ) -> ScheduledIds:
        """Those of the scheduled jobs that a filter means, by the time that they wait for."""

    def jobs_ended_by(self, worker_id: str, states: Collection[str], limit: int) -> list[str]:
        """The jobs that ended with a worker, newest first by id, as far back as one look goes."""

    def whole_jobs(self, ids: Sequence[str]) -> list[StoredJob]:
        """Those of these jobs that exist, newest first by id."""

    def queues(self, names: Sequence[str] | None = None) -> list[QueueCounts]:
        """All queues by name, or these."""

    def span(self, queue: str, after: str, size: int) -> Span | None:
        """The jobs of a queue among the next `size` jobs after an id, whatever their queue."""

    def limit(self, name: str) -> LimitLoad | None:
        """One limit, and how many available jobs have its key."""

    def limits(self, limit: int, offset: int, prefix: str = "") -> LimitPage:
        """The limits of keys, by name; of those that begin so."""

    def statistics(
        self, step: int, queues: Iterable[str], since: int, until: int
    ) -> Sequence[Count]:
        """What happened in queues by spans of a step, each at its beginning, oldest first."""

    def oldest_available(self, queue: str) -> int | None:
        """When the job of a queue that has been available for the longest joined it."""

    def priorities(self, queue: str, limit: int) -> dict[int, int]:
        """How many jobs of each priority a claim finds in a queue, each up to a limit."""

    def maintenance(self) -> Maintenance | None:
        """The maintenance that is on."""

    def workers(self, ids: Sequence[str] | None = None) -> list[WorkerLoad]:
        """All workers by age, or these, each with the jobs it holds."""

    def events(self, after: int, wanted: EventFilter, limit: int) -> EventPage:
        """Events after a position, oldest first, up to what every node has committed."""

    def recent_events(self, after: int, wanted: EventFilter, limit: int) -> EventPage:
        """The newest events after a position, newest first, as far back as one look goes."""

    def log_span(self) -> LogSpan:
        """From where to where the event log can be read."""

    def workflow(self, workflow_id: str) -> WorkflowView | None:
        """One workflow with its jobs that were enqueued."""

    def job_results(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the results, as JSON, of jobs that have one."""

    def member_progress(self, workflow_id: str) -> list[MemberProgress]:
        """What the jobs of a workflow that have not ended reported in their present attempts."""

    def workflows(
        self, wanted: WorkflowFilter, limit: int, offset: int, after: Place | None
    ) -> WorkflowPage:
        """Workflows, newest first; `after` is the place where a page ended."""

    def due(self) -> DueTimes:
        """When housekeeping is needed next."""


# Jobs became available through another node: how many by queue, or None for anywhere.
OnWake = Callable[[Mapping[str, int] | None], None]


# Another node has added to the event log, up to a position; None where that is not known.
OnLog = Callable[[int | None], None]


# Called when something falls due at a moment of the store's clock.
OnDue = Callable[[int], None]


def unheard(moment: int | None) -> None:
    """An OnLog or OnDue for whoever follows neither."""


class Listener(Protocol):
    """Hears of what other nodes made available, and of what they added to the event log."""

    async def run(self) -> None:
        """Listen until cancelled."""


class Store(Protocol):
    """A database. Calls block; the server makes them off its event loop.

    Where it is `embedded`, only a commit waits, for the disk; all else is done in this process.
    """

    kind: str
    embedded: bool
    location: str

    @property
    def lost_connections(self) -> int:
        """Number of connections that were lost, each of which is made anew."""

    def transaction(
        self, foreseen: Foreseen | None = None, *, patient: bool = True
    ) -> AbstractContextManager[Tx]:
        """A write transaction: commits at the end of the block, rolls back on an exception.

        What is `foreseen` a store may lock and read at once, before any other lock. Where somebody
        else has what is wanted, it is StoreBusy after a while. Who is not `patient` waits for a row
        but for a moment, and for an embedded store not at all.
        """

    def reader(self) -> AbstractContextManager[Reader]:
        """A connection for reading."""

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""

    def listener(
        self, on_wake: OnWake, on_log: OnLog = unheard, on_due: OnDue = unheard
    ) -> Listener | None:
        """What hears of other nodes' jobs and events; None where there is no other node."""

    def note_waiting(self, until: int) -> None:
        """Tell the other nodes that fetches wait here, until a moment of the store's clock."""

    def note_following(self, for_ms: int) -> None:
        """Ask the other nodes, for so long from now, to tell of what they add to the log."""

    def held(self, wanted: Contended, for_ms: int) -> Contended:
        """Which of these rows another transaction has that has been open for so long; jobs also
        where that has the limit of their key. Of limits that are no key's all that are held."""

    def end_silent_transactions(self) -> int:
        """End the transactions of servers that have fallen silent in the middle of them, since
        others want what these have locked; answers how many. To be asked about once a second."""

    def durability_warnings(self) -> list[str]:
        """What about this database could lose a commit that was answered."""

    def close(self) -> None:
        """Let go of the database."""
