"""Cases of managed workers: their capabilities, held jobs, presence and deletion."""

import asyncio
import contextlib
from typing import Any

from conformance.case import case
from conformance.play.event_stream import Frames, streaming
from conformance.play.stage import Stage

MANAGED = "worker_management"
SESSIONS = "worker_sessions"


@case("OJS-PRS-007", "OJS-PRS-008", level=1, capability=MANAGED)
async def deletion(stage: Stage) -> None:
    """A deleted worker is listed on demand only, cannot ping, and gives its jobs back."""
    queue, worker = stage.name(), stage.name("w")
    await stage.beat(worker)
    await stage.enqueue(queue)
    job = await stage.take(queue, worker)
    reply = await stage.delete(f"workers/{worker}?action=neither")
    reply.error(400, "invalid_request", field="action")
    reply = await stage.delete(f"workers/{worker}?action=requeue")
    reply.expect(200, {"deleted": True, "worker_id": worker})
    stage.equal((await stage.look(job))["state"], "available", "state")
    listed = await stage.get("workers", limit=1000)
    every = await stage.get("workers", limit=1000, findDeleted="true")
    for page, there in ((listed, False), (every, True)):
        ids = [worker["id"] for worker in page.json["workers"]]
        stage.equal(worker in ids, there, "whether the worker is listed")
    (await stage.post(f"workers/{worker}/ping")).error(404, "not_found")
    (await stage.delete(f"workers/{worker}")).error(404, "not_found")
    # Not cleanup-offline, which would delete workers of the cases that run beside this one.
    cleaned = (await stage.post("workers/cleanup")).expect(200)
    stage.equal(cleaned.json["deleted"], len(cleaned.json["worker_ids"]), "deleted")


@case("OJS-PRS-010", "OJS-PRS-011", "OJS-PRS-012", "OJS-PRS-013", level=1, capability=MANAGED)
async def what_workers_run(stage: Stage) -> None:
    """Function blocks are registered and replaced; jobs are found by the types they stand for."""
    block = stage.name("block")
    body = {"functionBlocks": ["configBackup", block]}
    worker = (await stage.post("workers/register", body)).expect(200).json["worker_id"]
    shown = (await stage.get(f"workers/{worker}/capabilities")).expect(200)
    kinds = {block["id"]: block["job_type"] for block in shown.json["functionBlocks"]}
    stage.equal(set(kinds), {"configBackup", block}, "blocks")
    stage.equal(kinds[block], block, "job type of a block that is named like one")
    job = await stage.enqueue(stage.name(), type=block)
    await stage.enqueue(stage.name(), type=stage.name("block"))
    waiting = (await stage.get(f"workers/{worker}/jobs", status="pending")).expect(200)
    stage.equal([job["id"] for job in waiting.json["jobs"]], [job["id"]], "pending jobs")
    await stage.beat(worker)
    fetch = {"worker_id": worker, "job_types": [block], "count": 5}
    taken = (await stage.post("workers/fetch", fetch)).expect(200)
    stage.equal([job["id"] for job in taken.json["jobs"]], [job["id"]], "fetched jobs")
    held = (await stage.get(f"workers/{worker}/jobs")).expect(200)
    stage.equal([job["id"] for job in held.json["jobs"]], [job["id"]], "held jobs")
    await stage.ack(job["id"], worker_id=worker)
    pushed = (await stage.get(f"workers/{worker}/jobs", status="PUSHED")).expect(200)
    stage.equal([job["id"] for job in pushed.json["jobs"]], [job["id"]], "pushed jobs")
    polled = (await stage.get(f"workers/{worker}/jobs", status="polled")).expect(200)
    stage.equal(polled.json["jobs"], [], "polled jobs")
    reply = await stage.get(f"workers/{worker}/jobs", status="none")
    reply.error(400, "invalid_request", field="status")
    online = await stage.get("workers/online", limit=1000)
    stage.check(
        worker in [worker["id"] for worker in online.json["workers"]], "the worker", online.text
    )
    path = f"workers/{worker}/capabilities"
    changed = (await stage.call("PUT", path, {"functionBlocks": [block]})).expect(200)
    stage.equal([block["id"] for block in changed.json["functionBlocks"]], [block], "blocks")
    reply = await stage.call("PUT", path, {"functionBlocks": [""]})
    reply.error(400, "invalid_request", field="functionBlocks[0]")


async def _greeted(stage: Stage, worker: str, frames: Frames) -> float:
    """The first event of a session; answers its grace."""
    opened = await frames.event()
    stage.equal((opened.event, opened.json["worker_id"]), ("session.opened", worker), "greeting")
    grace_s: float = opened.json["session_grace"]
    stage.check(grace_s > 0, "a grace", grace_s)
    return grace_s


async def _registered(stage: Stage, kind: str) -> str:
    worker = stage.name(kind)
    (await stage.post("workers/register", {"worker_id": worker})).expect(200)
    return worker


async def _shown(stage: Stage, worker: str) -> Any:
    return (await stage.get(f"workers/{worker}")).expect(200).json["worker"]


async def _dies(stage: Stage, worker: str, grace_s: float) -> None:
    async def dead() -> bool:
        return bool((await _shown(stage, worker))["state"] == "terminated")

    await stage.until(dead, grace_s + 15, f"worker {worker} is terminated")


@case("OJS-PRS-014", "OJS-PRS-015", "OJS-PRS-016", "OJS-PRS-018", level=1, capability=SESSIONS)
async def sessions(stage: Stage) -> None:
    """A worker is dead soon after its last session ends, unless it has opened another one."""
    back, lost = [await _registered(stage, kind) for kind in ("back", "lost")]
    earlier = contextlib.AsyncExitStack()
    older = await earlier.enter_async_context(streaming(stage, f"workers/{back}/session"))
    await _greeted(stage, back, older)
    async with streaming(stage, f"workers/{back}/session") as newer:
        await _greeted(stage, back, newer)
        await earlier.aclose()
        queue = stage.name()
        await stage.enqueue(queue)
        async with streaming(stage, f"workers/{lost}/session") as frames:
            grace_s = await _greeted(stage, lost, frames)
            job = await stage.take(queue, lost)
            stage.equal((await _shown(stage, lost))["last_heartbeat_at"], None, "last heartbeat")
        await _dies(stage, lost, grace_s)
        given_back = await stage.look(job)
        stage.check(given_back["state"] != "active", "a job that was given back", given_back)
        stage.equal((await _shown(stage, back))["state"], "running", "state of the other worker")
    for gone in (lost, stage.name("w")):
        (await stage.get(f"workers/{gone}/session")).error(404, "not_found")


@case("OJS-PRS-017", level=1, capability=SESSIONS, own_server="main", seconds=120)
async def sessions_that_the_server_ends(stage: Stage) -> None:
    """A server that stops ends the sessions of its workers without taking them for dead."""
    assert stage.process is not None
    held, lost = [await _registered(stage, kind) for kind in ("held", "lost")]
    async with streaming(stage, f"workers/{held}/session") as frames:
        await _greeted(stage, held, frames)
        stopping = asyncio.create_task(stage.process.stop())
        received = await frames.events_to_the_end()
        stage.equal([frame.event for frame in received], ["server.shutdown"], "events")
    await stopping
    await stage.process.start()
    async with streaming(stage, f"workers/{lost}/session") as frames:
        grace_s = await _greeted(stage, lost, frames)
    await _dies(stage, lost, grace_s)
    stage.equal((await _shown(stage, held))["state"], "running", "state of the other worker")
