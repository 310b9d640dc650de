"""Services of one node that handlers work with."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from ojs_server.domain.jobs.job import StoredJob
from ojs_server.environment import Environment
from ojs_server.http.access.key_check import KeyCheck
from ojs_server.http.access.origins import Origins
from ojs_server.http.server.body_budget import BodyBudget
from ojs_server.http.server.connection_limit import MOST_BY_DEFAULT
from ojs_server.http.shared_read import SharedRead
from ojs_server.http.system.inventory import Inventories
from ojs_server.metrics import Metrics
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.workers.claim import FetchedJobs
from ojs_server.settings import Settings
from ojs_server.webhooks.client import WebhookClient


class Tracer(Protocol):
    """Adds what handlers did to the traces, if the server sends any."""

    def enqueued(self, jobs: Sequence[StoredJob]) -> None:
        """Record the jobs that a request stored."""

    def fetched(self, jobs: FetchedJobs) -> None:
        """Record the jobs that a FETCH was handed."""


class Lifetime:
    """The start time of a node, and whether it is stopping."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.stopping = False
        self._monotonic = monotonic
        self._started = monotonic()

    def uptime_s(self) -> int:
        """Whole seconds since the start."""
        return int(self._monotonic() - self._started)


class Ports:
    """The ports that a node listens on, once it does; None for those that are closed."""

    http: int | None = None
    grpc: int | None = None
    # Most connections at the HTTP port.
    connections: int = MOST_BY_DEFAULT


class Services(msgspec.Struct, frozen=True):
    """Services of a running node. `tracer` is None where nothing is traced."""

    settings: Settings
    origins: Origins
    engine: Engine
    lifetime: Lifetime
    ports: Ports
    # True if Socket.IO is served, too.
    socketio: bool
    environment: Environment
    metrics: Metrics
    bodies: BodyBudget
    webhook_client: WebhookClient
    key_check: KeyCheck
    inventories: Inventories
    # The statistics of all queues, as JSON.
    shared_stats: SharedRead[bytes]
    # To be called after a change of subscriptions or deliveries.
    webhooks_changed: Callable[[], None]
    # Returns the time at which this node next removes expired records.
    prunes_at: Callable[[], int | None]
    tracer: Tracer | None
