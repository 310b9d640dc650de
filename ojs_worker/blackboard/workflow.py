"""A workflow of function blocks: discovery, execution, and rolling back in reverse order."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
import msgspec

from ojs_worker.blackboard.block import Json

MAX_ROUNDS: Final = 20


class EndlessDiscovery(Exception):
    """The blocks found something new in every round."""


class BoardHooks:
    """What becomes of all that blocks find and want changed; override what is needed.

    Both are called in a thread, once a job has succeeded and before the next one is put on the
    board. What they raise ends the workflow. A job may come twice, so that whoever writes to a
    database keeps its id there, and does nothing for an id that it has.
    """

    def on_acquires(self, job_id: str, entities: Sequence[Any]) -> None:
        """An ACQUIRE job has found entities."""

    def apply_db_updates(self, job_id: str, updates: Json) -> None:
        """An EXECUTE job wants entities changed: `create`, `patch`, `delete`."""


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
        self,
        client: httpx.AsyncClient,
        blocks: Sequence[str],
        *,
        hooks: BoardHooks | None = None,
        max_rounds: int = MAX_ROUNDS,
    ) -> None:
        self._client = client
        self._blocks = blocks
        self._hooks = hooks or BoardHooks()
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
            if updates := done["result"].get("db_updates"):
                await asyncio.to_thread(self._hooks.apply_db_updates, done["jobId"], updates)
            results[block] = done["result"]["result"]
        return Report(known, results)

    async def _acquire(self, entities: Sequence[Any]) -> list[Any]:
        known = list(entities)
        for _ in range(self._max_rounds):
            context = {"entities": known}
            jobs = [self._job(block, "ACQUIRE", context) for block in self._blocks]
            found = [one for done in await asyncio.gather(*jobs) for one in await self._found(done)]
            new = [one for index, one in enumerate(found) if one not in known + found[:index]]
            if not new:
                return known
            known = known + new
        raise EndlessDiscovery(
            f"something new was found in each of {self._max_rounds} rounds; {len(known)} entities"
        )

    async def _found(self, done: Json) -> Sequence[Any]:
        # A block that cannot look finds nothing; whether it can work is seen when it is executed.
        found: Sequence[Any] = (done["result"] or {}).get("acquires", ())
        if found:
            await asyncio.to_thread(self._hooks.on_acquires, done["jobId"], found)
        return found

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
