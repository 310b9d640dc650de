"""Services of one node that handlers work with."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from ojs_server.connection.body_budget import BodyBudget
from ojs_server.connection.ports import Ports
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.environment import Environment
from ojs_server.http.access.key_check import KeyCheck
from ojs_server.http.access.origins import Origins
from ojs_server.http.places import Places
from ojs_server.http.shared_read import SharedRead, Statistics
from ojs_server.http.system.inventory import Inventories
from ojs_server.observe.metrics import Metrics
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.workers.claim import FetchedJobs
from ojs_server.settings import Settings
from ojs_server.webhooks.client import WebhookClient


class Tracer(Protocol):
    """Adds calls and what they did to the traces, if the server sends any."""

    def span(
        self, method: str, path: str, context: Mapping[str, str]
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Make a span of a call by its route, in the trace of its caller; it is to be given the
        status of the answer, unless an error ends the call."""

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


class Services(msgspec.Struct, frozen=True):
    """Services of a running node. `tracer` is None where nothing is traced."""

    settings: Settings
    origins: Origins
    engine: Engine
    lifetime: Lifetime
    ports: Ports
    # True if Socket.IO is served, too.
    socketio: bool
    # Names in the manifest that another system adds.
    capabilities: Sequence[str]
    # Details of an extension in the manifest that another system adds, by the name of it.
    extensions: Mapping[str, Mapping[str, Any]]
    environment: Environment
    metrics: Metrics
    bodies: BodyBudget
    # Places for calls that wait for jobs, over gRPC or of other systems.
    waiting: Places
    webhook_client: WebhookClient
    key_check: KeyCheck
    inventories: Inventories
    shared_stats: SharedRead[Statistics]
    # To be called after a change of subscriptions or deliveries.
    webhooks_changed: Callable[[], None]
    # Returns the time at which this node next removes expired records.
    prunes_at: Callable[[], int | None]
    tracer: Tracer | None
