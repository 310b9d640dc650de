"""The store contract: the operations of a write transaction, and the reads outside one.

A store decides nothing. `ops/` reads through a `Tx`, lets `domain/` decide, and hands the decision
back to be written, guarded by the state it leaves. All times are in milliseconds. Operations that
are the same in both stores are in the table classes; those that differ are abstract here.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence

from ojs_server.domain.fairness.fair_choice import Candidate
from ojs_server.domain.jobs.job import Job, StoredJob
from ojs_server.store.records import Claimed, DueTimes, Lane, Leased, Released, Staged
from ojs_server.store.tables.actions import ActionReads, ActionWrites
from ojs_server.store.tables.attachments import AttachmentReads, AttachmentWrites
from ojs_server.store.tables.cron import CronReads, CronWrites
from ojs_server.store.tables.dead_letters import DeadLetterReads, DeadLetterWrites
from ojs_server.store.tables.demands import DemandWrites
from ojs_server.store.tables.events import EventReads, EventWrites
from ojs_server.store.tables.job_lists import JobListReads
from ojs_server.store.tables.jobs import JobReads, JobWrites
from ojs_server.store.tables.kinds import KindReads, KindWrites
from ojs_server.store.tables.leases import LeaseWrites
from ojs_server.store.tables.limits import LimitReads, LimitWrites
from ojs_server.store.tables.logins import LoginReads, LoginWrites
from ojs_server.store.tables.queues import QueueReads, QueueWrites
from ojs_server.store.tables.receipts import ReceiptWrites
from ojs_server.store.tables.routing import RoutingReads, RoutingWrites
from ojs_server.store.tables.schemas import SchemaReads, SchemaWrites
from ojs_server.store.tables.sharing import SharingReads, SharingWrites
from ojs_server.store.tables.staging import StagingReads, StagingWrites
from ojs_server.store.tables.statistics import StatisticsReads
from ojs_server.store.tables.webhooks import WebhookReads, WebhookWrites
from ojs_server.store.tables.workers import WorkerReads, WorkerWrites
from ojs_server.store.tables.workflows import WorkflowReads, WorkflowWrites


class Tx(
    JobWrites,
    AttachmentWrites,
    DeadLetterWrites,
    DemandWrites,
    LeaseWrites,
    WorkerWrites,
    KindWrites,
    QueueWrites,
    EventWrites,
    ReceiptWrites,
    CronWrites,
    WorkflowWrites,
    LimitWrites,
    WebhookWrites,
    SchemaWrites,
    RoutingWrites,
    SharingWrites,
    LoginWrites,
    ActionWrites,
    StagingWrites,
):
    """One write transaction. Nothing is visible to others before it commits."""

    @abstractmethod
    def lock_settings(self) -> None:
        """Wait for every other transaction that changes what all nodes know: settings of queues,
        tenants, pools, routings, schemas, maintenance."""

    @abstractmethod
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

    @abstractmethod
    def insert_jobs(self, jobs: Sequence[StoredJob]) -> set[str]:
        """Store new jobs; answers the ids that were there before and stay as they were."""

    @abstractmethod
    def insert_new_jobs(self, jobs: Sequence[StoredJob]) -> None:
        """Store jobs whose ids were just generated, so that they cannot exist."""

    @abstractmethod
    def load_jobs(self, ids: Iterable[str]) -> dict[str, Leased]:
        """Lock and read jobs with their leases."""

    @abstractmethod
    def due_queues(self, queues: Iterable[str]) -> list[str]:
        """Return the queues with a scheduled job or a retry that is due, in the given order."""

    @abstractmethod
    def load_due_in(self, queues: Sequence[str], each: int) -> list[Job]:
        """Lock the scheduled jobs and retries of queues that are due and have not expired, up to
        `each` of each queue, earliest first."""

    @abstractmethod
    def claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        """Make up to `limit` available jobs active: queues in order, priority, then FIFO."""

    @abstractmethod
    def lock_unique(self, keys: Iterable[bytes]) -> None:
        """Lock these fingerprints until the end of the transaction."""

    @abstractmethod
    def release_gated(self, counts: Mapping[str, int]) -> list[Released]:
        """Let claims see the next waiting jobs of each queue and type, up to a number per key."""

    @abstractmethod
    def announce(self, queues: Mapping[str, int]) -> None:
        """Tell the other nodes, at commit, that jobs became available."""

    @abstractmethod
    def announce_due(self, moment: int) -> None:
        """Tell the other nodes, at commit, that something falls due at a moment."""

    @abstractmethod
    def touch(self) -> str:
        """Write a row without changing data, so that the commit must reach the disk.

        Return a description of the database for the log.
        """

    @abstractmethod
    def wipe(self) -> None:
        """Delete all data; for conformance runs only."""

    @abstractmethod
    def lock_schemas(self) -> None:
        """Lock the schemas against changes by others, and read them."""

    @abstractmethod
    def next_types(
        self, queues: Sequence[str], job_types: Sequence[str], most: int
    ) -> list[tuple[str, str]]:
        """Up to `most` of these types that have available jobs in each queue, with the queue, in
        the order of their first jobs."""

    @abstractmethod
    def tenants_waiting(self, queues: Mapping[str, str], limit: int) -> list[tuple[str, str]]:
        """Return up to `limit` waiting tenants of each queue, with the queue, after a name."""

    @abstractmethod
    def waiting(self, lanes: Sequence[Lane], limit: int) -> list[Candidate]:
        """Return the first `limit` claimable jobs of each lane, without locking them."""

    @abstractmethod
    def lock_workflows(self, jobs: Collection[str], ids: Collection[str]) -> None:
        """Lock these workflows and those that these jobs are members of, before limits."""


class Reader(
    JobReads,
    JobListReads,
    DeadLetterReads,
    AttachmentReads,
    WorkerReads,
    KindReads,
    QueueReads,
    EventReads,
    CronReads,
    WorkflowReads,
    LimitReads,
    WebhookReads,
    StatisticsReads,
    SchemaReads,
    RoutingReads,
    SharingReads,
    LoginReads,
    ActionReads,
    StagingReads,
):
    """Reads outside of a transaction; each sees everything that was committed before."""

    @abstractmethod
    def now(self) -> int:
        """The store's clock."""

    @abstractmethod
    def ping(self) -> None:
        """Touch the database."""

    @abstractmethod
    def staged(self, limit: int) -> list[Staged]:
        """Return the first staged jobs: those of one transaction in their order.

        A job is returned at each look until it is taken; one that appears at a place that was
        passed long ago is returned, too.
        """

    def due(self) -> DueTimes:
        """Return the times at which housekeeping is needed next."""
        return self.read(DueTimes, "next_due")[0]
