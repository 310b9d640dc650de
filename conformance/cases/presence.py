"""Cases of workers that are managed: what they run and hold, who is online, deletion."""

from conformance.case import case
from conformance.stage import Stage

MANAGED = "worker_management"


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
        ids = [one["id"] for one in page.json["workers"]]
        stage.equal(worker in ids, there, "whether the worker is listed")
    (await stage.post(f"workers/{worker}/ping")).error(404, "not_found")
    (await stage.delete(f"workers/{worker}")).error(404, "not_found")
    # The other clean-up would take the workers of the cases beside this one.
    cleaned = (await stage.post("workers/cleanup")).expect(200)
    stage.equal(cleaned.json["deleted"], len(cleaned.json["worker_ids"]), "deleted")


@case("OJS-PRS-010", "OJS-PRS-011", "OJS-PRS-012", "OJS-PRS-013", level=1, capability=MANAGED)
async def what_workers_run(stage: Stage) -> None:
    """Function blocks are registered and replaced; jobs are found by the types they stand for."""
    block = stage.name("block")
    body = {"functionBlocks": ["configBackup", block]}
    worker = (await stage.post("workers/register", body)).expect(200).json["worker_id"]
    shown = (await stage.get(f"workers/{worker}/capabilities")).expect(200)
    kinds = {one["id"]: one["job_type"] for one in shown.json["functionBlocks"]}
    stage.equal(set(kinds), {"configBackup", block}, "blocks")
    stage.equal(kinds[block], block, "job type of a block that is named like one")
    job = await stage.enqueue(stage.name(), type=block)
    await stage.enqueue(stage.name(), type=stage.name("block"))
    waiting = (await stage.get(f"workers/{worker}/jobs", status="pending")).expect(200)
    stage.equal([one["id"] for one in waiting.json["jobs"]], [job["id"]], "pending jobs")
    await stage.beat(worker)
    fetch = {"worker_id": worker, "job_types": [block], "count": 5}
    taken = (await stage.post("workers/fetch", fetch)).expect(200)
    stage.equal([one["id"] for one in taken.json["jobs"]], [job["id"]], "fetched jobs")
    held = (await stage.get(f"workers/{worker}/jobs")).expect(200)
    stage.equal([one["id"] for one in held.json["jobs"]], [job["id"]], "held jobs")
    await stage.ack(job["id"], worker_id=worker)
    pushed = (await stage.get(f"workers/{worker}/jobs", status="PUSHED")).expect(200)
    stage.equal([one["id"] for one in pushed.json["jobs"]], [job["id"]], "pushed jobs")
    polled = (await stage.get(f"workers/{worker}/jobs", status="polled")).expect(200)
    stage.equal(polled.json["jobs"], [], "polled jobs")
    reply = await stage.get(f"workers/{worker}/jobs", status="none")
    reply.error(400, "invalid_request", field="status")
    online = await stage.get("workers/online", limit=1000)
    stage.check(worker in [one["id"] for one in online.json["workers"]], "the worker", online.text)
    path = f"workers/{worker}/capabilities"
    changed = (await stage.call("PUT", path, {"functionBlocks": [block]})).expect(200)
    stage.equal([one["id"] for one in changed.json["functionBlocks"]], [block], "blocks")
    reply = await stage.call("PUT", path, {"functionBlocks": [""]})
    reply.error(400, "invalid_request", field="functionBlocks[0]")
