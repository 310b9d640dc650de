"""Cases of progress: reporting, attempts, and reading."""

import asyncio
from collections.abc import Mapping
from typing import Any

from conformance.case import case
from conformance.play.event_stream import streaming
from conformance.play.stage import Stage

PROGRESS = "progress"
TAKEN = (200, 204)  # published answers to a report
_BETWEEN_S = 1.05  # reports that come faster may be refused


async def report(stage: Stage, job: Mapping[str, Any], **members: Any) -> None:
    """Report the progress of a job, which must be accepted."""
    (await stage.call("PUT", f"jobs/{job['id']}/progress", members)).expect(TAKEN)


@case("OJS-PRG-001", "OJS-PRG-004", "OJS-PRG-005", capability=PROGRESS)
async def reporting(stage: Stage) -> None:
    """Progress is kept within 0 and 1, and never falls."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    for given, kept in ((-5, 0.0), (0.25, 0.25), (0.1, 0.25), (1.5, 1.0)):
        await report(stage, job, progress=given, message="m")
        seen = (await stage.get(f"jobs/{job['id']}/progress")).expect(200, {"message": "m"})
        stage.equal(seen["progress"], kept, f"progress after {given}")
        await asyncio.sleep(_BETWEEN_S)


@case("OJS-PRG-027", capability=PROGRESS)
async def exact_values(stage: Stage) -> None:
    """A value of many digits is kept as it was reported."""
    queue = stage.name()
    for given in (0.123456789, 1 / 3, 0.9999999999999999):
        job = await stage.enqueue(queue)
        await stage.take(queue)
        await report(stage, job, progress=given)
        reply = (await stage.get(f"jobs/{job['id']}/progress")).expect(200)
        stage.equal(reply["progress"], given, "progress")


@case("OJS-PRG-002", capability=PROGRESS)
async def answers_to_reports(stage: Stage) -> None:
    """A report is answered with the progress as it is then."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    reply = await stage.call("PUT", f"jobs/{job['id']}/progress", {"progress": 0.5})
    reply.expect(200, {"progress": 0.5})


@case("OJS-PRG-008", "OJS-PRG-015", capability=PROGRESS)
async def reports_that_change_nothing(stage: Stage) -> None:
    """A report for a job that nobody holds is accepted and ignored; an unknown job is 404."""
    job = await stage.enqueue(stage.name())
    await report(stage, job, progress=0.5)
    seen = (await stage.get(f"jobs/{job['id']}/progress")).expect(200).json
    stage.equal([seen.get("progress"), seen.get("data")], [None, None], "progress and data")
    unknown = f"jobs/{stage.new_id()}/progress"
    (await stage.call("PUT", unknown, {"progress": 0.5})).expect(404)
    (await stage.get(unknown)).expect(404)


@case(
    "OJS-PRG-001",
    "OJS-PRG-002",
    "OJS-PRG-004",
    "OJS-PRG-005",
    "OJS-PRG-020",
    "OJS-PRG-021",
    "OJS-PRG-022",
    capability=PROGRESS,
)
async def answers_in_full(stage: Stage) -> None:
    """Progress is kept within 0 and 1 and never falls; members that a report lacks stay."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    path = f"jobs/{job['id']}/progress"
    for given, value, data, message in (
        ({"progress": 0.25, "message": "a"}, 0.25, None, "a"),
        ({"data": {"rows": 3}}, 0.25, {"rows": 3}, "a"),
        ({"progress": 0.1, "message": "b"}, 0.25, {"rows": 3}, "b"),
        ({"progress": -5}, 0.25, {"rows": 3}, "b"),
        ({"progress": 0.5, "data": {}}, 0.5, {}, "b"),
        ({"progress": 1.5}, 1.0, {}, "b"),
    ):
        for reply in (await stage.call("PUT", path, given), await stage.get(path)):
            reply.expect(
                200,
                {
                    "job_id": {"$eq": job["id"]},
                    "state": "active",
                    "progress": value,
                    "percentage": value * 100,
                    "message": message,
                    "updated_at": "string:datetime",
                },
            )
            stage.equal(reply.json.get("data"), data, f"data after {given}")


@case("OJS-PRG-003", capability=PROGRESS)
async def other_spellings(stage: Stage) -> None:
    """A percentage is read where there is no progress, and the worker's path is the same call."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    reply = await stage.call("PUT", f"jobs/{job['id']}/progress", {"percentage": 40})
    reply.expect(200, {"progress": 0.4})
    reply = await stage.post("workers/progress", {"job_id": job["id"], "progress": 0.6})
    reply.expect(200, {"progress": 0.6, "percentage": 60})


@case(
    "OJS-PRG-006",
    "OJS-PRG-007",
    "OJS-PRG-008",
    "OJS-PRG-009",
    "OJS-PRG-023",
    capability=PROGRESS,
)
async def what_is_refused(stage: Stage) -> None:
    """Empty, odd and large reports, and those of others, are refused; late ones change nothing."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue)
    path = f"jobs/{job['id']}/progress"
    early = (await stage.call("PUT", path, {"progress": 0.5})).expect(200, {"state": "available"})
    stage.equal(early.json.get("progress"), None, "progress of a job that nobody holds")
    await stage.take(queue, worker)
    odd: list[Any] = [{}, {"message": "m"}, {"progress": "half"}, {"data": []}, {"progress": True}]
    for wrong in odd:
        (await stage.call("PUT", path, wrong)).error(400, "invalid_request")
    long = {"progress": 0.1, "message": "m" * 10_001}
    (await stage.call("PUT", path, long)).error(400, "invalid_request")
    for large in (
        {"data": {"a": "x" * 16_384}},
        {"progress": 0, "checkpoint": {"a": "x" * 1_048_576}},
    ):
        (await stage.call("PUT", path, large)).error(413, "payload_too_large")
    for claim in ({"worker_id": stage.name("w")}, {"worker_id": worker, "attempt": 2}):
        (await stage.call("PUT", path, {"progress": 0.5, **claim})).error(409, "conflict")
    mine = {"progress": 0.5, "worker_id": worker, "attempt": 1}
    (await stage.call("PUT", path, mine)).expect(200)
    unknown = f"jobs/{stage.new_id()}/progress"
    (await stage.call("PUT", unknown, {"progress": 0.5})).error(404, "not_found")
    (await stage.get(unknown)).error(404, "not_found")


@case("OJS-PRG-010", level=1, capability=PROGRESS)
async def reports_are_signs_of_life(stage: Stage) -> None:
    """A report sets the job's lease back as a BEAT does."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue, visibility_timeout_ms=3_000)
    for number in range(5):
        await asyncio.sleep(_BETWEEN_S)
        await report(stage, job, progress=number / 10)
    stage.equal((await stage.look(job))["state"], "active", "state")


@case("OJS-PRG-011", "OJS-PRG-018", level=1, capability=PROGRESS)
async def events_of_progress(stage: Stage) -> None:
    """However many reports come, events tell of one a second, and always of the value 1."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    for number in range(1, 31):
        await report(stage, job, progress=number / 40)
    await report(stage, job, progress=1)
    (await stage.ack(job)).expect(200)
    types = [event["type"] for event in await stage.events(queue)]
    spans = await stage.events(queue, types="job.progress")
    stage.check(2 <= len(spans) <= 25, "few events for many reports", len(spans))
    stage.equal(spans[-1]["data"]["progress_percent"], 100, "progress_percent of the last one")
    for expected in ("progress.updated", "progress.completed"):
        stage.check(expected in types, expected, types)


@case("OJS-PRG-012", "OJS-PRG-013", level=1, capability=PROGRESS)
async def attempts(stage: Stage) -> None:
    """An attempt starts without progress, one that failed keeps it, and a completed job is at 1."""
    queue = stage.name()
    retry = {"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    path = f"jobs/{job['id']}/progress"
    await stage.take(queue)
    await report(stage, job, progress=0.7)
    (await stage.fail(job)).expect(200)
    (await stage.get(path)).expect(200, {"progress": 0.7})
    await stage.until_state(job, "available", 10)
    await stage.take(queue)
    reply = (await stage.get(path)).expect(200)
    stage.equal(reply.json.get("progress"), None, "progress of the new attempt")
    await report(stage, job, progress=0.2)
    (await stage.get(path)).expect(200, {"progress": 0.2})
    (await stage.ack(job)).expect(200)
    (await stage.get(path)).expect(200, {"progress": 1.0})


@case("OJS-PRG-014", level=1, capability=PROGRESS)
async def checkpoints_of_reports(stage: Stage) -> None:
    """The checkpoint of a report comes with the next attempt."""
    queue = stage.name()
    retry = {"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue)
    await report(stage, job, progress=0.7, checkpoint={"at": [7]})
    (await stage.fail(job)).expect(200)
    await stage.until_state(job, "available", 10)
    taken = await stage.take(queue)
    stage.equal(taken["last_checkpoint"], {"at": [7]}, "last_checkpoint")


@case("OJS-PRG-012", "OJS-PRG-013", "OJS-PRG-014", "OJS-PRG-024", level=1, capability=PROGRESS)
async def attempts_after_a_dead_letter(stage: Stage) -> None:
    """A dead-letter retry hands the checkpoint of a report on, which is no saved checkpoint."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 1})
    await stage.take(queue)
    await report(stage, job, progress=0.7, checkpoint={"at": [7]})
    (await stage.fail(job)).expect(200, {"state": "discarded"})
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    taken = await stage.take(queue)
    stage.equal(taken["last_checkpoint"], {"at": [7]}, "last_checkpoint")
    stage.check("checkpoint" not in taken, "no checkpoint that was saved", dict(taken))
    (await stage.get(f"jobs/{job['id']}/checkpoint")).expect(404)
    (await stage.ack(job)).expect(200)
    (await stage.get(f"jobs/{job['id']}/progress")).expect(
        200, {"progress": 1.0, "state": "completed"}
    )


@case("OJS-PRG-015", "OJS-PRG-016", "OJS-PRG-017", "OJS-PRG-025", capability=PROGRESS)
async def reading(stage: Stage) -> None:
    """Progress can be read of every job, with its headers, and stands on the job itself."""
    queue = stage.name()
    job = await stage.enqueue(queue, progress=0.9, progress_message="not mine to say")
    path = f"jobs/{job['id']}/progress"
    reply = (await stage.get(path)).expect(200, {"state": "available"})
    for name in ("progress", "data", "message", "updated_at"):
        stage.check(name in reply.json and reply.json[name] is None, f"{name}: null", reply.text)
    stage.equal(reply.headers.get("cache-control"), "no-cache", "Cache-Control")
    stage.check("x-ojs-progress" not in reply.headers, "no X-OJS-Progress", reply.headers)
    stage.check("progress" not in job, "no progress of the client's own", dict(job))
    await stage.take(queue)
    (await stage.call("PUT", path, {"progress": 0.5, "message": "half"})).expect(200)
    reply = (await stage.get(path)).expect(200)
    stage.equal(float(reply.headers["x-ojs-progress"]), 0.5, "X-OJS-Progress")
    stage.check("last-modified" in reply.headers, "Last-Modified", reply.headers)
    seen = await stage.look(job)
    stage.equal([seen["progress"], seen["progress_message"]], [0.5, "half"], "on the job")
    (await stage.get(f"jobs/{stage.new_id()}/progress")).error(404, "not_found")


@case("OJS-PRG-019", capability=PROGRESS)
async def following(stage: Stage) -> None:
    """A job's reports are streamed, and the end of the job ends the stream."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    async with streaming(stage, f"jobs/{job['id']}/progress/stream") as frames:
        await asyncio.sleep(0.3)
        await report(stage, job, progress=0.5)
        await asyncio.sleep(_BETWEEN_S)
        (await stage.ack(job)).expect(200)
        reported = [frame for frame in await frames.events_to_the_end() if frame.event]
    values = [frame.json.get("progress") for frame in reported if frame.event == "progress"]
    stage.check(0.5 in values, "the report", values)
    stage.equal(reported[-1].event, "completed", "the last event")


@case("OJS-PRG-018", "OJS-PRG-019", "OJS-PRG-026", capability=PROGRESS)
async def following_from_the_start(stage: Stage) -> None:
    """A job's progress is streamed: where it is, each report, and how the job ends."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    path = f"jobs/{job['id']}/progress"
    (await stage.call("PUT", path, {"progress": 0.25})).expect(200)
    async with streaming(stage, f"{path}/stream") as frames:
        first = await frames.event()
        stage.equal(first.event, "progress", "the first frame")
        stage.equal(first.json["progress"], 0.25, "where the job is")
        await frames.next()
        (await stage.call("PUT", path, {"progress": 1, "data": {"rows": 7}})).expect(200)
        report = await frames.event()
        stage.equal(report.event, "progress", "the frame of a report")
        stage.equal([report.json["progress"], report.json["data"]], [1, {"rows": 7}], "the report")
        (await stage.ack(job)).expect(200)
        stage.equal((await frames.event()).event, "completed", "the last frame")
    async with streaming(stage, f"{path}/stream") as frames:
        names = [frame.event for frame in await frames.events_to_the_end() if frame.event]
    stage.equal(names, ["progress", "completed"], "frames of a job that has ended")
