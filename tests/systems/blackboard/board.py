"""Calls to the blackboard, for its tests."""

from typing import Any

from tests.systems.conftest import Json, System


async def put(board: System, block: str, phase: str | None = None, **context: Any) -> str:
    """A job for a block; answers its id."""
    body = {"functionBlockId": block, "jobType": phase, "context": context}
    made = await board.call("POST", "/blackboard/jobs", body)
    job_id: str = made["jobId"]
    return job_id


async def poll(board: System, worker: str, *blocks: str, limit: int = 1) -> list[Json]:
    """Poll for jobs and return them."""
    body = {"workerId": worker, "functionBlockIds": list(blocks), "limit": limit}
    found: list[Json] = await board.call("POST", "/blackboard/job", body)
    return found


async def push(board: System, job_id: str, status: str = "success", **more: Any) -> Json:
    """Push a result, which must be accepted."""
    body = {"jobId": job_id, "status": status, **more}
    answer: Json = await board.call("POST", "/blackboard/job/result", body)
    return answer


async def seen(board: System, job_id: str) -> Json:
    """A job as the board shows it."""
    shown: Json = await board.call("GET", f"/blackboard/job/{job_id}")
    return shown


async def polled(board: System, block: str = "b", phase: str | None = None) -> tuple[str, str]:
    """A worker and the job that it has polled."""
    worker = await board.arrive(block)
    job = await put(board, block, phase)
    assert [one["jobId"] for one in await poll(board, worker, block)] == [job]
    return worker, job
