"""The client for programs without an event loop; it may be used from many threads.

It is the other client with a transport and a pause that block: their coroutines never wait for a
loop, so one step runs them to their end. It works where a loop runs as well, and blocks it.
"""

import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self, TypeVar, Unpack, overload

from ojs_worker.access import Auth
from ojs_worker.client.asynchronous import Client, Now
from ojs_worker.client.calls import Call, Overlap
from ojs_worker.client.events import Event
from ojs_worker.client.flows import Flow
from ojs_worker.client.groups import Groups
from ojs_worker.client.handle import BlockingJobHandle, JobHandle, JobName
from ojs_worker.client.options import Options
from ojs_worker.client.records import CronEntry, Workflow
from ojs_worker.client.requests import Args, JobRequest
from ojs_worker.client.surface import Blocking
from ojs_worker.codec import Codec
from ojs_worker.environment import Environment
from ojs_worker.job import Job
from ojs_worker.loopless import Loopless, finish
from ojs_worker.middleware import BlockingLayer, Chain, EnqueueLayer, EnqueueNext
from ojs_worker.tls import connection
from ojs_worker.transport import TRY_S, BlockingTransport

T = TypeVar("T")


class BlockingClient(Groups[Blocking]):
    """Enqueues jobs and asks about them; see `Client` for what each call does."""

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        auth: Auth | None = None,
        *,
        server: str | None = None,
        tls: ssl.SSLContext | None = None,
        transport: BlockingTransport | None = None,
        codec: Codec | None = None,
        deadline_s: float | None = None,
        timeout_s: float = TRY_S,
        environment: Environment | None = None,
    ) -> None:
        if transport is None:
            from ojs_worker.over_http_client import blocking_way_to

            way = connection(url, auth, tls, server=server)
            transport = blocking_way_to(way.url, way.auth, way.tls)
        self._transport = transport
        super().__init__(self._answered, awaits=False)
        self._client = Client(
            transport=Loopless(transport),
            codec=codec,
            deadline_s=deadline_s,
            timeout_s=timeout_s,
            sleep=_sleep,
            environment=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def within(self, deadline_s: float) -> "BlockingClient":
        """Return this client with another deadline for its calls; it shares the connections."""
        other = copy(self)
        Groups.__init__(other, other._answered, awaits=False)
        other._client = self._client.within(deadline_s)
        return other

    @contextmanager
    def diverted(self, transport: BlockingTransport, now: Now) -> Iterator[None]:
        """Use another transport and clock for the length of a block, for tests."""
        with self._client.diverted(Loopless(transport), now):
            yield

    @property
    def layers(self) -> Chain[EnqueueLayer]:
        """Return the middleware as coroutines that wait only for the next layer."""
        return self._client.middleware

    def use(self, layer: BlockingLayer) -> BlockingLayer:
        """Add a layer of middleware, innermost; a plain function."""

        async def adapted(request: JobRequest, call_next: EnqueueNext) -> Job | None:
            return layer(request, lambda reached: finish(call_next(reached)))

        self._client.middleware.add(adapted)
        return layer

    def enqueue(
        self, type: str, args: Args = (), **options: Unpack[Options]
    ) -> BlockingJobHandle[Any]:
        """Store one job."""
        return self.send(self.request(type, args, **options))

    def request(self, type: str, args: Args = (), **options: Unpack[Options]) -> JobRequest:
        """Return the request of one job, for `send` and `enqueue_many`."""
        return self._client.request(type, args, **options)

    def send(self, request: JobRequest) -> BlockingJobHandle[Any]:
        """Enqueue what `request` made."""
        return self._blocking(finish(self._client.send(request)))

    @overload
    def handle(self, job: Job | str, *, type: type[T]) -> BlockingJobHandle[T]: ...
    @overload
    def handle(self, job: Job | str, *, type: None = None) -> BlockingJobHandle[Any]: ...
    def handle(self, job: Job | str, *, type: Any = None) -> BlockingJobHandle[Any]:
        """Return the handle of a job that is stored already; its result is of a `type`."""
        return self._blocking(self._client.handle(job, type=type))

    def enqueue_many(
        self, requests: Iterable[JobRequest], *, idempotency_key: str | None = None
    ) -> list[BlockingJobHandle[Any]]:
        """Store up to a thousand jobs, all or none."""
        stored = finish(self._client.enqueue_many(requests, idempotency_key=idempotency_key))
        return [self._blocking(job) for job in stored]

    def get(self, job_id: str) -> Job:
        """Read a job."""
        return finish(self._client.get(job_id))

    def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        return finish(self._client.cancel(job_id))

    @overload
    def result(self, job: JobName, *, timeout_s: float | None = None, type: type[T]) -> T: ...
    @overload
    def result(self, job: JobName, *, timeout_s: float | None = None, type: None = None) -> Any: ...
    def result(self, job: JobName, *, timeout_s: float | None = None, type: Any = None) -> Any:
        """Wait until a job has ended, and return its result: as JSON decodes it, or of a `type`."""
        return finish(self._client.result(job, timeout_s=timeout_s, type=type))

    def wait(self, job: JobName, *, timeout_s: float | None = None) -> Job:
        """Wait until a job has ended, and return it, whatever its end."""
        return finish(self._client.wait(job, timeout_s=timeout_s))

    def start(self, flow: Flow) -> Workflow:
        """Start a workflow made by `chain`, `group` or `batch`."""
        return finish(self._client.start(flow))

    def get_workflow(self, workflow_id: str) -> Workflow:
        """Read a workflow with its steps."""
        return finish(self._client.get_workflow(workflow_id))

    def cancel_workflow(self, workflow_id: str) -> Workflow:
        """Cancel a workflow; active jobs may finish."""
        return finish(self._client.cancel_workflow(workflow_id))

    def put_cron(
        self,
        name: str,
        expression: str,
        type: str,
        args: Args = (),
        *,
        timezone: str | None = None,
        overlap: Overlap | None = None,
        enabled: bool | None = None,
        description: str | None = None,
        **options: Unpack[Options],
    ) -> CronEntry:
        """Register a cron entry, or replace the one of that name."""
        return finish(
            self._client.put_cron(
                name,
                expression,
                type,
                args,
                timezone=timezone,
                overlap=overlap,
                enabled=enabled,
                description=description,
                **options,
            )
        )

    def get_cron(self, name: str) -> CronEntry:
        """Read a cron entry."""
        return finish(self._client.get_cron(name))

    def list_crons(self) -> list[CronEntry]:
        """List all cron entries."""
        return finish(self._client.list_crons())

    def enable_cron(self, name: str, *, enabled: bool = True) -> CronEntry:
        """Enable or disable a cron entry."""
        return finish(self._client.enable_cron(name, enabled=enabled))

    def delete_cron(self, name: str) -> None:
        """Remove a cron entry."""
        finish(self._client.delete_cron(name))

    def trigger_cron(self, name: str) -> BlockingJobHandle[Any]:
        """Run a cron entry now."""
        return self._blocking(finish(self._client.trigger_cron(name)))

    def events(
        self,
        *,
        types: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        job_types: Sequence[str] | None = None,
        job: JobName | None = None,
        after: str | None = None,
    ) -> Iterator[Event]:
        """Iterate over what happens, as `Client.events` does."""
        events = self._client.events(
            types=types, queues=queues, job_types=job_types, job=job, after=after
        )
        try:
            while True:
                try:
                    event = finish(anext(events))
                except StopAsyncIteration:
                    return
                yield event
        finally:
            finish(events.aclose())

    def _blocking(self, handle: JobHandle[Any]) -> BlockingJobHandle[Any]:
        return BlockingJobHandle(self, handle.job, handle.result_type)

    def _answered(self, call: Call[Any]) -> Any:
        return finish(self._client.jobs.run(call))

    def manifest(self) -> dict[str, Any]:
        """Read the server's manifest."""
        return finish(self._client.manifest())


async def _sleep(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251
