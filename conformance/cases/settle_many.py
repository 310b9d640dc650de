"""Cases of the call that settles many jobs and fetches the next ones."""

import time
from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record, Reply

SETTLE = "bulk_settle"


async def settled(stage: Stage, worker: str, *results: dict[str, Any], **more: Any) -> Reply:
    """Send one call, which must be answered."""
    body = {"worker_id": worker, "results": list(results), **more}
    return (await stage.post("workers/settle", body)).expect(200, {"results": {"$type": "array"}})


def of(job: Record, outcome: str, **more: Any) -> dict[str, Any]:
    """Return the result of one job for the call."""
    return {"job_id": job["id"], "attempt": job["attempt"], "outcome": outcome, **more}


@case("OJS-STL-001", capability=SETTLE)
async def it_is_announced(stage: Stage) -> None:
    """The manifest names the extension, its path and its limit."""
    name = "urn:ojs-server:ext:settle"
    reply = (await stage.get("/ojs/manifest")).expect(200, {"capabilities.bulk_settle": True})
    stage.check(name in reply["extensions"], name, reply["extensions"])
    entry = reply["extensions_detail"][name]
    stage.check("path" in entry and entry["max_results"] >= 1, "path and max_results", entry)


@case("OJS-STL-006", "OJS-STL-007", "OJS-STL-010", "OJS-STL-011", level=1, capability=SETTLE)
async def each_is_judged_alone(stage: Stage) -> None:
    """Each result has its own outcome, in order; one that is refused stops no other."""
    queue, worker, other = stage.name(), stage.name("w"), stage.name("w")
    await stage.enqueue_many(queue, 4, retry={"initial_interval": "PT1H", "max_interval": "PT1H"})
    done, failed, wrong = await stage.fetch(queue, worker, count=3)
    foreign = await stage.take(queue, other)
    unknown = {"job_id": stage.new_id(), "attempt": 1, "outcome": "ack"}
    stale = {**of(wrong, "ack"), "attempt": 7}
    error = {"code": "c", "message": "m"}
    reply = await settled(
        stage,
        worker,
        of(done, "ack", result=[1]),
        unknown,
        of(foreign, "ack"),
        stale,
        of(failed, "fail", error=error),
    )
    stage.equal(reply["jobs"], [], "jobs without fetch")
    results = reply["results"]
    stage.equal(results[0]["job_id"], done["id"], "job_id")
    stage.equal(results[0]["state"], "completed", "state of the ACK")
    codes = [each["error"]["code"] for each in results[1:4]]
    stage.equal(codes, ["not_found", "conflict", "conflict"], "errors")
    stage.equal(results[4]["state"], "retryable", "state of the FAIL")
    stage.check({"next_attempt_at", "retry_delay_ms"} <= set(results[4]), "its delay", results[4])
    stage.equal((await stage.look(done))["result"], [1], "result")
    stage.equal((await stage.look(failed))["error"]["message"], "m", "error")
    for job in (foreign, wrong):
        stage.equal((await stage.look(job))["state"], "active", "state")


@case("OJS-STL-005", level=1, capability=SETTLE)
async def calls_of_a_wrong_form(stage: Stage) -> None:
    """A call of a wrong form is refused whole, and the message names the place."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    job = await stage.take(queue, worker)
    good = of(job, "ack")
    for place, results in (
        ("results[1].attempt", [good, {**good, "attempt": "x"}]),
        ("results[1].outcome", [good, {**good, "outcome": "maybe"}]),
        ("results[1].job_id", [good, {"attempt": 1, "outcome": "ack"}]),
    ):
        reply = await stage.post("workers/settle", {"worker_id": worker, "results": results})
        reply.error(400, "invalid_request")
        stage.check(place in reply["error.message"], place, reply.text)
    (await stage.post("workers/settle", {"results": [good]})).error(400, "invalid_request")
    many = [{"job_id": stage.new_id(), "attempt": 1, "outcome": "ack"}] * 1001
    reply = await stage.post("workers/settle", {"worker_id": worker, "results": many})
    reply.error(413, "BATCH_SIZE_EXCEEDED")
    stage.equal((await stage.look(job))["state"], "active", "state")


@case("OJS-STL-008", "OJS-STL-009", "OJS-STL-010", level=1, capability=SETTLE)
async def settling_and_fetching(stage: Stage) -> None:
    """A job given back may be handed out by the same call; a job named twice is judged twice."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue_many(queue, 2)
    (first,) = await stage.fetch(queue, worker)
    reply = await settled(
        stage,
        worker,
        of(first, "fail", requeue=True),
        of(first, "ack"),
        fetch={"queues": [queue], "count": 5},
    )
    stage.equal(reply["results"][0]["state"], "available", "state of the one given back")
    stage.equal(reply["results"][1]["error"]["code"], "conflict", "the second result")
    stage.equal(len(reply["jobs"]), 2, "jobs fetched")
    stage.equal(reply["jobs"][0]["id"], first["id"], "the job given back, at its place")


@case("OJS-STL-012", level=1, capability=SETTLE)
async def waiting(stage: Stage) -> None:
    """A call with results does not wait for jobs; one without any does."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    job = await stage.take(queue, worker)
    fetch = {"queues": [queue], "wait_ms": 1_500}
    started = time.monotonic()
    await settled(stage, worker, of(job, "ack"), fetch=fetch)
    with_results = time.monotonic() - started
    reply = await settled(stage, worker, fetch=fetch)
    stage.check(with_results < 1.4, "an answer at once with results", with_results)
    stage.check(reply.duration_ms >= 1_400, "a wait without results", reply.duration_ms)


@case("OJS-STL-014", "OJS-STL-015", level=1, capability=SETTLE)
async def asking_again(stage: Stage) -> None:
    """Results that are sent again are answered as repeated, in this call or in a single one."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue_many(queue, 3, retry={"initial_interval": "PT1H", "max_interval": "PT1H"})
    done, failed, back = await stage.fetch(queue, worker, count=3)
    results = (
        of(done, "ack", result=1),
        of(failed, "fail", error={"code": "c", "type": "T", "message": "m"}),
        of(back, "fail", requeue=True),
    )
    first = await settled(stage, worker, *results)
    again = await settled(stage, worker, *results)
    for once, twice in zip(first["results"], again["results"], strict=True):
        stage.equal(twice.get("repeated"), True, f"repeated for {once['state']}")
        stage.equal(twice["state"], once["state"], "state")
    (await stage.ack(done, stage.name("w"), attempt=1)).error(409, "conflict")
    error = {"code": "c", "type": "T", "message": "m"}
    (await stage.fail(failed, worker, attempt=1, error=error)).expect(200, {"repeated": True})
    (await stage.fail(failed, stage.name("w"), attempt=1, error=error)).error(409, "conflict")
    stage.equal(len((await stage.look(failed))["errors"]), 1, "entries of the history")


@case("OJS-STL-017", level=1, capability=SETTLE)
async def a_refused_fetch_spoils_nothing(stage: Stage) -> None:
    """Results are told where the FETCH beside them is refused; alone it is refused as ever."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    job = await stage.take(queue)
    await stage.beat(worker)
    (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)
    fetch = {"queues": [queue]}
    reply = await settled(stage, worker, of(job, "ack"), fetch=fetch)
    stage.equal(reply["results"][0]["state"], "completed", "state of the ACK")
    stage.equal(reply["jobs"], [], "jobs")
    stage.equal(reply["fetch_error"]["code"], "conflict", "fetch_error.code")
    alone = await stage.post("workers/settle", {"worker_id": worker, "fetch": fetch})
    alone.error(409, "conflict", resource_type="worker")
    await stage.beat(worker, state="quiet")
    reply = await settled(stage, worker, fetch=fetch)
    stage.equal(reply["state"], "quiet", "state")
