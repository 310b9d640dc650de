"""A Zeebe client and its workers: one for each task type, each with its own id, slots and
timeout."""

import asyncio
import inspect
import logging
import signal
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Self, Unpack

import msgspec

from ojs_worker.client import Client, RetryPolicy
from ojs_worker.config import PROFILES, TlsFiles
from ojs_worker.context import BlockingContext, Context
from ojs_worker.durations import Duration
from ojs_worker.environment import Environment, machine
from ojs_worker.job import Job
from ojs_worker.running.lifetime import Running
from ojs_worker.running.signals import SignalBox
from ojs_worker.transport import Transport
from ojs_worker.transport.access import Auth
from ojs_worker.transport.tls import connection
from ojs_worker.worker import Worker
from ojs_worker.zeebe.errors import AlreadyCompleted, LeaseExpired
from ojs_worker.zeebe.job import HEADERS, BlockingZeebeJob, ZeebeJob, variables_of

log = logging.getLogger("ojs.worker")

_USUAL: Final = PROFILES["zeebe"]
Handler = Callable[[Any], Any]


class ZeebeWorker:
    """Runs the jobs of one task type. A handler ends its job by `complete`, `fail` or `error`; or
    it returns variables, which complete it, or raises, which fails it."""

    def __init__(
        self,
        client: Client,
        worker: Worker,
        task_type: str,
        handler: Handler,
        fetch_variables: Collection[str] | None,
    ) -> None:
        self.task_type: Final = task_type
        # Number of completions by return values that came too late.
        self.too_late = 0
        self.worker: Final = worker
        self._client = client
        self._handler = handler
        self._variables = fetch_variables
        body = self._loop if inspect.iscoroutinefunction(handler) else self._thread
        # Task types are any text, which the profile `zeebe` of the server takes.
        worker.registry.add(task_type, body, None, {}, any_type=True)

    async def _loop(self, ctx: Context, *_: Any, **__: Any) -> None:
        job = ZeebeJob(ctx, self._client, self._variables)
        variables = await self._handler(job)
        if not job.settled:
            try:
                await job.complete(variables)
            except (AlreadyCompleted, LeaseExpired) as error:
                self._note(error)

    def _thread(self, ctx: BlockingContext, *_: Any, **__: Any) -> None:
        job = BlockingZeebeJob(ctx, self._client, self._variables)
        variables = self._handler(job)
        if not job.settled:
            try:
                job.complete(variables)
            except (AlreadyCompleted, LeaseExpired) as error:
                self._note(error)

    def _note(self, error: Exception) -> None:
        self.too_late += 1
        log.warning("%s: %s", self.task_type, error)


class ZeebeClient:
    """Starts jobs, and makes the workers that do them.

    client = ZeebeClient("http://127.0.0.1:8080")

    @client.task("charge-card", timeout=60)
    async def charge(job: ZeebeJob) -> dict[str, Any]:
        return {"receipt": await pay(job.variables["card"])}

    client.run()

    With an `https` URL the files of TLS may be named, which its workers use, too: `tls_ca_file`,
    `tls_cert_file`, `tls_key_file`.
    """

    def __init__(
        self,
        url: str | None = None,
        auth: Auth | None = None,
        *,
        transport: Transport | None = None,
        queue: str = "default",
        environment: Environment | None = None,
        **tls: Unpack[TlsFiles],
    ) -> None:
        self._place = url, auth
        self._transport = transport
        self._tls = tls
        self._queue = queue
        self._environment = environment or machine()
        if transport is None:
            found = connection(url, auth, files=tls)
            self._jobs = Client(found.url, found.auth, tls=found.tls, environment=self._environment)
        else:
            self._jobs = Client(transport=transport, environment=self._environment)
        self._lives: list[Running] = []
        self.workers: Final[list[ZeebeWorker]] = []

    def create_worker(
        self,
        task_type: str,
        handler: Handler,
        *,
        timeout: Duration | None = _USUAL.visibility_s,
        long_poll: Duration = _USUAL.long_poll_s,
        max_jobs: int = _USUAL.concurrency,
        fetch_variables: Collection[str] | None = None,
        stop_lost: bool = _USUAL.stop_lost,
        name: str | None = None,
        **settings: Any,
    ) -> ZeebeWorker:
        """Create a worker for one task type; it starts with the client.

        `timeout` is the time after which another worker may get the job, not a limit on its run
        time. With `stop_lost` a handler is stopped once its job was given to another worker;
        otherwise it goes on, and the first completion counts.
        """
        url, auth = self._place
        worker = Worker(
            url,
            auth,
            transport=self._transport,
            id=name,
            environment=self._environment,
            queues=[self._queue],
            profile=_USUAL.profile,
            only_known_types=True,
            concurrency=max_jobs,
            long_poll=long_poll,
            visibility_timeout=timeout,
            late_ack="accept_unfinished",
            auto_extend=False,
            stop_lost=stop_lost,
            **{**self._tls, **settings},
        )
        made = ZeebeWorker(self._jobs, worker, task_type, handler, fetch_variables)
        self.workers.append(made)
        return made

    def task(self, task_type: str, **options: Any) -> Callable[[Handler], Handler]:
        """`create_worker` as a decorator."""

        def register(handler: Handler) -> Handler:
            self.create_worker(task_type, handler, **options)
            return handler

        return register

    async def create_job(
        self,
        task_type: str,
        variables: Mapping[str, Any] | None = None,
        *,
        custom_headers: Mapping[str, str] | None = None,
        retries: int = 3,
    ) -> Job:
        """Start one job; without retries left it becomes an incident, kept as a dead letter."""
        meta = {HEADERS: dict(custom_headers)} if custom_headers else {}
        request = self._jobs.request(
            "task",
            [dict(variables or {})],
            queue=self._queue,
            meta=meta,
            retry=RetryPolicy(max_attempts=retries, on_exhaustion="dead_letter"),
        )
        # The server decides which types there are.
        stored = await self._jobs.send(msgspec.structs.replace(request, type=task_type))
        return stored.job

    async def result(self, job: Job | str, *, timeout_s: float | None = None) -> dict[str, Any]:
        """Wait until a job is completed; return its variables, with those of its completion."""
        brought = await self._jobs.result(job, timeout_s=timeout_s)
        stored = await self._jobs.get(job if isinstance(job, str) else job.id)
        return variables_of(stored, brought)

    async def __aenter__(self) -> Self:
        """Run the workers beside the program's own tasks."""
        self._lives = [await worker.worker.life().start() for worker in self.workers]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> int:
        """Stop the workers in order and close the connections; return the exit code."""
        for life in self._lives:
            life.begin_shutdown()
        return await self._ended()

    def run(self) -> int:
        """Run the workers until told to stop; return the exit code for the process."""

        async def serve() -> int:
            async with self:
                if threading.current_thread() is not threading.main_thread():
                    return await self._ended()
                return await self._obeying()

        return asyncio.run(serve())

    async def _obeying(self) -> int:
        loop = asyncio.get_running_loop()
        box = SignalBox()

        def listen(sig: signal.Signals) -> None:
            forcing = box.is_forcing(sig)
            for life in self._lives:
                loop.call_soon_threadsafe(life.on_signal, sig, forcing)

        box.install()
        box.listen(listen)
        try:
            return await self._ended()
        finally:
            box.listen(None)
            box.restore()

    async def _ended(self) -> int:
        codes = await asyncio.gather(*(life.wait() for life in self._lives))
        self._lives = []
        await self._jobs.close()
        return max(codes, default=0)
