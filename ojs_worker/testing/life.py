"""One worker in a test: real deliveries, one at a time, each awaited to its end."""

import asyncio
from collections.abc import Sequence
from typing import Any, Self

import msgspec

from ojs_worker.client.asynchronous import Client
from ojs_worker.context import JobContext, StopReason
from ojs_worker.errors import refusal
from ojs_worker.handlers.outcomes import Released
from ojs_worker.job import Job
from ojs_worker.middleware import Inner
from ojs_worker.running.fetching import Fetcher
from ojs_worker.running.lifetime import Running
from ojs_worker.testing.matching import describe
from ojs_worker.testing.planted import Plants
from ojs_worker.transport import Request, Transport
from ojs_worker.worker import Worker


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one delivery, and its job afterwards.

    `exception` is what the handler raised, `stop_reason` why it was told to stop, if it was.
    """

    # The job afterwards.
    job: Job
    # The exception of the handler.
    exception: BaseException | None = None
    # The reason for which the handler was told to stop.
    stop_reason: StopReason | None = None
    # Its last progress, from 0 to 1.
    progress: float | None = None
    # The message of its last progress report.
    progress_message: str | None = None
    # Its last checkpoint.
    checkpoint: Any = None

    def __repr__(self) -> str:
        """Short, for the report of a test that failed; the rest is in `job`."""
        raised = f", raised {self.exception!r}" if self.exception else ""
        return f"<{describe(self.job)}{raised}>"

    @property
    def state(self) -> str:
        """The state of the job after the delivery."""
        return self.job.state

    @property
    def result(self) -> Any:
        """The result of the handler, as it reads from the server."""
        return self.job.result

    @property
    def error(self) -> Any:
        """The error of the job, as the server has stored it."""
        return self.job.error


class _Progress(msgspec.Struct):
    progress: float | None = None
    message: Any = None


class _Checkpoint(msgspec.Struct):
    state: Any = None


class Life:
    """A worker in a test. It fetches only when asked to."""

    def __init__(self, worker: Worker, transport: Transport, plants: Plants) -> None:
        self._worker = worker
        self._transport = transport
        self._client = Client(transport=transport, codec=worker.codec)
        self._contexts: dict[str, JobContext] = {}
        self._raised: dict[str, BaseException] = {}
        config = worker.config()
        # No health port, because another instance of this worker may use it. An unknown type is
        # failed, which shows that it is misspelt, while a requeued job would only come back.
        unknown = "fail" if config.unknown_type == "requeue" else config.unknown_type
        config = msgspec.structs.replace(config, health_port=None, unknown_type=unknown)
        self.config = config
        self._running = Running(
            config,
            worker.registry,
            transport,
            worker.environment,
            layers=(self._watch, *worker.middleware, plants.layer),
            codec=worker.codec,
            fetches=False,
            overrides=worker.overrides,
        )
        self.loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        await self._running.start()
        await self._running.introduced.wait()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # The test failed or was stopped, so do not wait for the grace period.
            self._running.engine.force()
        await self._running.stop()

    async def take(self, queues: Sequence[str], types: Sequence[str] | None = None) -> Job | None:
        """Fetch one job, if there is one now. One that the codec cannot open is failed."""
        fetcher = Fetcher(
            self._transport,
            self._running.id,
            queues,
            self._worker.environment,
            hold_s=lambda: 0.0,
            timeout_s=self.config.operation_s,
            job_types=types,
        )
        while jobs := (await fetcher.fetch(1)).jobs:
            if (job := self._running.engine.opened(jobs[0])) is not None:
                return job
        return None

    async def give_back(self, job: Job) -> None:
        """Give a job back as if it had not been fetched."""
        engine = self._running.engine
        held = engine.hold(job, self._worker.environment.elapsed())
        await engine.settle(held, Released("a test wanted another job"))

    async def perform(self, job: Job) -> Ran:
        """Run one delivery to its end, and read the state of the job."""
        await self._running.engine.perform(job)
        progress = await self._read(job, "progress", _Progress)
        checkpoint = await self._read(job, "checkpoint", _Checkpoint)
        context = self._contexts.pop(job.id, None)
        return Ran(
            job=await self._client.get(job.id),
            exception=self._raised.pop(job.id, None),
            stop_reason=context.stop_reason if context else None,
            progress=progress.progress if progress else None,
            progress_message=progress.message if progress else None,
            checkpoint=checkpoint.state if checkpoint else None,
        )

    def holds(self, job_id: str | None) -> bool:
        """Tell whether it runs this job, or any job without an id."""
        return bool(self._contexts) if job_id is None else job_id in self._contexts

    async def beat(self) -> None:
        """Send a BEAT, and obey the answer."""
        await self._running.engine.beat_now()

    async def _read(self, job: Job, what: str, shape: type[Any]) -> Any:
        reply = await self._transport.send(Request("GET", f"/ojs/v1/jobs/{job.id}/{what}"))
        if reply.status == 404:
            return None
        if not reply.well:
            raise refusal(reply.status, reply.body)
        return msgspec.json.decode(reply.body, type=shape)

    async def _watch(self, job: Job, context: Any, call_next: Inner) -> Any:
        """Note the context and the exception of a handler, as the outermost layer of middleware."""
        self._contexts[job.id] = context
        try:
            return await call_next()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._raised[job.id] = error
            raise
