"""A worker that runs the hooks of its function blocks."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import httpx

from ojs_wire.codec import encode
from ojs_worker.blackboard.block import Acquired, Executed, FunctionBlock, Json
from ojs_worker.config import PROFILES
from ojs_worker.environment import Environment, Pool, machine
from ojs_worker.running.signals import on_ending
from ojs_worker.transport.backoff import Backoff

_USUAL: Final = PROFILES["blackboard"]
_RESULT: Final = "/blackboard/job/result"
_JSON: Final = {"Content-Type": "application/json"}
# A result that does not fit its schema, or is too large.
_NO_RESULT: Final = (413, 422)
_PHASES: Final = {"ACQUIRE": "acquire", "EXECUTE": "run", "ROLLBACK": "rollback"}

log = logging.getLogger("ojs.blackboard")


class BoardWorker:
    """Polls the board for jobs of its blocks, runs their hooks in threads, and pushes the
    results."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        blocks: Sequence[FunctionBlock],
        *,
        ping_interval: float = _USUAL.heartbeat_s,
        poll_interval: float = _USUAL.poll_s,
        grace: float = _USUAL.grace_s,
        environment: Environment | None = None,
    ) -> None:
        self._client = client
        self._blocks = {block.id: block for block in blocks}
        self._ping_interval = ping_interval
        self._poll_interval = poll_interval
        self._grace = grace
        self._environment = environment or machine()
        self.id = ""

    @cached_property
    def _threads(self) -> Pool:
        return self._environment.pool("ojs-block")

    async def serve(self) -> None:
        """Run until SIGINT or SIGTERM, in the main thread of a program that does nothing else."""
        loop, running = asyncio.get_running_loop(), asyncio.create_task(self.run())
        with on_ending(lambda: loop.call_soon_threadsafe(running.cancel)):
            try:
                await running
            except asyncio.CancelledError:
                # Return after a signal; propagate a cancellation by the program.
                if (own := asyncio.current_task()) is not None and own.cancelling():
                    raise

    async def run(self) -> None:
        """Run until cancelled. Running jobs then have the grace period to end, and the worker
        deregisters. An engine that is unreachable is waited for."""
        try:
            if not self.id:
                await self.register()
            await self._work()
        finally:
            if self.id:
                with contextlib.suppress(httpx.HTTPError):
                    await asyncio.shield(self._client.post(f"/workers/{self.id}/unregister"))

    async def _work(self) -> None:
        backoff = Backoff("poll the board", self._environment.random)
        pings = asyncio.create_task(self._ping())
        try:
            while True:
                turn = asyncio.create_task(self._turn(backoff))
                try:
                    pause_s = await asyncio.shield(turn)
                finally:
                    await asyncio.wait([turn], timeout=self._grace)
                    turn.cancel()
                await asyncio.sleep(pause_s)
        finally:
            pings.cancel()

    async def register(self) -> None:
        """Register at the board under a new id."""
        blocks = [
            {"id": block.id}
            if block.result_schema is None
            else {"id": block.id, "resultDataJsonSchema": block.result_schema}
            for block in self._blocks.values()
        ]
        answer = await self._client.post("/workers/register", json={"functionBlocks": blocks})
        self.id = answer.raise_for_status().json()["worker_id"]
        await self.ping()

    async def ping(self) -> None:
        """Send a heartbeat; register again if the worker was deleted."""
        answer = await self._client.post(f"/workers/{self.id}/ping")
        if answer.status_code == httpx.codes.NOT_FOUND:
            await self.register()
        else:
            answer.raise_for_status()

    async def work_once(self) -> bool:
        """Poll once and run the jobs; returns True if there were any."""
        body = {"workerId": self.id, "functionBlockIds": list(self._blocks), "limit": 1}
        answer = await self._client.post("/blackboard/job", json=body)
        if answer.status_code == httpx.codes.NOT_FOUND:
            await self.register()
            return True
        jobs = answer.raise_for_status().json()
        for job in jobs:
            await self._do(job)
        return bool(jobs)

    async def _turn(self, backoff: Backoff) -> float:
        """Poll once; returns the seconds to wait before the next poll."""
        try:
            busy = await self.work_once()
        except httpx.HTTPError as error:
            return backoff.next_s(repr(error))
        backoff.failures = 0
        return 0 if busy else self._poll_interval

    async def _do(self, job: Json) -> None:
        block = self._blocks[job["functionBlockId"]]
        hook = getattr(block, _PHASES[job["jobType"]])
        try:
            done = await self._threads.run(lambda: hook(job["context"]))
            pushed = encode({"jobId": job["jobId"], "status": "success", **_pushed(done)})
        except Exception as error:
            log.warning("%s of %s failed", job["jobType"], block.id, exc_info=True)
            pushed = _failure(job, type(error).__name__, str(error))
        answer = await self._push(job, pushed)
        if answer.status_code in _NO_RESULT:
            answer = await self._push(job, _failure(job, "InvalidResult", answer.text[:300]))
        if answer.is_error:
            # The job was taken away meanwhile; the engine decides.
            log.warning("the result of %s was refused: %s", job["jobId"], answer.text[:300])

    async def _push(self, job: Json, body: bytes) -> httpx.Response:
        """Push a result until it is answered, because it exists nowhere else."""
        backoff = Backoff(f"push the result of {job['jobId']}", self._environment.random)
        while True:
            try:
                answer = await self._client.post(_RESULT, content=body, headers=_JSON)
            except httpx.TransportError as error:
                await backoff.wait(repr(error))
                continue
            if not answer.is_server_error:
                return answer
            await backoff.wait(answer.text[:300])

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(self._ping_interval)
            try:
                await self.ping()
            except httpx.HTTPError as error:
                log.warning("no ping: %s", error)


def _failure(job: Json, kind: str, message: str) -> bytes:
    error = {"type": kind, "message": message}
    return encode({"jobId": job["jobId"], "status": "failure", "error": error})


def _pushed(done: object) -> dict[str, Any]:
    if isinstance(done, Acquired):
        return {"acquires": list(done.entities)}
    if isinstance(done, Executed):
        updates = {} if done.db_updates is None else {"dbUpdates": done.db_updates}
        return {"result": done.result, **updates}
    return {"result": done}
