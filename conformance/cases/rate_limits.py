"""Cases of rate limits: policies, their effect on FETCH, and overrides by operators."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import moment, seconds_between
from conformance.cases.workflows import drained
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record, Reply

LIMITS = "rate_limiting"


def key_of(stage: Stage) -> str:
    """Return an unused key."""
    return stage.name("key")


async def limit(stage: Stage, key: str) -> Reply:
    """Read a key that must be known."""
    return (await stage.get(f"rate-limits/{key}")).expect(200, {"key": {"$eq": key}})


async def several(stage: Stage, queue: str, count: int, **policy: Any) -> list[Record]:
    """Enqueue several jobs under one policy."""
    return await stage.enqueue_many(queue, count, rate_limit=policy)


async def singly(stage: Stage, queue: str, count: int, **policy: Any) -> list[Record]:
    """Enqueue several jobs under one policy, without a batch, which is another capability."""
    return [await stage.enqueue(queue, rate_limit=policy, args=[number]) for number in range(count)]


@case(
    "OJS-RLM-001",
    "OJS-RLM-002",
    "OJS-RLM-017",
    "OJS-RLM-020",
    "OJS-RLM-024",
    "OJS-RLM-034",
    "OJS-RLM-036",
    capability=LIMITS,
)
async def spellings(stage: Stage) -> None:
    """Policies in every spelling are stored, and their key is known from the first job on."""
    queue = stage.name()
    policies: tuple[tuple[dict[str, Any], list[Any]], ...] = (
        ({"concurrency": 2}, [2, None]),
        ({"rate": {"limit": 5, "period": "minute"}}, [5, "PT60S"]),
        ({"rate": 5, "period": "PT10S"}, [5, "PT10S"]),
        ({"rate": {"limit": 5, "period": 30}}, [5, "PT30S"]),
        ({"rate": {"limit": 5}}, [5, "PT1S"]),
        ({"throttle": {"limit": 2, "period": "second"}}, [2, "PT1S"]),
        ({"max_per_second": 3}, [3, "PT1S"]),
        ({"concurrency": 0, "on_limit": "reschedule"}, [0, None]),
        ({"concurrency": 1, "rate": {"limit": 9}, "on_limit": "drop"}, [9, "PT1S"]),
    )
    for policy, shown in policies:
        key = key_of(stage)
        reply = await stage.push(queue=queue, options={"rate_limit": {"key": key, **policy}})
        reply.expect(201)
        for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"):
            stage.check(name in reply.headers, name, reply.headers)
        seen = await limit(stage, key)
        period = seen.json.get("period")
        found = [seen["limit"], "PT60S" if period == "PT1M" else period]
        stage.equal(found, shown, f"limit and period of {policy}")
        stage.equal(seen["waiting_count"] >= 0, True, "waiting_count is there")
        for name in ("concurrency", "rate", "throttle"):
            stage.check(name in seen.json, name, seen.text)


@case("OJS-RLM-004", capability=LIMITS)
async def wrong_policies(stage: Stage) -> None:
    """A limit or period of zero and whatever makes no sense is 400, and the member is named."""
    key = key_of(stage)
    bad: tuple[tuple[str, dict[str, Any]], ...] = (
        ("concurrency", {"concurrency": -1}),
        ("rate", {"rate": {"limit": 0, "period": "second"}}),
        ("period", {"rate": {"limit": 1, "period": 0}}),
        ("period", {"rate": {"limit": 1, "period": "fortnight"}}),
        ("throttle", {"throttle": {"limit": 0}}),
        ("max_per_second", {"max_per_second": 0}),
        ("on_limit", {"concurrency": 1, "on_limit": "explode"}),
        ("key", {"key": "no spaces please", "concurrency": 1}),
    )
    for name, policy in bad:
        reply = await stage.push(queue=stage.name(), rate_limit={"key": key, **policy})
        reply.error(400, "invalid_request")
        stage.check(name in reply["error.message"], f"{name} in the message", reply.text)


@case("OJS-RLM-003", "OJS-RLM-034", capability=LIMITS)
async def policies_without_a_key(stage: Stage) -> None:
    """A policy without a key counts for the jobs of its queue that name none."""
    queue = stage.name()
    await several(stage, queue, 3, concurrency=1)
    await stage.enqueue(queue)
    stage.equal(len(await stage.fetch(queue, count=9)), 2, "one that is limited, one that is not")
    await limit(stage, f"$jobs:{queue}")


@case("OJS-RLM-005", capability=LIMITS)
async def the_last_job_sets_the_limits(stage: Stage) -> None:
    """The limits of a key are those of the job that was enqueued last."""
    queue, key = stage.name(), key_of(stage)
    await several(stage, queue, 3, key=key, concurrency=1)
    await several(stage, queue, 1, key=key, concurrency=3)
    stage.equal((await limit(stage, key))["concurrency.limit"], 3, "concurrency")
    stage.equal(len(await stage.fetch(queue, count=9)), 3, "jobs that may run")


@case("OJS-RLM-001", "OJS-RLM-006", "OJS-RLM-012", level=1, capability=LIMITS)
async def concurrency(stage: Stage) -> None:
    """No more jobs of a key are active than it allows, over all queues and workers; others wait."""
    first, second, key = stage.name(), stage.name(), key_of(stage)
    jobs = [
        job
        for queue in (first, second)
        for job in await singly(stage, queue, 8, key=key, concurrency=3)
    ]
    taken = await asyncio.gather(*(stage.fetch([first, second], count=3) for _ in range(16)))
    held = [job for jobs in taken for job in jobs]
    stage.equal(len(held), 3, "jobs that run")
    running = {job["id"] for job in held}
    waiting = [(await stage.look(job))["state"] for job in jobs if job["id"] not in running]
    stage.equal(set(waiting), {"available"}, "states of those that wait")
    for _ in range(10):
        (await stage.ack(held.pop(0))).expect(200)
        held += await stage.fetch([first, second], count=5)
        stage.equal(len(held), 3, "jobs that run after one has ended")


@case("OJS-RLM-006", level=1, capability=LIMITS)
async def one_at_a_time(stage: Stage) -> None:
    """With a concurrency of 1 the jobs of a key run one after the other, in whatever queue."""
    first, second, key = stage.name(), stage.name(), key_of(stage)
    jobs = {
        job["id"]
        for queue in (first, second)
        for job in await singly(stage, queue, 3, key=key, concurrency=1)
    }
    while jobs:
        held: list[Record] = []

        async def starts(held: list[Record] = held) -> bool:
            taken = await asyncio.gather(*(stage.fetch([first, second]) for _ in range(8)))
            held.extend(job for found in taken for job in found)
            return bool(held)

        await stage.until(starts, 10, "the next job of the key")
        stage.equal(len(held), 1, "jobs that run at a time")
        await stage.empty([second, first], count=5)
        (await stage.ack(held[0])).expect(200)
        jobs.remove(held[0]["id"])


@case("OJS-RLM-012", "OJS-RLM-030", level=1, capability=LIMITS)
async def waiting_costs_nothing(stage: Stage) -> None:
    """A job that a FETCH passed over is in its first attempt when it starts."""
    queue, key = stage.name(), key_of(stage)
    await several(stage, queue, 3, key=key, concurrency=1)
    for _ in range(3):
        job = await stage.take(queue)
        await stage.empty(queue)
        stage.equal(job["attempt"], 1, "attempt")
        (await stage.ack(job)).expect(200)


@case("OJS-RLM-011", level=1, capability=LIMITS)
async def places_are_given_back(stage: Stage) -> None:
    """A place is free again by ACK, by FAIL and when the visibility timeout expires."""
    await _given_back(stage, "ack", "fail", "lease")


@case("OJS-RLM-011", "OJS-RLM-029", level=1, capability=LIMITS)
async def other_ways_to_give_a_place_back(stage: Stage) -> None:
    """A place is free again by CANCEL, a requeue and a timeout."""
    await _given_back(stage, "cancel", "timeout")
    queue, key = stage.name(), key_of(stage)
    job = await stage.enqueue(queue, rate_limit={"key": key, "concurrency": 1})
    await stage.take(queue)
    (await stage.fail(job, requeue=True)).expect(200)
    stage.equal((await stage.take(queue))["id"], job["id"], "the job, once more")


async def _given_back(stage: Stage, *ways: str) -> None:
    """Require that the next job of a key starts once the one before has gone in each of ways."""
    queue, key = stage.name(), key_of(stage)
    retry = {"max_attempts": 1}
    for way in ways:
        more = {"timeout_ms": 300} if way == "timeout" else {}
        job = await stage.enqueue(
            queue, rate_limit={"key": key, "concurrency": 1}, retry=retry, **more
        )
        await stage.enqueue(queue, rate_limit={"key": key, "concurrency": 1}, args=["next"])
        lease: dict[str, Any] = {"visibility_timeout_ms": 300} if way == "lease" else {}
        await stage.take(queue, **lease)
        await stage.empty(queue) if way not in ("lease", "timeout") else None
        if way == "ack":
            (await stage.ack(job)).expect(200)
        elif way == "fail":
            (await stage.fail(job)).expect(200)
        elif way == "cancel":
            (await stage.delete(f"jobs/{job['id']}")).expect(200)
        following = await stage.take(queue, wait_ms=8_000)
        stage.equal(following["args"], ["next"], f"the next job, after {way}")
        (await stage.ack(following)).expect(200)


@case("OJS-RLM-010", level=1, capability=LIMITS)
async def passing_over(stage: Stage) -> None:
    """FETCH passes over a job that may not start, and takes the next that may."""
    queue, key = stage.name(), key_of(stage)
    first, second = await singly(stage, queue, 2, key=key, concurrency=1)
    free = await stage.enqueue(queue)
    taken = [job["id"] for job in await drained(stage, queue)]
    stage.equal(taken, [first["id"], free["id"]], "jobs that start")
    (await stage.ack(first)).expect(200)
    stage.equal((await stage.take(queue))["id"], second["id"], "the one that was passed over")


@case("OJS-RLM-007", level=1, capability=LIMITS)
async def rates(stage: Stage) -> None:
    """A rate lets as many jobs start as its limit says, and the others later."""
    queue, key = stage.name(), key_of(stage)
    await singly(stage, queue, 5, key=key, rate={"limit": 3, "period": "PT2S"})
    started = len(await drained(stage, queue))
    stage.equal(started, 3, "jobs that start at once")
    while started < 5:
        found = await stage.fetch(queue, count=9, wait_ms=8_000)
        stage.check(bool(found), "more jobs in time", started)
        started += len(found)


@case("OJS-RLM-010", "OJS-RLM-025", "OJS-RLM-028", level=1, capability=LIMITS)
async def sliding_windows(stage: Stage) -> None:
    """No stretch of a period holds more starts than the limit; other jobs are passed on."""
    queue, key = stage.name(), key_of(stage)
    await several(stage, queue, 8, key=key, rate={"limit": 3, "period": "PT2S"})
    free = await stage.enqueue(queue)
    first = await stage.fetch(queue, count=9)
    stage.equal(len(first), 4, "three of the key, and the free one")
    stage.equal(first[-1]["id"], free["id"], "the free one behind them")
    starts = [job["started_at"] for job in first[:3]]
    while len(starts) < 8:
        found = await stage.fetch(queue, count=9, wait_ms=8_000)
        stage.check(bool(found), "more jobs in time", len(starts))
        starts += [job["started_at"] for job in found]
    moments = sorted(map(moment, starts))
    for early, late in zip(moments, moments[3:], strict=False):
        gap = (late - early).total_seconds()
        stage.check(gap >= 1.999, "at most three starts in any two seconds", gap)


@case("OJS-RLM-025", "OJS-RLM-031", level=1, capability=LIMITS)
async def high_rates(stage: Stage) -> None:
    """A start is held back for a sixtieth of the period at most, however many came before."""
    queue, key, count = stage.name(), key_of(stage), 80
    policy: dict[str, Any] = {"key": key, "on_limit": "reschedule"}
    await several(stage, queue, count, rate={"limit": count, "period": "PT30S"}, **policy)
    await stage.take(queue)
    await asyncio.sleep(1.2)
    second = await stage.take(queue)
    await asyncio.sleep(0.8)
    for _ in range(count - 2):
        await stage.take(queue)
    # Two of the starts must leave the window before this job may run.
    (late,) = await several(stage, queue, 1, rate={"limit": count - 1, "period": "PT30S"}, **policy)
    await stage.empty(queue)
    await stage.until_state(late, "scheduled")
    opens_s = seconds_between(second["started_at"], (await stage.look(late))["scheduled_at"])
    stage.check(29.999 <= opens_s <= 30.501, "30 to 30.5 s after the second start", opens_s)


@case("OJS-RLM-008", level=1, capability=LIMITS)
async def throttles(stage: Stage) -> None:
    """Starts under a throttle lie about evenly apart."""
    for gap in await _gaps(stage):
        stage.check(gap >= 0.3, "about half a second or more between starts", gap)


@case("OJS-RLM-026", level=1, capability=LIMITS)
async def throttles_are_exact(stage: Stage) -> None:
    """Starts under a throttle never lie closer than they may."""
    for gap in await _gaps(stage):
        stage.check(gap >= 0.499, "half a second or more between starts", gap)


async def _gaps(stage: Stage) -> list[float]:
    """Return the seconds between five starts that a throttle allows twice a second."""
    queue, key = stage.name(), key_of(stage)
    await singly(stage, queue, 5, key=key, throttle={"limit": 4, "period": "PT2S"})
    moments = []
    for _ in range(5):
        job = await stage.take(queue, wait_ms=8_000)
        moments.append(moment(job["started_at"]))
    return [(late - early).total_seconds() for early, late in pairwise(moments)]


@case("OJS-RLM-009", "OJS-RLM-027", level=1, capability=LIMITS)
async def every_limit_counts(stage: Stage) -> None:
    """A job starts only if the limits of its key and of its queue both allow it."""
    queue = stage.name()
    (await stage.call("PUT", f"queues/{queue}/config", {"concurrency": 3})).expect(200)
    await several(stage, queue, 5, key=key_of(stage), concurrency=2)
    await stage.enqueue_many(queue, 5)
    held = await stage.fetch(queue, count=9)
    limited = [job for job in held if "rate_limit" in job]
    stage.equal([len(held), len(limited)], [3, 2], "jobs that run, and those of the key")


@case("OJS-RLM-013", level=1, capability=LIMITS)
async def rescheduling(stage: Stage) -> None:
    """A job that may not start is put off with reschedule."""
    stage.equal(await _postponed(stage, "reschedule"), "scheduled", "state")


@case("OJS-RLM-014", level=1, capability=LIMITS)
async def dropping(stage: Stage) -> None:
    """A job that may not start is discarded with drop."""
    stage.equal(await _postponed(stage, "drop"), "discarded", "state")


async def _postponed(stage: Stage, action: str) -> Any:
    """Return the state of a job that a FETCH met while its key was closed."""
    queue, key = stage.name(), key_of(stage)
    policy = {"key": key, "concurrency": 1, "on_limit": action}
    _, second = await singly(stage, queue, 2, **policy)
    await stage.take(queue)
    await stage.empty(queue)

    async def is_moved() -> bool:
        return bool((await stage.look(second))["state"] != "available")

    await stage.until(is_moved, 5, "a job that is put aside")
    return (await stage.look(second))["state"]


@case(
    "OJS-RLM-013",
    "OJS-RLM-014",
    "OJS-RLM-031",
    "OJS-RLM-032",
    "OJS-RLM-037",
    "OJS-DLQ-013",
    level=1,
    capability=LIMITS,
)
async def other_ways_of_waiting(stage: Stage) -> None:
    """A job that may not start is put off with reschedule, and discarded with drop."""
    for action, state in (("reschedule", "scheduled"), ("drop", "discarded")):
        queue, key = stage.name(), key_of(stage)
        policy = {"rate": {"limit": 1, "period": "PT1H"}, "on_limit": action}
        jobs = await several(stage, queue, 2, key=key, **policy)
        await stage.take(queue)
        await stage.empty(queue)
        await stage.until_state(jobs[1], state, 5)
        seen = await stage.look(jobs[1])
        if action == "drop":
            stage.equal(seen["error"]["type"], "rate_limited", "error.type")
            types = [event["type"] for event in await stage.events(queue)]
            expected = ["rate_limit.dropped", "job.discarded", "dead_letter.added"]
            stage.equal([kind for kind in types if kind in expected], expected, "how it ended")
        else:
            later_s = seconds_between(jobs[1]["created_at"], seen["scheduled_at"])
            stage.check(later_s > 0, "a later moment", dict(seen))


@case("OJS-RLM-015", level=1, capability=LIMITS)
async def waiters_are_woken(stage: Stage) -> None:
    """A FETCH that waits has the next job when a place is given back, and when time opens one."""
    queue, key = stage.name(), key_of(stage)
    await several(stage, queue, 2, key=key, concurrency=1)
    held = await stage.take(queue)
    async with stage.waiting(stage.send_fetch(queue, wait_ms=15_000)) as (waiter,):
        await asyncio.sleep(0.3)
        stage.check(not waiter.done(), "a FETCH that waits", "it was answered")
        (await stage.ack(held)).expect(200)
        (await asyncio.wait_for(waiter, 8)).expect(200, {"jobs": {"$size": 1}})
    other = key_of(stage)
    await several(stage, queue, 2, key=other, rate={"limit": 1, "period": "PT1.5S"})
    await stage.take(queue)
    reply = (await stage.send_fetch(queue, wait_ms=15_000)).expect(200, {"jobs": {"$size": 1}})
    stage.check(reply.duration_ms < 8_000, "soon after the time opened it", reply.duration_ms)


@case("OJS-RLM-016", level=1, capability=LIMITS)
async def workers_close_keys(stage: Stage) -> None:
    """A FAIL that says until when closes the job's key."""
    queue, key = stage.name(), key_of(stage)
    await singly(stage, queue, 2, key=key, concurrency=5)
    job = await stage.take(queue)
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    error = {"code": "limited", "message": "m", "rate_limit_until": until}
    (await stage.fail(job, error=error)).expect(200)
    await stage.empty(queue)


@case("OJS-RLM-033", "OJS-RLM-037", level=1, capability=LIMITS)
async def keys_are_closed_for_a_day_at_most(stage: Stage) -> None:
    """An event tells that a worker closed a key, for a day where it asked for more."""
    queue, key = stage.name(), key_of(stage)
    await several(stage, queue, 2, key=key, concurrency=5)
    job = await stage.take(queue)
    now = datetime.now(UTC)
    until = (now + timedelta(days=9)).isoformat(timespec="seconds")
    error = {"code": "limited", "message": "m", "rate_limit_until": until}
    (await stage.fail(job, error=error)).expect(200)
    await stage.empty(queue)
    reported = await stage.events(types="rate_limit.dynamic_adjusted")
    data = [event["data"] for event in reported if event["data"]["key"] == key]
    stage.equal(len(data), 1, "events")
    closed = moment(data[0]["until"]) - now
    stage.check(closed < timedelta(days=1, minutes=5), "closed for a day at most", str(closed))


@case("OJS-RLM-019", level=1, capability=LIMITS)
async def overriding_for_a_while(stage: Stage) -> None:
    """An operator's limits outrank those of the jobs."""
    queue, key = stage.name(), key_of(stage)
    await singly(stage, queue, 5, key=key, concurrency=1)
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    limits = {"concurrency": 3, "expires_at": ends}
    (await stage.call("PUT", f"rate-limits/{key}", limits)).expect((200, 201, 204))
    stage.equal(len(await drained(stage, queue)), 3, "jobs that run")


@case("OJS-RLM-018", "OJS-RLM-019", "OJS-RLM-035", level=1, capability=LIMITS)
async def overriding(stage: Stage) -> None:
    """An operator's limits outrank those of the jobs until they are taken back."""
    queue, key = stage.name(), key_of(stage)
    await several(stage, queue, 6, key=key, concurrency=1)
    path = f"rate-limits/{key}"
    (await stage.call("PUT", path, {"concurrency": 3})).expect(200)
    stage.equal(len(await stage.fetch(queue, count=9)), 3, "jobs that run")
    await several(stage, queue, 1, key=key, concurrency=1)
    stage.equal((await limit(stage, key))["concurrency.limit"], 3, "concurrency")
    (await stage.call("PUT", path, {})).expect(200)
    stage.equal((await limit(stage, key))["concurrency.limit"], 1, "concurrency of the jobs")
    (await stage.call("PUT", f"{path}/override", {"concurrency": 5})).expect(200, {"limit": 5})
    (await stage.delete(f"{path}/override")).expect(200, {"concurrency.limit": 1})
    soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat(timespec="milliseconds")
    (await stage.call("PUT", path, {"concurrency": 9, "expires_at": soon})).expect(200)
    await asyncio.sleep(2.5)
    stage.equal((await limit(stage, key))["concurrency.limit"], 1, "concurrency after its end")
    keys = (await stage.get("rate-limits", limit=1000)).expect(200)
    names = [item["key"] for item in keys["items"]]
    numbers = {item["key"]: item["concurrency"] for item in keys["rate_limits"]}
    stage.equal(numbers[key], 1, "concurrency in numbers")
    stage.check(key in names, f"{key} in the list", names)
    stage.equal(names, sorted(names), "keys in order")


@case("OJS-RLM-015", "OJS-RLM-019", level=1, capability=LIMITS)
async def an_override_ends(stage: Stage) -> None:
    """A FETCH that waits has the next job when the end of an operator's limits opens the key."""
    queue, key = stage.name(), key_of(stage)
    await several(stage, queue, 2, key=key, concurrency=2)
    ends = datetime.now(UTC) + timedelta(seconds=2)
    less = {"concurrency": 1, "expires_at": ends.isoformat(timespec="milliseconds")}
    (await stage.call("PUT", f"rate-limits/{key}", less)).expect(200)
    await stage.take(queue)
    await stage.empty(queue)
    reply = (await stage.send_fetch(queue, wait_ms=15_000)).expect(200, {"jobs": {"$size": 1}})
    stage.check(reply.duration_ms < 10_000, "soon after its end", reply.duration_ms)


@case("OJS-RLM-020", capability=LIMITS)
async def headers_of_an_enqueue(stage: Stage) -> None:
    """The answer to an enqueue of a job with a limit has the headers of limits."""
    policy = {"key": key_of(stage), "concurrency": 1}
    reply = (await stage.push(queue=stage.name(), rate_limit=policy)).expect(201)
    for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"):
        stage.check(name in reply.headers, name, reply.headers)


@case("OJS-RLM-021", level=1, capability=LIMITS)
async def events_of_waiting(stage: Stage) -> None:
    """Events tell that a job waits for its key, and that it may start."""
    stage.need(stage.claims("events"), "the server does not claim events, which it need not tell")
    queue, key = stage.name(), key_of(stage)
    first, _ = await singly(stage, queue, 2, key=key, concurrency=1)
    await stage.take(queue)
    await stage.empty(queue)

    async def is_reported(kind: str) -> bool:
        reported = await stage.events(types=kind)
        return any(event["data"].get("key") == key for event in reported)

    await stage.until(lambda: is_reported("rate_limit.exceeded"), 8, "rate_limit.exceeded")
    (await stage.ack(first)).expect(200)
    await stage.take(queue, wait_ms=5_000)
    await stage.until(lambda: is_reported("rate_limit.released"), 8, "rate_limit.released")


@case("OJS-RLM-020", "OJS-RLM-021", "OJS-RLM-036", "OJS-RLM-037", level=1, capability=LIMITS)
async def headers_and_events(stage: Stage) -> None:
    """An enqueue tells what is left of a limit, also when it is used up; events tell of waiting."""
    queue, key = stage.name(), key_of(stage)
    policy = {"key": key, "rate": {"limit": 1, "period": "PT1H"}}
    reply = (await stage.push(queue=queue, rate_limit=policy)).expect(201)
    stage.equal(reply.headers["x-ratelimit-limit"], "1", "X-RateLimit-Limit")
    begun = moment((await stage.take(queue))["started_at"]).timestamp()
    reply = (await stage.push(queue=queue, rate_limit=policy)).expect(201)
    stage.equal(reply.headers["x-ratelimit-remaining"], "0", "X-RateLimit-Remaining")
    ends_s = int(reply.headers["x-ratelimit-reset"]) - begun
    stage.check(3599 <= ends_s <= 3601, "X-RateLimit-Reset an hour after the start", ends_s)
    await stage.empty(queue)

    async def is_logged() -> bool:
        page = await stage.get("events", types="rate_limit.exceeded", limit=1000)
        return any(key in (event["subject"], event["data"].get("key")) for event in page["events"])

    await stage.until(is_logged, 8, "rate_limit.exceeded")
