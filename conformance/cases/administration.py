"""Cases of the admin API: lists, one job or worker, statistics, maintenance and settings."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import seconds_between
from conformance.play.event_stream import streaming
from conformance.play.stage import Stage
from conformance.verdicts.reply import CheckFailed, Reply

ADMIN = "admin_api"
LISTS = ("admin/queues", "admin/jobs", "admin/workers")
MAINTENANCE = "admin/system/maintenance"


@case("OJS-ADM-001", "OJS-ADM-010", capability=ADMIN)
async def lists(stage: Stage) -> None:
    """Queues and workers are listed as items with their number; workers are summed up."""
    await stage.enqueue(stage.name())
    expected: dict[str, object] = {"items": {"$type": "array"}, "pagination.total": {"$gte": 1}}
    (await stage.get("admin/queues")).expect(200, expected)
    number = {"$type": "number"}
    expected |= {"pagination.total": number, "summary.total": number}
    (await stage.get("admin/workers")).expect(200, expected)


@case("OJS-ADM-009", capability=ADMIN)
async def queues(stage: Stage) -> None:
    """A queue is listed with its name, its state and its counts."""
    await stage.enqueue(stage.name())
    reply = (await stage.get("admin/queues")).expect(200)
    # One text has the array itself as the answer.
    first = reply["$[0]"] if isinstance(reply.json, list) else reply["items[0]"]
    for name in ("name", "state"):
        stage.check(isinstance(first[name], str), name, first)
    for state in ("available", "active"):
        stage.check(isinstance(first["counts"][state], int), f"counts.{state}", first)


@case("OJS-ADM-012", capability=ADMIN)
async def totals(stage: Stage) -> None:
    """The statistics are numbers of queues, workers, jobs by state, and jobs per minute."""
    names = ["queues", "workers", "throughput.processed_per_minute", "throughput.failed_per_minute"]
    names += [f"jobs.{state}" for state in ("available", "active", "completed", "discarded")]
    reply = await stage.get("admin/stats")
    reply.expect(200, {name: {"$type": "number"} for name in names})


@case("OJS-ADM-001", "OJS-ADM-002", "OJS-ADM-003", "OJS-ADM-031", level=1, capability=ADMIN)
async def pages(stage: Stage) -> None:
    """Lists come in pages; one beyond the end is empty, and an unknown parameter is passed over."""
    queue = stage.name()
    await stage.enqueue(queue)
    await stage.take(queue, stage.name("w"))
    for path in LISTS:
        first = (await stage.get(path)).expect(200, {"pagination.per_page": 20})
        stage.check(len(first.json["items"]) >= 1, "an item", first.text)
        many = (await stage.get(path, per_page=5000)).expect(200, {"pagination.per_page": 100})
        beyond = (await stage.get(path, page=90, per_page=100)).expect(
            200, {"pagination.page": 90, "pagination.has_more": False}
        )
        stage.equal(beyond.json["items"], [], f"items of {path}")
        stage.check(many.json["pagination"]["total"] >= 1, "a total", many.text)
    for path in (*LISTS, "admin/stats", "admin/stats/history"):
        reply = await stage.get(path, qeue=queue)
        if reply.status == 422:
            reply.error(422, "validation_error", field="qeue")
        else:
            reply.expect(200)
    (await stage.get("admin/jobs", offset=10_001)).error(400, "invalid_request", field="offset")


@case("OJS-ADM-004", "OJS-ADM-005", capability=ADMIN)
async def jobs(stage: Stage) -> None:
    """Jobs are found by queue, state and type; one is read with its members at the top level."""
    queue = stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    plain = await stage.enqueue(queue, args=[{"key": "word"}])
    other = await stage.enqueue(queue, type=kind)
    held = await stage.take(queue)
    for query, expected in (
        ({"queue": queue}, {plain["id"], other["id"]}),
        ({"queue": queue, "type": kind}, {other["id"]}),
        ({"queue": queue, "state": "active"}, {held["id"]}),
        ({"queue": queue, "state": "completed"}, set[str]()),
    ):
        reply = (await stage.get("admin/jobs", **query)).expect(200)
        # Only examples name the member that the jobs are in.
        listed = reply["items"] if reply.has("items") else reply["jobs"]
        stage.equal(sorted(job["id"] for job in listed), sorted(expected), f"jobs for {query}")
    (await stage.get(f"admin/jobs/{plain['id']}")).expect(
        200,
        {
            "id": {"$eq": plain["id"]},
            "type": "test.case",
            "queue": {"$eq": queue},
            "state": "string:nonempty",
            "args[0].key": "word",
        },
    )


@case("OJS-ADM-004", "OJS-ADM-005", "OJS-ADM-032", "OJS-ADM-033", level=1, capability=ADMIN)
async def jobs_in_order(stage: Stage) -> None:
    """Jobs are found by filters, the newest first, each with the members that tools rely on."""
    queue = stage.name()
    made = [(await stage.enqueue(queue))["id"] for _ in range(3)]
    page = await stage.get("admin/jobs", queue=queue, sort="created_at", order="desc")
    stage.equal([item["id"] for item in page.json["items"]], made[::-1], "ids")
    for name, word in (("sort", "priority"), ("order", "asc")):
        reply = await stage.get("admin/jobs", **{name: word})
        reply.error(400, "invalid_request", field=name)
    shown = (await stage.get(f"admin/jobs/{made[0]}")).expect(200, {"id": {"$eq": made[0]}})
    stage.equal((shown.json["meta"], shown.json["errors"]), ({}, []), "meta and errors")
    stage.equal(shown.json["metadata"]["created_at"], shown.json["created_at"], "created_at")
    shown.expect(200, {"retry_policy.max_attempts": 3, "retry_policy.backoff_coefficient": 2})
    own = await stage.enqueue(queue, retry={"max_attempts": 7})
    (await stage.get(f"admin/jobs/{own['id']}")).expect(200, {"retry_policy.max_attempts": 7})


@case("OJS-ADM-024", level=1, capability=ADMIN)
async def scheduled(stage: Stage) -> None:
    """Scheduled jobs are listed in the order of their time, from either end, page by page."""
    queue = stage.name()
    hours = {n: (await stage.enqueue(queue, scheduled_at=f"+PT{n}H"))["id"] for n in (5, 2, 9, 7)}
    await stage.enqueue(queue)
    soonest = [hours[n] for n in sorted(hours)]
    for order, expected in (("asc", soonest), ("desc", soonest[::-1])):
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = await stage.get(
                "admin/jobs", queue=queue, sort="scheduled_at", order=order, per_page=3, **cursor
            )
            found += [item["id"] for item in page.expect(200)["items"]]
            if not page.json["pagination"]["has_more"]:
                break
            cursor = {"cursor": page.json["pagination"]["next_cursor"]}
        stage.equal(found, expected, f"ids, {order}")
    for query in ({"state": "available"}, {"order": "up"}, {"cursor": "7"}):
        reply = await stage.get("admin/jobs", sort="scheduled_at", **query)
        reply.error(400, "invalid_request", field=next(iter(query)))


@case("OJS-ADM-026", level=1, capability=ADMIN)
async def searched(stage: Stage) -> None:
    """Jobs are found by the beginning of their ids, by tags, and by a text in their content."""
    queue = stage.name()
    word = stage.name()
    tagged = await stage.enqueue(queue, tags=[word])
    args = (await stage.enqueue(queue, args=[{"word": f"in {word} here"}]))["id"]
    meta = (await stage.enqueue(queue, meta={"word": word}))["id"]

    async def found(**query: str) -> list[str]:
        ids: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = (await stage.get("admin/jobs", **query, **cursor)).expect(200)
            ids += [item["id"] for item in page["items"]]
            if not page["pagination"]["has_more"]:
                return ids
            cursor = {"cursor": page["pagination"]["next_cursor"]}

    stage.equal(await found(text=word), [meta, args], "jobs with the text")
    stage.equal(await found(text=word, id_prefix=args), [args], "one of them")
    stage.equal(await found(tag=word), [tagged["id"]], "jobs with the tag")
    near = await found(id_prefix=args[:-1], queue=queue)
    stage.check(args in near, "the job by what its id begins with", near)
    for name, wrong in (("text", "x"), ("id_prefix", "no id")):
        (await stage.get("admin/jobs", **{name: wrong})).error(400, "invalid_request", field=name)


@case("OJS-ADM-006", "OJS-ADM-007", "OJS-ADM-008", "OJS-EVT-018", level=1, capability=ADMIN)
async def changes(stage: Stage) -> None:
    """A job is retried, goes first by another priority, and keeps its failures."""
    queue = stage.name()
    dead = await stage.discarded(queue)
    retries = await stage.get(f"jobs/{dead['id']}/retries")
    stage.equal(len(retries.json["retries"]), 1, "failed attempts")
    path = f"admin/jobs/{dead['id']}"
    (await stage.post(f"{path}/retry")).expect(200, {"state": "available", "job.attempt": 0})
    (await stage.post(f"{path}/retry")).error(409, "conflict", current_state="available")
    late = await stage.enqueue(queue)
    for where, priority in (("jobs", 4), ("admin/jobs", 5)):
        reply = await stage.call("PATCH", f"{where}/{late['id']}", {"priority": priority})
        reply.expect(200, {"job.priority": priority})
    events = [
        event["data"] for event in await stage.events(queue) if event["type"] == "job.prioritized"
    ]
    stage.equal(
        [(event["previous_priority"], event["priority"]) for event in events],
        [(0, 4), (4, 5)],
        "events",
    )
    stage.equal((await stage.take(queue))["id"], late["id"], "the first job")
    reply = await stage.call("PATCH", f"admin/jobs/{late['id']}", {"priority": 1})
    reply.error(409, "conflict", current_state="active")
    reply = await stage.call("PATCH", path, {"queue": "other"})
    reply.error(422, "validation_error", field="queue")
    (await stage.post(f"{path}/cancel")).expect(200, {"state": "cancelled"})


async def _counted(stage: Stage, queue: str, *kinds: str) -> list[int]:
    """Return the sums of these kinds over the hourly statistics of a queue."""
    reply = await stage.get("admin/stats/history", queue=queue, period="1h")
    return [sum(bucket[kind] for bucket in reply.expect(200)["data"]) for kind in kinds]


@case(
    *(
        "OJS-ADM-012",
        "OJS-ADM-034",
        "OJS-ADM-036",
        "OJS-ADM-013",
        "OJS-ADM-014",
        "OJS-ADM-016",
        "OJS-ADM-025",
        "OJS-ADM-027",
    ),
    level=1,
    capability=ADMIN,
)
async def statistics(stage: Stage) -> None:
    """The statistics of a queue, now and over time, show its jobs, their outcomes and times."""
    queue = stage.name()
    await stage.done(queue)
    await stage.discarded(queue)
    first = await stage.enqueue(queue)

    async def counted() -> bool:
        return await _counted(stage, queue, "enqueued", "processed", "failed") == [3, 1, 1]

    await stage.until(counted, 60, "the statistics of the queue")
    shown = (await stage.get(f"admin/queues/{queue}")).expect(
        200, {"name": {"$eq": queue}, "state": "active", "counts.completed": 1}
    )
    stage.equal(shown.json["oldest_available_at"], first["enqueued_at"], "oldest_available_at")
    stage.check(shown.json["latency_ms"]["p50"] is not None, "a run time", shown.text)
    kinds = {name: {"$type": "number"} for name in ("queues", "workers", "jobs.available")}
    (await stage.get("admin/stats")).expect(200, {**kinds, "uptime_seconds": {"$type": "number"}})
    alone = (await stage.get("admin/stats", queue=queue)).expect(200, {"jobs.available": 1})
    stage.equal(alone.json["queues"], 1, "queues")
    ago = (await stage.get("admin/stats/history", since="24h", queue=queue)).expect(200)
    stage.check(len(ago.json["data"]) >= 288, "a day of spans", len(ago.json["data"]))
    stage.equal(ago.json.get("data_points"), ago.json["data"], "data_points")

    async def depth_is_known() -> bool:
        hours = (await stage.get("admin/stats/history", period="1h")).expect(200)["data"]
        depth = [hours[-1].get(state, "") for state in ("available", "active", "retryable")]
        stage.check("" not in depth, "the depth of each state", hours[-1])
        return None not in depth

    await stage.until(depth_is_known, 90, "the depth of this hour")
    for kind in ("latency", "wait"):
        spans = [span for span in ago.json["data"] if span[f"{kind}_p50_ms"] is not None]
        stage.check(len(spans) >= 1, f"a span with a {kind}", ago.text)
        found = [[span[f"{kind}_p{part}_ms"] for part in (50, 95, 99)] for span in spans]
        stage.check(
            all(sorted(quantiles) == quantiles for quantiles in found),
            f"quantiles of {kind}",
            found,
        )
    (await stage.get("admin/stats/history", period="2m")).error(
        400, "invalid_request", field="period"
    )
    long = await stage.get("admin/stats/history", queue=queue, period="1m")
    stage.check(len(long.json["data"]) in (60, 61, 62), "an hour of minutes", long.text)


async def _at_work(stage: Stage, queue: str) -> None:
    """Bring jobs from their enqueue to their ACK until the server is gone."""
    with suppress(CheckFailed):
        while True:
            await stage.enqueue(queue)
            for job in await stage.fetch(queue):
                (await stage.ack(job)).expect(200)


async def _all_counted_once(stage: Stage, queue: str) -> None:
    async def are_counted() -> bool:
        counted = await _counted(stage, queue, "enqueued", "processed")
        # The log is read after the counters: it may only have more events by then.
        logged = [
            len(await stage.events(queue, types=kind)) for kind in ("job.enqueued", "job.completed")
        ]
        none_twice = all(number <= most for number, most in zip(counted, logged, strict=True))
        stage.check(none_twice, f"as many as are logged, {logged}, at most", counted)
        return counted == logged and min(logged) > 5

    await stage.until(are_counted, 60, "the statistics have all events of the log")


@case("OJS-ADM-015", level=1, capability=ADMIN, own_server="main", seconds=150)
async def counted_through_crashes(stage: Stage) -> None:
    """Statistics count each event of the log once, however often the server is killed."""
    assert stage.process is not None
    queue = stage.name()
    for _ in range(2):
        async with stage.waiting(*(_at_work(stage, queue) for _ in range(4))):
            for _ in range(5):
                await asyncio.sleep(0.1)
                await _counted(stage, queue, "enqueued")
            await stage.process.kill()
        await stage.process.start()
        await _all_counted_once(stage, queue)


@case("OJS-ADM-015", level=1, capability=ADMIN, own_server="nodes", seconds=150)
async def counted_by_several(stage: Stage) -> None:
    """Statistics count the work of several servers, one that was killed included."""
    queue = stage.name()
    async with stage.second_server() as other:
        assert other.process is not None
        async with stage.waiting(*(_at_work(on, queue) for on in (stage, other) * 3)):
            for _ in range(5):
                await asyncio.sleep(0.1)
                await asyncio.gather(*(_counted(on, queue, "enqueued") for on in (stage, other)))
            await other.process.kill()
        await _all_counted_once(stage, queue)


@case("OJS-ADM-011", "OJS-ADM-035", capability=ADMIN)
async def workers(stage: Stage) -> None:
    """Workers are summed up by state, and neither an active one nor one that left is removed."""
    worker, fetches = stage.name("w"), stage.name("w")
    await stage.post("workers/heartbeat", {"worker_id": worker})
    await stage.empty(stage.name(), fetches)
    page = await stage.get("admin/workers")
    summary = page.json["summary"]
    parts = sum(summary[kind] for kind in ("running", "quiet", "stale"))
    stage.check(summary["total"] == parts >= 1, "a summary that adds up", page.text)
    path = f"admin/workers/{worker}"
    (await stage.get(path)).expect(200, {"id": {"$eq": worker}, "state": "running"})
    for address in (path, f"admin/workers/{fetches}"):
        (await stage.delete(address)).error(409, "conflict")
    await stage.post("workers/deregister", {"worker_id": worker})
    (await stage.delete(path)).error(409, "conflict")


@case("OJS-ADM-029", "OJS-ADM-035", "OJS-ADM-036", capability=ADMIN, own_server="main")
async def workers_by_kind(stage: Stage) -> None:
    """A worker that is quiet is counted as such; one that left is not listed, and not stale."""
    running, quiet, left = (stage.name(kind) for kind in ("running", "quiet", "left"))
    await stage.beat(left)
    (await stage.post("workers/deregister", {"worker_id": left})).expect(200)
    await stage.beat(quiet, state="quiet")
    await stage.beat(running)
    page = (await stage.get("admin/workers")).expect(200)
    kinds = {"total": 2, "running": 1, "quiet": 1, "stale": 0}
    stage.equal({kind: page.json["summary"][kind] for kind in kinds}, kinds, "summary")
    stage.equal(_states(page), {running: "running", quiet: "quiet"}, "workers")
    gone = (await stage.get("admin/workers", state="terminated")).expect(200)
    stage.equal(_states(gone), {left: "terminated"}, "workers that left")
    (await stage.get("admin/stats")).expect(200, {"workers": 2})


def _states(page: Reply) -> dict[str, str]:
    return {item["id"]: item["state"] for item in page.json["items"]}


@case(
    *("OJS-ADM-011", "OJS-ADM-029", "OJS-ADM-035"),
    level=1,
    capability=ADMIN,
    own_server="main",
    seconds=120,
)
async def stale_workers(stage: Stage) -> None:
    """Workers that are silent for the heartbeat timeout are stale until they are removed, with
    their jobs."""
    answer = (await stage.post("workers/register", {"worker_id": stage.name("w")})).expect(200)
    silence = float(answer["heartbeat_timeout"] or 0)
    stage.need(0 < silence <= 45, f"the heartbeat timeout is {silence:g} s; 45 can be waited for")
    queue, well, fetches = stage.name(), stage.name("well"), stage.name("fetches")
    silent = answer["worker_id"]
    job = await stage.enqueue(queue)
    await stage.take(queue, fetches)
    for _ in range(int(silence / 2) + 2):
        await asyncio.sleep(2)
        await stage.beat(well)
    page = (await stage.get("admin/workers")).expect(
        200, {"summary.total": 3, "summary.running": 1, "summary.stale": 2}
    )
    stage.equal(_states(page), {well: "running", fetches: "stale", silent: "stale"}, "workers")
    found = (await stage.get("admin/workers", state="stale")).expect(200)
    stage.equal(set(_states(found)), {fetches, silent}, "stale workers")
    for worker in (fetches, silent):
        (await stage.get(f"admin/workers/{worker}")).expect(200, {"state": "stale"})
        (await stage.delete(f"admin/workers/{worker}")).expect(200, {"deleted": True})
    page = (await stage.get("admin/workers")).expect(
        200, {"summary.total": 1, "summary.running": 1, "summary.stale": 0}
    )
    stage.equal(_states(page), {well: "running"}, "workers after the removal")
    stage.equal((await stage.look(job))["state"], "available", "the job of a removed worker")


@case(
    *("OJS-ADM-017", "OJS-ADM-018", "OJS-ADM-019", "OJS-EVT-018"),
    level=2,
    capability=ADMIN,
    own_server="main",
)
async def maintenance(stage: Stage) -> None:
    """In maintenance jobs come in and none goes out, until it ends, also through a crash."""
    queue, worker = stage.name(), stage.name("w")
    held = await stage.enqueue(queue)
    await stage.take(queue, worker, fetch_id="again")
    begun_at = time.monotonic()
    begun = (await stage.post(MAINTENANCE, {"enabled": True, "reason": "disk"})).expect(
        200, {"maintenance": True, "reason": "disk", "enabled_at": "string:datetime"}
    )
    replied_at = time.monotonic()
    for spelt in ({"estimated_duration": "PT1H"}, {"estimated_duration": 3600}, {"duration": 3600}):
        before = time.monotonic()
        planned = (await stage.post(MAINTENANCE, {"enabled": True, **spelt})).expect(
            200, {"enabled_at": {"$eq": begun["enabled_at"]}}
        )
        late_s = seconds_between(begun["enabled_at"], planned["estimated_end"]) - 3600
        most_s = time.monotonic() - begun_at
        stage.check(
            before - replied_at - 0.05 <= late_s <= most_s + 0.05, f"an hour by {spelt}", late_s
        )
        stage.equal(planned["ends_at"], planned["estimated_end"], "ends_at")
    begun = (await stage.post(MAINTENANCE, {"enabled": True, "reason": "disk"})).expect(200)
    job = await stage.enqueue(queue)
    later = await stage.enqueue(queue, scheduled_at="+PT0.2S")
    await stage.empty(queue, stage.name("w"))
    again = await stage.send_fetch(queue, worker, fetch_id="again")
    stage.equal([job["id"] for job in again.json["jobs"]], [held["id"]], "the repeated FETCH")
    await stage.crash()
    stage.equal((await stage.get(MAINTENANCE)).json, begun.json, "maintenance after the crash")
    await asyncio.sleep(1)
    stage.equal((await stage.look(later))["state"], "scheduled", "the later job")
    waits = stage.send_fetch(queue, stage.name("w"), wait_ms=20_000)
    async with stage.waiting(waits) as (waiting,):
        (await stage.post(MAINTENANCE, {"enabled": False})).expect(200, {"maintenance": False})
        handed = (await waiting).json["jobs"]
    stage.equal(
        [fetched["id"] for fetched in handed], [job["id"]], "the jobs of the FETCH that waited"
    )
    await stage.until_state(later, "available")


@case("OJS-ADM-020", "OJS-ADM-021", capability=ADMIN)
async def settings_and_aliases(stage: Stage) -> None:
    """The settings are shown without secrets, and other clients' paths are served alike."""
    shown = (await stage.get("admin/system/config")).expect(200)
    stage.check(not {"database", "keys"} & set(shown.json["config"]), "no secrets", shown.text)
    stage.equal((await stage.get("admin/config")).json, shown.json, "the shorter path")
    maintained = await stage.get(MAINTENANCE)
    stage.equal((await stage.get("admin/maintenance")).json, maintained.json, "the shorter path")
    for path in ("/v1/health", "/ojs/v1/admin/observability/health"):
        (await stage.get(path)).expect(200, {"status": "ok"})
    for path in ("/v1/queues", "/v1/dead-letter", "/v1/workers", "/ojs/v1/metrics"):
        (await stage.get(path)).expect(200)


@case("OJS-ADM-028", level=1, capability=ADMIN)
async def servers_of_the_database(stage: Stage) -> None:
    """The servers are listed with their place and their state; one of them is the one asked."""

    async def own() -> list[Mapping[str, Any]]:
        reply = (await stage.get("admin/nodes", per_page=100)).expect(200)
        return [node for node in reply.json["items"] if node["is_this"]]

    async def is_there() -> bool:
        return len(await own()) == 1

    await stage.until(is_there, 10, "the server that is asked is listed")
    (found,) = await own()
    stage.equal(found["state"], "online", "state")
    stage.equal(found["version"], stage.manifest["version"], "version")
    ran_s = seconds_between(found["started_at"], found["last_seen_at"])
    stage.check(ran_s >= 0, "a start before the last sign of life", found)


@case("OJS-ADM-022", level=1, capability=ADMIN)
async def following_the_statistics(stage: Stage) -> None:
    """A stream has the statistics, at once and again, and how jobs come and end."""
    queue = stage.name()
    versioned = {"OJS-Version": "1.0"}
    async with streaming(stage, "admin/stats/stream", headers=versioned) as frames:
        first = await frames.event()
        stage.equal(first.event, "metrics", "the first event")
        stage.equal(
            set(first.json), set((await stage.get("admin/stats")).json), "members of `metrics`"
        )
        done, gone = await stage.done(queue), await stage.enqueue(queue)
        (await stage.delete(f"jobs/{gone['id']}")).expect(200)
        await stage.discarded(queue)
        received = [await frames.event()]
        while received[-1].event != "job.failed" or queue not in received[-1].data:
            received.append(await frames.event())
        while received[-1].event != "metrics":
            received.append(await frames.event())
    mine = [frame for frame in received if queue in frame.data]
    kinds = ["job.enqueued", "job.completed", "job.enqueued", "job.cancelled"]
    stage.equal([frame.event for frame in mine], [*kinds, "job.enqueued", "job.failed"], "events")
    subjects = [frame.json["subject"] for frame in mine[:4]]
    stage.equal(subjects, [done["id"]] * 2 + [gone["id"]] * 2, "the jobs of the events")


@case("OJS-ADM-030", level=1, capability=ADMIN)
async def statistics_by_name(stage: Stage) -> None:
    """Without OJS-Version the stream lists queues and workers, and its events are flat."""
    queue, worker = stage.name(), stage.name("w")
    waiting = await stage.enqueue(queue, scheduled_at="2999-01-01T00:00:00Z")
    (await stage.beat(worker)).expect(200)
    async with streaming(stage, "admin/stats/stream") as frames:
        first = await frames.event()
        stage.equal(first.event, "metrics", "the first event")
        stage.check(isinstance(first.json["queues"], list), "a list of queues", first.json)
        while first.event != "metrics" or queue not in first.data:
            # The statistics may have been read a few seconds before.
            first = await frames.event()
        job = await stage.enqueue(queue)
        await stage.take(queue, worker)
        (await stage.fail(job, worker)).expect(200)
        received = [await frames.event()]
        while received[-1].event != "job.failed" or queue not in received[-1].data:
            received.append(await frames.event())
    (await stage.delete(f"jobs/{waiting['id']}")).expect(200)
    metrics = first.json
    (depth,) = [found for found in metrics["queues"] if found["queue"] == queue]
    expected = {"queue": queue, "available": 0, "active": 0, "scheduled": 1, "retryable": 0}
    stage.equal(depth, expected, "the queue")
    (shown,) = [found for found in metrics["workers"]["active"] if found["id"] == worker]
    stage.equal([shown["state"], shown["activeJobs"]], ["running", 0], "the worker")
    stage.check(metrics["workers"]["total"] >= 1, "a total of workers", metrics["workers"]["total"])
    for name in ("processed_per_second", "failed_per_second", "enqueued_per_second"):
        stage.check(metrics["throughput"][name] >= 0, name, metrics["throughput"])
    stage.check(0 <= metrics["error_rate"] <= 100, "error_rate", metrics["error_rate"])
    mine = [frame for frame in received if queue in frame.data]
    stage.equal([frame.event for frame in mine], ["job.enqueued", "job.failed"], "events")
    for frame in mine:
        about = {"event": frame.event, "job_id": job["id"], "queue": queue, "type": "test.case"}
        stage.equal(frame.json, frame.json | about, "data of an event")
        stage.check("timestamp" in frame.json, "timestamp", frame.json)
    failed = mine[-1].json
    stage.equal(failed["attempt"], 1, "attempt")
    stage.check(isinstance(failed["error"], str), "an error as text", failed["error"])


@case("OJS-ADM-030", level=1, capability=ADMIN, own_server="main", seconds=120)
async def the_rate_of_errors(stage: Stage) -> None:
    """The rate of errors is the number of attempts that failed among a hundred that ended."""
    queue = stage.name()
    for _ in range(2):
        await stage.discarded(queue)
        for _ in range(3):
            await stage.done(queue)
    async with streaming(stage, "admin/stats/stream") as frames:
        rates = list[float]()
        while not rates or (not 20 <= rates[-1] <= 30 and len(rates) < 15):
            frame = await frames.event()
            if frame.event == "metrics":
                rates.append(frame.json["error_rate"])
    stage.check(20 <= rates[-1] <= 30, "about 25 of 100, as 2 of 8 failed", rates)


@case("OJS-ADM-023", level=1, capability=ADMIN)
async def middleware(stage: Stage) -> None:
    """The steps of an enqueue are listed in order, each with a description and `enabled`."""
    page = (await stage.get("middleware")).expect(200, {"pagination.page": 1})
    steps = page.json["items"]
    orders = [step["order"] for step in steps]
    stage.equal(orders, list(range(1, len(steps) + 1)), "orders")
    stage.equal({step["chain"] for step in steps}, {"enqueue"}, "chains")
    names = [step["name"] for step in steps]
    stage.equal(len(set(names)), len(names), "different names")
    stage.check("validation" in names, "a step that validates", names)
    for step in steps:
        stage.check(isinstance(step["enabled"], bool), "`enabled`", step)
        stage.check(step["description"] != "", "a description", step)
    stage.equal([page.json["enqueue"], page.json["execution"]], [steps, []], "chains by name")
