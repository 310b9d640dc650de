"""Cases of leases, execution timeouts and expiry, also across a restart of the server."""

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import moment, seconds_between
from conformance.play.stage import Stage

SLOW = {"initial_interval": "PT1H", "max_interval": "PT1H"}


async def taken_back(stage: Stage, job: Mapping[str, Any], within_s: float = 10.0) -> None:
    """Wait until a job is held no more, whatever became of it."""

    async def is_back() -> bool:
        return bool((await stage.look(job))["state"] != "active")

    await stage.until(is_back, within_s, "the job is taken back")


@case("OJS-VIS-001", level=1)
async def leased_jobs_are_hidden(stage: Stage) -> None:
    """A job is handed out to no other worker while its lease runs."""
    queue = stage.name()
    await stage.enqueue(queue)
    await stage.take(queue, visibility_timeout_ms=5_000)
    for _ in range(5):
        await stage.empty(queue)
        await asyncio.sleep(0.1)


@case("OJS-VIS-003", level=1)
async def beats_renew_leases(stage: Stage) -> None:
    """A job is not taken back while its worker beats."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue, visibility_timeout_ms=4_000)
    job = await stage.take(queue, worker)
    for _ in range(4):
        await asyncio.sleep(1.6)
        await stage.beat(worker, active_jobs=[job["id"]])
        stage.equal((await stage.look(job))["state"], "active", "state of a job that is beaten")


@case("OJS-VIS-038", level=1)
async def renewed_leases_end(stage: Stage) -> None:
    """A lease that a BEAT renewed is as long as before, and ends once the BEATs do."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue, visibility_timeout_ms=2_000)
    job = await stage.take(queue, worker)
    await asyncio.sleep(1)
    await stage.beat(worker, active_jobs=[job["id"]])
    await taken_back(stage, job, 15)


@case("OJS-VIS-035", "OJS-WRK-009", level=1)
async def beats_set_leases_back(stage: Stage) -> None:
    """A BEAT sets the lease back to its full length, or to the one it names, once."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    job = await stage.take(queue, worker, visibility_timeout_ms=2_500)
    await stage.beat(worker, [job], visibility_timeout_ms=6_000)
    await asyncio.sleep(3)
    stage.equal((await stage.look(job))["state"], "active", "state within the longer lease")
    await stage.beat(worker, [job])
    await stage.until_state(job, "available", 7)
    again = await stage.take(queue, worker, visibility_timeout_ms=1_000)
    await stage.beat(worker, [again], visibility_timeout_ms=60_000)
    assert_length(stage, (await stage.look(job))["lease_expires_at"], 60.0)


@case("OJS-VIS-005", "OJS-VIS-006", level=1)
async def leases_end(stage: Stage) -> None:
    """A job whose lease ends is taken back, with an error, or is discarded on its last attempt."""
    queue = stage.name()
    for attempts in (5, 1):
        job = await stage.enqueue(queue, retry={"max_attempts": attempts})
        await stage.take(queue, stage.name("w"), visibility_timeout_ms=1_000)
        await taken_back(stage, job)
        seen = await stage.look(job)
        stage.equal(seen["errors"][-1]["type"], "visibility_timeout", "type of the last entry")
        if attempts == 1:
            stage.equal(seen["state"], "discarded", "state after the last attempt")
        await stage.delete(f"jobs/{job['id']}")


@case("OJS-VIS-007", "OJS-VIS-032", level=1)
async def lost_leases_cost_no_delay(stage: Stage) -> None:
    """A job whose lease was lost is available at once, and comes again under its id."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 5, **SLOW})
    await stage.take(queue, stage.name("w"), visibility_timeout_ms=1_000)
    await stage.until_state(job, "available", 10)
    stage.equal((await stage.take(queue, stage.name("w")))["id"], job["id"], "id")


@case("OJS-VIS-036", level=1)
async def lost_leases_have_a_code(stage: Stage) -> None:
    """The error of a lost lease is shown as that of the job, with its code."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue, visibility_timeout_ms=200)
    await taken_back(stage, job)
    error = (await stage.look(job))["error"]
    for name in ("code", "type"):
        stage.equal(error[name], "visibility_timeout", f"error.{name}")


def assert_length(stage: Stage, end: str, seconds: float) -> None:
    """Require that a lease ends about so many seconds from now, by the clock of this machine."""
    left = datetime.fromisoformat(end).timestamp() - time.time()
    stage.check(abs(left - seconds) < 5, f"a lease of about {seconds:g} s", left)


@case("OJS-VIS-013", "OJS-ENV-024", level=1)
async def spellings_of_timeouts(stage: Stage) -> None:
    """A timeout is given in milliseconds, or in seconds; the first wins, and zero means none."""
    queue = stage.name()
    for members, expected in (
        ({"timeout_ms": 1500}, 1500),
        ({"timeout": 2}, 2000),
        ({"timeout": 2, "timeout_ms": 700}, 700),
        ({"timeout_ms": 0}, None),
        ({"timeout": 0}, None),
        ({}, None),
    ):
        job = await stage.enqueue(queue, **members)
        stage.equal(job.get("timeout_ms") or None, expected, f"timeout_ms for {members}")


@case("OJS-VIS-014", "OJS-VIS-015", level=1)
async def grace_is_added(stage: Stage) -> None:
    """A grace period is added to the timeout, and nothing else is."""
    queue = stage.name()
    for members, least in (
        ({"timeout_ms": 400, "grace_period": "PT0.8S"}, 1.2),
        ({"timeout_ms": 400}, 0.4),
    ):
        job = await stage.enqueue(queue, **members)
        taken = await stage.take(queue)
        await stage.until_state(job, "retryable", 8)
        entry = (await stage.look(job))["errors"][0]
        ran_s = seconds_between(taken["started_at"], entry["occurred_at"])
        stage.check(least <= ran_s <= least + 3, f"{least} s, and soon after", ran_s)
        (await stage.delete(f"jobs/{job['id']}")).expect(200)


@case("OJS-VIS-015", level=1)
async def timeouts_run_for_each_delivery(stage: Stage) -> None:
    """The timeout starts again with each delivery."""
    queue = stage.name()
    retry = {"max_attempts": 5, "initial_interval": "PT0.1S", "jitter": False}
    job = await stage.enqueue(queue, timeout_ms=5_000, retry=retry)
    for _ in range(2):
        await stage.take(queue)
        await asyncio.sleep(2.7)
        (await stage.fail(job)).expect(200, {"state": "retryable"})
        await stage.until_state(job, "available", 10)
    await stage.take(queue)
    await asyncio.sleep(2.7)
    (await stage.ack(job)).expect(200)


@case("OJS-VIS-015", "OJS-VIS-016", "OJS-VIS-017", level=1, seconds=120)
async def timeouts_are_enforced(stage: Stage) -> None:
    """A job over its timeout fails, although its worker beats, and is retried or discarded."""
    queue, worker = stage.name(), stage.name("w")
    jobs = []
    for attempts in (3, 1):
        retry = {"max_attempts": attempts, **SLOW}
        jobs.append(await stage.enqueue(queue, timeout_ms=1_000, retry=retry))
        await stage.take(queue, worker, visibility_timeout_ms=600_000)
    ids = [job["id"] for job in jobs]

    async def have_failed() -> bool:
        await stage.beat(worker, active_jobs=ids)
        return all([(await stage.look(job))["state"] != "active" for job in jobs])

    # Some servers add a grace period of half a minute.
    await stage.until(have_failed, 50, "both jobs have failed")
    for job, state in zip(jobs, ("retryable", "discarded"), strict=True):
        seen = await stage.look(job)
        stage.equal(seen["state"], state, "state")
        stage.equal(seen["error"]["type"], "timeout", "error.type")


@case("OJS-VIS-033", level=1)
async def no_grace_unless_asked_for(stage: Stage) -> None:
    """A job without a grace period fails soon after its timeout."""
    queue = stage.name()
    job = await stage.enqueue(queue, timeout_ms=1_000, retry=SLOW)
    await stage.take(queue, stage.name("w"))
    await taken_back(stage, job)


@case("OJS-VIS-037", level=1)
async def what_timeouts_say(stage: Stage) -> None:
    """The error of a timeout has its code, its kind, the limit and the time that passed."""
    queue = stage.name()
    job = await stage.enqueue(queue, timeout_ms=500, retry=SLOW)
    await stage.take(queue)
    await taken_back(stage, job)
    seen = await stage.look(job)
    stage.equal(seen["error"]["code"], "timeout", "error.code")
    (entry,) = seen["errors"]
    stage.equal(entry["timeout_kind"], "execution", "timeout_kind")
    stage.equal(entry["limit_seconds"], 0.5, "limit_seconds")
    stage.check(entry["elapsed_seconds"] >= 0.5, "elapsed_seconds", entry)


@case("OJS-VIS-018", "OJS-FET-010", level=2, capability="job_ttl")
async def expired_jobs_are_not_started(stage: Stage) -> None:
    """A job that nobody fetched in time is handed to nobody and discarded; a held one runs on."""
    queue = stage.name()
    clock = moment((await stage.enqueue(stage.name()))["created_at"])
    end = (clock + timedelta(seconds=3)).isoformat()
    held = await stage.enqueue(queue, expires_at=end)
    await stage.take(queue, stage.name("w"))
    waiting = await stage.enqueue(queue, expires_at=end)
    await asyncio.sleep(4.5)
    stage.equal(await stage.fetch(queue, stage.name("w")), [], "jobs")
    stage.equal((await stage.look(waiting))["state"], "discarded", "state of the one that waited")
    (await stage.ack(held)).expect(200)


@case("OJS-VIS-009", "OJS-VIS-010", "OJS-DUR-009", level=1, own_server="main", seconds=150)
async def time_away_is_not_silence(stage: Stage) -> None:
    """After a restart a job that was held is not taken back before its lease has run again."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    job = await stage.take(queue, worker, visibility_timeout_ms=6_000)
    assert stage.process is not None
    await stage.process.kill()
    await asyncio.sleep(6.5)  # by the clock on the wall the lease is over now
    await stage.process.start()
    started = time.monotonic()
    await asyncio.sleep(1.0)
    stage.equal((await stage.look(job))["state"], "active", "state right after the restart")
    reply = await stage.beat(worker, [job])
    stage.equal(reply["jobs_extended"], [job["id"]], "jobs_extended")
    fresh = await stage.enqueue(queue)
    await stage.take(queue, visibility_timeout_ms=300)
    await stage.until_state(fresh, "available", 5)
    await stage.until_state(job, "available", 9)
    took = time.monotonic() - started
    stage.check(took > 5.5, "a whole lease after the BEAT", took)


@case("OJS-VIS-011", level=1, own_server="main", seconds=200)
async def nobody_is_dead_after_a_start(stage: Stage) -> None:
    """After a restart no worker is declared dead before the timeout has passed again."""
    queue, worker = stage.name(), stage.name("w")
    answer = (await stage.post("workers/register", {"worker_id": worker})).expect(200)
    silence = float(answer["heartbeat_timeout"])
    stage.need(silence <= 45, f"the heartbeat timeout is {silence:g} s; 45 can be waited for")
    await stage.beat(worker)
    await stage.enqueue(queue)
    job = await stage.take(queue, worker)
    assert stage.process is not None
    await stage.process.kill()
    await asyncio.sleep(min(silence, 30) - 5)
    await stage.process.start()
    await asyncio.sleep(10)
    stage.equal((await stage.look(job))["state"], "active", "state")
    (await stage.get(f"workers/{worker}")).expect(200, {"worker.state": "running"})
    reply = await stage.beat(worker, [job])
    stage.equal(reply["jobs_extended"], [job["id"]], "jobs_extended")


@case("OJS-VIS-018", "OJS-VIS-021", level=2, capability="job_ttl")
async def expiry_needs_no_call(stage: Stage) -> None:
    """An expired job is discarded by the server's own timer: its event comes before any read."""
    queue = stage.name()
    job = await stage.enqueue(queue, expires_at="+PT0.5S")
    await asyncio.sleep(2.0)
    types = [event["type"] for event in await stage.events(queue)]
    stage.check("job.expired" in types, "job.expired", types)
    stage.equal((await stage.look(job))["state"], "discarded", "state")
