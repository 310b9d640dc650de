"""A worker while it runs: an engine with everything around it, from start to deregistration."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence
from types import MappingProxyType
from typing import Any, Final, Self

from ojs_wire.values import format_timestamp
from ojs_worker.codec import Codec
from ojs_worker.config import MISCONFIGURED, Config, SettingError
from ojs_worker.environment import Environment
from ojs_worker.handlers.dependencies import Need
from ojs_worker.handlers.registry import Registry
from ojs_worker.handlers.resources import Overrides
from ojs_worker.lines import counted
from ojs_worker.running.background import BackgroundTasks
from ojs_worker.running.beats import Beats
from ojs_worker.running.bulk_settling import BulkSettler
from ojs_worker.running.engine import Engine
from ojs_worker.running.fetch_loop import FetchLoop
from ojs_worker.running.fetching import Fetcher
from ojs_worker.running.health import HealthServer, Probed
from ojs_worker.running.lease_check import Bounds
from ojs_worker.running.machine import Command
from ojs_worker.running.metrics import text_of
from ojs_worker.running.recycling import RecyclingLimits
from ojs_worker.running.reports import Reports
from ojs_worker.running.settling import SingleSettler
from ojs_worker.running.signals import ENDING, SignalBox, forced_code
from ojs_worker.running.stream_waker import StreamWaker
from ojs_worker.transport import SteadyTransport, Transport, without_key
from ojs_worker.transport.extensions import Manifest
from ojs_worker.version import installed

log = logging.getLogger("ojs.worker")

# Limit of job types in a FETCH; a worker with more handlers gives back jobs of other types.
MAX_TYPES: Final = 1000
# Limit of job types in the path of an event stream; a worker with more is woken by all types.
MAX_STREAMED: Final = 100
# Most job types in the first log line.
MAX_NAMES: Final = 20

_WORDS = {"SIGTSTP": Command.QUIET, "SIGCONT": Command.RESUME}


class Running:
    """One run of a worker, with an id of its own."""

    def __init__(
        self,
        config: Config,
        registry: Registry,
        transport: Transport,
        environment: Environment,
        *,
        layers: Sequence[Any] = (),
        codec: Codec | None = None,
        worker_id: str | None = None,
        fetches: bool = True,
        owns_transport: bool = False,
        prepare: Callable[[], Awaitable[None]] | None = None,
        limits: RecyclingLimits | None = None,
        lifespans: Sequence[Need] = (),
        overrides: Overrides = MappingProxyType({}),
    ) -> None:
        self.config = config
        self.environment = environment
        self.id = worker_id or environment.new_id()
        self._types = tuple(registry)
        self._loop = asyncio.get_running_loop()
        self._owned = transport if owns_transport else None
        transport = SteadyTransport(transport)
        # A program that fetches by itself may handle more types than it has handlers.
        known = fetches and config.only_known_types
        types = tuple(registry) if known and 0 < len(registry) <= MAX_TYPES else None
        manifest = Manifest(transport, timeout_s=config.operation_s)
        self._settler = BulkSettler(
            transport,
            self.id,
            SingleSettler(transport, self.id, environment, timeout_s=config.operation_s),
            environment,
            read_extensions=manifest.extensions,
            timeout_s=config.operation_s,
        )
        bounds = Bounds(config.visibility_s)
        self.engine = Engine(
            config,
            registry,
            environment,
            bounds=bounds,
            settler=self._settler,
            reports=Reports(transport, self.id, timeout_s=config.operation_s),
            layers=layers,
            codec=codec,
            limits=limits,
            overrides=overrides,
        )
        self._beats = Beats(
            transport,
            self.id,
            _profile(config, types, environment),
            environment,
            report=self.engine.report,
            on_answer=self.engine.beat_answered,
            bounds=bounds,
            interval_s=config.heartbeat_s,
            timeout_s=config.operation_s,
            extends=config.auto_extend,
        )
        streamed = types if types is not None and len(types) <= MAX_STREAMED else None
        self.waker = StreamWaker(
            transport, config.queues, streamed, manifest.extensions, environment
        )
        # Started in the background once the server knows this worker.
        self._prepare = prepare
        self._background = BackgroundTasks()
        self.fetcher = Fetcher(
            transport,
            self.id,
            config.queues,
            environment,
            hold_s=lambda: 0.0 if self.waker.connected else config.long_poll_s,
            timeout_s=config.operation_s,
            lease_ms=round(config.visibility_s * 1000) if config.visibility_s else None,
            job_types=types,
            late_ack=config.late_ack,
        )
        self.fetch_loop = FetchLoop(
            self.fetcher,
            environment,
            free=self.engine.free_without,
            accept=self.engine.accept,
            introduced=self._beats.introduced,
            register_again=self.register_again,
            poll_s=config.poll_s,
            failed=self.engine.fetch_failed,
            waker=self.waker,
        )
        self._settler.fetches = self.fetch_loop
        self._fetches = fetches
        self._lifespans = lifespans
        self._health: HealthServer | None = None
        self._forced_by: int | None = None
        self._misconfigured = False

    @property
    def introduced(self) -> asyncio.Event:
        """An event that is set once the server knows this worker, or registering was not
        possible."""
        return self._beats.introduced

    async def start(self) -> Self:
        """Begin to work, once the lifespans of the program have begun."""
        config = self.config
        try:
            for need in self._lifespans:
                await self.engine.resources.keep(need)
        except BaseException as error:
            error.add_note("The worker was not started: a lifespan of it failed.")
            await self._close()
            raise
        if config.health_port is not None:
            self._health = HealthServer(self._probed, lambda: text_of(self.engine.counts))
            await self._health.start(config.health_host, config.health_port)
        log.info(
            "ojs-worker %s serves %s at %s, %s at once, as %s; it has handlers for %s",
            installed(),
            ", ".join(config.queues),
            without_key(config.url),
            counted(config.concurrency, "job"),
            self.id,
            _listed(self._types),
        )
        self.engine.start(self._beats, self.fetch_loop if self._fetches else None)
        if config.wake == "stream" and self._fetches:
            self._background.begin(self._introduced(self.waker.run))
        if self._prepare is not None and self._fetches:
            self._background.begin(self._introduced(self._prepare))
        return self

    @property
    def ready(self) -> bool:
        """True if the worker fetches jobs, and its server answers."""
        return self.engine.machine.ready and self.engine.connected

    async def register_again(self) -> None:
        """Register again after a refused FETCH, or end if the server refuses this worker."""
        log.warning("the server refuses the FETCH of worker %s, which registers anew", self.id)
        if not await self._beats.register_again():
            log.error("the server takes worker %s no more; it ends", self.id)
            self.begin_shutdown()

    def begin_shutdown(self) -> None:
        """Begin the shutdown, as SIGTERM does."""
        self.engine.handle(Command.STOP)

    async def stop(self) -> int:
        """Shut down in order; returns the exit code."""
        self.begin_shutdown()
        return await self.wait()

    async def wait(self) -> int:
        """Wait for the end, whatever causes it; returns the exit code."""
        try:
            await self.engine.ended.wait()
        finally:
            await self._close()
        if self._forced_by is not None:
            return forced_code(self._forced_by)
        if self._misconfigured:
            return MISCONFIGURED
        return self.engine.machine.exit_code

    async def wait_with_signals(self, box: SignalBox) -> int:
        """Wait for the end and obey the signals that the box catches; answers the exit code."""

        def listen(sig: signal.Signals) -> None:
            # A signal handler may run at any instruction, so leave the rest to the event loop.
            self._loop.call_soon_threadsafe(self.on_signal, sig, box.is_forcing(sig))

        box.listen(listen)
        try:
            return await self.wait()
        finally:
            box.listen(None)

    def on_signal(self, sig: signal.Signals, forcing: bool) -> None:
        """Handle a signal."""
        log.info("received %s", sig.name)
        if forcing:
            self._forced_by = self._forced_by or sig
            self.engine.force()
        elif sig in ENDING:
            self.engine.handle(Command.STOP)
        else:
            self.engine.handle(_WORDS[sig.name])

    async def _introduced(self, prepare: Callable[[], Awaitable[None]]) -> None:
        await self.introduced.wait()
        try:
            await prepare()
        except SettingError as error:
            log.error("the worker ends: %s", error)
            self._misconfigured = True
            self.begin_shutdown()

    def _probed(self) -> Probed:
        details = {
            "worker_id": self.id,
            "state": self.engine.machine.state,
            "shutting_down": self.engine.shutting_down,
            "connected": self.engine.connected,
            "active_jobs": self.engine.held,
        }
        return Probed(live=True, ready=self.ready, details=details)

    async def _close(self) -> None:
        await self._background.close()
        await self.engine.close()
        await self._settler.close()
        if self._owned is not None:
            await self._owned.close()
        if self._health is not None:
            await self._health.close()


def _listed(types: Sequence[str]) -> str:
    """Return the job types that have handlers in words, only the first ones by name."""
    first = ", ".join(types[:MAX_NAMES])
    more = len(types) - MAX_NAMES
    return f"{first} and {counted(more, 'more type')}" if more > 0 else first or "no type"


def _profile(
    config: Config, types: Sequence[str] | None, environment: Environment
) -> dict[str, Any]:
    profile: dict[str, Any] = {
        "hostname": environment.host,
        "pid": environment.process,
        "queues": list(config.queues),
        "concurrency": config.concurrency,
        "version": f"ojs-worker-python {installed()}",
        "started_at": format_timestamp(environment.wall_ms()),
    }
    if config.labels:
        profile["labels"] = list(config.labels)
    if types is not None:
        profile["job_types"] = list(types)
    return profile
