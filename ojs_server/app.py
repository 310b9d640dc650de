"""The composition root: settings and a store become an ASGI application with its loops."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from ojs_server import job_log
from ojs_server.domain.happened import Happened
from ojs_server.http import sockets, statistics
from ojs_server.http.body_budget import BodyBudget
from ojs_server.http.gate import Gate
from ojs_server.http.inventory import Inventories
from ojs_server.http.shared_read import SharedRead
from ojs_server.loops.deliver import Deliver
from ojs_server.loops.housekeeping import Housekeeping
from ojs_server.loops.runner import Loops
from ojs_server.loops.silences import watch_silences
from ojs_server.metrics import Metrics
from ojs_server.ops.engine import Engine
from ojs_server.ops.work import Chance, chance
from ojs_server.outbound import Outbound
from ojs_server.settings import Settings
from ojs_server.store.base import Store

if TYPE_CHECKING:
    # What it needs is not always installed.
    from ojs_server.http.tracing import Tracing

log = logging.getLogger("ojs.server")


class Server:
    """One node: what the handlers work with."""

    engine: Engine
    outbound: Outbound
    deliver: Deliver

    def __init__(
        self,
        settings: Settings,
        store: Store,
        luck: Chance | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        self.settings = settings
        self.origins = settings.origins
        self.tracing = tracing
        self.store = store
        self.luck = luck or chance()
        self.metrics = Metrics()
        self.shared_stats = SharedRead(lambda: statistics.read(self))
        self.inventories = Inventories(lambda question: self.engine.read(question))
        self.bodies = BodyBudget(settings.max_body_bytes)
        self.stopping = False
        self._started = time.monotonic()
        self._housekeeping: Housekeeping | None = None

    def uptime_s(self) -> int:
        """Whole seconds since the start."""
        return int(time.monotonic() - self._started)

    def prunes_at(self) -> int | None:
        """When this node next removes what is kept no longer."""
        return (self._housekeeping and self._housekeeping.prunes_at) or None

    def begin_stop(self) -> None:
        """Answer everybody who waits; called as soon as the process is asked to end."""
        self.stopping = True
        self.engine.wakeups.close()
        self.engine.endings.close()
        self.engine.tail.close()
        self.engine.rooms.close()

    def _heard(self, queues: Mapping[str, int] | None) -> None:
        """Another node has made jobs available; None when nobody knows where."""
        if queues is None:
            self.engine.wakeups.wake_all()
            self.engine.rooms.wake_all()
        else:
            self.engine.wakeups.wake(queues)
            self.engine.rooms.wake(queues)

    def _happened(self, events: Happened) -> None:
        """A commit of this node has made something happen."""
        counts = events.counts()
        self.metrics.jobs.observe(events, counts)
        self.metrics.observe_presences(counts)
        if self.settings.log_jobs:
            job_log.write(events)

    def _falls_due(self, moment: int) -> None:
        """Another node has stored what falls due at this moment."""
        if self._housekeeping is not None:
            self._housekeeping.expect(moment)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The time between opening and closing: loops run, operations are taken."""
        self.engine = Engine(
            self.store,
            self.settings.rules(),
            luck=self.luck,
            max_waiting=self.settings.max_waiting,
            max_streams=self.settings.max_streams,
            stream_buffer=self.settings.stream_buffer,
        )
        self.outbound = Outbound(
            self.settings.reach, self.settings.webhook_timeout_ms, ca=self.settings.webhook_ca
        )
        self.deliver = Deliver(
            self.engine,
            self.outbound,
            self.metrics,
            source=self.settings.source,
            timeout_ms=self.settings.webhook_timeout_ms,
            at_once=self.settings.webhook_concurrency,
        )
        listener = self.store.listener(self._heard, self.engine.tail.wake, self._falls_due)
        self.engine.tail.shared = listener is not None
        self._housekeeping = housekeeping = Housekeeping(self.engine, shared=listener is not None)
        self.engine.on_due = housekeeping.expect
        self.engine.on_events = self._happened
        self.engine.availability.on_lost = housekeeping.nudge
        self.engine.wakeups.on_first = housekeeping.nudge
        self.engine.rooms.on_first = housekeeping.nudge
        loops = Loops()
        loops.start("housekeeping", housekeeping.run)
        if not self.settings.conformance:
            # Published cases subscribe addresses on the internet, and then make events.
            self.engine.on_logged = self.deliver.nudge
            loops.start("deliver", self.deliver.run)
        if listener is not None:
            loops.start("listener", listener.run)
            loops.start("silences", partial(watch_silences, self.engine))
        try:
            yield
        finally:
            self.stopping = True
            await loops.stop()
            await self.outbound.close()
            await self.engine.close()
            await asyncio.to_thread(self.store.close)


class Application:
    """The ASGI application: the gate takes requests, Starlette carries the life around them.

    Requests do not pass Starlette's middleware and router: the gate already answers every
    error and every path, and each layer would add to the fixed cost of each request.
    """

    def __init__(self, server: Server) -> None:
        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            async with server.running():
                yield

        self._server = server
        self._gate = Gate(server)
        self._starlette = Starlette(lifespan=lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, connection or lifespan."""
        if scope["type"] == "http":
            await self._gate(scope, receive, send)
        elif scope["type"] == "websocket":
            await sockets.serve(self._server, scope, receive, send)
        else:
            await self._starlette(scope, receive, send)
