"""Cases of the job manager's own calls, below `/v1/joblib`."""

from typing import Any

from conformance.case import case
from conformance.cases.access import key_of
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

BASE = "/v1/joblib"
OWN = "jobmanager"
PROBLEM = "application/problem+json"
_OFFER = {"category": "modifiers", "name": "Turn"}


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
    """Require a problem of this name."""
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
    both = {"schema": {"type": "object"}, "schema_": {"type": "array"}}
    (await registered(stage, "other", "Both", **both)).expect(201, {"schema.type": "object"})
    for room, names in (
        ("mine", ["@global:modifiers:Turn", "mine:modifiers:Turn"]),
        ("other", ["@global:modifiers:Turn", "other:modifiers:Both"]),
        ("@global", ["@global:modifiers:Turn"]),
    ):
        listed = (await stage.get(f"{BASE}/rooms/{room}/jobs")).expect(200)["items"]
        stage.equal(sorted(job["full_name"] for job in listed), names, f"jobs that {room} sees")
    path = f"{BASE}/rooms/mine/jobs"
    (await stage.get(f"{path}/mine:modifiers:Turn")).expect(200, {"id": first["id"]})
    problem(await stage.get(f"{path}/mine:modifiers:Bend"), 404, "job-not-found")
    wrong: tuple[Any, ...] = ([], {"name": "Turn"}, {**_OFFER, "schema": 7})
    for body in wrong:
        problem(await stage.call("PUT", path, body), 422, "validation-error")


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
        (await stage.get(place, limit=500)).expect(200, {"limit": 500})
        for query in ({"limit": -1}, {"limit": 501}, {"offset": -1}):
            problem(await stage.get(place, **query), 422, "validation-error")
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
    ended = await stage.call("GET", f"{BASE}/tasks/{made[0]}", headers=headers)
    stage.equal(ended.headers.get("preference-applied"), None, "Preference-Applied of an end")


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
        for status in ("running", "pending", "claimed"):
            problem(await moved(stage, task, status), 409, "invalid-task-transition")
    waiting = (await submitted(stage, "mine", job)).expect(202)["id"]
    for status in ("running", "completed", "failed", "pending", "claimed"):
        problem(await moved(stage, waiting, status), 409, "invalid-task-transition")
    for body in ({"status": "done"}, {"status": 7}, {"status": None}, {}):
        reply = await stage.call("PATCH", f"{BASE}/tasks/{waiting}", body)
        problem(reply, 422, "validation-error")
    for unknown in (stage.new_id(), "8c6ed3b2-4d0a-4a57-9c4e-5b1f0d7f3a11", "nothing"):
        problem(await moved(stage, unknown, "running"), 404, "task-not-found")


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
    for method, path, sent in (
        ("PATCH", f"/workers/{own}", None),
        ("POST", "/tasks/claim", {"worker_id": own}),
    ):
        problem(await call("admin", method, path, sent), 403, "forbidden")
    (await call("admin", "DELETE", f"/workers/{own}")).expect(204)


@case("OJS-JLB-022", "OJS-JLB-023", own_server=OWN)
async def changes_are_events(stage: Stage) -> None:
    """The log tells whose workers come or go, and once for each attempt that a task runs."""
    made = (await registered(stage, "mine")).expect(201)
    worker = made["worker_id"]
    task = (await submitted(stage, "mine", made["full_name"])).expect(202)["id"]
    await claimed(stage, worker)
    for answer in (200, 409):
        stage.equal((await moved(stage, task, "running")).status, answer, "status of the report")
    (await stage.delete(f"{BASE}/workers/{worker}")).expect(204)
    page = (await stage.get("events", types="job_types.changed", limit=1000)).expect(200)
    rooms = [event["data"]["room"] for event in page["events"]]
    stage.equal(rooms, ["mine", "mine"], "rooms whose workers came or went")
    page = (await stage.get("events", types="task.running", limit=1000)).expect(200)
    begun = [(event["subject"], event["data"]["worker_id"]) for event in page["events"]]
    stage.equal(begun, [(task, worker)], "what has begun")


@case("OJS-JLB-007", "OJS-JLB-011", own_server=OWN)
async def a_claim_takes_the_oldest_of_exact_pairs(stage: Stage) -> None:
    """A worker gets tasks of its own jobs alone, the oldest first; its last job goes with it."""
    made = (await registered(stage, "a", "One")).expect(201)
    worker = made["worker_id"]
    (await registered(stage, "b", "Two", worker_id=worker)).expect(201)
    for room, name in (("a", "Two"), ("b", "One")):
        (await registered(stage, room, name)).expect(201)
        (await submitted(stage, room, f"{room}:modifiers:{name}")).expect(202)
    tasks = [
        (await submitted(stage, room, f"{room}:modifiers:{name}")).expect(202)["id"]
        for room, name in (("b", "Two"), ("a", "One"))
    ]
    brought = [await claimed(stage, worker) for _ in range(3)]
    stage.equal([task and task["id"] for task in brought], [*tasks, None], "what was claimed")
    for room, names in (("a", ["One", "Two"]), ("b", ["One", "Two"])):
        listed = (await stage.get(f"{BASE}/rooms/{room}/jobs")).expect(200)["items"]
        stage.equal(sorted(job["name"] for job in listed), names, "jobs while the worker is there")
    (await stage.delete(f"{BASE}/workers/{worker}")).expect(204)
    for room, names in (("a", ["Two"]), ("b", ["One"])):
        listed = (await stage.get(f"{BASE}/rooms/{room}/jobs")).expect(200)["items"]
        stage.equal([job["name"] for job in listed], names, "jobs that are left")


@case("OJS-JLB-022", own_server=OWN)
async def a_job_goes_with_its_last_task(stage: Stage) -> None:
    """A job without workers is there while a task waits for it, and then leaves its name free."""
    for cancel in ("PATCH", "DELETE"):
        made = (await registered(stage, "mine")).expect(201)
        path = f"{BASE}/rooms/mine/jobs/{made['full_name']}"
        task = (await submitted(stage, "mine", made["full_name"])).expect(202)["id"]
        (await stage.delete(f"{BASE}/workers/{made['worker_id']}")).expect(204)
        (await stage.get(path)).expect(200, {"workers": []})
        if cancel == "PATCH":
            (await moved(stage, task, "cancelled")).expect(200)
        else:
            (await stage.delete(f"jobs/{task}")).expect(200)
        problem(await stage.get(path), 404, "job-not-found")
        (await stage.get(f"{BASE}/tasks/{task}")).expect(200, {"job_name": made["full_name"]})
    (await registered(stage, "mine", schema={"type": "object"})).expect(201)


@case("OJS-JLB-024", own_server=OWN)
async def clients_that_name_what_they_send(stage: Stage) -> None:
    """A claim, a task and a report may bear names, and then be repeated or refused by them."""
    made = (await registered(stage, "mine")).expect(201)
    worker, path = made["worker_id"], f"{BASE}/rooms/mine/tasks/{made['full_name']}"
    own = stage.new_id()
    body = {"payload": {"angle": 1}, "id": own}
    for _ in range(2):
        (await stage.post(path, body)).expect(202, {"id": own})
    problem(await stage.post(path, {**body, "payload": {}}), 409, "duplicate")
    second = (await submitted(stage, "mine", made["full_name"])).expect(202)["id"]
    claim = {"worker_id": worker, "fetch_id": stage.name("f")}
    for _ in range(2):
        reply = (await stage.post(f"{BASE}/tasks/claim", claim)).expect(200)
        stage.equal(reply["task"]["id"], own, "the task of the claim")
    stranger = await moved(stage, own, "running", worker_id="stranger")
    problem(stranger, 409, "conflict")
    done = await moved(stage, own, "completed", result=7, worker_id=worker)
    done.expect(200, {"status": "completed", "result": 7})
    reply = (await stage.post(f"{BASE}/tasks/claim", claim)).expect(200)
    stage.equal(reply["task"]["id"], second, "the task of the claim, once the first has ended")
    wrong = {"worker_id": worker, "fetch_id": "a\nb"}
    (await stage.post(f"{BASE}/tasks/claim", wrong)).expect(400)


@case("OJS-JLB-025", own_server=OWN)
async def tasks_are_jobs(stage: Stage) -> None:
    """A task is fetched, completed and cancelled as a job, and any job is shown as a task."""
    made = (await registered(stage, "mine")).expect(201, {"queue": "mine"})
    odd = (await registered(stage, "Room 1")).expect(201)
    stage.check(odd["queue"].startswith("room."), "a queue of another name", odd["queue"])
    first, second = [
        (await submitted(stage, "mine", made["full_name"], n=n)).expect(202)["id"] for n in (1, 2)
    ]
    job = await stage.take("mine", job_types=[made["job_type"]])
    stage.equal((job["id"], job["args"]), (first, [{"n": 1}]), "the task as a job")
    (await stage.ack(job, result=1)).expect(200)
    (await stage.get(f"{BASE}/tasks/{first}")).expect(200, {"status": "completed", "result": 1})
    (await stage.delete(f"jobs/{second}")).expect(200)
    (await stage.get(f"{BASE}/tasks/{second}")).expect(200, {"status": "cancelled"})
    for meta in ({}, {"room": "mine"}, {"room": "elsewhere", "job": "Rotate"}):
        plain = await stage.enqueue("mine", meta=meta)
        shown = {"room_id": "mine", "job_name": "mine:test.case", "status": "pending"}
        (await stage.get(f"{BASE}/tasks/{plain['id']}")).expect(200, shown)
