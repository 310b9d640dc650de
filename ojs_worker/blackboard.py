"""Workers and workflows of a blackboard: function blocks with their three hooks.

    entities ──▶ ACQUIRE of every block, until nothing new is found
             ──▶ EXECUTE block by block, with all entities in its context
             ──▶ ROLLBACK of what was executed, backwards, if one fails

A worker runs the hooks, a workflow puts the jobs on the board and waits for each.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
import msgspec

PING_S: Final = 20.0
POLL_S: Final = 10.0
MAX_ROUNDS: Final = 20
_PHASES: Final = {"ACQUIRE": "acquire", "EXECUTE": "run", "ROLLBACK": "rollback"}

log = logging.getLogger("ojs.blackboard")

Json = Mapping[str, Any]


class Acquired(msgspec.Struct, frozen=True):
    """What `acquire` found: more entities."""

    entities: Sequence[Any] = ()


class Executed(msgspec.Struct, frozen=True):
    """What `run` came to, and what it wants changed: `create`, `patch`, `delete`."""

    result: Any = None
    db_updates: Json | None = None


class FunctionBlock:
    """One kind of work. A block overrides the hooks that it needs; `run` may return any JSON."""

    id: str = ""
    result_schema: Json | None = None

    def acquire(self, context: Json) -> Acquired:
        """Look for entities beyond those of the context."""
        return Acquired()

    def run(self, context: Json) -> Any:
        """Do the work, with every entity in `context["entities"]`."""
        raise NotImplementedError

    def rollback(self, context: Json) -> Any:
        """Undo what `run` did; `context["result"]` is what it returned."""


class BoardWorker:
    """Polls the board for its blocks, runs their hooks in threads, pushes what comes of them."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        blocks: Sequence[FunctionBlock],
        *,
        ping_interval: float = PING_S,
        poll_interval: float = POLL_S,
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


class EndlessDiscovery(Exception):
    """The blocks found something new in every round."""


class Report(msgspec.Struct, frozen=True):
    """What a workflow came to. `rolled_back` says of each undone block whether that succeeded."""

    entities: Sequence[Any]
    results: Mapping[str, Any]
    failed: str | None = None
    reason: str | None = None
    rolled_back: Mapping[str, bool] = {}


class BoardWorkflow:
    """Blocks in their order, for some entities."""

    def __init__(
        self, client: httpx.AsyncClient, blocks: Sequence[str], *, max_rounds: int = MAX_ROUNDS
    ) -> None:
        self._client = client
        self._blocks = blocks
        self._max_rounds = max_rounds

    async def run(self, entities: Sequence[Any]) -> Report:
        """Acquire, execute, and roll back if a block fails."""
        known = await self._acquire(entities)
        results: dict[str, Any] = {}
        for block in self._blocks:
            context = {"entities": known, "results": results}
            done = await self._job(block, "EXECUTE", context)
            if done["outcome"] != "success":
                undone = await self._roll_back(known, results)
                return Report(known, results, block, done["failure_reason"], undone)
            results[block] = done["result"]["result"]
        return Report(known, results)

    async def _acquire(self, entities: Sequence[Any]) -> list[Any]:
        known = list(entities)
        for _ in range(self._max_rounds):
            context = {"entities": known}
            jobs = [self._job(block, "ACQUIRE", context) for block in self._blocks]
            found = [one for done in await asyncio.gather(*jobs) for one in _acquires(done)]
            new = [one for index, one in enumerate(found) if one not in known + found[:index]]
            if not new:
                return known
            known = known + new
        raise EndlessDiscovery(
            f"something new was found in each of {self._max_rounds} rounds; {len(known)} entities"
        )

    async def _roll_back(self, known: Sequence[Any], results: dict[str, Any]) -> dict[str, bool]:
        undone: dict[str, bool] = {}
        for block in reversed(results):
            context = {"entities": known, "result": results[block]}
            done = await self._job(block, "ROLLBACK", context)
            undone[block] = done["outcome"] == "success"
        return undone

    async def _job(self, block: str, phase: str, context: Json) -> Json:
        """Put a job on the board, and what it came to once it is over."""
        body = {"functionBlockId": block, "jobType": phase, "context": context}
        put = (await self._client.post("/blackboard/jobs", json=body)).raise_for_status()
        job_id = put.json()["jobId"]
        while True:
            # Held by the server until the job is over, or for as long as it holds anything.
            path = f"/ojs/v1/jobs/{job_id}/result"
            ended = await self._client.get(path, params={"wait": "true", "timeout": "25"})
            if ended.status_code == httpx.codes.OK:
                break
            if ended.status_code != httpx.codes.REQUEST_TIMEOUT:
                ended.raise_for_status()
        read = await self._client.get(f"/blackboard/job/{job_id}")
        shown: Json = read.raise_for_status().json()
        return shown


def _acquires(done: Json) -> Sequence[Any]:
    # A block that cannot look finds nothing; whether it can work is seen when it is executed.
    found: Sequence[Any] = (done["result"] or {}).get("acquires", ())
    return found
