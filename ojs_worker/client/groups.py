"""All groups of calls, as attributes of a client."""

from ojs_worker.client.administration import (
    Admin,
    EventLog,
    Pools,
    Routing,
    Schemas,
    ServerCalls,
    Tenants,
    Webhooks,
)
from ojs_worker.client.jobs import Dead, Jobs
from ojs_worker.client.queues import Queues, RateLimits
from ojs_worker.client.sender import Sender
from ojs_worker.client.surface import Group, M
from ojs_worker.client.workers import Workers
from ojs_worker.client.workflows import CronEntries, Workflows


class Groups(Group[M]):
    """A client's own calls, and those of all nouns."""

    def __init__(self, sender: Sender) -> None:
        self._bind(sender)

    def _bind(self, sender: Sender) -> None:
        """Send all calls by this sender."""
        self._sender = sender
        self.jobs: Jobs[M] = Jobs(sender)
        self.queues: Queues[M] = Queues(sender)
        self.workers: Workers[M] = Workers(sender)
        self.dead: Dead[M] = Dead(sender)
        self.cron: CronEntries[M] = CronEntries(sender)
        self.workflows: Workflows[M] = Workflows(sender)
        self.rate_limits: RateLimits[M] = RateLimits(sender)
        self.event_log: EventLog[M] = EventLog(sender)
        self.webhooks: Webhooks[M] = Webhooks(sender)
        self.schemas: Schemas[M] = Schemas(sender)
        self.tenants: Tenants[M] = Tenants(sender)
        self.pools: Pools[M] = Pools(sender)
        self.routing: Routing[M] = Routing(sender)
        self.admin: Admin[M] = Admin(sender)
        self.server: ServerCalls[M] = ServerCalls(sender)
