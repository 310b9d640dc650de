"""A worker of a job manager in an event loop.

It sends heartbeats and claims one task after the other; an announced task wakes it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final

from ojs_worker.config import PROFILES
from ojs_worker.environment import Environment
from ojs_worker.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    OjsError,
    Refused,
)
from ojs_worker.faults import BadArguments, words_of
from ojs_worker.jobmanager import calls
from ojs_worker.jobmanager.calls import Task
from ojs_worker.jobmanager.claimed import ClaimedTask
from ojs_worker.jobmanager.client import JobManagerClient
from ojs_worker.jobmanager.extension import Registered
from ojs_worker.jobmanager.rooms import JobRooms
from ojs_worker.running.stream_waker import StreamWaker
from ojs_worker.transport import ANSWER_S, SteadyTransport, Transport
from ojs_worker.transport.backoff import Backoff
from ojs_worker.transport.extensions import Manifest
from ojs_worker.transport.streams import extensions_of, follow_for_ever

log = logging.getLogger("ojs.worker")

Execute = Callable[[ClaimedTask], Any]
USUAL: Final = PROFILES["jobmanager"]


class Service:
    """One worker: its jobs, its id, which the server has made, and its loops."""

    def __init__(
        self,
        transport: Transport,
        environment: Environment,
        *,
        execute: Execute | None,
        heartbeat_s: float,
        polling_s: float,
        push: bool,
        rooms: JobRooms | None,
    ) -> None:
        self.client: Final = JobManagerClient(transport=transport, environment=environment)
        self._environment = environment
        self.worker_id: str | None = None
        self._transport = SteadyTransport(transport)
        self._manifest = Manifest(self._transport, timeout_s=ANSWER_S)
        self._execute = execute
        self._heartbeat_s = heartbeat_s
        self._polling_s = polling_s
        self._push = push
        # By room and job as registered; and by full name as in tasks.
        self._registered: dict[tuple[str, str | None, str], Registered] = {}
        self._jobs: dict[str, Registered] = {}
        # The id of the next claim, or of the last one while it has no answer.
        self._fetch_id = self.client.new_fetch_id()
        self._places: set[tuple[str, str]] = set()
        self._threads = environment.pool("ojs-task")
        self._beating: asyncio.Task[None] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._holding: asyncio.Task[None] | None = None
        self._waker: StreamWaker | None = None
        self._registering = asyncio.Lock()
        self._rooms = rooms
        # Set when Socket.IO announces a task; its client has threads of its own.
        self._announced = asyncio.Event()
        if rooms is not None:
            loop = asyncio.get_running_loop()
            rooms.on_task = lambda: loop.call_soon_threadsafe(self._announced.set)
        self.stopping = asyncio.Event()

    async def register(self, room: str, job: Registered) -> None:
        """Register another job of a room for this worker."""
        self._registered[room, job.category, job.name] = job
        async with self._registering:
            self.worker_id = await self._register_job(room, job, self.worker_id)
            self._follow()
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat())
            self._holding = asyncio.create_task(self._hold())
        if self._serving is None and self._execute is not None:
            self._serving = asyncio.create_task(self._serve(self._execute))

    async def claim(self) -> ClaimedTask | None:
        """Claim the oldest waiting task; None if there is none.

        A task whose payload does not fit its job is failed, and the next one is taken.
        """
        while self.worker_id is not None and not self.stopping.is_set():
            worker_id = self.worker_id
            try:
                task = await self.client.claim(worker_id, self._fetch_id)
            except NotFound:
                await self._return(worker_id)
                continue
            self._fetch_id = self.client.new_fetch_id()
            if task is None:
                return None
            job = self._jobs.get(task.job)
            try:
                if job is None:
                    raise BadArguments(f"{task.job} is not registered here")
                return ClaimedTask(task, job.build(task.payload))
            except (BadArguments, TypeError, ValueError) as error:
                log.error("task %s cannot be done: %s", task.id, error)
                await self.move(task, "failed", error=words_of(error))
        return None

    async def news(self, seconds: float) -> None:
        """Wait until a task is announced, or the time has passed."""
        waiting: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(event.wait()) for event in (self.stopping, self._announced)
        ]
        if self._waker is not None:
            waiting.append(asyncio.ensure_future(self._waker(seconds)))
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for future in waiting:
                future.cancel()
            # An announcement from now on precedes the next claim, or wakes the next wait.
            self._announced.clear()

    async def move(
        self, task: Task, status: str, *, result: Any = None, error: str | None = None
    ) -> Task:
        """Set the status of a task to running, completed or failed."""
        assert self.worker_id is not None
        return await self.client.move(task, status, self.worker_id, result=result, error=error)

    async def disconnect(self) -> None:
        """Stop claiming, wait for the task that runs, and leave; what is left fails there."""
        self.stopping.set()
        if self._serving is not None:
            await asyncio.wait([self._serving], timeout=USUAL.grace_s)
        for loop in (self._following, self._serving, self._beating, self._holding):
            if loop is not None:
                loop.cancel()
                await asyncio.gather(loop, return_exceptions=True)
        worker_id, self.worker_id = self.worker_id, None
        if self._rooms is not None:
            self._rooms.on_task = lambda: None
            self._rooms.leave()
        if worker_id is not None:
            with contextlib.suppress(OjsError):
                await self.client.leave(worker_id)
        self._registered.clear()
        self._jobs.clear()
        self._threads.close()

    async def _register_job(self, room: str, job: Registered, worker_id: str | None) -> str | None:
        """Register a job for this worker, or for a new one; returns the worker's id."""
        made = await self.client.put_job(room, job.name, job.category, job.schema, worker_id)
        self._jobs[made.full_name] = job
        self._places.add((made.queue, made.job_type))
        if self._rooms is not None and made.worker_id is not None:
            self._rooms.join(made.full_name, made.worker_id)
        return made.worker_id

    async def _return(self, worker_id: str) -> None:
        """Register all jobs under a new worker, after the server has removed this one."""
        async with self._registering:
            if self.worker_id != worker_id:
                return
            log.warning("the server does not know worker %s any more; it registers anew", worker_id)
            # Keep the old id until the new worker has all jobs, so that a failure here is retried.
            made: str | None = None
            for (room, _, _), job in list(self._registered.items()):
                made = await self._register_job(room, job, made)
            self.worker_id = made

    def _follow(self) -> None:
        """Join the rooms of all jobs registered so far."""
        if not self._push:
            return
        if self._following is not None:
            self._following.cancel()
        queues, types = ({*names} for names in zip(*self._places, strict=True))
        self._waker = StreamWaker(
            self._transport,
            sorted(queues),
            sorted(types),
            self._manifest.extensions,
            self._environment,
        )
        self._following = asyncio.create_task(self._waker.run())

    async def _beat(self) -> None:
        # The registration counts as a sign of life, so the first heartbeat comes an interval later.
        backoff = Backoff("send heartbeats", self._environment.random)
        while not self.stopping.is_set():
            await asyncio.sleep(self._heartbeat_s)
            if (worker_id := self.worker_id) is None:
                continue
            try:
                try:
                    await self.client.beat(worker_id)
                except NotFound:
                    await self._return(worker_id)
                backoff.failures = 0
            except Exception as error:
                backoff.next_s(error)

    async def _hold(self) -> None:
        """Hold a session, if the server has them: it then notices at once when this process
        dies."""
        backoff = Backoff("hold a session", self._environment.random)
        if not (await extensions_of(self._manifest.extensions, backoff)).worker_sessions:
            return
        try:
            await follow_for_ever(lambda: self._hold_session(backoff), backoff)
        except Refused as error:
            log.warning("no session is held, heartbeats are all that the server has: %s", error)

    async def _hold_session(self, backoff: Backoff) -> None:
        worker_id = self.worker_id
        assert worker_id is not None
        try:
            async with contextlib.aclosing(
                self._transport.stream(calls.session(worker_id))
            ) as pieces:
                async for _ in pieces:
                    backoff.failures = 0
                    if self.worker_id != worker_id:
                        # Registered under another id meanwhile.
                        return
        except NotFound as error:
            if not error.status:
                # Raised by this transport, which cannot read streams, and not by the server.
                raise
            # The next claim or heartbeat registers the worker again, under another id.

    async def _serve(self, execute: Execute) -> None:
        """Claim, start, execute and complete one task after the other; waits only if there is
        none."""
        backoff = Backoff("claim tasks", self._environment.random)
        while not self.stopping.is_set():
            try:
                claimed = await self.claim()
                backoff.failures = 0
                if claimed is None:
                    await self.news(self._polling_s)
                else:
                    await self._perform(execute, claimed)
            except Exception as error:
                await backoff.wait(error, getattr(error, "retry_after_s", None))

    async def _perform(self, execute: Execute, claimed: ClaimedTask) -> None:
        task = claimed.task
        try:
            await self._report(task, "running")
            try:
                result = await self._threads.run(lambda: execute(claimed))
            except Exception as error:
                await self._report_failed(task, error)
                return
            try:
                await self._report(task, "completed", result=result)
            except InvalidRequest as error:
                # JSON cannot express the result, or the server refuses its size.
                await self._report_failed(task, error)
        except Conflict as error:
            log.warning("task %s is over, or not this worker's any more: %s", task.id, error)

    async def _report_failed(self, task: Task, error: Exception) -> None:
        log.warning("task %s failed: %s", task.id, error, exc_info=error)
        await self._report(task, "failed", error=words_of(error))

    async def _report(self, task: Task, status: str, **more: Any) -> None:
        """Report the status of a task, with retries until it is answered."""
        backoff = Backoff(f"report task {task.id} as {status}", self._environment.random)
        # Exception, because the program's own transport may raise anything.
        await backoff.retry(lambda: self.move(task, status, **more), (Exception,))
