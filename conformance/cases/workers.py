"""Cases of BEAT, of directives, and of workers that come, go and die."""

import asyncio
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import seconds_between
from conformance.play.stage import Stage

REGISTERING = "worker_registration"
DIRECTING = "worker_directives"


@case("OJS-WRK-003", level=1)
async def ways_of_listing_jobs(stage: Stage) -> None:
    """A BEAT extends the lease of a job in active_job_ids, active_jobs or job_id."""
    queue = stage.name()
    held: list[tuple[str, dict[str, Any]]] = []
    for member in ("active_job_ids", "active_jobs", "job_id"):
        worker = stage.name("w")
        await stage.enqueue(queue)
        job = (await stage.take(queue, worker, visibility_timeout_ms=4_000))["id"]
        held.append((worker, {member: job if member == "job_id" else [job]}))
    for _ in range(3):
        await asyncio.sleep(1.6)
        for worker, listed in held:
            await stage.beat(worker, **listed)
    await asyncio.sleep(1)
    for _, listed in held:
        for member, value in listed.items():
            job = str(value[0] if isinstance(value, list) else value)
            state = (await stage.look(job))["state"]
            stage.equal(state, "active", f"state of a job that is listed as {member}")


@case("OJS-WRK-009", "OJS-WRK-045", level=1)
async def which_list_counts(stage: Stage) -> None:
    """The first list counts: active_job_ids, then active_jobs, then job_id; a number is none."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue_many(queue, 2)
    first, second = await stage.fetch(queue, worker, count=2)
    for members, expected in (
        ({"active_job_ids": [first["id"]]}, [first["id"]]),
        ({"active_jobs": [first["id"], second["id"]]}, [first["id"], second["id"]]),
        ({"job_id": second["id"]}, [second["id"]]),
        ({"active_job_ids": [first["id"]], "active_jobs": [second["id"]]}, [first["id"]]),
        ({"active_jobs": 2}, []),
        ({}, []),
    ):
        reply = await stage.beat(worker, **members)
        stage.equal(
            sorted(reply["jobs_extended"]), sorted(expected), f"jobs_extended for {members}"
        )


@case("OJS-WRK-004", "OJS-WRK-015", level=1)
async def states_of_workers(stage: Stage) -> None:
    """A worker may report each of the three states, and is answered with one of them."""
    states = ("running", "quiet", "terminate")
    for state in states:
        worker, queue = stage.name("w"), stage.name()
        await stage.enqueue(queue)
        await stage.take(queue, worker)
        reply = await stage.beat(worker, state=state, active_jobs=[])
        stage.check(reply["state"] in states, "one of the three states", reply["state"])


@case("OJS-WRK-046", "OJS-WRK-047", level=1)
async def other_words_for_states(stage: Stage) -> None:
    """A worker may report the known states, also by their other names, and no others."""
    for state, answered, draining in (
        ("running", "running", False),
        ("active", "running", False),
        ("idle", "running", False),
        ("quiet", "quiet", False),
        ("drain", "quiet", True),
        ("draining", "quiet", True),
        ("shutting_down", "quiet", True),
        ("terminate", "terminate", False),
        ("terminated", "terminate", False),
    ):
        worker = stage.name("w")
        reply = await stage.beat(worker, state=state)
        stage.equal(reply["state"], answered, f"state for {state}")
        directive = reply["directive"] or "running"
        stage.equal(directive, answered, f"directive for {state}")
        seen = (await stage.get(f"workers/{worker}")).expect(200)
        stage.equal(seen["worker.draining"], draining, f"draining for {state}")
    reply = await stage.beat(stage.name("w"), state="drain", shutdown=True)
    stage.equal(reply["state"], "terminate", "state for drain with shutdown")
    reply = await stage.post("workers/heartbeat", {"worker_id": "w-odd", "state": "sleeping"})
    reply.error(400, "invalid_request")


@case("OJS-WRK-005", "OJS-WRK-024", "OJS-WRK-036", level=1, capability=REGISTERING)
async def what_workers_say_of_themselves(stage: Stage) -> None:
    """The server keeps and shows the newest data that a worker reports about itself."""
    worker, queue = stage.name("w"), stage.name()
    profile = {
        "hostname": "host-1",
        "pid": 42,
        "queues": [queue],
        "concurrency": 7,
        "labels": ["a", "b"],
        "job_types": ["test.case"],
        "version": "1.2.3",
        "started_at": "2026-01-02T03:04:05Z",
        "metadata": {"k": [1]},
    }
    (await stage.post("workers/register", {"worker_id": worker, **profile})).expect(200)
    seen = (await stage.get(f"workers/{worker}")).expect(200)["worker"]
    stage.equal({name: seen.get(name) for name in profile}, profile, "what was registered")
    await stage.beat(worker, concurrency=3, hostname="host-2")
    seen = (await stage.get(f"workers/{worker}")).expect(200)["worker"]
    newest = {**profile, "concurrency": 3, "hostname": "host-2"}
    stage.equal({name: seen.get(name) for name in profile}, newest, "what the BEAT changed")


@case("OJS-WRK-006", level=1)
async def beats_of_unknown_workers(stage: Stage) -> None:
    """A BEAT of a worker that nobody has heard of is answered."""
    queue = stage.name()
    await stage.enqueue(queue)
    await stage.take(queue)
    body = {"worker_id": stage.name("w"), "active_jobs": []}
    (await stage.post("workers/heartbeat", body)).expect(200)


@case("OJS-WRK-008", "OJS-WRK-018", "OJS-WRK-048", level=1)
async def beats_of_strangers(stage: Stage) -> None:
    """A BEAT of an unknown worker is answered and makes it known; the answer is whole."""
    worker = stage.name("w")
    expected: dict[str, object] = {
        "state": "running",
        "directive": "",
        "acknowledged": True,
        "worker_id": worker,
        "server_time": "string:datetime",
        "visibility_timeout": "number:positive",
        "visibility_timeout_ms": "number:positive",
        "jobs_extended": [],
        "jobs_lost": [],
        "cancelled_jobs": [],
    }
    (await stage.beat(worker)).expect(200, {**expected, "registered": False})
    reply = (await stage.beat(worker)).expect(200, {**expected, "registered": True})
    stage.equal(reply["visibility_timeout_ms"], reply["visibility_timeout"] * 1000, "milliseconds")
    (await stage.get(f"workers/{worker}")).expect(200)


@case("OJS-WRK-007", level=1)
async def pings(stage: Stage) -> None:
    """A ping is a BEAT for workers that are known; of others it is 404."""
    worker = stage.name("w")
    (await stage.post(f"workers/{worker}/ping", {})).error(404, "not_found")
    await stage.beat(worker)
    (await stage.post(f"workers/{worker}/ping", {})).expect(200, {"acknowledged": True})
    (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)
    (await stage.post(f"workers/{worker}/ping", {})).error(404, "not_found")


@case("OJS-WRK-009", "OJS-WRK-010", "OJS-WRK-011", "OJS-WRK-012", "OJS-JOB-005", level=1)
async def each_job_once(stage: Stage) -> None:
    """Each listed job is answered once: as extended, lost or cancelled."""
    queue, worker = stage.name(), stage.name("w")
    jobs = await stage.enqueue_many(queue, 6)
    held = [job["id"] for job in await stage.fetch(queue, worker, count=4)]
    others = (await stage.take(queue, stage.name("w")))["id"]
    waiting = jobs[5]["id"]
    (await stage.ack(held[0], worker)).expect(200)
    (await stage.delete(f"jobs/{held[1]}")).expect(200)
    (await stage.delete(f"jobs/{waiting}")).expect(200)
    unknown = stage.new_id()
    listed = [*held, others, waiting, unknown, held[2], unknown]
    reply = await stage.beat(worker, listed)
    stage.equal(sorted(reply["jobs_extended"]), sorted(held[2:]), "jobs_extended")
    stage.equal(sorted(reply["jobs_lost"]), sorted([held[0], others, unknown]), "jobs_lost")
    stage.equal(sorted(reply["cancelled_jobs"]), sorted([held[1], waiting]), "cancelled_jobs")


@case("OJS-WRK-013", "OJS-FET-030", level=1)
async def jobs_held_by_nobody(stage: Stage) -> None:
    """A job fetched without a worker_id counts as held by every worker that lists it."""
    queue = stage.name()
    await stage.enqueue(queue)
    job = await stage.take(queue, visibility_timeout_ms=60_000)
    for worker in (stage.name("w"), stage.name("w")):
        reply = await stage.beat(worker, [job])
        stage.equal(reply["jobs_extended"], [job["id"]], "jobs_extended")


@case("OJS-WRK-019", level=1, capability="admin_api")
async def directives(stage: Stage) -> None:
    """A worker that an operator told to be quiet learns it in the answer to its next BEAT."""
    worker = stage.name("w")
    await stage.beat(worker, state="running", active_jobs=[])
    (await stage.post(f"admin/workers/{worker}/quiet")).expect(200)
    reply = await stage.beat(worker, state="running", active_jobs=[])
    # One text answers it as the state, another beside it.
    reported = [reply[name] for name in ("state", "directive") if reply.has(name)]
    stage.check("quiet" in reported, "quiet as state or directive", reported)
    (await stage.post(f"admin/workers/{stage.name('w')}/quiet")).expect(404)


@case("OJS-WRK-020", "OJS-WRK-047", "OJS-WRK-049", level=1, capability=DIRECTING)
async def directives_stand(stage: Stage) -> None:
    """A directive is in the answer to each BEAT until another replaces it."""
    worker = stage.name("w")
    await stage.beat(worker)
    for name, expected in (("quiet", "quiet"), ("terminate", "terminate"), ("quiet", "quiet")):
        (await stage.post(f"admin/workers/{worker}/{name}")).expect(200, {"updated": 1})
        for _ in range(2):
            reply = await stage.beat(worker)
            stage.equal(reply["directive"], expected, "directive")
            stage.equal(reply["state"], expected, "state")
    (await stage.post("workers/register", {"worker_id": worker})).expect(200)
    stage.equal((await stage.beat(worker))["state"], "running", "state after registering")
    (await stage.post(f"admin/workers/{stage.name('w')}/quiet")).error(404, "not_found")


@case("OJS-WRK-049", level=1, capability=DIRECTING, alone=True)
async def directives_for_all(stage: Stage) -> None:
    """A directive for all goes to every worker that is not gone, and a resume lifts it."""
    workers = [stage.name("w") for _ in range(3)]
    for worker in workers:
        await stage.beat(worker)
    (await stage.post("workers/deregister", {"worker_id": workers[2]})).expect(200)
    for name in ("quiet", "resume"):
        reply = (await stage.post("admin/workers/directive", {"directive": name})).expect(200)
        stage.check(reply["updated"] >= 2, "at least two workers told", reply["updated"])
        expected = "quiet" if name == "quiet" else "running"
        for worker in workers[:2]:
            stage.equal((await stage.beat(worker))["state"], expected, "state")
    (await stage.post("admin/workers/directive", {"directive": "dance"})).error(
        400, "invalid_request"
    )


@case("OJS-WRK-049", level=1, capability=DIRECTING, alone=True)
async def directives_for_one_of_all(stage: Stage) -> None:
    """A directive with an id goes to that worker alone, and one for an unknown worker to nobody."""
    named, other = stage.name("w"), stage.name("w")
    for worker in (named, other):
        await stage.beat(worker)
    one = {"directive": "quiet", "worker_id": named}
    reply = (await stage.post("admin/workers/directive", one)).expect(200)
    stage.equal(reply["updated"], 1, "updated")
    stage.equal((await stage.beat(named))["state"], "quiet", "state of the worker that was named")
    unknown = {"directive": "quiet", "worker_id": stage.name("w")}
    (await stage.post("admin/workers/directive", unknown)).error(404, "not_found")
    stage.equal((await stage.beat(other))["state"], "running", "state of another worker")


@case("OJS-WRK-021", level=1, capability=DIRECTING)
async def resume(stage: Stage) -> None:
    """Resume answers running to a worker that reports quiet, and ends once it is running."""
    worker = stage.name("w")
    stage.equal((await stage.beat(worker, state="quiet"))["state"], "quiet", "its own quiet")
    (await stage.post(f"admin/workers/{worker}/resume")).expect(200)
    stage.equal((await stage.beat(worker, state="quiet"))["state"], "running", "resumed")
    await stage.beat(worker, state="running")
    stage.equal((await stage.beat(worker, state="quiet"))["state"], "quiet", "quiet again")


@case("OJS-WRK-022", "OJS-MAN-006", level=1)
async def test_directives(stage: Stage) -> None:
    """In a conformance run a held job may carry a directive, for the BEAT that lists it alone."""
    hooks = (stage.manifest.get("capabilities") or {}).get("test_hooks")
    stage.check(isinstance(hooks, bool), "capabilities.test_hooks", str(hooks))
    for directive in ("quiet", "terminate"):
        queue, worker = stage.name(), stage.name("w")
        await stage.enqueue(queue, meta={"test_directive": directive})
        job = await stage.take(queue, worker)
        expected = directive if hooks else "running"
        stage.equal((await stage.beat(worker, [job]))["state"], expected, "state")
        stage.equal((await stage.beat(worker))["state"], "running", "state of the next BEAT")


@case("OJS-WRK-024", "OJS-WRK-025", "OJS-WRK-026", level=1, capability=REGISTERING)
async def registering(stage: Stage) -> None:
    """Registering answers how to behave, makes an id where none is given, and starts a life."""
    reply = (await stage.post("workers/register", {})).expect(
        200,
        {
            "ok": True,
            "worker_id": "string:nonempty",
            "server_time": "string:datetime",
            "heartbeat_interval": "number:positive",
            "heartbeat_timeout": "number:positive",
            "visibility_timeout_default": "number:positive",
        },
    )
    stage.check(
        reply["heartbeat_timeout"] > reply["heartbeat_interval"], "a longer timeout", reply.text
    )
    worker = reply["worker_id"]
    (await stage.post(f"admin/workers/{worker}/quiet")).expect(200)
    await stage.beat(worker, state="quiet", hostname="old", version="1")
    before = (await stage.get(f"workers/{worker}"))["worker"]
    again = {"worker_id": worker, "hostname": "new"}
    (await stage.post("workers/register", again)).expect(200, {"worker_id": {"$eq": worker}})
    after = (await stage.get(f"workers/{worker}"))["worker"]
    stage.equal(after["incarnation"], before["incarnation"] + 1, "incarnation")
    stage.equal(after["state"], "running", "state")
    stage.equal(after.get("directive") or "", "", "directive")
    stage.equal(after["hostname"], "new", "hostname")
    stage.check(not after.get("version"), "no version left of the life before", after)


@case("OJS-WRK-027", "OJS-WRK-036", level=1, capability=REGISTERING)
async def registering_is_no_beat(stage: Stage) -> None:
    """A registration is a sign of life, and not a BEAT."""
    worker = stage.name("w")
    (await stage.post("workers/register", {"worker_id": worker})).expect(200)
    seen = (await stage.get(f"workers/{worker}"))["worker"]
    stage.check("last_seen_at" in seen, "last_seen_at", seen)
    stage.check(not seen.get("last_heartbeat_at"), "no last_heartbeat_at", seen)
    stage.equal(seen["presence"], "online", "presence")
    await stage.beat(worker)
    beaten = (await stage.get(f"workers/{worker}"))["worker"]["last_heartbeat_at"]
    await asyncio.sleep(0.02)
    (await stage.post("workers/register", {"worker_id": worker})).expect(200)
    seen = (await stage.get(f"workers/{worker}"))["worker"]
    stage.equal(seen["last_heartbeat_at"], beaten, "last_heartbeat_at")
    later_s = seconds_between(beaten, seen["last_seen_at"])
    stage.check(later_s > 0, "a later last_seen_at", seen)


@case("OJS-WRK-028", "OJS-WRK-029", "OJS-WRK-034", "OJS-RET-018", level=1, capability=REGISTERING)
async def deregistering(stage: Stage) -> None:
    """A worker that leaves gives its jobs back at once, with the error `shutdown`."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue, retry={"max_attempts": 1})
    await stage.enqueue(queue, retry={"max_attempts": 2})
    last, more = await stage.fetch(queue, worker, count=2)
    await stage.beat(worker)
    for _ in range(2):
        (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)
    stage.equal((await stage.look(more))["state"], "available", "state of one with attempts")
    stage.equal((await stage.look(last))["state"], "discarded", "state of one without")
    for job in (last, more):
        stage.equal((await stage.look(job))["error"]["code"], "shutdown", "error.code")
    seen = (await stage.get(f"workers/{worker}")).expect(200, {"worker.state": "terminated"})
    stage.equal(seen["worker.active_job_ids"], [], "active_job_ids")
    (await stage.post("workers/deregister", {"worker_id": stage.name("w")})).error(
        404, "not_found", resource_type="worker"
    )


@case("OJS-FET-025", "OJS-WRK-026", level=1, capability=REGISTERING)
async def asking_after_the_end(stage: Stage) -> None:
    """The FETCH of a worker that has left is refused and brings it not back; registering does."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue)
    await stage.beat(worker)
    (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)
    for _ in range(2):
        reply = (await stage.send_fetch(queue, worker)).error(
            409, "conflict", resource_type="worker"
        )
        stage.check(reply["error.hint"], "a hint", reply["error.hint"])
        (await stage.get(f"workers/{worker}")).expect(200, {"worker.state": "terminated"})
    stage.equal((await stage.look(job))["state"], "available", "the job's state")
    (await stage.post("workers/register", {"worker_id": worker})).expect(200)
    await stage.take(queue, worker)


@case(
    *("OJS-WRK-031", "OJS-WRK-032", "OJS-WRK-033", "OJS-WRK-035", "OJS-WRK-040"),
    level=1,
    capability=REGISTERING,
    seconds=120,
)
async def dead_workers(stage: Stage) -> None:
    """A silent worker is dead after the timeout, and its jobs go back; one never heard is not."""
    answer = (await stage.post("workers/register", {})).expect(200)
    silence = float(answer["heartbeat_timeout"])
    stage.need(silence <= 45, f"the heartbeat timeout is {silence:g} s; 45 can be waited for")
    queue, dead, never, alive = (stage.name(kind) for kind in ("q", "dead", "never", "alive"))
    late, fetching, nothing = stage.name("late"), stage.name("asking"), stage.name()
    await stage.enqueue_many(queue, 4)
    await stage.beat(dead)
    listed = await stage.take(queue, dead)
    unlisted = await stage.take(queue, dead)
    await stage.beat(dead, [listed])
    kept = await stage.take(queue, never)
    beating = await stage.take(queue, alive)
    await stage.beat(late)
    beaten = (await stage.beat(fetching))["last_heartbeat_at"]
    for _ in range(int(silence / 2)):
        await asyncio.sleep(1.9)
        await stage.beat(alive, [beating])
        await stage.empty(nothing, fetching)
    for job in (listed, unlisted):
        await stage.until_state(job, "available", 8)
        stage.equal((await stage.look(job))["error"]["code"], "worker_death", "error.code")
    for job in (kept, beating):
        stage.equal((await stage.look(job))["state"], "active", "state")
    seen = (await stage.get(f"workers/{dead}")).expect(200, {"worker.state": "terminated"})
    life = seen["worker.incarnation"]
    reply = await stage.beat(dead, [listed])
    stage.equal(reply["jobs_lost"], [listed["id"]], "jobs_lost of one that came back")
    stage.equal(reply["registered"], False, "registered")
    seen = (await stage.get(f"workers/{dead}")).expect(200, {"worker.state": "running"})
    stage.equal(seen["worker.incarnation"], life + 1, "incarnation")

    async def is_gone() -> bool:
        shown = (await stage.get(f"workers/{late}")).expect(200)
        return bool(shown["worker.state"] == "terminated")

    # A FETCH counts as a sign of life too: a worker that sends no BEAT but fetches stays alive.
    await stage.until(is_gone, 8, "a silent worker is terminated")
    await stage.take(queue, late)
    seen = (await stage.get(f"workers/{late}")).expect(200, {"worker.state": "running"})
    stage.equal(seen["worker.incarnation"], life + 1, "incarnation of one that fetched")
    seen = (await stage.get(f"workers/{fetching}")).expect(200, {"worker.state": "running"})
    stage.equal(seen["worker.incarnation"], life, "incarnation of one that fetched all along")
    stage.equal(seen["worker.last_heartbeat_at"], beaten, "its last_heartbeat_at")


@case("OJS-WRK-036", "OJS-WRK-038", "OJS-HTP-020", level=1, capability=REGISTERING)
async def lists_of_workers(stage: Stage) -> None:
    """Workers are listed newest first, and can be chosen by state, presence, queue and label."""
    queue, label = stage.name(), stage.name("label")
    workers = [stage.name("w") for _ in range(3)]
    for worker in workers:
        profile = {"worker_id": worker, "queues": [queue], "labels": [label]}
        (await stage.post("workers/register", profile)).expect(200)
        await stage.beat(worker)
    await stage.beat(workers[0], state="quiet")
    (await stage.post("workers/deregister", {"worker_id": workers[1]})).expect(200)

    async def listed(**query: str) -> list[str]:
        reply = (await stage.get("workers", limit=1000, **query)).expect(200)
        return [
            worker["worker_id"] for worker in reply["workers"] if worker["worker_id"] in workers
        ]

    stage.equal(await listed(queue=queue), workers[::-1], "by queue, newest first")
    stage.equal(await listed(label=label), workers[::-1], "by label")
    stage.equal(await listed(state="quiet", queue=queue), workers[:1], "by state")
    stage.equal(await listed(state="terminated", queue=queue), workers[1:2], "by state")
    stage.equal(await listed(presence="online", queue=queue), [workers[2], workers[0]], "online")
    stage.equal(await listed(queue=stage.name()), [], "by another queue")
    for wrong in ({"state": "sleeping"}, {"presence": "here"}):
        (await stage.get("workers", **wrong)).error(400, "invalid_request")
    (await stage.get(f"workers/{stage.name('w')}")).error(404, "not_found", resource_type="worker")


@case("OJS-WRK-037", level=1, seconds=200)
async def presence(stage: Stage) -> None:
    """A worker's state is the one it reports; its presence fades while it is silent."""
    worker = stage.name("w")
    await stage.beat(worker, state="quiet")
    seen = (await stage.get(f"workers/{worker}")).expect(200)
    seen.expect(200, {"worker.state": "quiet", "worker.presence": "online"})
    (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)
    seen = (await stage.get(f"workers/{worker}")).expect(200)
    seen.expect(200, {"worker.state": "terminated", "worker.presence": "offline"})


@case("OJS-WRK-039", level=1)
async def health_of_workers(stage: Stage) -> None:
    """A worker is healthy while it is running and online."""
    worker = stage.name("w")
    await stage.beat(worker)
    path = f"workers/{worker}/health"
    (await stage.get(path)).expect(200, {"status": "ok"})
    await stage.beat(worker, state="drain")
    (await stage.get(path)).expect(503, {"status": "unavailable", "state": "draining"})
    await stage.beat(worker, state="quiet")
    (await stage.get(path)).expect(503, {"status": "unavailable"})
    await stage.beat(worker)
    (await stage.get(path)).expect(200, {"status": "ok"})
    (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)
    (await stage.get(path)).expect(503, {"status": "unavailable"})
    (await stage.get(f"workers/{stage.name('w')}/health")).expect(404)


@case("OJS-WRK-042", level=1)
async def beats_name_their_worker(stage: Stage) -> None:
    """A BEAT without a worker_id is refused."""
    (await stage.post("workers/heartbeat", {})).expect(400)
    (await stage.post("workers/heartbeat", {"active_jobs": []})).expect(400)
    (await stage.post("workers/heartbeat", {"worker_id": 7, "active_jobs": []})).expect(400)


@case("OJS-WRK-043", level=1)
async def ids_of_workers(stage: Stage) -> None:
    """Worker ids are printable, without slashes, and no word of a path; BEATs need one."""
    for wrong in ("", "a/b", "fetch", "ack", "x" * 256, "a\nb", 7, None):
        reply = await stage.post("workers/heartbeat", {"worker_id": wrong})
        reply.error(400, "invalid_request")
    (await stage.post("workers/heartbeat", {})).error(400, "invalid_request")
