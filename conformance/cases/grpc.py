"""Cases of `ojs.v1.OJSService`: the calls of OJS over gRPC."""

import asyncio
from typing import TYPE_CHECKING, Any

from conformance.case import case
from conformance.cases.access import key_of
from conformance.play.http2 import http2
from conformance.play.slow_readers import flooded
from conformance.play.stage import Stage
from conformance.variants import MAIN
from conformance.verdicts.grpc_statuses import Status
from conformance.verdicts.reply import Record, Reply

if TYPE_CHECKING:
    from conformance.rpc.client import Stub

# Doubles represent all integers up to here.
EXACT = 2**53
_DOMAIN = "openjobspec.org"
_CANCELLED = "x-ojs-cancelled-jobs"
_REFLECTIONS = tuple(
    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    for version in ("v1", "v1alpha")
)
_SYMBOL, _LIST = 4, 7  # fields of a request for reflection
_ALIVE = "stream.keepalive"
_LISTENS_S = 0.5  # a server may begin to listen a moment after it was asked to
_KEPT_ALIVE_S = 45.0  # well above the 30 seconds after which a silent stream sends an event


async def enqueued(ojs: "Stub", queue: str, *args: Any, **options: Any) -> Record:
    """Enqueue a job, which must be accepted."""
    reply = await ojs.call(
        "Enqueue", type="test.case", args=list(args), options={"queue": queue, **options}
    )
    job: Record = reply.expect(Status.OK)["job"]
    return job


async def fetched(ojs: "Stub", queue: str, count: int = 1) -> list[Record]:
    """FETCH so many jobs at most."""
    reply = await ojs.call("Fetch", queues=[queue], count=count, worker_id="w")
    jobs: list[Record] = reply.expect(Status.OK)["jobs"]
    return jobs


def refused(reply: Reply, status: Status, code: str) -> Reply:
    """Require a refusal with this status and the code of OJS."""
    return reply.error(status, code).expect(
        None,
        {
            "error.domain": _DOMAIN,
            "error.details.request_id": "string:nonempty",
            "error.details.retryable": {"$in": ["true", "false"]},
        },
    )


async def _need_stream(stage: Stage, ojs: "Stub", method: str, **members: Any) -> None:
    """Skip the case where the server does not have this stream, which is optional."""
    ended = await ojs.stream(method, within_s=0.5, **members).end()
    stage.need(ended.status != Status.UNIMPLEMENTED, f"it has no {method}")


@case("OJS-GRP-001", "OJS-GRP-002", "OJS-GRP-012", level=1, grpc=True)
async def two_bindings(stage: Stage) -> None:
    """Jobs stored by one binding are shown by the other, and both manifests name gRPC."""
    queue = stage.name()
    async with stage.rpcs(x_ojs_request_id="mine-1") as ojs:
        job = await enqueued(ojs, queue, 1, "b", None, {"c": [True]}, priority=5, tags=["x"])
        kept = await stage.look(job["id"])
        expected = {
            "type": "test.case",
            "queue": queue,
            "args": [1, "b", None, {"c": [True]}],
            "priority": 5,
            "tags": ["x"],
            "state": "available",
        }
        for name, value in expected.items():
            stage.equal(kept[name], value, name)
        other = await stage.enqueue(queue, args=[2], timeout_ms=90_000)
        shown = await ojs.call("GetJob", job_id=other["id"])
        shown.expect(
            Status.OK,
            {
                "job.id": other["id"],
                "job.queue": queue,
                "job.args": [2],
                "job.state": "JOB_STATE_AVAILABLE",
                "job.timeout": "90s",
            },
        )
        stage.equal(shown.headers.get("x-ojs-request-id"), "mine-1", "x-ojs-request-id")
        (await ojs.call("Manifest")).expect(Status.OK, {"protocols": "contains:grpc"})
        (await stage.get("/ojs/manifest")).expect(200, {"protocols": "contains:grpc"})


@case("OJS-GRP-021", grpc=True)
async def server_version(stage: Stage) -> None:
    """An answer names the version of the server."""
    async with stage.rpcs() as ojs:
        reply = (await ojs.call("Health")).expect(Status.OK)
        version = reply.headers.get("x-ojs-server-version")
        stage.check(bool(version), "x-ojs-server-version", version)


@case("OJS-GRP-012", "OJS-GRP-022", "OJS-GRP-027", grpc=True)
async def ids_of_requests(stage: Stage) -> None:
    """An id is made where none was sent, and a job says its version of the standard."""
    async with stage.rpcs() as nameless:
        reply = await nameless.call("Health")
        reply.expect(Status.OK, {"status": "HEALTH_STATUS_OK", "timestamp": "string:nonempty"})
        stage.check(bool(reply.headers.get("x-ojs-request-id")), "an id that is made", "none")
        job = await enqueued(nameless, stage.name())
        stage.equal(job["specversion"], "1.0", "specversion")


@case("OJS-GRP-001", level=1, grpc=True)
async def jobs_and_queues(stage: Stage) -> None:
    """Jobs are handed out, settled and cancelled; queues are listed."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        done, failed, never = [
            await enqueued(ojs, queue, number, max_attempts=1) for number in range(3)
        ]
        (await ojs.call("CancelJob", job_id=never["id"])).expect(
            Status.OK, {"job.state": "JOB_STATE_CANCELLED"}
        )
        held = [job for _ in range(2) for job in await fetched(ojs, queue)]
        ids = sorted(ended["id"] for ended in (done, failed))
        stage.equal(sorted(job["id"] for job in held), ids, "ids")
        stage.equal({job["state"] for job in held} == {"JOB_STATE_ACTIVE"}, True, "all active")
        (await ojs.call("Ack", job_id=done["id"], result={"n": 1})).expect(
            Status.OK, {"acknowledged": True}
        )
        error = {"code": "no_route", "message": "none", "retryable": False}
        (await ojs.call("Nack", job_id=failed["id"], error=error)).expect(
            Status.OK, {"state": "JOB_STATE_DISCARDED"}
        )
        (await ojs.call("GetJob", job_id=done["id"])).expect(
            Status.OK, {"job.state": "JOB_STATE_COMPLETED", "job.result": {"n": 1}}
        )
        listed = (await ojs.call("ListQueues", limit=1)).expect(Status.OK)
        stage.check(bool(listed["queues"][0]["name"]), "the name of a queue", listed.text)


@case("OJS-GRP-001", "OJS-DLQ-006", "OJS-DLQ-021", level=1, grpc=True)
async def dead_letters(stage: Stage) -> None:
    """Jobs that failed for good are dead letters, which are listed, revived and deleted."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        failed, late = [await enqueued(ojs, queue, number, max_attempts=1) for number in range(2)]
        error = {"code": "no_route", "message": "none", "retryable": False}
        for _ in range(2):
            (job,) = await fetched(ojs, queue)
            (await ojs.call("Nack", job_id=job["id"], error=error)).expect(Status.OK)
        dead = (await ojs.call("ListDeadLetter", queue=queue, limit=10)).expect(Status.OK)
        ids = sorted(job["id"] for job in dead["jobs"])
        stage.equal(ids, sorted([failed["id"], late["id"]]), "dead letters")
        (await ojs.call("RetryDeadLetter", job_id=failed["id"])).expect(
            Status.OK, {"job.id": failed["id"], "job.state": "JOB_STATE_AVAILABLE"}
        )
        (await ojs.call("DeleteDeadLetter", job_id=late["id"])).expect(Status.OK)
        stage.equal([job["id"] for job in await fetched(ojs, queue, 2)], [failed["id"]], "jobs")


@case("OJS-GRP-001", level=4, grpc=True)
async def paused_queues(stage: Stage) -> None:
    """Queues are counted, paused and resumed."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        job = await enqueued(ojs, queue)
        (await ojs.call("PauseQueue", queue=queue)).expect(Status.OK)
        (await ojs.call("QueueStats", queue=queue)).expect(
            Status.OK,
            {"queue": queue, "stats.paused": True, "stats.available": "1", "stats.active": "0"},
        )
        stage.equal(await fetched(ojs, queue), [], "jobs of a paused queue")
        (await ojs.call("ResumeQueue", queue=queue)).expect(Status.OK)
        stage.equal([job["id"] for job in await fetched(ojs, queue)], [job["id"]], "jobs")


@case("OJS-GRP-001", level=3, grpc=True)
async def workflows_and_cron(stage: Stage) -> None:
    """Workflows run by what their steps depend on; cron entries come and go."""
    queue, name = stage.name(), stage.name("cron")
    options = {"queue": queue}
    steps = [
        {"id": "pay", "type": "test.pay", "args": [1], "options": options},
        {"id": "send", "type": "test.send", "depends_on": ["pay"], "options": options},
    ]
    async with stage.rpcs() as ojs:
        made = (await ojs.call("CreateWorkflow", name="order", steps=steps)).expect(
            Status.OK, {"workflow.state": "WORKFLOW_STATE_RUNNING", "workflow.name": "order"}
        )
        flow = made["workflow.id"]
        (job,) = await fetched(ojs, queue)
        stage.equal((job["type"], job["workflow_id"]) == ("test.pay", flow), True, "the first step")
        (await ojs.call("Ack", job_id=job["id"])).expect(Status.OK)
        shown = (await ojs.call("GetWorkflow", workflow_id=flow)).expect(Status.OK)
        found = {step["id"]: step["state"] for step in shown["workflow.steps"]}
        stage.equal(found["pay"], "WORKFLOW_STEP_STATE_COMPLETED", "the state of the first step")
        (await ojs.call("CancelWorkflow", workflow_id=flow)).expect(
            Status.OK, {"workflow.state": "WORKFLOW_STATE_CANCELLED"}
        )
        entry = {"name": name, "cron": "0 9 * * *", "timezone": "Europe/Berlin"}
        (await ojs.call("RegisterCron", **entry, type="test.case", options=options)).expect(
            Status.OK, {"name": name, "next_run_at": "string:nonempty"}
        )
        listed = (await ojs.call("ListCron")).expect(Status.OK)
        (mine,) = [entry for entry in listed["entries"] if entry["name"] == name]
        for member, value in entry.items():
            stage.equal(mine[member], value, member)
        stage.equal(mine["options"]["queue"], queue, "queue")
        (await ojs.call("UnregisterCron", name=name)).expect(Status.OK)
        (await ojs.call("UnregisterCron", name=name)).expect(Status.NOT_FOUND)


@case("OJS-GRP-018", level=4, grpc=True)
async def batches(stage: Stage) -> None:
    """The jobs of a batch have its defaults where they do not say otherwise."""
    shared, own = stage.name(), stage.name()
    jobs = [{"type": "test.case", "args": [1]}, {"type": "test.case", "options": {"queue": own}}]
    defaults = {"queue": shared, "priority": 3}
    async with stage.rpcs() as ojs:
        reply = (await ojs.call("EnqueueBatch", jobs=jobs, default_options=defaults)).expect(
            Status.OK, {"jobs": {"$size": 2}}
        )
        for job, queue in zip(reply["jobs"], (shared, own), strict=True):
            stage.equal([job["queue"], job["priority"]], [queue, 3], "queue and priority")


@case("OJS-GRP-003", level=4, grpc=True)
async def batches_with_mistakes(stage: Stage) -> None:
    """Of a batch every job is stored that can be, and each other one is told of by its place."""
    options = {"queue": stage.name()}
    jobs = [
        {"type": "test.case", "args": [1], "options": options},
        {"type": "Not A Type", "options": options},
        {"type": "test.case", "options": options},
    ]
    async with stage.rpcs() as ojs:
        reply = (await ojs.call("EnqueueBatch", jobs=jobs)).expect(
            Status.OK, {"count": 2, "jobs": {"$size": 2}, "errors.1.code": "string:nonempty"}
        )
        stage.equal(list(reply["errors"]), ["1"], "the places of what was refused")


@case("OJS-GRP-004", grpc=True)
async def unset_fields(stage: Stage) -> None:
    """An unset field leaves the default, but for the jitter of a retry policy that is given."""
    async with stage.rpcs() as ojs:
        queue = stage.name()
        plain = await stage.look(await enqueued(ojs, queue))
        usual = await stage.look(await stage.enqueue(queue))
        for name in ("priority", "max_attempts", "retry"):
            stage.equal(plain.get(name), usual.get(name), name)
        steady = await stage.look(await enqueued(ojs, queue, retry={"max_attempts": 7}))
        stage.equal(steady["max_attempts"], 7, "max_attempts")
        stage.equal(steady["retry"]["jitter"], False, "jitter")
        timed = await stage.look(await enqueued(ojs, queue, priority=0, trace_id="", tags=[]))
        stage.equal(timed["priority"], usual["priority"], "priority")


@case("OJS-GRP-005", grpc=True)
async def numbers(stage: Stage) -> None:
    """Whole numbers that doubles round are refused in, and refused out: nothing is rounded."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        stage.equal((await enqueued(ojs, queue, EXACT))["args"], [EXACT], "args")
        await fetched(ojs, queue)
        wrong = await ojs.call("Enqueue", type="test.case", args=[EXACT * 2.0])
        refused(wrong, Status.INVALID_ARGUMENT, "invalid_request")
        stage.check("args[0]" in wrong["error.message"], "the place args[0]", wrong.text)
        exact = await stage.enqueue(queue, args=[EXACT + 1])
        for reply in (
            await ojs.call("GetJob", job_id=exact["id"]),
            await ojs.call("Fetch", queues=[queue]),
        ):
            refused(reply, Status.FAILED_PRECONDITION, "conflict")
        stage.equal((await stage.take(queue))["args"], [EXACT + 1], "args over HTTP")


@case("OJS-GRP-006", grpc=True)
async def results(stage: Stage) -> None:
    """A result that is no object is wrapped in one, as `value`."""
    async with stage.rpcs() as ojs:
        for result in ([1, 2], "text", 7):
            job = await stage.enqueue(queue := stage.name())
            await stage.take(queue)
            (await stage.ack(job, result=result)).expect(200)
            (await ojs.call("GetJob", job_id=job["id"])).expect(
                Status.OK, {"job.result": {"value": result}}
            )


@case("OJS-GRP-007", grpc=True)
async def streams_of_jobs(stage: Stage) -> None:
    """A stream pushes as many jobs at a time as was asked for."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        await _need_stream(stage, ojs, "StreamJobs", queues=[stage.name()], worker_id="w")
        ids = [(await enqueued(ojs, queue, number))["id"] for number in range(3)]
        stream = ojs.stream("StreamJobs", queues=[queue], worker_id="w", max_concurrent=2)
        held = [(await stream.next())["id"] for _ in range(2)]
        async with stage.waiting(stream.next()) as (third,):
            await asyncio.sleep(0.5)
            stage.check(not third.done(), "two jobs at a time", "a third one")
            (await ojs.call("Ack", job_id=held[0])).expect(Status.OK)
            held.append((await third)["id"])
        stage.equal(sorted(held), sorted(ids), "the jobs")
        stream.leave()


@case("OJS-GRP-007", "OJS-GRP-022", "OJS-GRP-023", grpc=True)
async def streams_that_are_left(stage: Stage) -> None:
    """Jobs that a stream has not sent stay available, and go back when its client leaves."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        ids = [(await enqueued(ojs, queue, number))["id"] for number in range(3)]
        stream = ojs.stream("StreamJobs", queues=[queue], worker_id="w", max_concurrent=2)
        held = [(await stream.next())["id"] for _ in range(2)]
        async with stage.waiting(stream.next()) as (third,):
            await asyncio.sleep(0.3)
            stage.check(not third.done(), "two jobs at a time", "a third one")
            (await ojs.call("QueueStats", queue=queue)).expect(
                Status.OK, {"stats.active": "2", "stats.available": "1"}
            )
            (await ojs.call("Ack", job_id=held[0])).expect(Status.OK)
            held.append((await third)["id"])
        stage.equal(held, ids, "the jobs")
        stream.leave()
        single = ojs.stream("StreamJobs", queues=[other := stage.name()])
        await single.begun()
        made = [await enqueued(ojs, other) for _ in range(2)]
        stage.equal((await single.next())["id"], made[0]["id"], "the job")
        single.leave()
        await stage.until_state(made[1], "available")


@case("OJS-GRP-008", grpc=True)
async def streams_of_events(stage: Stage) -> None:
    """A stream brings the events that pass all of its filters, whichever binding made them."""
    queue, other = stage.name(), stage.name()
    async with stage.rpcs() as ojs:
        await _need_stream(stage, ojs, "StreamEvents", job_id=stage.new_id())
        job = await enqueued(ojs, queue)
        about = ojs.stream("StreamEvents", job_id=job["id"])
        ended = ojs.stream("StreamEvents", queues=[queue], event_types=["job.completed"])
        async with stage.waiting(ended.next()) as (first,):
            await asyncio.sleep(_LISTENS_S)  # no message tells that it listens
            await stage.done(other)
            await stage.take(queue)
            (await stage.ack(job["id"])).expect(200)
            event = await first
        found = [event["type"], event["job_id"], event["queue"]]
        stage.equal(found, ["job.completed", job["id"], queue], "the first event of the queue")
        while (event := await about.next())["type"] != "job.completed":
            if event["type"] != _ALIVE:
                stage.equal(event["job_id"], job["id"], "the job of an event")
        for stream in (about, ended):
            stream.leave()


@case("OJS-GRP-008", "OJS-GRP-022", "OJS-GRP-024", grpc=True)
async def events_from_the_start(stage: Stage) -> None:
    """A stream brings the events from its start on that pass all of its filters."""
    queue, other = stage.name(), stage.name()
    async with stage.rpcs() as ojs:
        before = await enqueued(ojs, queue)

        async def is_logged() -> bool:
            return bool(await stage.events(queue))

        await stage.until(is_logged, 5, "the event of a job")
        kinds = ["job.enqueued", "job.completed"]
        about = ojs.stream("StreamEvents", job_id=before["id"])
        stream = ojs.stream("StreamEvents", queues=[queue], event_types=kinds)
        await asyncio.gather(stream.begun(), about.begun())
        async with stage.waiting(stream.next()) as (first,):

            async def is_followed() -> bool:
                await enqueued(ojs, queue)
                return first.done()

            await stage.until(is_followed, 5, "the first event")
            received = [await first]
        await enqueued(ojs, other)
        await fetched(ojs, queue)
        (await ojs.call("Ack", job_id=before["id"])).expect(Status.OK)
        while received[-1]["type"] != "job.completed":
            received.append(await stream.next())
        stage.equal(received[-1]["job_id"], before["id"], "the job that is completed")
        found = [[event["type"], event["queue"]] for event in received[:-1]]
        stage.equal(found, [["job.enqueued", queue]] * len(found), "the events before")
        stage.check(bool(received[0]["timestamp"]), "a timestamp", received[0])
        while (event := await about.next())["type"] != "job.completed":
            stage.equal(event["job_id"], before["id"], "the job of an event")
        stream.leave()
        about.leave()


@case("OJS-GRP-020", level=1, grpc=True)
async def dead_letters_as_events(stage: Stage) -> None:
    """A dead letter has an event."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        await _need_stream(stage, ojs, "StreamEvents", job_id=stage.new_id())
        stream = ojs.stream("StreamEvents", queues=[queue], event_types=["job.dead"])
        async with stage.waiting(stream.next()) as (first,):
            await asyncio.sleep(_LISTENS_S)
            job = await enqueued(ojs, queue, max_attempts=1)
            await fetched(ojs, queue)
            error = {"code": "no_route", "message": "none", "retryable": False}
            (await ojs.call("Nack", job_id=job["id"], error=error)).expect(Status.OK)
            event = await first
        stage.equal([event["type"], event["job_id"]], ["job.dead", job["id"]], "the event")
        stream.leave()


@case("OJS-GRP-020", "OJS-GRP-024", grpc=True)
async def dead_letters_by_any_name(stage: Stage) -> None:
    """The event of a dead letter is `job.dead`, by whichever of its names it is asked for."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        for name in ("job.dead", "job.discarded", "job.d*"):
            stream = ojs.stream("StreamEvents", queues=[queue], event_types=[name])
            await stream.begun()
            async with stage.waiting(stream.next()) as (first,):

                async def is_followed() -> bool:
                    job = await enqueued(ojs, queue)
                    await fetched(ojs, queue)
                    dead = await ojs.call("Nack", job_id=job["id"], error={"code": "x"})
                    dead.expect(Status.OK, {"state": "JOB_STATE_DISCARDED"})
                    return first.done()

                await stage.until(is_followed, 5, "the first event")
                stage.equal((await first)["type"], "job.dead", f"the event for {name}")
            stream.leave()


@case("OJS-GRP-014", grpc=True)
async def cancelled_again(stage: Stage) -> None:
    """A cancelled job may be cancelled again, and one that has ended otherwise may not."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        job = await enqueued(ojs, queue)
        for _ in range(2):
            (await ojs.call("CancelJob", job_id=job["id"])).expect(
                Status.OK, {"job.id": job["id"], "job.state": "JOB_STATE_CANCELLED"}
            )
        (await stage.delete(f"jobs/{job['id']}")).error(409, "conflict")
        done = await stage.done(queue)
        refused(
            await ojs.call("CancelJob", job_id=done["id"]), Status.FAILED_PRECONDITION, "conflict"
        )


@case("OJS-GRP-015", level=1, grpc=True)
async def heartbeats(stage: Stage) -> None:
    """A heartbeat extends the job that it names."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        job = await enqueued(ojs, queue)
        await fetched(ojs, queue)
        beat = await ojs.call("Heartbeat", id=job["id"], worker_id="w", extend_by="7200s")
        beat.expect(Status.OK, {"new_deadline": "string:nonempty"})


@case("OJS-GRP-015", "OJS-GRP-028", grpc=True)
async def heartbeats_of_cancelled_jobs(stage: Stage) -> None:
    """A heartbeat extends the job that it names, and tells that it is cancelled."""
    queue = stage.name()
    async with stage.rpcs() as ojs:
        kept, gone = [await enqueued(ojs, queue) for _ in range(2)]
        await fetched(ojs, queue, 2)
        (await ojs.call("CancelJob", job_id=gone["id"])).expect(Status.OK)
        for worker in ("w", ""):
            beat = await ojs.call("Heartbeat", id=kept["id"], worker_id=worker, extend_by="7200s")
            beat.expect(Status.OK, {"new_deadline": "exists"})
            stage.check(_CANCELLED not in beat.headers, f"no {_CANCELLED}", beat.headers)
            beat = await ojs.call("Heartbeat", id=gone["id"], worker_id=worker)
            beat.expect(Status.OK, {"new_deadline": "absent"})
            stage.equal(beat.headers.get(_CANCELLED), gone["id"], _CANCELLED)
        state = "WORKER_STATE_QUIET"
        beat = await ojs.call("Heartbeat", id=kept["id"], current_state=state)
        beat.expect(Status.OK, {"directed_state": state})
        own = (await ojs.call("Heartbeat", id="w", worker_id="w")).expect(Status.OK)
        stage.equal(own["directed_state"], "WORKER_STATE_RUNNING", "directed_state")


def _request(field: int, text: str) -> bytes:
    """The bytes of a request for reflection with one member."""
    return bytes((field << 3 | 2, len(text))) + text.encode()


@case("OJS-GRP-016", grpc=True)
async def reflection(stage: Stage) -> None:
    """Both versions of reflection name the services and describe them."""
    async with stage.rpcs():
        from conformance.rpc.client import answered_bytes

        for path in _REFLECTIONS:
            for request, part, is_there in (
                (_request(_LIST, ""), b"ojs.v1.OJSService", True),
                (_request(_SYMBOL, "ojs.v1.OJSService"), b"CancelJob", True),
                (_request(_SYMBOL, "ojs.v1.Nothing"), b"CancelJob", False),
            ):
                status, answer = await answered_bytes(stage.grpc, path, request, {})
                stage.equal(status, Status.OK, "status")
                stage.equal(part in answer, is_there, f"{part.decode()} in the answer")


@case("OJS-GRP-016", grpc=True, own_server="keys")
async def reflection_by_key(stage: Stage) -> None:
    """Reflection needs a key, of any role."""
    async with stage.rpcs():
        from conformance.rpc.client import answered_bytes

        request = _request(_LIST, "")
        for path in _REFLECTIONS:
            status, answer = await answered_bytes(stage.grpc, path, request, {})
            stage.equal((status, answer), (Status.UNAUTHENTICATED, b""), "without a key")
            for role in ("worker", "producer"):
                shown = {"x-ojs-api-key": key_of(role)}
                status, answer = await answered_bytes(stage.grpc, path, request, shown)
                stage.equal(status, Status.OK, "status")
                stage.check(b"ojs.v1.OJSService" in answer, "the service", repr(answer[:100]))


@case("OJS-GRP-019", grpc=True, seconds=90)
async def silent_streams(stage: Stage) -> None:
    """A stream without events has one that keeps it alive, after thirty seconds."""
    async with stage.rpcs() as ojs:
        job_id = stage.new_id()
        await _need_stream(stage, ojs, "StreamEvents", job_id=job_id)
        stream = ojs.stream("StreamEvents", within_s=2 * _KEPT_ALIVE_S, job_id=job_id)
        async with stage.waiting(stream.next()) as (first,):
            await asyncio.wait((first,), timeout=_KEPT_ALIVE_S)
            stage.check(first.done(), f"an event within {_KEPT_ALIVE_S:g} s", "none")
            stage.equal((await first)["type"], _ALIVE, "type")
        stream.leave()


@case("OJS-GRP-008", "OJS-GRP-024", grpc=True, own_server="small")
async def events_read_too_late(stage: Stage) -> None:
    """A client that is too slow is told how many events it missed, and then gets the newest."""
    queue = stage.name()
    async with stage.rpcs(narrow=True) as ojs:
        await enqueued(ojs, queue)
        stream = ojs.stream("StreamEvents", within_s=60, queues=[queue])
        await stream.begun()

        async def is_followed() -> bool:
            await enqueued(ojs, queue)
            return first.done()

        async with stage.waiting(stream.next()) as (first,):
            await stage.until(is_followed, 5, "the first event")
            begins = (await first)["id"]
        logged = await flooded(stage, queue)
        place, missed = logged.index(begins) + 1, 0
        while place < len(logged):
            event = await stream.next()
            if event["type"] == "stream.events_dropped":
                count = int(event["data"]["count"])
                stage.check(count > 0, "a count of events", count)
                place, missed = place + count, missed + count
            else:
                stage.equal(event["id"], logged[place], "the next event")
                place += 1
        stage.check(missed > 0, "events that were dropped", missed)
        stage.check(place == len(logged), f"{len(logged)} events, heard or counted", place)
        stream.leave()


@case("OJS-GRP-009", grpc=True, own_server=MAIN)
async def a_stop(stage: Stage) -> None:
    """A server that stops ends its streams with UNAVAILABLE."""
    assert stage.process is not None
    queue = stage.name()
    async with stage.rpcs() as ojs:
        await _need_stream(stage, ojs, "StreamJobs", queues=[queue], worker_id="w")
        stream = ojs.stream("StreamJobs", queues=[queue], worker_id="w")
        async with stage.waiting(stream.end()) as (ended,):
            await asyncio.sleep(_LISTENS_S)  # no message tells that it waits
            stage.process.terminate()
            stage.equal((await ended).status, Status.UNAVAILABLE, "status")
        await stage.process.stop()


@case("OJS-GRP-009", "OJS-GRP-010", "OJS-GRP-026", grpc=True, own_server=MAIN)
async def after_a_stop(stage: Stage) -> None:
    """A server that stops ends its streams with UNAVAILABLE; clients come back to the next one."""
    assert stage.process is not None
    async with stage.rpcs() as ojs:
        streams = [ojs.stream("StreamJobs", queues=["default"]), ojs.stream("StreamEvents")]
        await asyncio.gather(*(stream.begun() for stream in streams))
        await asyncio.sleep(0.3)  # no event tells that it waits
        stage.process.terminate()
        for stream in streams:
            ended = await stream.end()
            refused(ended, Status.UNAVAILABLE, "backend_unavailable")
        await stage.process.stop()
        await stage.process.start()

        async def is_back() -> bool:
            return (await ojs.call("Health")).status == Status.OK

        await stage.until(is_back, 10, "an answer on the same channel")


@case("OJS-GRP-025", grpc=True, own_server=MAIN)
async def a_farewell(stage: Stage) -> None:
    """A server that stops sends GOAWAY on a connection before it closes it."""
    assert stage.process is not None
    async with http2(stage.grpc) as connection:
        stage.process.terminate()
        await connection.until("GOAWAY")


@case("OJS-GRP-010", level=1, grpc=True)
async def refusals(stage: Stage) -> None:
    """An error has the gRPC status of its reason, and the code of OJS."""
    async with stage.rpcs() as ojs:
        job = await enqueued(ojs, stage.name())
        unknown = (await ojs.call("GetJob", job_id=stage.new_id())).expect(Status.NOT_FOUND)
        # The texts spell the code in two ways.
        code = unknown["error.code"]
        stage.equal(code.lower().removeprefix("ojs_"), "not_found", f"the code {code}")
        early = await ojs.call("Ack", job_id=job["id"])
        wrong = await ojs.call("Enqueue", type="Not A Type")
        for reply, status in (
            (early, Status.FAILED_PRECONDITION),
            (wrong, Status.INVALID_ARGUMENT),
            (unknown, Status.NOT_FOUND),
        ):
            reply.expect(status, {"error.domain": _DOMAIN, "error.code": "string:nonempty"})


@case("OJS-GRP-010", "OJS-GRP-026", grpc=True)
async def refusals_in_full(stage: Stage) -> None:
    """An error has the gRPC status of its code, and the code and details of HTTP."""
    queue = stage.name()
    unique = {"key": ["type", "queue"], "on_conflict": "UNIQUE_CONFLICT_ACTION_REJECT"}
    async with stage.rpcs(x_ojs_request_id="mine-2") as ojs:
        unknown = await ojs.call("GetJob", job_id=stage.new_id())
        refused(unknown, Status.NOT_FOUND, "not_found").expect(
            None, {"error.details.request_id": "mine-2", "error.details.retryable": "false"}
        )
        job = await enqueued(ojs, queue, unique=unique)
        again = await ojs.call(
            "Enqueue", type="test.case", options={"queue": queue, "unique": unique}
        )
        refused(again, Status.ALREADY_EXISTS, "duplicate")
        early = await ojs.call("Ack", job_id=job["id"])
        refused(early, Status.FAILED_PRECONDITION, "conflict")
        wrong = await ojs.call("Enqueue", type="Not A Type")
        refused(wrong, Status.INVALID_ARGUMENT, "invalid_request")


@case("OJS-GRP-026", grpc=True)
async def a_full_queue(stage: Stage) -> None:
    """A queue that is full is RESOURCE_EXHAUSTED, and says when to try again."""
    queue = stage.name()
    (await stage.call("PUT", f"queues/{queue}/config", {"backpressure": {"max_depth": 1}})).expect(
        200
    )
    async with stage.rpcs() as ojs:
        await enqueued(ojs, queue)
        full = await ojs.call("Enqueue", type="test.case", options={"queue": queue})
        refused(full, Status.RESOURCE_EXHAUSTED, "QUEUE_FULL").expect(
            None, {"error.details.retryable": "true"}
        )
        stage.check("retry-after" in full.headers, "retry-after", full.headers)


@case("OJS-GRP-011", grpc=True)
async def tenants_and_keys_that_repeat(stage: Stage) -> None:
    """A tenant sees what is its own; a request under a known idempotency key is the same one."""
    queue = stage.name()
    mine, other = stage.name("t"), stage.name("t")
    async with (
        stage.rpcs(x_ojs_tenant=mine, x_ojs_idempotency_key=stage.name("k")) as own,
        stage.rpcs(x_ojs_tenant=other) as foreign,
    ):
        job = await enqueued(own, queue)
        stage.equal((await enqueued(own, queue))["id"], job["id"], "the job of the same request")
        refused(await foreign.call("GetJob", job_id=job["id"]), Status.NOT_FOUND, "not_found")
        stage.equal(await fetched(foreign, queue), [], "another tenant's jobs")
        stage.equal(
            [fetched_job["id"] for fetched_job in await fetched(own, queue)],
            [job["id"]],
            "its own jobs",
        )


@case("OJS-GRP-011", grpc=True, own_server="keys")
async def keys(stage: Stage) -> None:
    """A key is asked for and needs the role, as over HTTP; both names of it are known."""
    async with stage.rpcs() as anonymous:
        wrong = await anonymous.call("Enqueue", type="test.case")
        refused(wrong, Status.UNAUTHENTICATED, "unauthenticated")
        ended = await anonymous.stream("StreamJobs", queues=["default"]).end()
        refused(ended, Status.UNAUTHENTICATED, "unauthenticated")
    async with stage.rpcs(x_ojs_api_key=key_of("worker")) as worker:
        wrong = await worker.call("Enqueue", type="test.case")
        refused(wrong, Status.PERMISSION_DENIED, "permission_denied")
        stage.equal(await fetched(worker, "default"), [], "jobs")
    async with stage.rpcs(authorization=f"Bearer {key_of('producer')}") as producer:
        await enqueued(producer, "default")
