"""All groups of calls, as attributes of a client."""

from typing import Generic

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
from ojs_worker.client.surface import M, Run
from ojs_worker.client.workers import Workers
from ojs_worker.client.workflows import CronEntries, Workflows


class Groups(Generic[M]):
    """The groups of calls beyond enqueueing and waiting."""

    def __init__(self, run: Run, *, awaits: bool) -> None:
        self.jobs: Jobs[M] = Jobs(run, awaits=awaits)
        self.queues: Queues[M] = Queues(run, awaits=awaits)
        self.workers: Workers[M] = Workers(run, awaits=awaits)
        self.dead: Dead[M] = Dead(run, awaits=awaits)
        self.cron: CronEntries[M] = CronEntries(run, awaits=awaits)
        self.workflows: Workflows[M] = Workflows(run, awaits=awaits)
        self.rate_limits: RateLimits[M] = RateLimits(run, awaits=awaits)
        self.event_log: EventLog[M] = EventLog(run, awaits=awaits)
        self.webhooks: Webhooks[M] = Webhooks(run, awaits=awaits)
        self.schemas: Schemas[M] = Schemas(run, awaits=awaits)
        self.tenants: Tenants[M] = Tenants(run, awaits=awaits)
        self.pools: Pools[M] = Pools(run, awaits=awaits)
        self.routing: Routing[M] = Routing(run, awaits=awaits)
        self.admin: Admin[M] = Admin(run, awaits=awaits)
        self.server: ServerCalls[M] = ServerCalls(run, awaits=awaits)
