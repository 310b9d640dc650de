"""A workflow of function blocks: discovery, execution, and rolling back in reverse order."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
import msgspec

from ojs_wire.values import UUID7, uuid7
from ojs_worker.blackboard.block import Json
from ojs_worker.environment import machine

MAX_ROUNDS: Final = 20
# The length of an id's moment, in hexadecimal digits with their hyphen.
_MOMENT: Final = 13


class EndlessDiscovery(Exception):
    """The blocks found new entities in every round."""


class OtherRun(Exception):
    """The run of that id was begun with other entities or blocks."""


def new_run() -> str:
    """Return the id of a new run, a UUIDv7. With it the run can be continued later."""
    return machine().new_id()


def _job_id(run_id: str, phase: str, step: int, block: str) -> str:
    """Return the id of a job of a run: the same each time, with the time of the run."""
    moment = int(run_id[:_MOMENT].replace("-", ""), 16)
    digest = hashlib.sha256(f"{run_id} {phase} {step} {block}".encode()).digest()
    return uuid7(moment, lambda bits: int.from_bytes(digest) >> (8 * len(digest) - bits))


class BoardHooks:
    """Callbacks for the entities that blocks find and the changes that they request; override what
    is needed.

    Both are called in a thread, after a job has succeeded and before the next one is put on the
    board. Their exceptions end the workflow. A job may come twice, so a callback that writes to a
    database should store its id, and skip ids that it has.
    """

    def on_acquires(self, job_id: str, entities: Sequence[Any]) -> None:
        """Handle the entities that an ACQUIRE job has found."""

    def apply_db_updates(self, job_id: str, updates: Any) -> None:
        """Apply the changes that an EXECUTE job requests: an object of `create`, `patch` and
        `delete`, or a list of objects, as its block pushed it."""


class Report(msgspec.Struct, frozen=True):
    """The outcome of a workflow. `rolled_back` tells for each undone block whether that
    succeeded."""

    # The entities at the end.
    entities: Sequence[Any]
    # The result of each block.
    results: Mapping[str, Any]
    # The block that has failed.
    failed: str | None = None
    # The reason of its failure.
    reason: str | None = None
    # Blocks that were undone; False where that has failed.
    rolled_back: Mapping[str, bool] = {}


class BoardWorkflow:
    """Runs blocks in order on some entities."""

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

    async def run(self, entities: Sequence[Any], *, run_id: str | None = None) -> Report:
        """Acquire, execute, and roll back if a block fails.

        With the id of an earlier run with the same entities and blocks, that run continues where it
        was: its jobs are found on the board.
        """
        run_id = new_run() if run_id is None else run_id
        if not UUID7.fullmatch(run_id):
            raise ValueError(f"run_id must be a lower-case UUIDv7, as new_run() makes: {run_id!r}")
        known = await self._acquire(run_id, entities)
        results: dict[str, Any] = {}
        for step, block in enumerate(self._blocks):
            context = {"entities": known, "results": results}
            done = await self._job(run_id, "EXECUTE", step, block, context)
            if done["outcome"] != "success":
                undone = await self._roll_back(run_id, known, results)
                return Report(known, results, block, done["failure_reason"], undone)
            if updates := done["result"].get("db_updates"):
                await asyncio.to_thread(self._hooks.apply_db_updates, done["jobId"], updates)
            results[block] = done["result"]["result"]
        return Report(known, results)

    async def _acquire(self, run_id: str, entities: Sequence[Any]) -> list[Any]:
        known = list(entities)
        for turn in range(self._max_rounds):
            context = {"entities": known}
            jobs = [self._job(run_id, "ACQUIRE", turn, block, context) for block in self._blocks]
            acquired = [
                entity
                for done in await asyncio.gather(*jobs)
                for entity in await self._acquired_by(done)
            ]
            new = [
                entity
                for index, entity in enumerate(acquired)
                if entity not in known + acquired[:index]
            ]
            if not new:
                return known
            known = known + new
        raise EndlessDiscovery(
            f"something new was found in each of {self._max_rounds} rounds; {len(known)} entities"
        )

    async def _acquired_by(self, done: Json) -> Sequence[Any]:
        # An ACQUIRE that failed finds nothing; if the block cannot work at all, EXECUTE fails.
        acquired = (done["result"] or {}).get("acquires", ())
        entities: Sequence[Any] = [acquired] if isinstance(acquired, dict) else acquired
        if entities:
            await asyncio.to_thread(self._hooks.on_acquires, done["jobId"], entities)
        return entities

    async def _roll_back(
        self, run_id: str, known: Sequence[Any], results: dict[str, Any]
    ) -> dict[str, bool]:
        undone: dict[str, bool] = {}
        for step, block in enumerate(reversed(results)):
            context = {"entities": known, "result": results[block]}
            done = await self._job(run_id, "ROLLBACK", step, block, context)
            undone[block] = done["outcome"] == "success"
        return undone

    async def _job(self, run_id: str, phase: str, step: int, block: str, context: Json) -> Json:
        """Put a job on the board, if it is not there yet, and return its outcome."""
        job_id = _job_id(run_id, phase, step, block)
        body = {"jobId": job_id, "functionBlockId": block, "jobType": phase, "context": context}
        created = await self._client.post("/blackboard/jobs", json=body)
        if created.status_code == httpx.codes.CONFLICT:
            raise OtherRun(f"run {run_id} was begun with other entities or blocks")
        job: Json = created.raise_for_status().json()
        while job["blackboard_status"] != "PUSHED":
            # The server holds the call until the job has ended, or up to its limit.
            path = f"/ojs/v1/jobs/{job_id}/result"
            ended = await self._client.get(path, params={"wait": "true", "timeout": "25"})
            if ended.status_code != httpx.codes.REQUEST_TIMEOUT:
                ended.raise_for_status()
            read = await self._client.get(f"/blackboard/job/{job_id}")
            job = read.raise_for_status().json()
        return job
