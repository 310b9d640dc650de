"""The worker as programs see it: handlers, settings, and the ways to run it."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any, Self, TypeVar, Unpack

import msgspec

from ojs_worker.client.asynchronous import Client
from ojs_worker.client.blocking import BlockingClient
from ojs_worker.client.calls import Overlap
from ojs_worker.client.handle import BlockingJobHandle, JobHandle
from ojs_worker.client.options import Options
from ojs_worker.client.requests import JobRequest
from ojs_worker.client.sender import Now
from ojs_worker.codec import Codec
from ojs_worker.config import Config, SettingError, WorkerSettings
from ojs_worker.durations import Duration
from ojs_worker.environment import Environment, machine
from ojs_worker.handlers.batching import Gathering
from ojs_worker.handlers.dependencies import Dependency, Make, Need, need_of
from ojs_worker.handlers.limits import Limits, compare, limits_of
from ojs_worker.handlers.registry import JobDecorator, ManyDecorator, Registry, Runs
from ojs_worker.handlers.resources import Overrides
from ojs_worker.handlers.retrying import Exceptions, retrying
from ojs_worker.handlers.schedule import Schedules, register
from ojs_worker.middleware import Chain, EnqueueLayer, ProcessLayer, as_process_layer
from ojs_worker.router import Router, routers_of
from ojs_worker.running.blocking import BlockingManual, ThreadWorker
from ojs_worker.running.lifetime import Running
from ojs_worker.running.manual import Manual
from ojs_worker.running.recycling import RecyclingLimits
from ojs_worker.running.signals import SignalBox
from ojs_worker.settings import check, deadline_of, load
from ojs_worker.transport import (
    BlockingTransport,
    Reply,
    Request,
    SteadyTransport,
    Transport,
    joined,
)
from ojs_worker.transport.access import Auth
from ojs_worker.transport.backoff import Backoff
from ojs_worker.transport.direct import transport_to
from ojs_worker.transport.tls import tls_of

H = TypeVar("H")
M = TypeVar("M", bound=Make)
log = logging.getLogger("ojs.worker")


class Worker:
    """Handlers and what is needed to run them.

        worker = Worker(queues=["critical", "default"])

        @worker.job("email.send")
        async def send_email(ctx: Context, to: str, subject: str = "Hello") -> str:
            ...

        worker.run()

    What is not given here comes from the environment: OJS_URL, OJS_QUEUES, OJS_CONCURRENCY, ...
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        auth: Auth | None = None,
        *,
        transport: Transport | None = None,
        codec: Codec | None = None,
        id: str | None = None,
        environment: Environment | None = None,
        **settings: Unpack[WorkerSettings],
    ) -> None:
        self._code: dict[str, Any] = {"url": joined(url), **settings}
        self._flags: Mapping[str, Any] = {}
        # Report wrong settings where they are written, not when the worker starts.
        check(self._code)
        self._auth = auth
        self._transport = transport
        self._codec = codec
        self._id = id
        self._environment = environment or machine()
        self._client: Client | None = None
        self._blocking_client: BlockingClient | None = None
        self._running: Running | None = None
        self.middleware: Chain[ProcessLayer] = Chain()
        self.schedules = Schedules()
        self._lifespans: list[Need] = []
        self._overrides: dict[Make, Make] = {}
        self._sender = _Sender(self)
        self.registry = Registry(self._sender)

    def job(
        self,
        type: str | None = None,
        /,
        *,
        run_in: Runs | None = None,
        retry_on: Exceptions | None = None,
        no_retry_on: Exceptions | None = None,
        **options: Unpack[Options],
    ) -> JobDecorator:
        """Make a function or class the handler of a job type; `options` are those of its
        enqueues.

        A coroutine function runs in the event loop, any other in a thread, or in a process with
        `run_in="process"`. Of a class, the fields are the arguments, and `run` does the job.
        With `retry_on` only these exceptions are retried, `no_retry_on` are not.
        """
        rules = retrying(retry_on, no_retry_on)

        def register(target: Any) -> Any:
            return self.registry.add(type, target, run_in, options, rules)

        return register

    def many(
        self,
        type: str | None = None,
        /,
        *,
        size: int = 100,
        wait: Duration = 0.05,
        retry_on: Exceptions | None = None,
        no_retry_on: Exceptions | None = None,
        **options: Unpack[Options],
    ) -> ManyDecorator:
        """Make a coroutine function the handler of many jobs of a type at once.

        It takes a list with the argument of each job, up to `size` that come within `wait`, and
        returns None, or a list with a result or an exception for each. Its dependencies are made
        once for each call.
        """
        rules = retrying(retry_on, no_retry_on)

        def register(do: Any) -> Any:
            return self.registry.add_many(type, Gathering(do, size, wait), options, rules)

        return register

    def cron(
        self,
        expression: str,
        *,
        name: str | None = None,
        tz: str | None = None,
        overlap: Overlap | None = None,
        **arguments: Any,
    ) -> Callable[[H], H]:
        """Run a handler on a schedule, with these arguments; stands above `job`.

        The entry is registered when the worker starts, replacing the one of its name; by default
        the name is the job type. The expression has five or six fields, or is `@daily` or the like,
        in the time zone `tz`, by default UTC. `overlap` is about a run that is due while the last
        one still runs: `skip` (the default), `allow`, `cancel_previous` or `enqueue`.
        """

        return self.schedules.declare(expression, name, tz, overlap, arguments)

    def lifespan(self, make: M) -> M:
        """Make a generator function run around the worker: up to its `yield` before the first
        job, and the rest after the last one. Its value is what `depends(make, per="worker")` gives.
        """
        self._lifespans.append(need_of(Dependency(make, "worker")))
        return make

    @contextmanager
    def override(self, make: Make, by: Make) -> Iterator[None]:
        """Have a dependency made by another function for the length of a block, for tests."""
        before = dict(self._overrides)
        self._overrides[make] = by
        try:
            yield
        finally:
            self._overrides = before

    @property
    def overrides(self) -> Overrides:
        """The makers of dependencies that take the place of others now."""
        return dict(self._overrides)

    def include(self, *routers: Router) -> None:
        """Run the handlers of routers as well, and register their cron entries."""
        for router in routers:
            self.registry.include(router.registry)
            self.schedules.include(router.schedules)
            router.belong(self._sender)

    def discover(self, package: str) -> None:
        """Import a package with all its modules, and include the routers in them."""
        self.include(*routers_of(package))

    def use(self, layer: Any) -> Any:
        """Add middleware around the handlers, innermost; a decorator too."""
        self.middleware.add(as_process_layer(layer))
        return layer

    def use_enqueue(self, layer: EnqueueLayer) -> EnqueueLayer:
        """Add middleware around the enqueues of `client`, innermost; a decorator too."""
        return self.client.middleware.add(layer)

    @property
    def client(self) -> Client:
        """A client of the same server."""
        if self._client is None:
            later = _Later(lambda: self._chosen_transport(self.config()))
            self._client = Client(
                transport=later,
                codec=self._codec,
                deadline_s=deadline_of(self._code),
                environment=self._environment,
            )
        return self._client

    @property
    def blocking_client(self) -> BlockingClient:
        """The worker's client for programs without an event loop."""
        if self._blocking_client is None:
            config = self.config()
            self._blocking_client = BlockingClient(
                config.url,
                self._auth or config.auth_token,
                tls=tls_of(config),
                codec=self._codec,
                deadline_s=config.deadline_s,
                environment=self._environment,
            )
        return self._blocking_client

    @property
    def environment(self) -> Environment:
        """Clocks, chance and threads of the worker and its clients."""
        return self._environment

    @property
    def codec(self) -> Codec | None:
        """The codec that changes arguments on their way to the server, and back."""
        return self._codec

    @contextmanager
    def diverted(
        self, transport: Transport, blocking: BlockingTransport, now: Now
    ) -> Iterator[None]:
        """Use another transport and clock for worker and clients for the length of a block, for
        tests."""
        before = self._transport, self._blocking_client
        self._transport = transport
        # Short-lived, and cheaper than a client that could reach a server.
        short = before[1] or BlockingClient(transport=blocking, codec=self._codec)
        self._blocking_client = short
        try:
            with self.client.diverted(transport, now), short.diverted(blocking, now):
                yield
        finally:
            self._transport, self._blocking_client = before

    def config(self, flags: Mapping[str, Any] | None = None) -> Config:
        """The settings: flags override code, the environment and defaults. The flags hold from now
        on, also for the clients. Raises `SettingError`, also for files that cannot be read."""
        self._flags = flags or self._flags
        config = load(self._flags, self._code)
        if self._transport is None:
            tls_of(config)
        if config.prune_cron and config.cron_owner is None:
            raise SettingError("--prune-cron: needs an owner of the entries, as --cron-owner shop")
        if not config.only_queues:
            # Serve the queues of all handlers, because jobs that are never fetched wait for ever.
            queues = tuple(dict.fromkeys((*config.queues, *self.registry.queues)))
            config = msgspec.structs.replace(config, queues=queues)
        return config

    def life(
        self,
        flags: Mapping[str, Any] | None = None,
        *,
        fetches: bool = True,
        wear: RecyclingLimits | None = None,
    ) -> Running:
        """Return a new run of this worker, with an id of its own; it is not started yet.

        `wear` are the limits of one of several processes, whose supervisor answers the probes.
        """
        config = self.config(flags)
        if wear is not None:
            config = msgspec.structs.replace(config, health_port=None)
        self.middleware.freeze()
        return Running(
            config,
            self.registry,
            self._chosen_transport(config),
            self._environment,
            layers=tuple(self.middleware),
            codec=self._codec,
            worker_id=self._id,
            fetches=fetches,
            owns_transport=self._transport is None,
            prepare=self._preparation(config),
            limits=wear,
            lifespans=self._lifespans,
            overrides=self.overrides,
        )

    async def __aenter__(self) -> Self:
        """Run beside the program's own tasks, in its event loop."""
        self._running = await self.life().start()
        return self

    async def __aexit__(self, *_: object) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.stop()
            self.middleware.thaw()

    async def wait(self) -> int:
        """Wait for the end of a worker that was entered; return its exit code.

        In the main thread it obeys signals meanwhile, and then restores the earlier signal
        handlers.
        """
        running, self._running = self._running, None
        if running is None:
            raise RuntimeError("the worker does not run: use `async with worker`")
        try:
            return await obey(running)
        finally:
            self.middleware.thaw()

    def run(self) -> int:
        """Run until told to stop; returns the exit code for the process."""

        async def serve() -> int:
            return await obey(await self.life().start())

        try:
            return asyncio.run(serve())
        finally:
            self.middleware.thaw()

    def manual(self) -> Manual:
        """Fetch and settle by hand: `async with worker.manual() as manual`."""
        return Manual(lambda: self.life(fetches=False), self.registry)

    def manual_blocking(self) -> BlockingManual:
        """Return the manual mode without an event loop: `with worker.manual_blocking() as
        manual`."""
        return BlockingManual(self.manual())

    def in_thread(self) -> ThreadWorker:
        """Run in a thread beside a program without an event loop: `with worker.in_thread()`."""
        return ThreadWorker(self.life)

    def _preparation(self, config: Config) -> Callable[[], Awaitable[None]] | None:
        limits = limits_of(self.registry.handlers)
        # With an owner, even without schedules: its last entry may have to be deleted.
        has_crons = bool(self.schedules) or config.cron_owner is not None
        return partial(self._prepare, config, limits) if has_crons or limits else None

    async def _prepare(self, config: Config, limits: Limits) -> None:
        random = self._environment.random
        await register(
            self.schedules,
            self.client,
            Backoff("register the cron entries", random),
            owner=config.cron_owner,
            prune=config.prune_cron,
        )
        await compare(limits, self.client, Backoff("read the rate limits", random))

    def _chosen_transport(self, config: Config) -> Transport:
        if self._transport is not None:
            return self._transport
        auth = self._auth or config.auth_token
        return transport_to(config.url, auth, config.connect_s, tls_of(config))


async def obey(running: Running, box: SignalBox | None = None) -> int:
    """Wait for the end; in the main thread, obey signals."""
    if box is not None:
        return await running.wait_with_signals(box)
    if threading.current_thread() is not threading.main_thread():
        return await running.wait()
    box = SignalBox()
    box.install()
    try:
        return await running.wait_with_signals(box)
    finally:
        box.restore()


class _Later:
    """The transport of a worker, made when it is first used: handlers are often imported before the
    options of the command are known."""

    def __init__(self, choose: Callable[[], Transport]) -> None:
        self._choose = choose
        self._chosen: Transport | None = None

    async def send(self, request: Request) -> Reply:
        return await self._transport.send(request)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        async with aclosing(SteadyTransport(self._transport).stream(request)) as pieces:
            async for piece in pieces:
                yield piece

    @property
    def _transport(self) -> Transport:
        if self._chosen is None:
            self._chosen = self._choose()
        return self._chosen

    async def close(self) -> None:
        if self._chosen is not None:
            await self._chosen.close()


class _Sender:
    """Typed enqueues go through the clients of the worker."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def request(self, type: str, args: list[Any], options: Options) -> JobRequest:
        return self._worker.client.request(type, args, **options)

    def sealed(self, request: JobRequest) -> JobRequest:
        return self._worker.client.sealed(request)

    async def send(self, request: JobRequest) -> JobHandle[Any]:
        return await self._worker.client.send(request)

    def send_blocking(self, request: JobRequest) -> BlockingJobHandle[Any]:
        return self._worker.blocking_client.send(request)
