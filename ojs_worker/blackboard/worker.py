"""A worker that runs the hooks of its function blocks."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

import httpx

from ojs_worker.blackboard.block import Acquired, Executed, FunctionBlock, Json
from ojs_worker.settings import PROFILES

_USUAL: Final = PROFILES["blackboard"]
_PHASES: Final = {"ACQUIRE": "acquire", "EXECUTE": "run", "ROLLBACK": "rollback"}

log = logging.getLogger("ojs.blackboard")


class BoardWorker:
    """Polls the board for its blocks, runs their hooks in threads, pushes what comes of them."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        blocks: Sequence[FunctionBlock],
        *,
        ping_interval: float = _USUAL.heartbeat_s,
        poll_interval: float = _USUAL.poll_s,
    ) -> None:
        self._client = client
        self._blocks = {block.id: block for block in blocks}
        self._ping_interval = ping_interval
        self._poll_interval = poll_interval
        self.id = ""

    async def run(self) -> None:
        """Until cancelled; then the worker says goodbye."""
        if not self.id:
            await self.register()
        pings = asyncio.create_task(self._ping())
        try:
            while True:
                if not await self.work_once():
                    await asyncio.sleep(self._poll_interval)
        finally:
            pings.cancel()
            await asyncio.shield(self._client.post(f"/workers/{self.id}/unregister"))

    async def register(self) -> None:
        """Come to the board under a new id, and be online."""
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
        """Be seen; whoever was deleted comes anew."""
        answer = await self._client.post(f"/workers/{self.id}/ping")
        if answer.status_code == httpx.codes.NOT_FOUND:
            await self.register()
        else:
            answer.raise_for_status()

    async def work_once(self) -> bool:
        """Poll once and do what was handed out; says whether there was anything."""
        body = {"workerId": self.id, "functionBlockIds": list(self._blocks), "limit": 1}
        answer = await self._client.post("/blackboard/job", json=body)
        if answer.status_code == httpx.codes.NOT_FOUND:
            await self.register()
            return True
        jobs = answer.raise_for_status().json()
        for job in jobs:
            await self._do(job)
        return bool(jobs)

    async def _do(self, job: Json) -> None:
        block = self._blocks[job["functionBlockId"]]
        hook = getattr(block, _PHASES[job["jobType"]])
        try:
            done = await asyncio.to_thread(hook, job["context"])
        except Exception as error:
            log.warning("%s of %s failed", job["jobType"], block.id, exc_info=True)
            pushed: dict[str, Any] = {
                "status": "failure",
                "error": {"type": type(error).__name__, "message": str(error)},
            }
        else:
            pushed = {"status": "success", **_pushed(done)}
        answer = await self._client.post(
            "/blackboard/job/result", json={"jobId": job["jobId"], **pushed}
        )
        if answer.is_error:
            # Stuck or taken away in the meantime, or against its schema: the engine has the word.
            log.warning("the result of %s was refused: %s", job["jobId"], answer.text[:300])

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(self._ping_interval)
            try:
                await self.ping()
            except httpx.HTTPError as error:
                log.warning("no ping: %s", error)


def _pushed(done: object) -> dict[str, Any]:
    if isinstance(done, Acquired):
        return {"acquires": list(done.entities)}
    if isinstance(done, Executed):
        updates = {} if done.db_updates is None else {"dbUpdates": done.db_updates}
        return {"result": done.result, **updates}
    return {"result": done}
