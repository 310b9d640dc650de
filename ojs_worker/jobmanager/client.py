"""Client of a job manager: submit tasks, read them, wait for them."""

import asyncio
from typing import Any, Final

from ojs_worker.client.asynchronous import Client
from ojs_worker.client.results import LATE_S, WAIT_S
from ojs_worker.errors import Unreachable, WaitTimeout
from ojs_worker.jobmanager import calls
from ojs_worker.jobmanager.calls import RoomJob, Task
from ojs_worker.jobmanager.extension import payload_of

# Least interval between calls that the server does not hold.
PAUSE_S: Final = 0.5


class JobManagerClient(Client):
    """The client of an event loop; it has the calls of OJS, too."""

    async def submit(self, room: str, job: Any, payload: dict[str, Any] | None = None) -> Task:
        """Submit a task in a room: for a job by its name and a payload, or by an object that is
        both. A job of another room is called by its full name."""
        name = job if isinstance(job, str) else type(job).__name__
        if not isinstance(job, str):
            category = getattr(job, "category", None)
            name = f"{getattr(category, 'value', category)}:{name}" if category else name
            payload = payload_of(job)
        task_id = self._sender.environment.rising_id(self._sender.environment.wall_ms())
        return await self._sender.run(calls.submit(room, name, payload or {}, task_id))

    async def list_jobs(self, room: str) -> list[RoomJob]:
        """List the jobs that a room sees, its own and those of all rooms, without their schemas."""
        return await self._sender.run(calls.list_jobs(room))

    async def list_tasks(self, room: str, status: str | None = None) -> list[Task]:
        """List the tasks of a room, newest first."""
        return await self._sender.run(calls.list_tasks(room, status))

    async def task(self, task_id: str) -> Task:
        """Read a task."""
        return await self._sender.run(calls.get_task(task_id))

    async def cancel_task(self, task_id: str) -> Task:
        """Cancel a task."""
        await self.cancel(task_id)
        return await self.task(task_id)

    async def wait_for(self, task: Task | str, *, timeout_s: float | None = None) -> Task:
        """Wait for a task to end; raises `WaitTimeout` after the time limit."""
        task_id = task if isinstance(task, str) else task.id
        monotonic = self._sender.environment.monotonic
        deadline = monotonic() + (float("inf") if timeout_s is None else timeout_s)
        while True:
            sent_at = monotonic()
            left_s = max(deadline - sent_at, 0)
            wait_s = min(left_s, WAIT_S)
            call = calls.get_task(task_id, wait_s)
            try:
                current = await self._sender.run(call, deadline_s=left_s, try_s=wait_s + LATE_S)
            except Unreachable as error:
                late = f"task {task_id} has not ended after {timeout_s:g} s, as far as is known"
                raise WaitTimeout(f"{late}: {error}") from error
            if current.ended:
                return current
            if monotonic() >= deadline:
                raise WaitTimeout(f"task {task_id} has not ended after {timeout_s:g} s")
            await asyncio.sleep(max(PAUSE_S - (monotonic() - sent_at), 0))

    async def put_job(
        self,
        room: str,
        name: str,
        category: str | None,
        schema: dict[str, Any] | None,
        worker_id: str | None,
    ) -> RoomJob:
        """Register a job of a room for a worker, or for a new one."""
        return await self._sender.run(calls.put_job(room, name, category, schema, worker_id))

    async def claim(self, worker_id: str, fetch_id: str | None = None) -> Task | None:
        """Claim the oldest task that waits for a job of the worker. A claim without an answer is
        repeated under its `fetch_id`, because what it took is given to no other worker."""
        return await self._sender.run(calls.claim(worker_id, fetch_id or self.new_fetch_id()))

    def new_fetch_id(self) -> str:
        """Make a name for a claim, under which it can be repeated."""
        return f"{self._sender.environment.random_bits(128):032x}"

    async def move(
        self,
        task: Task,
        status: str,
        worker_id: str,
        *,
        result: Any = None,
        error: str | None = None,
    ) -> Task:
        """Set the status of a task to running, completed or failed."""
        return await self._sender.run(
            calls.move(task.id, status, worker_id, result=result, error=error)
        )

    async def beat(self, worker_id: str) -> None:
        """Send a heartbeat of a worker."""
        await self._sender.run(calls.beat(worker_id))

    async def leave(self, worker_id: str) -> None:
        """Deregister a worker; its tasks fail."""
        await self._sender.run(calls.leave(worker_id))
