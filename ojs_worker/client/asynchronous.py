"""The client for programs with an event loop."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from typing import Any, Final, Self, TypeVar, Unpack, overload

import msgspec

from ojs_worker import forms
from ojs_worker.access import Auth
from ojs_worker.client import calls
from ojs_worker.client.calls import Call, Ended, Overlap
from ojs_worker.client.events import Event, follow
from ojs_worker.client.flows import Flow
from ojs_worker.client.groups import Groups
from ojs_worker.client.handle import JobHandle, JobName, id_of
from ojs_worker.client.options import Options
from ojs_worker.client.records import CronEntry, Workflow
from ojs_worker.client.requests import Args, JobRequest, job_request
from ojs_worker.client.surface import InLoop, Page, url
from ojs_worker.client.waiting import Presence, overdue, unanswered
from ojs_worker.codec import CannotOpen, Codec
from ojs_worker.direct import way_to
from ojs_worker.environment import Environment, machine
from ojs_worker.errors import OjsError, Refused, Unreachable, WaitTimeout
from ojs_worker.job import Job
from ojs_worker.middleware import Chain, EnqueueLayer
from ojs_worker.pauses import pause
from ojs_worker.settings import deadline_of
from ojs_worker.tls import connection
from ojs_worker.transport import TRY_S, Reply, Transport
from ojs_worker.tries import NOT_DONE, NOT_NOW, PAUSE_S, Tries

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], datetime]
# Limit of one request that waits for a result, so that a hanging server is noticed soon.
WAIT_S: Final = 10.0
# Tolerated delay of an answer after the time for which the server was asked to hold it.
LATE_S: Final = 5.0


class Client(Groups[InLoop]):
    """Enqueues jobs and asks about them.

    Without a `url`, or the name of a `server` in the file of servers, the environment or that file
    names the server, as for workers.

    Several URLs are those of one deployment, and tried in turn. A call that may be repeated is sent
    again while no server can be reached or the server is busy, for `deadline_s` (30, or what
    OJS_DEADLINE says); with 0 it is sent once. Enqueues may be repeated, as their jobs have ids
    from the client. `timeout_s` is the time for one try.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        auth: Auth | None = None,
        *,
        server: str | None = None,
        tls: ssl.SSLContext | None = None,
        transport: Transport | None = None,
        codec: Codec | None = None,
        deadline_s: float | None = None,
        timeout_s: float = TRY_S,
        sleep: Sleep = asyncio.sleep,
        environment: Environment | None = None,
    ) -> None:
        super().__init__(self._answered, awaits=True)
        self.middleware: Chain[EnqueueLayer] = Chain()
        if transport is None:
            way = connection(url, auth, tls, server=server)
            transport = way_to(way.url, way.auth, tls=way.tls)
        self._transport = transport
        self._codec = codec
        self._deadline_s = deadline_of({"deadline": deadline_s})
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._environment = environment = environment or machine()
        self._now: Now = environment.now

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def within(self, deadline_s: float) -> "Client":
        """Return this client with another deadline for its calls; it shares the connections."""
        other = copy(self)
        Groups.__init__(other, other._answered, awaits=True)
        other._deadline_s = deadline_of({"deadline": deadline_s})
        return other

    @contextmanager
    def diverted(self, transport: Transport, now: Now) -> Iterator[None]:
        """Use another transport and clock for the length of a block, for tests."""
        before = self._transport, self._now
        self._transport, self._now = transport, now
        try:
            yield
        finally:
            self._transport, self._now = before

    async def enqueue(
        self, type: str, args: Args = (), **options: Unpack[Options]
    ) -> JobHandle[Any]:
        """Store one job. `args` is a list, or a mapping for a handler with named parameters.

        Raises `LookupError` if middleware dropped the job.
        """
        return await self.send(self.request(type, args, **options))

    def request(self, type: str, args: Args = (), **options: Unpack[Options]) -> JobRequest:
        """Return the request of one job, for `send` and `enqueue_many`."""
        return job_request(type, args, options, self._now(), self._environment.rising_id)

    async def send(self, request: JobRequest) -> JobHandle[Any]:
        """Enqueue what `request` made."""
        job = await self._through(request, tuple(self.middleware), self._store)
        if job is None:
            raise LookupError(f"middleware dropped the job {request.type}")
        return JobHandle(self, job, request.result_type)

    @overload
    def handle(self, job: Job | str, *, type: type[T]) -> JobHandle[T]: ...
    @overload
    def handle(self, job: Job | str, *, type: None = None) -> JobHandle[Any]: ...
    def handle(self, job: Job | str, *, type: Any = None) -> JobHandle[Any]:
        """Return the handle of a job that is stored already; its result is of a `type`."""
        known = Job(id=job, type="") if isinstance(job, str) else job
        return JobHandle(self, known, type)

    async def enqueue_many(
        self, requests: Iterable[JobRequest], *, idempotency_key: str | None = None
    ) -> list[JobHandle[Any]]:
        """Store up to a thousand jobs, all or none; middleware sees each of them."""
        led = [await self._led(request) for request in requests]
        kept = [request for request in led if request is not None]
        sealed = [self._sealed(request) for request in kept]
        jobs = await self._run(calls.enqueue_many(sealed, idempotency_key))
        return [
            JobHandle(self, self._opened(job), request.result_type)
            for request, job in zip(kept, jobs, strict=True)
        ]

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return self._opened(await self._run(calls.get(job_id)))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job, also one that runs; its handler is stopped."""
        return self._opened(await self._run(calls.cancel(job_id)))

    @overload
    async def result(self, job: JobName, *, timeout_s: float | None = None, type: type[T]) -> T: ...
    @overload
    async def result(
        self, job: JobName, *, timeout_s: float | None = None, type: None = None
    ) -> Any: ...
    async def result(
        self, job: JobName, *, timeout_s: float | None = None, type: Any = None
    ) -> Any:
        """Wait until a job has ended, and return its result: as JSON decodes it, or of a `type`.

        It lasts `timeout_s`, also while no server can be reached. Raises `JobFailed`,
        `JobCancelled`, or `WaitTimeout` if it takes longer, with the state of the job and if a
        worker serves it, or why the server did not tell.
        """
        value = (await self._end_of(id_of(job), timeout_s)).value()
        return value if type is None else forms.convert(value, type)

    async def wait(self, job: JobName, *, timeout_s: float | None = None) -> Job:
        """Wait until a job has ended, and return it, whatever its end; raises `WaitTimeout`."""
        monotonic = self._environment.monotonic
        deadline = monotonic() + (float("inf") if timeout_s is None else timeout_s)
        await self._end_of(id_of(job), timeout_s)
        call, left_s = calls.get(id_of(job)), max(deadline - monotonic(), 0)
        try:
            return self._opened(await self._run(call, deadline_s=left_s))
        except OjsError as error:
            if _not_now(error) is None:
                raise
            raise unanswered(id_of(job), timeout_s or 0, error) from error

    async def _end_of(self, job_id: str, timeout_s: float | None) -> Ended:
        monotonic = self._environment.monotonic
        deadline = monotonic() + (float("inf") if timeout_s is None else timeout_s)
        holds = True
        failures = 0
        while True:
            left_s = max(deadline - monotonic(), 0)
            sent_at = monotonic()
            try:
                ended = await self._read_end(job_id, min(left_s, WAIT_S), holds=holds)
            except OjsError as error:
                pause_s = _not_now(error)
                if pause_s is None:
                    raise
                if left_s <= 0:
                    raise unanswered(job_id, timeout_s or 0, error) from error
                failures += 1
                wait_s = max(pause_s, pause(failures, self._environment.random(), PAUSE_S))
                # Shortened, so that one more try is made at the deadline.
                await self._sleep(min(wait_s, max(deadline - monotonic(), 0)))
                continue
            failures = 0
            holds = holds and not ended.unknown_call
            if ended.ended:
                return ended
            if left_s <= 0:
                raise await self._overdue(job_id, timeout_s or 0)
            if holds and monotonic() - sent_at < 1:
                # The server does not hold the call, so poll slowly.
                await self._sleep(min(0.5, left_s))

    async def start(self, flow: Flow) -> Workflow:
        """Start a workflow made by `chain`, `group` or `batch`; return it as the server shows it.
        Its jobs do not pass the middleware."""
        flow_id = self._environment.rising_id(self._environment.wall_ms())
        return await self._run(calls.start_flow(flow.map(self._sealed), flow_id))

    async def get_workflow(self, workflow_id: str) -> Workflow:
        """Read a workflow with its steps."""
        return await self._run(calls.get_flow(workflow_id))

    async def cancel_workflow(self, workflow_id: str) -> Workflow:
        """Cancel a workflow; active jobs may finish."""
        return await self._run(calls.cancel_flow(workflow_id))

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
        return await self._run(
            calls.put_cron(
                name,
                expression,
                self._sealed(made),
                timezone=timezone,
                overlap=overlap,
                enabled=enabled,
                description=description,
            )
        )

    async def get_cron(self, name: str) -> CronEntry:
        """Read a cron entry."""
        return await self._run(calls.get_cron(name))

    async def list_crons(self) -> list[CronEntry]:
        """List all cron entries."""
        return await self._run(calls.list_crons())

    async def enable_cron(self, name: str, *, enabled: bool = True) -> CronEntry:
        """Enable or disable a cron entry."""
        return await self._run(calls.enable_cron(name, enabled=enabled))

    async def delete_cron(self, name: str) -> None:
        """Remove a cron entry."""
        await self._run(calls.delete_cron(name))

    async def trigger_cron(self, name: str) -> JobHandle[Any]:
        """Run a cron entry now."""
        return self.handle(self._opened(await self._run(calls.trigger_cron(name))))

    async def events(
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
        about = None if job is None else f"job:{id_of(job)}"
        query = {"types": types, "queues": queues, "job_types": job_types, "channel": about}
        path = url("events", "stream", **query)
        random, sleep = self._environment.random, self._sleep
        async with contextlib.aclosing(
            follow(self._transport, path, after, random, sleep, ends=job is not None)
        ) as events:
            async for event in events:
                yield event

    async def manifest(self) -> dict[str, Any]:
        """Read the server's manifest."""
        return await self._run(calls.manifest())

    async def _answered(self, call: Call[Any]) -> Any:
        """Send a call of a group; jobs are opened."""
        answer = await self._run(call)
        if isinstance(answer, Page):
            return msgspec.structs.replace(
                answer, items=[self._opened_item(item) for item in answer.items]
            )
        return self._opened_item(answer)

    def _opened_item(self, item: Any) -> Any:
        return self._opened(item) if isinstance(item, Job) else item

    async def _read_end(self, job_id: str, wait_s: float, *, holds: bool) -> Ended:
        if not holds:
            await self._sleep(min(0.5, wait_s))
            return calls.ended(await self._run(calls.get(job_id), deadline_s=0))
        late_s = min(LATE_S, self._timeout_s)
        return await self._run(calls.result(job_id, wait_s), deadline_s=0, try_s=wait_s + late_s)

    async def _overdue(self, job_id: str, timeout_s: float) -> WaitTimeout:
        """Describe a wait that timed out, with what the server reports about the job."""
        job: Job | None = None
        workers: list[Presence] | None = None
        with contextlib.suppress(OjsError):
            job = self._opened(await self._run(calls.get(job_id), deadline_s=0))
            workers = await self._run(calls.serving(job.queue), deadline_s=0)
        return overdue(job_id, timeout_s, job, workers)

    async def _led(self, request: JobRequest) -> JobRequest | None:
        """Pass one of many jobs through the middleware; None if it was dropped."""
        kept: list[JobRequest] = []

        async def note(reached: JobRequest) -> Job:
            kept.append(reached)
            return Job(id=reached.id, type=reached.type, args=reached.args)

        answered = await self._through(request, tuple(self.middleware), note)
        return kept[0] if answered is not None and kept else None

    async def _through(
        self,
        request: JobRequest,
        layers: tuple[EnqueueLayer, ...],
        innermost: Callable[[JobRequest], Awaitable[Job]],
    ) -> Job | None:
        if not layers:
            return await innermost(request)

        async def call_next(reached: JobRequest) -> Job | None:
            if reached.id != request.id:
                raise ValueError("middleware must not change the id of a job")
            return await self._through(reached, layers[1:], innermost)

        return await layers[0](request, call_next)

    async def _store(self, request: JobRequest) -> Job:
        return self._opened(await self._run(calls.enqueue(self._sealed(request))))

    def _sealed(self, request: JobRequest) -> JobRequest:
        return request if self._codec is None else self._codec.seal(request)

    def _opened(self, job: Job) -> Job:
        """Return a job with its arguments decoded; as it was stored if that is not possible
        here."""
        if self._codec is None:
            return job
        with contextlib.suppress(CannotOpen):
            return self._codec.open(job)
        return job

    async def _run(
        self, call: Call[T], *, deadline_s: float | None = None, try_s: float | None = None
    ) -> T:
        """Send a call, again while that is safe and of use; raises what the last try ended in."""
        if call.keyed is not None:
            call = call.keyed(self._environment.new_id())
        tries = Tries(self._deadline_s if deadline_s is None else deadline_s, self._environment)
        unsure = False
        while True:
            within_s = tries.within_s(try_s or self._timeout_s, repeatable=call.repeatable)
            request = msgspec.structs.replace(call.request, timeout_s=within_s)
            try:
                reply = await self._transport.send(request)
            except Unreachable as error:
                wait_s = tries.pause_s()
                if wait_s is None or (error.sent and not call.repeatable):
                    raise
                unsure = unsure or error.sent
            else:
                again = NOT_NOW if call.repeatable else NOT_DONE
                if reply.status not in again - call.answers:
                    return await self._read(call, reply, unsure=unsure)
                wait_s = tries.pause_s(reply.retry_after_s)
                if wait_s is None:
                    return call.read(reply)
                unsure = unsure or reply.status not in NOT_DONE
            await self._sleep(wait_s)

    async def _read(self, call: Call[T], reply: Reply, *, unsure: bool) -> T:
        """Read an answer. A refusal may mean that an earlier try was carried out."""
        try:
            return call.read(reply)
        except Refused as refused:
            instead = call.instead(refused) if unsure and call.instead is not None else None
            if instead is None:
                raise
        return await self._run(instead)


def _not_now(error: OjsError) -> float | None:
    """Return the seconds to wait before a job is asked for again; None if the error is final."""
    if isinstance(error, Refused) and error.status in NOT_NOW:
        return error.retry_after_s or 0.0
    return 0.0 if isinstance(error, Unreachable) else None
