"""The calls that both clients have themselves: jobs, workflows, cron entries, events."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Sequence
from copy import copy
from typing import Any, Generic, Self, TypeVar, Unpack

import msgspec

from ojs_worker.client import calls
from ojs_worker.client.calls import Call, Overlap
from ojs_worker.client.events import Event, follow
from ojs_worker.client.flows import Flow
from ojs_worker.client.groups import Groups
from ojs_worker.client.handle import JobName, id_of
from ojs_worker.client.options import Options
from ojs_worker.client.records import CronEntry, Workflow
from ojs_worker.client.requests import Args, JobRequest, job_request
from ojs_worker.client.results import ended_job
from ojs_worker.client.surface import M, composed, method, streaming
from ojs_worker.job import Job

# The handles of jobs.
H = TypeVar("H")


class OwnCalls(Groups[M], ABC, Generic[M, H]):
    """The calls of a client, beside those of nouns."""

    @abstractmethod
    def _handle(self, job: Job, type: Any = None) -> H: ...

    def within(self, deadline_s: float) -> Self:
        """Return this client with another deadline for its calls; it shares the connections."""
        other = copy(self)
        other._bind(self._sender.within(deadline_s))
        return other

    def request(self, type: str, args: Args = (), **options: Unpack[Options]) -> JobRequest:
        """Return the request of one job, for `send` and `enqueue_many`."""
        sender = self._sender
        return job_request(type, args, options, sender.now(), sender.environment.rising_id)

    def sealed(self, request: JobRequest) -> JobRequest:
        """Return a request as it is stored, with its arguments encoded by the codec."""
        return self._sender.sealed(request)

    @composed
    async def enqueue(self, type: str, args: Args = (), **options: Unpack[Options]) -> H:
        """Store one job. `args` is a list, or a mapping for a handler with named parameters.

        Raises `LookupError` if middleware dropped the job.
        """
        return await self._stored(self.request(type, args, **options))

    @composed
    async def send(self, request: JobRequest) -> H:
        """Enqueue what `request` made."""
        return await self._stored(request)

    async def _stored(self, request: JobRequest) -> H:
        job = await self._sender.store(request)
        if job is None:
            raise LookupError(f"middleware dropped the job {request.type}")
        return self._handle(job, request.result_type)

    @composed
    async def enqueue_many(
        self, requests: Iterable[JobRequest], *, idempotency_key: str | None = None
    ) -> list[H]:
        """Store up to a thousand jobs, all or none; middleware sees each of them."""
        stored = await self._sender.store_many(list(requests), idempotency_key)
        return [self._handle(job, request.result_type) for request, job in stored]

    @method
    @staticmethod
    def get(job_id: str) -> Call[Job]:
        """Read a job."""
        return calls.get(job_id)

    @method
    @staticmethod
    def cancel(job_id: str) -> Call[Job]:
        """Cancel a job, also one that runs; its handler is stopped."""
        return calls.cancel(job_id)

    @composed
    async def wait(self, job: JobName, *, timeout_s: float | None = None) -> Job:
        """Wait until a job has ended, and return it, whatever its end; raises `WaitTimeout`."""
        return await ended_job(self._sender, id_of(job), timeout_s)

    @composed
    async def start(self, flow: Flow) -> Workflow:
        """Start a workflow made by `chain`, `group` or `batch`; return it as the server shows it.
        Its jobs do not pass the middleware."""
        environment = self._sender.environment
        flow_id = environment.rising_id(environment.wall_ms())
        return await self._sender.run(calls.start_flow(flow.map(self._sender.sealed), flow_id))

    @method
    @staticmethod
    def get_workflow(workflow_id: str) -> Call[Workflow]:
        """Read a workflow with its steps."""
        return calls.get_flow(workflow_id)

    @method
    @staticmethod
    def cancel_workflow(workflow_id: str) -> Call[Workflow]:
        """Cancel a workflow; active jobs may finish."""
        return calls.cancel_flow(workflow_id)

    @composed
    async def put_cron(
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
        # The name is the id, so that a repeated registration is the same request.
        made = msgspec.structs.replace(self.request(type, args, **options), id=name)
        return await self._sender.run(
            calls.put_cron(
                name,
                expression,
                self._sender.sealed(made),
                timezone=timezone,
                overlap=overlap,
                enabled=enabled,
                description=description,
            )
        )

    @method
    @staticmethod
    def get_cron(name: str) -> Call[CronEntry]:
        """Read a cron entry."""
        return calls.get_cron(name)

    @method
    @staticmethod
    def list_crons() -> Call[list[CronEntry]]:
        """List all cron entries."""
        return calls.list_crons()

    @method
    @staticmethod
    def enable_cron(name: str, *, enabled: bool = True) -> Call[CronEntry]:
        """Enable or disable a cron entry."""
        return calls.enable_cron(name, enabled=enabled)

    @method
    @staticmethod
    def delete_cron(name: str) -> Call[None]:
        """Remove a cron entry."""
        return calls.delete_cron(name)

    @composed
    async def trigger_cron(self, name: str) -> H:
        """Run a cron entry now."""
        return self._handle(await self._sender.answer(calls.trigger_cron(name)))

    @streaming
    def events(
        self,
        *,
        types: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        job_types: Sequence[str] | None = None,
        job: JobName | None = None,
        after: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Iterate over events without end, from now on or after the named one; with `job`, over
        those of one job until it ends. A broken stream is resumed."""
        return follow(
            self._sender,
            types=types,
            queues=queues,
            job_types=job_types,
            job_id=None if job is None else id_of(job),
            after=after,
        )

    @method
    @staticmethod
    def manifest() -> Call[dict[str, Any]]:
        """Read the server's manifest."""
        return calls.manifest()
