"""The composition root: build the ASGI application and its loops from settings and a store."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.routing import Mount, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from ojs_server import __version__
from ojs_server.connection.body_budget import BodyBudget
from ojs_server.connection.ports import Ports
from ojs_server.domain.admin.server_node import Announcement
from ojs_server.environment import Environment, machine
from ojs_server.http.access.key_check import KeyCheck
from ojs_server.http.admin import live_statistics
from ojs_server.http.admission import Admission
from ojs_server.http.hot_dispatch import Dispatcher
from ojs_server.http.path_forms import PathForms
from ojs_server.http.paths import Paths
from ojs_server.http.pipeline import Calls, middleware
from ojs_server.http.places import Places
from ojs_server.http.route import SOCKET, SOCKETIO
from ojs_server.http.routes import routes_of
from ojs_server.http.services import Lifetime, Services
from ojs_server.http.shared_read import SharedRead
from ojs_server.http.streams import websocket
from ojs_server.http.system import dashboard
from ojs_server.http.system.inventory import Inventories
from ojs_server.loops.announce import announce
from ojs_server.loops.deliver import Deliver
from ojs_server.loops.housekeeping import Housekeeping
from ojs_server.loops.opening import open_in_time, opens
from ojs_server.loops.repeat import repeat
from ojs_server.loops.runner import Loops
from ojs_server.loops.staged import StagedJobs
from ojs_server.observe import job_log
from ojs_server.observe.metrics import Metrics
from ojs_server.ops.engine.engine import Engine
from ojs_server.settings import Settings
from ojs_server.stop_signals import stop_signals
from ojs_server.store.base import Callbacks, SchemaError, Store, StoreUnavailable
from ojs_server.store.open import open_store
from ojs_server.systems.system import SocketServer, load
from ojs_server.webhooks.client import WebhookClient

if TYPE_CHECKING:
    # Optional dependencies.
    from ojs_server.http.tracing import Tracing

log = logging.getLogger("ojs.server")

# Intervals of looks at a shared database: for silent transactions of other servers, and for what
# keeps it from removing old row versions.
SILENCES_S: Final = 1.0
VACUUM_S: Final = 30.0


class Server:
    """One node, from its start to its end."""

    # Set while the server runs.
    engine: Engine
    services: Services
    calls: Calls

    def __init__(
        self,
        settings: Settings,
        store: Store,
        environment: Environment | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        self.settings = settings
        self.store = store
        self._tracing = tracing
        self._environment = environment or machine()
        # The system of the profile's clients, beside the calls of OJS.
        self.system = load(settings.profile.system)
        self.socketio: SocketServer | None = None
        routes = routes_of(settings.profile, self.system.routes)
        self.routes = routes if tracing is None else tracing.traced(routes)
        admission = Admission()
        self.path_forms = PathForms((dashboard.FORM, *self.system.path_forms))
        self.paths = Paths(self.routes, admission, self.path_forms)
        # Takes the hot calls of connections of this project's own.
        self.dispatcher = Dispatcher(self.routes, admission)
        self._metrics = Metrics()
        self._lifetime = Lifetime(self._environment.monotonic)
        self.ports = Ports()
        # The error, if the database could not be used within the time limit of the start.
        self.failure: str | None = None
        self.on_failure: Callable[[], None] = lambda: log.error("%s", self.failure)

    @property
    def serves_socketio(self) -> bool:
        """True if clients of Socket.IO are served."""
        return self.system.socketio is not None

    @property
    def connections_closed(self) -> Callable[[int], None]:
        """The counter of connections of HTTP that the bound has closed."""
        return self._metrics.connections_closed("http")

    def begin_stop(self) -> None:
        """Answer all waiting requests; called as soon as the process is to end."""
        self._lifetime.stopping = True
        self.engine.wakeups.close()
        self.engine.endings.close()
        self.engine.log_reader.close()
        self.engine.producers.close()

    def _wake(self, queues: Mapping[str, int] | None) -> None:
        """Wake fetches for another node's jobs; None if their queues are unknown."""
        if queues is None:
            self.engine.wakeups.wake_all()
            self.engine.producers.wake_all()
        else:
            self.engine.wakeups.wake(queues)
            self.engine.producers.wake(queues)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the node: its loops, and its engine, until the block ends."""
        self.engine = Engine(
            self.store,
            self.settings.rules(),
            self._environment,
            max_waiting=self.settings.max_waiting,
            max_streams=self.settings.max_streams,
            stream_buffer=self.settings.stream_buffer,
            read_s=self.settings.store_timeout_ms / 1000,
        )
        webhook_client = WebhookClient(
            self.settings.reach,
            self.settings.webhook_timeout_ms,
            self._environment,
            ca=self.settings.webhook_ca,
        )
        deliver = Deliver(
            self.engine,
            webhook_client,
            self._metrics,
            self._environment.wall_ms,
            source=self.settings.source,
            timeout_ms=self.settings.webhook_timeout_ms,
            at_once=self.settings.webhook_concurrency,
        )
        housekeeping = Housekeeping(
            self.engine, self._environment.monotonic_ms, shared=not self.store.embedded
        )
        staged_jobs = StagedJobs(self.engine, strict=self.settings.strict)
        self.engine.log_reader.shared = not self.store.embedded
        self.engine.on_due = housekeeping.expect
        self.engine.on_events.append(self._metrics.observe_events)
        if self.settings.log_jobs:
            self.engine.on_events.append(job_log.write)
        self.engine.availability.on_lost = housekeeping.nudge
        self.engine.wakeups.on_first = housekeeping.nudge
        self.engine.producers.on_first = housekeeping.nudge
        self.services = self._services(webhook_client, deliver, housekeeping)
        self.calls = self.dispatcher.calls = Calls(self.services)
        loops = Loops()
        if self.system.socketio is not None:
            self.socketio = self.system.socketio(self.services)
            loops.start("socketio sessions", self.socketio.watch)

        def begin() -> None:
            if self.socketio is not None:
                loops.start("socketio", self.socketio.run)
            loops.start("housekeeping", housekeeping.run)
            loops.start("announce", partial(announce, self.engine, self._announcement))
            if not self.settings.conformance:
                # Published conformance cases subscribe public addresses, which must not be called.
                self.engine.on_events.append(deliver.nudge)
                loops.start("deliver", deliver.run)
            loops.start("staged jobs", staged_jobs.run)
            listener = self.store.listener(
                Callbacks(
                    on_wake=self._wake,
                    on_log=self.engine.log_reader.wake,
                    on_due=housekeeping.expect,
                    on_staged=staged_jobs.nudge,
                )
            )
            if listener is not None:
                loops.start("listener", listener.run)
                ends, looks = (
                    self.engine.end_silent_transactions,
                    self.engine.find_vacuum_holders,
                )
                loops.start("silences", partial(repeat, ends, SILENCES_S))
                loops.start("vacuum", partial(repeat, looks, VACUUM_S))

        opening = None
        if self.store.is_open:
            begin()
        else:
            opening = asyncio.create_task(self._open(begin), name="opening")
        try:
            yield
        finally:
            self._lifetime.stopping = True
            if opening is not None:
                opening.cancel()
                await asyncio.wait({opening})
            await loops.stop()
            await webhook_client.close()
            await self.engine.close()
            await asyncio.to_thread(self.store.close)

    async def _open(self, begin: Callable[[], None]) -> None:
        """Wait for the database, and begin the work of the node once it is there."""
        within_s = self.settings.start_timeout_ms / 1000
        try:
            await open_in_time(
                self.store, self._environment, within_s, self.engine.availability.lose
            )
        except (StoreUnavailable, SchemaError) as error:
            self.failure = str(error)
            self.on_failure()
            return
        begin()
        await asyncio.to_thread(self.warn_of_durability)

    def warn_of_durability(self) -> None:
        """Log the settings of the database under which a confirmed commit could be lost."""
        for warning in self.store.durability_warnings():
            log.warning("%s", warning)

    def _announcement(self) -> Announcement:
        """Return the announcement of this node."""
        return Announcement(
            host=self._environment.host,
            process=self._environment.process,
            version=__version__,
            waiting_fetches=len(self.engine.wakeups),
            event_streams=len(self.engine.log_reader),
        )

    def _services(
        self, webhook_client: WebhookClient, deliver: Deliver, housekeeping: Housekeeping
    ) -> Services:
        engine = self.engine
        return Services(
            settings=self.settings,
            origins=self.settings.origins,
            engine=engine,
            lifetime=self._lifetime,
            ports=self.ports,
            socketio=self.serves_socketio,
            capabilities=self.system.capabilities,
            extensions=self.system.extensions,
            environment=self._environment,
            metrics=self._metrics,
            bodies=BodyBudget(self.settings.max_bodies_bytes, self.settings.max_body_bytes),
            waiting=Places(self.settings.max_streams, "wait here"),
            webhook_client=webhook_client,
            key_check=KeyCheck(self.settings, self._environment.monotonic_ms, self._metrics),
            inventories=Inventories(engine.read),
            shared_stats=SharedRead(lambda: live_statistics.read(engine, self._lifetime)),
            webhooks_changed=deliver.attend,
            prunes_at=lambda: housekeeping.prunes_at or None,
            tracer=self._tracing,
        )


class Application(Starlette):
    """A node as an application of Starlette, which may be mounted into another one.

    The hot calls of connections of `connection/connection.py` do not come here, unless middleware
    was added: they are taken before.
    """

    def __init__(self, server: Server) -> None:
        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            async with server.running():
                with stop_signals(server.begin_stop):
                    yield

        self._server = server
        self._own_middleware = middleware(lambda: server.calls, server.path_forms)
        polled = [Mount(SOCKETIO.rstrip("/"), self._serve_socketio)]
        super().__init__(
            routes=[
                *(polled if server.serves_socketio else ()),
                WebSocketRoute(SOCKET, websocket.serve),
                server.paths,
            ],
            middleware=self._own_middleware,
            lifespan=lifespan,
        )
        # A path with a trailing slash is not found; Starlette would redirect it.
        self.router.redirect_slashes = False
        self.router.default = server.paths.refuse

    def build_middleware_stack(self) -> ASGIApp:
        """Build the chain of middleware. All calls pass what was added, so none is taken before."""
        if self.user_middleware != self._own_middleware:
            self._server.dispatcher.close()
        return super().build_middleware_stack()

    async def _serve_socketio(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._server.socketio is not None
        # The library does not support a mount prefix, so remove it.
        root = scope["root_path"].removesuffix(SOCKETIO.rstrip("/"))
        path = scope["path"].removeprefix(root)
        await self._server.socketio({**scope, "path": path, "root_path": ""}, receive, send)


def create_app(settings: Settings | None = None) -> Application:
    """A server as an application, for any ASGI server or to be mounted into another application.

    The store is opened at once, unless its database is not there yet; the server runs for as long
    as the application's lifespan does, which an application that it is mounted into enters with
    its own.
    """
    settings = settings or Settings()
    environment = machine()
    store = open_store(
        settings.database,
        environment=environment,
        migrations=settings.migrate,
        listen_url=settings.listen_url,
        answer_s=settings.store_timeout_ms / 1000,
        at_once=False,
    )
    opens(store)
    return Application(Server(settings, store, environment, tracing_of(settings)))


def tracing_of(settings: Settings) -> "Tracing | None":
    """Return the tracing if it is enabled; raise ImportError if OpenTelemetry is not installed."""
    if not settings.traces:
        return None
    # Optional dependencies.
    from ojs_server.http import tracing

    return tracing.set_up()
