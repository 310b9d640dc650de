"""Cases of the settings of a queue, and of deleting its jobs and the queue itself."""

from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import seconds_between
from conformance.play.stage import Stage

CONFIG = "queue_config"


@case("OJS-QCF-001", "OJS-QCF-002", "OJS-QCF-003", "OJS-QCF-008", capability=CONFIG)
async def settings(stage: Stage) -> None:
    """Settings are replaced by PUT, changed by PATCH, read whole, and sent back as they are."""
    queue = stage.name()
    path = f"queues/{queue}/config"
    given = {"concurrency": 3, "visibility_timeout": "PT2M", "allowed_job_types": ["a.*"]}
    (await stage.call("PUT", path, given)).expect(200)
    reply = (await stage.get(path)).expect(
        200, {"name": {"$eq": queue}, "created_at": "string:datetime"}
    )
    stage.check(
        "state" in reply.json and "updated_at" in reply.json, "state, updated_at", reply.text
    )
    config = reply["config"]
    stage.equal([config["concurrency"], config["allowed_job_types"]], [3, ["a.*"]], "config")
    every = {"concurrency", "rate_limit", "throttle", "backpressure", "visibility_timeout"}
    every |= {"default_timeout", "default_retry", "retention", "allowed_job_types"}
    every |= {"dead_letter_ttl", "dead_letter_max_size"}
    every |= {"max_size", "max_size_bytes", "overflow_policy"}
    stage.equal(sorted(every - set(config)), [], "settings that are missing")
    (await stage.call("PUT", path, config)).expect(200)
    stage.equal((await stage.get(path)).expect(200)["config"], config, "config sent back")
    bounds = {"max_size": 7, "max_size_bytes": 7000, "overflow_policy": "block"}
    (await stage.call("PATCH", path, bounds)).expect(200)
    bounded = (await stage.get(path)).expect(200)["config"]
    stage.equal({name: bounded[name] for name in bounds}, bounds, "bounds by their other names")
    stage.equal(bounded["backpressure"]["strategy"], "block", "the strategy")
    (await stage.call("PATCH", path, {"concurrency": 5, "visibility_timeout": None})).expect(200)
    changed = (await stage.get(path)).expect(200)["config"]
    stage.equal([changed["concurrency"], changed["visibility_timeout"]], [5, None], "changed")
    stage.equal(changed["allowed_job_types"], ["a.*"], "what PATCH did not name")
    updated = {"max_size": 9, "rate_limit": {"limit": 5, "period": "PT1S"}}
    twice = {"rate": {"limit": 6, "period": "PT1S"}}
    (await stage.call("PUT", f"admin/{path}", updated | twice)).expect(200)
    after = (await stage.get(path)).expect(200)["config"]
    kept = [name for name in sorted(every) if name not in (*updated, "backpressure")]
    stage.equal([after[name] for name in kept], [changed[name] for name in kept], "what it kept")
    stage.equal([after["max_size"], after["rate_limit"]["limit"]], [9, 5], "what it named")
    (await stage.call("PUT", path, {})).expect(200)
    none = (await stage.get(path)).expect(200)["config"]
    left = [name for name in sorted(every) if none[name] not in (None, ["*"])]
    stage.equal(left, [], "set after an empty PUT")
    stage.equal(none["allowed_job_types"], ["*"], "all job types")
    events = await stage.events(queue, types="queue.configured")
    stage.check(len(events) >= 3 and "config" in events[0]["data"], "queue.configured", events[:1])


@case("OJS-QCF-004", capability=CONFIG)
async def queues_with_settings(stage: Stage) -> None:
    """A queue can be made with its settings before it has a job."""
    body = {"name": stage.name(), "config": {"concurrency": 2}}
    (await stage.post("queues", body)).expect(201)


@case("OJS-QCF-005", "OJS-QCF-022", capability=CONFIG)
async def other_calls(stage: Stage) -> None:
    """A queue can be made with its settings, once; limits can be replaced apart from the rest."""
    queue = stage.name()
    body = {"name": queue, "config": {"visibility_timeout": "PT2M", "concurrency": 2}}
    (await stage.post("queues", body)).expect(201)
    (await stage.post("queues", body)).error(409, "conflict")
    (await stage.call("PUT", f"queues/{queue}/rate-limit", {"concurrency": 9})).expect(200)
    config = (await stage.get(f"queues/{queue}/config")).expect(200)["config"]
    stage.equal(config["concurrency"], 9, "concurrency")
    stage.check(config["visibility_timeout"] is not None, "the other settings", config)


@case("OJS-QCF-020", "OJS-QCF-021", capability=CONFIG)
async def short_forms(stage: Stage) -> None:
    """One duration is the retention of jobs that ended well; a new queue takes flat settings."""
    queue, both = stage.name(), stage.name()
    path = f"queues/{queue}/config"
    kept = ({"retention": "7d"}, "P7D"), ({"retention": 86400}, "P1D")
    for given, period in kept:
        reply = (await stage.call("PUT", path, given)).expect(200)
        expected = {"completed": period, "cancelled": period}
        stage.equal(reply["config.retention"], expected, f"retention of {given}")
    (await stage.call("PUT", path, {"retention": "soon"})).error(400, "invalid_request")
    flat = {"name": both, "concurrency": 3, "max_size": 9, "retention": "PT1H"}
    body = {**flat, "config": {"backpressure": {"max_depth": 5}}}
    made = (await stage.post("queues", body)).expect(201)["config"]
    stage.equal([made["concurrency"], made["max_size"]], [3, 5], "concurrency and max_size")
    expected = {"completed": "PT3600S", "cancelled": "PT3600S"}
    stage.equal(made["retention"], expected, "retention of a new queue")


@case("OJS-QCF-006", capability=CONFIG)
async def wrong_settings(stage: Stage) -> None:
    """A setting that is wrong is 400 and named, and changes nothing."""
    queue = stage.name()
    path = f"queues/{queue}/config"
    (await stage.call("PUT", path, {"concurrency": 0})).expect(200)
    bad: tuple[tuple[str, Any], ...] = (
        ("concurrency", -1),
        ("rate_limit", {"limit": 0, "period": "second"}),
        ("throttle", {"limit": 1, "period": "PT0S"}),
        ("backpressure", {"max_depth": 1, "strategy": "explode"}),
        ("visibility_timeout", "soon"),
        ("visibility_timeout", 0),
        ("default_timeout", "PT0S"),
        ("default_retry", {"max_attempts": -1}),
        ("retention", {"completed": "never"}),
        ("retention", {"completed": "PT0S"}),
        ("dead_letter_ttl", 0),
        ("allowed_job_types", "all"),
    )
    for name, value in bad:
        reply = (await stage.call("PUT", path, {name: value})).error(400, "invalid_request")
        stage.check(name in reply["error.message"], f"{name} in the message", reply.text)
    for name, value in (("dead_letter_queue", "dead"), ("producers", ["shop"])):
        (await stage.call("PUT", path, {name: value})).error(422, "unsupported")
    stage.equal((await stage.get(path)).expect(200)["config.concurrency"], 0, "concurrency")


@case("OJS-QCF-007", "OJS-QCF-009", "OJS-QCF-010", "OJS-QCF-012", capability=CONFIG)
async def defaults_for_jobs(stage: Stage) -> None:
    """A queue's defaults count for jobs that say nothing themselves, from then on."""
    queue = stage.name()
    before = await stage.enqueue(queue)
    config = {
        "visibility_timeout": "PT2M",
        "default_timeout": "PT3M",
        "default_retry": {"max_attempts": 7},
        "allowed_job_types": ["test.*"],
    }
    (await stage.call("PUT", f"queues/{queue}/config", config)).expect(200)
    stage.equal((await stage.look(before))["max_attempts"], 3, "a job that was there before")
    plain = await stage.enqueue(queue)
    stage.equal(plain["max_attempts"], 7, "max_attempts")
    own = await stage.enqueue(queue, retry={"max_attempts": 2}, visibility_timeout="PT5M")
    stage.equal(own["max_attempts"], 2, "max_attempts of its own")
    lengths = []
    for more in ({}, {}, {}, {"visibility_timeout": "PT9M"}):
        if more:
            await stage.enqueue(queue)
        taken = await stage.take(queue, **more)
        lengths.append(seconds_between(taken["started_at"], taken["lease_expires_at"]))
    stage.equal(lengths, [120.0, 120.0, 300.0, 540.0], "lengths of the leases")
    (await stage.push(queue=queue, type="other.kind")).error(400, "invalid_request")


@case("OJS-QCF-010", "OJS-QCF-012", "OJS-QCF-018", level=3, capability=CONFIG)
async def defaults_for_steps_and_runs(stage: Stage) -> None:
    """Steps and cron runs have the defaults of their queue; its types count when they are made."""
    queue, entry = stage.name(), stage.name("cron")
    config = {"default_retry": {"max_attempts": 7}, "allowed_job_types": ["test.*"]}
    path = f"queues/{queue}/config"
    (await stage.call("PUT", path, config)).expect(200)
    own = {"args": [], "options": {"queue": queue}}
    good, bad = {"type": "test.step", **own}, {"type": "other.kind", **own}
    beat = {"name": entry, "expression": "0 0 1 1 *"}
    (await stage.post("cron", {**beat, "job_template": bad})).error(400, "invalid_request")
    steps = {"type": "chain", "steps": [good, bad]}
    (await stage.post("workflows", steps)).error(400, "invalid_workflow")
    await stage.empty(queue)
    (await stage.post("cron", {**beat, "job_template": good})).expect(201)
    (await stage.post(f"cron/{entry}/trigger", {})).expect(201)
    run = await stage.take(queue)
    stage.equal(run["max_attempts"], 7, "max_attempts of a cron run")
    (await stage.ack(run)).expect(200)
    (await stage.post("workflows", {"type": "chain", "steps": [good, good]})).expect(201)
    (await stage.call("PATCH", path, {"allowed_job_types": ["none"]})).expect(200)
    for _ in range(2):
        step = await stage.take(queue, wait_ms=5_000)
        stage.equal(step["max_attempts"], 7, "max_attempts of a step")
        (await stage.ack(step)).expect(200)
    (await stage.post(f"cron/{entry}/trigger", {})).error(400, "invalid_request")
    (await stage.delete(f"cron/{entry}")).expect(200)


@case("OJS-QCF-013", "OJS-QCF-014", "OJS-QCF-015", level=1, capability=CONFIG)
async def purging(stage: Stage) -> None:
    """A purge removes jobs in the named states, on a clear word, and none that is held."""
    queue = stage.name()
    done = await stage.done(queue)
    await stage.discarded(queue)
    held = await stage.enqueue(queue)
    await stage.take(queue)
    waiting = await stage.enqueue(queue)
    path = f"queues/{queue}/jobs"
    (await stage.call("DELETE", path, {"states": ["completed"]})).error(400, "invalid_request")
    active = {"states": ["active"], "confirm": True}
    (await stage.call("DELETE", path, active)).error(400, "invalid_request")
    old = {"states": ["completed"], "older_than": "P1D", "confirm": True}
    (await stage.call("DELETE", path, old)).expect(200, {"purged_count": 0})
    both = {"states": ["completed", "discarded", "available"], "confirm": True}
    (await stage.call("DELETE", path, both)).expect(200, {"purged_count": 3})
    for job in (done, waiting):
        (await stage.get(f"jobs/{job['id']}")).error(404, "not_found")
    stage.equal((await stage.look(held))["state"], "active", "state of the held job")
    events = await stage.events(queue, types="queue.purged")
    stage.equal(sum(event["data"]["count"] for event in events), 3, "jobs told as purged")


@case("OJS-QCF-016", level=1, capability=CONFIG)
async def deleting_queues(stage: Stage) -> None:
    """A queue with unfinished jobs is not deleted where that is to be refused."""
    queue = stage.name()
    waiting = await stage.enqueue(queue)
    (await stage.call("DELETE", f"queues/{queue}", {"strategy": "reject"})).expect(409)
    stage.equal((await stage.take(queue))["id"], waiting["id"], "the job that waited")


@case("OJS-QCF-023", level=1, capability=CONFIG)
async def deleting_queues_with_jobs(stage: Stage) -> None:
    """A queue is forgotten with its settings; one with unfinished jobs only on a clear word."""
    queue = stage.name()
    (await stage.call("PUT", f"queues/{queue}/config", {"concurrency": 5})).expect(200)
    waiting = await stage.enqueue(queue)
    (await stage.delete(f"queues/{queue}")).error(409, "conflict")
    reply = await stage.call("DELETE", f"queues/{queue}", {"strategy": "discard"})
    reply.expect(202, {"state": "deleted", "jobs_affected": "number:positive"})
    (await stage.get(f"jobs/{waiting['id']}")).error(404, "not_found")
    (await stage.get(f"queues/{queue}")).error(404, "not_found")
    await stage.enqueue(queue)
    config = (await stage.get(f"queues/{queue}/config")).expect(200)["config"]
    stage.equal(config["concurrency"], None, "concurrency of a queue that is new again")


@case("OJS-QCF-019", level=1, capability=CONFIG)
async def moving_jobs(stage: Stage) -> None:
    """The jobs of a queue that is deleted can move to another one."""
    queue, target = stage.name(), stage.name()
    await stage.enqueue(target)
    await stage.take(target)
    job = await stage.enqueue(queue)
    move = {"strategy": "move", "target_queue": target}
    (await stage.call("DELETE", f"queues/{queue}", move)).expect((200, 202, 204))
    found: list[str] = []

    async def moved() -> bool:
        found.extend(each["id"] for each in await stage.fetch(target))
        return bool(found)

    await stage.until(moved, 10, "a job in the target")
    stage.equal(found, [job["id"]], "the job that moved")


@case("OJS-QCF-025", level=1, capability=CONFIG)
async def moving_all_jobs(stage: Stage) -> None:
    """The jobs of a queue that is deleted can move, whatever their state, and go on there."""
    queue, target = stage.name(), stage.name()
    dead = await stage.discarded(queue)
    for wrong in ({}, {"target_queue": queue}):
        await stage.enqueue(queue)
        refused = await stage.call("DELETE", f"queues/{queue}", {"strategy": "move", **wrong})
        refused.error(400, "invalid_request")
    held = await stage.take(queue)
    later = await stage.enqueue(target)
    reply = await stage.call(
        "DELETE", f"queues/{queue}", {"strategy": "move", "target_queue": target}
    )
    expected = {"state": "deleted", "target_queue": {"$eq": target}}
    stage.equal(reply.expect(202, expected)["jobs_affected"], 3, "jobs_affected")
    (await stage.get(f"queues/{queue}")).error(404, "not_found")
    stage.equal((await stage.look(dead))["queue"], target, "queue of a dead letter")
    (await stage.ack(held)).expect(200)
    first, second = [await stage.take(target) for _ in range(2)]
    stage.check(first["id"] != later["id"] == second["id"], "the older job first", first)
    events = await stage.events(queue, types="queue.moved")
    stage.equal(sum(event["data"]["count"] for event in events), 3, "jobs told as moved")


@case("OJS-QCF-017", capability="admin_api")
async def admin_paths(stage: Stage) -> None:
    """A queue is paused and resumed below /admin."""
    queue = stage.name()
    await stage.enqueue(queue)
    (await stage.post(f"admin/queues/{queue}/pause")).expect(200, {"paused": True})
    await stage.empty(queue)
    (await stage.post(f"admin/queues/{queue}/resume")).expect(200, {"paused": False})
    await stage.take(queue)


@case("OJS-QCF-024", capability="admin_api")
async def names_of_paused_queues(stage: Stage) -> None:
    """A pause and a resume below /admin answer the name of the queue."""
    queue = stage.name()
    for call in ("pause", "resume"):
        (await stage.post(f"admin/queues/{queue}/{call}")).expect(200, {"name": {"$eq": queue}})


@case("OJS-QCF-011", level=1, capability=CONFIG)
async def retention_of_one_queue(stage: Stage) -> None:
    """A queue may keep its finished jobs for a time of its own."""
    queue, other = stage.name(), stage.name()
    config = {"retention": {"completed": "1s", "discarded": "1s"}}
    (await stage.call("PUT", f"queues/{queue}/config", config)).expect(200)
    gone = [await stage.done(queue), await stage.discarded(queue)]
    kept = await stage.done(other)
    for job in gone:

        async def is_gone(name: str = job["id"]) -> bool:
            return (await stage.get(f"jobs/{name}")).status == 404

        await stage.until(is_gone, 15, "a removed job")
    await stage.look(kept)


@case("OJS-QCF-020", level=1, capability=CONFIG)
async def retention_in_one_word(stage: Stage) -> None:
    """One duration leaves discarded jobs alone."""
    queue = stage.name()
    (await stage.call("PUT", f"queues/{queue}/config", {"retention": "1s"})).expect(200)
    # The one that would be removed first.
    failed = await stage.discarded(queue)
    done = await stage.done(queue)

    async def is_gone() -> bool:
        return (await stage.get(f"jobs/{done['id']}")).status == 404

    await stage.until(is_gone, 15, "a removed job")
    await stage.look(failed)


@case("OJS-QCF-011", level=1, capability=CONFIG)
async def dead_letters_of_one_queue(stage: Stage) -> None:
    """A queue may keep dead letters that are to be kept for another time than its other jobs."""
    short, long = stage.name(), stage.name()
    stays = {"on_exhaustion": "dead_letter"}
    (await stage.call("PUT", f"queues/{short}/config", {"dead_letter_ttl": "1s"})).expect(200)
    config = {"dead_letter_ttl": "P1D", "retention": {"discarded": "1s"}}
    (await stage.call("PUT", f"queues/{long}/config", config)).expect(200)
    kept = [await stage.discarded(long, retry=stays), await stage.discarded(short)]
    gone = [await stage.discarded(short, retry=stays), await stage.discarded(long)]
    for job in gone:

        async def is_gone(name: str = job["id"]) -> bool:
            return (await stage.get(f"jobs/{name}")).status == 404

        await stage.until(is_gone, 15, "a removed job")
    for job in kept:
        await stage.look(job)
