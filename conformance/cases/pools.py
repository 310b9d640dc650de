"""Cases of pools: their workers, their queues, the order of jobs, and limits."""

from collections import Counter
from typing import Any

from conformance.case import case
from conformance.play.stage import Stage

FAIR = "fair_scheduling"


async def pool(stage: Stage, queues: list[str], **members: Any) -> str:
    """A pool, and a member of it with the pool's name."""
    name = stage.name("pool")
    reply = await stage.call("PUT", f"admin/pools/{name}", {"queues": queues, **members})
    reply.expect(201)
    (await stage.post("workers/register", {"worker_id": name, "pool": name})).expect(200)
    return name


async def filled(stage: Stage, each: int = 4) -> list[str]:
    """Two queues with some jobs each."""
    queues = sorted(stage.name() for _ in range(2))
    for queue in queues:
        await stage.enqueue_many(queue, each)
    return queues


async def taken(
    stage: Stage, queues: list[str], worker: str, count: int, **more: Any
) -> Counter[str]:
    """Fetch once and count the jobs by queue."""
    jobs = await stage.fetch(queues, worker, count=count, **more)
    return Counter(str(job["queue"]) for job in jobs)


@case("OJS-FAI-010", capability=FAIR)
async def listed(stage: Stage) -> None:
    """Pools are listed."""
    name = stage.name("pool")
    body = {"name": name, "queues": [stage.name()], "strategy": "weighted"}
    made = await stage.call("PUT", f"admin/pools/{name}", body)
    stage.need(made.status in (200, 201), "pools cannot be made by a call with a list of queues")
    listed = (await stage.get("admin/pools")).expect(200)
    stage.check(name.encode() in listed.content, f"pool {name} in the list", listed.json)


@case("OJS-FAI-011", capability=FAIR)
async def made(stage: Stage) -> None:
    """A pool is made."""
    name = stage.name("pool")
    body = {"name": name, "queues": {stage.name(): {"weight": 7}}, "strategy": "weighted"}
    reply = (await stage.call("PUT", f"admin/pools/{name}", body)).expect((200, 201))
    stage.equal([reply["pool.name"], reply["pool.strategy"]], [name, "weighted"], "the pool")


@case("OJS-FAI-009", capability=FAIR)
async def counted(stage: Stage) -> None:
    """The queues of jobs that were handed out are in the statistics."""
    queue = stage.name()
    await stage.enqueue(queue)
    await stage.take(queue)
    counted = (await stage.get("admin/scheduling/stats")).expect(200)
    stage.check(queue.encode() in counted.content, f"queue {queue} counted", counted.json)


@case("OJS-FAI-001", capability=FAIR)
async def calls(stage: Stage) -> None:
    """A pool is made, read, listed and forgotten; what is misspelt is refused."""
    queue, name = stage.name(), stage.name("pool")
    path = f"admin/pools/{name}"
    body = {"queues": {queue: {"weight": 7}}, "strategy": "weighted"}
    made = (await stage.call("PUT", path, body)).expect(201, {"pool.strategy": "weighted"})
    stage.equal(made.json["pool"]["weights"], {queue: 7}, "weights")
    (await stage.get(path)).expect(200, {"pool.name": {"$eq": name}})
    (await stage.get("admin/pools")).expect(200)
    weights = {f"{queue}.{number}": 1 for number in range(100)}
    (await stage.call("PUT", path, {"queues": list(weights), "weights": weights})).expect(200)
    reply = await stage.call("PUT", path, {"queues": [*weights, queue]})
    reply.error(400, "invalid_request", field="queues")
    reply = await stage.call("PUT", path, {"queues": [queue], "strategie": "strict"})
    reply.error(422, "validation_error", field="strategie")
    (await stage.delete(path)).expect(200, {"deleted": True})
    (await stage.get(path)).error(404, "not_found")


@case("OJS-FAI-002", "OJS-FAI-003", "OJS-FAI-004", "OJS-FAI-008", capability=FAIR)
async def turns(stage: Stage) -> None:
    """Queues of a pool have turns by their weights; a fetch may ask for the same."""
    queues = await filled(stage, 6)
    first, second = queues
    worker = await pool(stage, queues, strategy="weighted", weights={second: 2})
    got = await taken(stage, queues, worker, 3, strategy="strict")
    stage.equal(got, Counter({first: 1, second: 2}), "turns by weight")
    alone = stage.name("w")
    got = await taken(stage, queues, alone, 4, strategy="round-robin")
    stage.equal(got, Counter({first: 2, second: 2}), "turns that a fetch asks for")
    got = await taken(stage, queues, alone, 2)
    stage.equal(got, Counter({first: 2}), "the order of the fetch")


@case("OJS-FAI-004", capability=FAIR)
async def no_weight(stage: Stage) -> None:
    """A queue with the weight 0 has its turn once all others are empty."""
    queues = await filled(stage, 3)
    first, second = queues
    worker = await pool(stage, queues, strategy="weighted", weights={first: 0, second: 1})
    got = await taken(stage, queues, worker, 3)
    stage.equal(got, Counter({second: 3}), "turns while the other queue has jobs")
    got = await taken(stage, queues, worker, 3)
    stage.equal(got, Counter({first: 3}), "turns once it is empty")


@case("OJS-FAI-005", capability=FAIR)
async def starving(stage: Stage) -> None:
    """A queue that the strategy would leave waiting has its turn, and no more than that."""
    queues = await filled(stage)
    rule = {"enabled": True, "min_dispatch_ratio": 0.5}
    worker = await pool(stage, queues, strategy="strict", starvation_prevention=rule)
    got = await taken(stage, queues, worker, 4)
    stage.check(got[queues[1]] >= 1, "a turn for the second queue", got)
    types = [event["type"] for event in await stage.events(queues[1])]
    stage.check("scheduling.queue_starved" in types, "an event", types)
    queues = await filled(stage, 16)
    by_turns = {"enabled": True, "rotation_interval": "PT1H", "min_dispatch_ratio": 0.25}
    worker = await pool(stage, queues, strategy="strict", starvation_prevention=by_turns)
    turns = (await taken(stage, queues, worker, 16))[queues[1]]
    stage.check(2 <= turns <= 4, "2 to 4 of 16 turns for the second queue", turns)


@case("OJS-FAI-006", "OJS-FAI-007", "OJS-FAI-012", capability=FAIR)
async def bounds(stage: Stage) -> None:
    """No more than the concurrency run, strangers get nothing, and all of it is counted."""
    queues = await filled(stage)
    worker = await pool(stage, queues, concurrency=3, isolated=True)
    await stage.empty(queues, stage.name("w"))
    stage.equal((await taken(stage, queues, worker, 9)).total(), 3, "jobs that run")
    await stage.empty(queues, worker)
    stats = (await stage.get("admin/scheduling/stats")).expect(200)
    shown = {stat["name"]: stat for stat in stats.json["stats"]["queues"]}
    stage.equal(sum(shown[queue]["active_jobs"] for queue in queues), 3, "active_jobs")
    counted = sum(shown[queue]["dispatch_count_1m"] for queue in queues)
    stage.check(counted >= 1, "dispatches", stats.text)
    for entry in stats.json["queues"]:
        stage.equal(entry["dispatched"], entry["dispatch_count_1m"], "dispatched")
        stage.check(isinstance(entry["dispatched"], int), "a whole number", entry)
        stage.check(isinstance(entry["starved"], bool), "`starved`", entry)
