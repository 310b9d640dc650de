"""Cases of rooms: jobs that workers register there, and their tasks."""

from typing import Any

from conformance.case import case
from conformance.cases.tenants import TENANTS, two
from conformance.reply import Reply
from conformance.stage import Stage

ROOMS = "rooms"
LONGEST = 127  # name or category of a job


async def offered(stage: Stage, room: str, name: str = "Rotate", **more: Any) -> Reply:
    """Offer a job, which must be accepted."""
    reply = await stage.call("PUT", f"rooms/{room}/jobs", {"name": name, **more})
    return reply.expect(200, {"worker_id": {"$type": "string"}})


async def submitted(stage: Stage, room: str, job: str = "Rotate", **payload: Any) -> Reply:
    """Submit a task, which must be stored."""
    reply = await stage.post(f"rooms/{room}/tasks", {"job": job, "payload": payload})
    return reply.expect(201, {"status": "pending"})


async def claimed(stage: Stage, worker: str) -> Any:
    """Claim a task for a worker and return it."""
    reply = await stage.post("tasks/claim", {"worker_id": worker})
    return reply.expect(200)["task"]


async def moved(stage: Stage, task: Any, status: str, **more: Any) -> Reply:
    """Set the status of a task; any answer is returned."""
    return await stage.call("PATCH", f"tasks/{task['id']}", {"status": status, **more})


@case("OJS-ROM-001", "OJS-ROM-002", "OJS-ROM-003", "OJS-ROM-004", capability=ROOMS)
async def jobs_are_offered_and_shared(stage: Stage) -> None:
    """Workers offer jobs under names of any case; the last one to leave takes a job with it."""
    room = f"Room {stage.name()}"
    first = await offered(stage, room, category="tools", schema={"type": "object"})
    stage.equal(first["full_name"], f"{room}:tools:Rotate", "full_name")
    second = await offered(stage, room, category="tools")
    again = await offered(stage, room, category="tools", worker_id=first["worker_id"])
    workers = sorted([first["worker_id"], second["worker_id"]])
    stage.equal(sorted(again["workers"]), workers, "workers")
    listed = (await stage.get(f"rooms/{room}/jobs")).expect(200)["jobs"]
    stage.equal([job["name"] for job in listed], ["Rotate"], "jobs")
    for worker in workers:
        (await stage.delete(f"workers/{worker}")).expect(200)
    (await stage.get(f"rooms/{room}/jobs")).expect(200, {"jobs": []})
    body = {"name": "Rotate", "worker_id": workers[0]}
    (await stage.call("PUT", f"rooms/{room}/jobs", body)).error(404, "not_found")
    for name in ("a:b", "", "x" * (LONGEST + 1)):
        refused = await stage.call("PUT", f"rooms/{room}/jobs", {"name": name})
        refused.error(400, "invalid_request", field="name")
    for name in ("x", "x" * LONGEST):
        made = await offered(stage, room, name, category=name)
        stage.equal(made["full_name"], f"{room}:{name}:{name}", "full_name")
    stage.equal((await offered(stage, room, "x"))["full_name"], f"{room}:x", "full_name")


@case("OJS-ROM-005", capability=ROOMS)
async def changes_of_a_room_are_told(stage: Stage) -> None:
    """The event job_types.changed names a room whose workers come or go."""
    room = stage.name()
    made = await offered(stage, room)
    (await stage.delete(f"workers/{made['worker_id']}")).expect(200)
    page = (await stage.get("events", types="job_types.changed", limit=1000)).expect(200)
    events = [event for event in page["events"] if event["data"]["room"] == room]
    stage.equal(len(events), 2, "events of the room")


@case("OJS-ROM-014", capability=ROOMS)
async def the_beginning_of_a_task_is_told(stage: Stage) -> None:
    """The event task.running comes with the first word of its worker, and no other."""
    room = stage.name()
    worker = (await offered(stage, room))["worker_id"]
    task = await submitted(stage, room)
    await claimed(stage, worker)
    for _ in range(2):
        (await moved(stage, task, "running")).expect(200)
    page = (await stage.get("events", types="task.running", limit=1000)).expect(200)
    events = [event for event in page["events"] if event["subject"] == task["id"]]
    stage.equal([event["data"]["worker_id"] for event in events], [worker], "who has begun")


@case("OJS-ROM-006", "OJS-ROM-007", "OJS-ROM-008", "OJS-ROM-009", level=1, capability=ROOMS)
async def a_task_goes_its_way(stage: Stage) -> None:
    """A task is pending, claimed, running and completed, or failed for good."""
    room = stage.name()
    schema = {"type": "object", "properties": {"angle": {"type": "number"}}}
    worker = (await offered(stage, room, schema=schema))["worker_id"]
    stage.equal(await claimed(stage, worker), None, "task")
    wrong = {"job": "Rotate", "payload": {"angle": "wide"}}
    (await stage.post(f"rooms/{room}/tasks", wrong)).error(422, "validation_error")
    (await stage.post(f"rooms/{room}/tasks", {"job": "x"})).error(404, "not_found")
    for last, more in (("completed", {"result": 7}), ("failed", {"error": "no"})):
        task = await submitted(stage, room, angle=90)
        stage.equal((await moved(stage, task, last)).status, 409, "status of an early move")
        held = await claimed(stage, worker)
        stage.equal(held["id"], task["id"], "id")
        stage.equal(held["status"], "claimed", "status")
        stage.equal(held["payload"], {"angle": 90}, "payload")
        (await moved(stage, task, "running", worker_id=worker)).expect(200, {"status": "running"})
        (await moved(stage, task, last, worker_id="somebody")).error(409, "conflict")
        (await moved(stage, task, last, **more)).expect(200, {"status": last, **more})
        (await moved(stage, task, last)).error(409, "conflict")
        (await moved(stage, task, "done")).error(400, "invalid_request", field="status")
    stage.equal(await claimed(stage, worker), None, "task")
    (await stage.post("tasks/claim", {"worker_id": stage.name("w")})).error(404, "not_found")


@case("OJS-ROM-008", level=1, capability=ROOMS)
async def a_claim_takes_the_oldest_of_exact_pairs(stage: Stage) -> None:
    """A worker gets only tasks of the rooms and jobs that it offers, the oldest first."""
    a, b = stage.name(), stage.name()
    worker = (await offered(stage, a, "One"))["worker_id"]
    await offered(stage, b, "Two", worker_id=worker)
    for room, name in ((a, "Two"), (b, "One")):
        await offered(stage, room, name)
        await submitted(stage, room, name)
    tasks = [await submitted(stage, room, name) for room, name in ((b, "Two"), (a, "One"))]
    brought = [await claimed(stage, worker) for _ in range(3)]
    stage.equal(
        [claimed and claimed["id"] for claimed in brought], [*(t["id"] for t in tasks), None], "ids"
    )


@case("OJS-ROM-013", level=1, capability=ROOMS)
async def a_claim_can_be_repeated(stage: Stage) -> None:
    """A repeated claim brings the same task; once that has ended it brings the next one."""
    room = stage.name()
    worker = (await offered(stage, room))["worker_id"]
    tasks = [await submitted(stage, room) for _ in range(2)]
    body = {"worker_id": worker, "fetch_id": stage.name("f")}

    async def brought() -> Any:
        return (await stage.post("tasks/claim", body)).expect(200)["task"]["id"]

    stage.equal([await brought() for _ in range(2)], [tasks[0]["id"]] * 2, "ids")
    (await moved(stage, tasks[0], "completed")).expect(200)
    stage.equal(await brought(), tasks[1]["id"], "id")
    reply = await stage.post("tasks/claim", {**body, "fetch_id": "a\nb"})
    reply.error(400, "invalid_request", field="fetch_id")


@case("OJS-ROM-010", "OJS-ROM-011", "OJS-ROM-012", level=1, capability=ROOMS)
async def tasks_are_listed_waited_for_and_cancelled(stage: Stage) -> None:
    """A room lists its tasks; a task is waited for, cancelled, and known as a job."""
    room = stage.name()
    made = await offered(stage, room)
    tasks = [await submitted(stage, room) for _ in range(3)]
    ids = [task["id"] for task in tasks[::-1]]
    listed = (await stage.get(f"rooms/{room}/tasks")).expect(200)["tasks"]
    stage.equal([task["id"] for task in listed], ids, "tasks")
    async with stage.waiting(stage.get(f"tasks/{ids[0]}", wait=20)) as (waiter,):
        (await stage.delete(f"tasks/{ids[0]}")).expect(200, {"status": "cancelled"})
        (await waiter).expect(200, {"status": "cancelled"})
    (await stage.delete(f"tasks/{ids[0]}")).error(409, "conflict")
    found = (await stage.get(f"rooms/{room}/tasks", status="cancelled")).expect(200)["tasks"]
    stage.equal([task["id"] for task in found], ids[:1], "cancelled tasks")
    stage.equal(made["queue"], room, "the queue of a room whose name a queue may have")
    job = await stage.take(room, job_types=[made["job_type"]])
    stage.equal(job["id"], ids[-1], "id")
    (await stage.ack(job, result=1)).expect(200)
    (await stage.get(f"tasks/{ids[-1]}")).expect(200, {"status": "completed", "result": 1})


@case("OJS-ROM-012", capability=ROOMS)
async def jobs_from_elsewhere(stage: Stage) -> None:
    """A job that was enqueued elsewhere is shown as a task of its queue."""
    queue = stage.name()
    for meta in ({}, {"room": queue}, {"room": "elsewhere", "job": "Rotate"}):
        job = await stage.enqueue(queue, meta=meta)
        shown = {"room_id": queue, "job": f"{queue}:test.case", "status": "pending"}
        (await stage.get(f"tasks/{job['id']}")).expect(200, shown)


@case("OJS-TEN-024", capability=TENANTS)
async def of_tenants(stage: Stage) -> None:
    """Two tenants have rooms of one name: each has its own jobs, workers and tasks there."""
    acme, beta = two(stage)
    room = stage.name()
    mine, other = [(await offered(tenant, room))["worker_id"] for tenant in (acme, beta)]
    task = await submitted(acme, room, n=1)
    shown = (await beta.get(f"rooms/{room}/jobs")).expect(200)["jobs"]
    stage.equal([job["workers"] for job in shown], [[other]], "workers of the other tenant")
    stage.equal(await claimed(beta, other), None, "a task for the other tenant")
    for reply in (
        await beta.get(f"tasks/{task['id']}"),
        await beta.delete(f"tasks/{task['id']}"),
        await moved(beta, task, "running"),
        await beta.post("tasks/claim", {"worker_id": mine}),
    ):
        reply.error(404, "not_found")
    (await beta.get(f"rooms/{room}/tasks")).expect(200, {"tasks": []})
    (await stage.get(f"rooms/{room}/jobs")).expect(200, {"jobs": []})
    held = await claimed(acme, mine)
    stage.equal([held["id"], held["worker_id"]], [task["id"], mine], "the tenant's own task")
    (await moved(acme, held, "completed")).expect(200, {"status": "completed"})
    job = (await stage.get(f"jobs/{task['id']}")).expect(200).json["job"]
    stage.equal(job["meta"]["tenant_id"], acme.headers["X-OJS-Tenant"], "whose the task is")
    events = (await beta.get("events", types="job.*")).json["events"]
    stage.equal(events, [], "events of the other tenant's jobs")
