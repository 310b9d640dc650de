"""Cases of the job manager's own calls, below `/v1/joblib`."""

from typing import Any

from conformance.case import case
from conformance.cases.access import key_of
from conformance.reply import Reply
from conformance.stage import Stage

BASE = "/v1/joblib"
OWN = "jobmanager"
PROBLEM = "application/problem+json"


async def registered(stage: Stage, room: str, name: str = "Turn", **more: Any) -> Reply:
    """Register a job of a room; any answer is returned."""
    body = {"category": "modifiers", "name": name, "schema": {}, **more}
    return await stage.call("PUT", f"{BASE}/rooms/{room}/jobs", body)


async def submitted(stage: Stage, room: str, job: str, **payload: Any) -> Reply:
    """Submit a task; any answer is returned."""
    return await stage.post(f"{BASE}/rooms/{room}/tasks/{job}", {"payload": payload})


async def claimed(stage: Stage, worker: str) -> Any:
    """Claim a task for a worker and return it."""
    reply = await stage.post(f"{BASE}/tasks/claim", {"worker_id": worker})
    return reply.expect(200)["task"]


async def moved(stage: Stage, task: str, status: str, **more: Any) -> Reply:
    """Set the status of a task; any answer is returned."""
    return await stage.call("PATCH", f"{BASE}/tasks/{task}", {"status": status, **more})


def problem(reply: Reply, status: int, name: str) -> None:
    """Demand a problem of this name."""
    reply.expect(
        status, {"type": f"/v1/problems/{name}", "status": status, "title": "string:nonempty"}
    )
    if reply.headers.get("content-type") != PROBLEM:
        reply.fail("content-type", PROBLEM, str(reply.headers.get("content-type")))


@case("OJS-JLB-001", "OJS-JLB-003", "OJS-JLB-006", "OJS-JLB-007", own_server=OWN)
async def jobs_of_rooms(stage: Stage) -> None:
    """A job is registered once for each schema, in a room that sees it with those of all rooms."""
    first = (await registered(stage, "mine")).expect(201, {"full_name": "mine:modifiers:Turn"})
    second = (await registered(stage, "mine")).expect(200)
    stage.equal(second["id"], first["id"], "id")
    workers = sorted([first["worker_id"], second["worker_id"]])
    stage.equal(sorted(second["workers"]), workers, "workers")
    problem(await registered(stage, "mine", schema={"type": "object"}), 409, "schema-conflict")
    problem(await registered(stage, "mine", category="tools"), 400, "invalid-category")
    problem(await registered(stage, "mine", worker_id=stage.new_id()), 404, "worker-not-found")
    for room in ("a:b", "@other"):
        problem(await registered(stage, room), 400, "invalid-room-id")
    (await registered(stage, "@global", schema_={"type": "object"}, schema=None)).expect(
        201, {"schema.type": "object"}
    )
    for room, names in (
        ("mine", ["@global:modifiers:Turn", "mine:modifiers:Turn"]),
        ("other", ["@global:modifiers:Turn"]),
        ("@global", ["@global:modifiers:Turn"]),
    ):
        listed = (await stage.get(f"{BASE}/rooms/{room}/jobs")).expect(200)["items"]
        stage.equal(sorted(job["full_name"] for job in listed), names, f"jobs that {room} sees")
    path = f"{BASE}/rooms/mine/jobs"
    (await stage.get(f"{path}/mine:modifiers:Turn")).expect(200, {"id": first["id"]})
    problem(await stage.get(f"{path}/mine:modifiers:Bend"), 404, "job-not-found")


@case("OJS-JLB-002", "OJS-JLB-004", own_server=OWN)
async def workers_come_and_go(stage: Stage) -> None:
    """A worker is made, beats, is listed with its jobs, and takes its tasks with it."""
    path = f"{BASE}/workers"
    worker = (await stage.post(path)).expect(201, {"last_heartbeat": "string:nonempty"})["id"]
    (await stage.call("PATCH", f"{path}/{worker}")).expect(200, {"id": worker})
    job = (await registered(stage, "mine", worker_id=worker)).expect(201)["full_name"]
    page = {"total": 1, "limit": 50, "offset": 0, "items[0].id": worker, "items[0].job_count": 1}
    for place in (path, f"{BASE}/rooms/mine/workers"):
        (await stage.get(place)).expect(200, page)
        (await stage.get(place, limit=0)).expect(200, {"items": [], "total": 1})
    tasks = [(await submitted(stage, "mine", job)).expect(202)["id"] for _ in range(2)]
    listed = f"{BASE}/rooms/mine/tasks"
    (await stage.get(listed, limit=1)).expect(200, {"total": 2, "items[0].id": tasks[1]})
    (await stage.get(listed, limit=1, offset=1)).expect(200, {"items[0].id": tasks[0]})
    await claimed(stage, worker)
    (await stage.delete(f"{path}/{worker}")).expect(204)
    lost = {"status": "failed", "error": "Worker disconnected"}
    (await stage.get(f"{BASE}/tasks/{tasks[0]}")).expect(200, lost)
    problem(await stage.call("PATCH", f"{path}/{worker}"), 404, "worker-not-found")
    problem(await stage.post(f"{BASE}/tasks/claim", {"worker_id": worker}), 404, "worker-not-found")


@case("OJS-JLB-008", "OJS-JLB-009", "OJS-JLB-010", own_server=OWN)
async def tasks_are_submitted(stage: Stage) -> None:
    """A task has its place in the queue of its job, whatever room it is submitted in."""
    schema = {"type": "object", "properties": {"angle": {"type": "number"}}}
    job = (await registered(stage, "@global", schema=schema)).expect(201)["full_name"]
    odd = {"type": "object", "properties": {"name": {"type": "string", "pattern": "(a+)+"}}}
    (await registered(stage, "@global", "Odd", schema=odd)).expect(201, {"schema": odd})
    (await submitted(stage, "mine", "@global:modifiers:Odd", name="b")).expect(202)
    (await submitted(stage, "mine", job, angle="wide")).expect(422)
    problem(await submitted(stage, "mine", "mine:modifiers:Turn"), 404, "job-not-found")
    made = []
    for place in (1, 2):
        waiting = {"status": "pending", "job_name": job, "room_id": "mine", "queue_position": place}
        reply = (await submitted(stage, "mine", job, angle=place)).expect(202, waiting)
        made.append(reply["id"])
        stage.equal(reply.headers.get("location"), f"{BASE}/tasks/{made[-1]}", "Location")
        stage.check("retry-after" in reply.headers, "Retry-After", "none")
    of_job = await stage.get(f"{BASE}/rooms/mine/jobs/{job}/tasks", status="pending")
    stage.equal([task["id"] for task in of_job.expect(200)["items"]], made[::-1], "its tasks")
    (await stage.get(f"{BASE}/rooms/other/tasks")).expect(200, {"total": 0})
    (await registered(stage, "@internal")).expect(201)
    refused = await submitted(stage, "mine", "@internal:modifiers:Turn")
    problem(refused, 503, "internal-job-not-configured")
    (await moved(stage, made[0], "cancelled")).expect(200, {"queue_position": None})
    (await stage.get(f"{BASE}/tasks/{made[1]}")).expect(200, {"queue_position": 1})
    headers = {"Prefer": "wait=1"}
    held = await stage.call("GET", f"{BASE}/tasks/{made[1]}", headers=headers)
    held.expect(200, {"status": "pending"})
    stage.equal(held.headers.get("preference-applied"), "wait=1", "Preference-Applied")


@case("OJS-JLB-011", "OJS-JLB-012", own_server=OWN)
async def tasks_are_moved(stage: Stage) -> None:
    """A task goes from claimed to running to its end, and no other way."""
    made = (await registered(stage, "mine")).expect(201)
    worker, job = made["worker_id"], made["full_name"]
    stage.equal(await claimed(stage, worker), None, "task")
    tasks = [(await submitted(stage, "mine", job)).expect(202)["id"] for _ in range(3)]
    for task, ways in zip(
        tasks,
        (("running", "completed"), ("running", "failed"), ("cancelled",)),
        strict=True,
    ):
        found = await claimed(stage, worker)
        stage.equal((found["id"], found["status"]), (task, "claimed"), "what was claimed")
        problem(await moved(stage, task, "completed"), 409, "invalid-task-transition")
        for status in ways:
            error = {"error": "no"} if status == "failed" else {}
            (await moved(stage, task, status, **error)).expect(200, {"status": status, **error})
        problem(await moved(stage, task, "running"), 409, "invalid-task-transition")
    waiting = (await submitted(stage, "mine", job)).expect(202)["id"]
    for status in ("running", "completed", "failed"):
        problem(await moved(stage, waiting, status), 409, "invalid-task-transition")
    problem(await moved(stage, stage.new_id(), "running"), 404, "task-not-found")


@case("OJS-JLB-011", own_server=OWN)
async def a_lost_claim_is_repeated(stage: Stage) -> None:
    """A task that its worker claimed and never began comes with a later claim of that worker."""
    made = (await registered(stage, "mine")).expect(201)
    worker = made["worker_id"]
    task = (await submitted(stage, "mine", made["full_name"])).expect(202)["id"]
    stage.equal((await claimed(stage, worker))["id"], task, "the first claim")
    stage.equal(await claimed(stage, worker), None, "a claim at once")

    async def is_repeated() -> bool:
        (await stage.call("PATCH", f"{BASE}/workers/{worker}")).expect(200)
        again = await claimed(stage, worker)
        return again is not None and again["id"] == task

    await stage.until(is_repeated, 10, "the task comes again")
    (await moved(stage, task, "running")).expect(200)
    stage.equal(await claimed(stage, worker), None, "a claim while it runs")


@case("OJS-JLB-005", "OJS-JLB-006", "OJS-JLB-017", own_server="jobmanager_keys")
async def principals(stage: Stage) -> None:
    """A worker and its tasks belong to the key that made them; shared rooms to administrators."""

    async def call(role: str, method: str, path: str, body: Any = None) -> Reply:
        headers = {"Authorization": f"Bearer {key_of(role)}"} if role else {}
        return await stage.call(
            method, f"{BASE}{path}", {} if body is None else body, headers=headers
        )

    body = {"category": "modifiers", "name": "Turn", "schema": {}}
    problem(await call("", "POST", "/workers"), 401, "unauthenticated")
    for kind in ("jobs", "providers"):
        problem(await call("worker", "PUT", f"/rooms/@global/{kind}", body), 403, "forbidden")
    made = (await call("admin", "PUT", "/rooms/@global/jobs", body)).expect(201)
    worker = made["worker_id"]
    new = f"/rooms/mine/tasks/{made['full_name']}"
    task = (await call("producer", "POST", new, {"payload": {}})).expect(202)["id"]
    for method, path, sent in (
        ("PATCH", f"/workers/{worker}", None),
        ("DELETE", f"/workers/{worker}", None),
        ("POST", "/tasks/claim", {"worker_id": worker}),
        ("PATCH", f"/tasks/{task}", {"status": "cancelled"}),
        ("PUT", "/rooms/mine/jobs", {**body, "worker_id": worker}),
    ):
        problem(await call("worker", method, path, sent), 403, "forbidden")
    own = (await call("worker", "PUT", "/rooms/mine/jobs", body)).expect(201)["worker_id"]
    (await call("worker", "PATCH", f"/workers/{own}")).expect(200)
    (await call("admin", "DELETE", f"/workers/{own}")).expect(204)
