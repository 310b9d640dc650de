"""All tables together: what a store's transaction and its reader begin with."""

from ojs_server.store.records import DueTimes
from ojs_server.store.tables.beside import BesideReads, BesideWrites
from ojs_server.store.tables.cron import CronReads, CronWrites
from ojs_server.store.tables.dead_letters import DeadLetterReads, DeadLetterWrites
from ojs_server.store.tables.demands import DemandWrites
from ojs_server.store.tables.events import EventReads, EventWrites
from ojs_server.store.tables.job_lists import JobListReads
from ojs_server.store.tables.jobs import JobReads, JobWrites
from ojs_server.store.tables.kinds import KindReads, KindWrites
from ojs_server.store.tables.leases import LeaseWrites
from ojs_server.store.tables.limits import LimitReads, LimitWrites
from ojs_server.store.tables.queues import QueueReads, QueueWrites
from ojs_server.store.tables.receipts import ReceiptWrites
from ojs_server.store.tables.rooms import RoomReads, RoomWrites
from ojs_server.store.tables.routing import RoutingReads, RoutingWrites
from ojs_server.store.tables.schemas import SchemaReads, SchemaWrites
from ojs_server.store.tables.sharing import SharingReads, SharingWrites
from ojs_server.store.tables.statistics import StatisticsReads
from ojs_server.store.tables.webhooks import WebhookReads, WebhookWrites
from ojs_server.store.tables.workers import WorkerReads, WorkerWrites
from ojs_server.store.tables.workflows import WorkflowReads, WorkflowWrites


class TableWrites(
    JobWrites,
    BesideWrites,
    DeadLetterWrites,
    DemandWrites,
    LeaseWrites,
    WorkerWrites,
    KindWrites,
    RoomWrites,
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
):
    """The write operations that both stores share."""


class TableReads(
    JobReads,
    JobListReads,
    DeadLetterReads,
    BesideReads,
    WorkerReads,
    KindReads,
    RoomReads,
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
):
    """The read operations that both stores share."""

    def due(self) -> DueTimes:
        """When housekeeping is needed next."""
        return self.read(DueTimes, "next_due")[0]
