"""Cases of unique jobs: equality, periods and states, and the handling of conflicts."""

import asyncio
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import moment, seconds_between
from conformance.cases.workflows import drained
from conformance.language.values import show
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

UNIQUE = "unique_jobs"


async def _pair(
    stage: Stage, policy: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> Reply:
    """Enqueue two jobs of a new type under one policy; return the answer to the second."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    both = {"type": kind, "queue": queue, "unique": policy}
    (await stage.push(**{**both, **first})).expect(201)
    return await stage.push(**{**both, **second})


@case("OJS-UNI-002", "OJS-UNI-004", level=4, capability=UNIQUE)
async def spellings(stage: Stage) -> None:
    """A policy is shown in one spelling with its defaults, however it was written."""
    for given, expected in (
        ({}, {"keys": ["type"], "on_conflict": "reject"}),
        ({"key": "queue"}, {"keys": "contains:queue"}),
        ({"keys": ["type", "args"], "period_ms": 60_000}, {"period": "string:nonempty"}),
        ({"args_keys": ["id"]}, {"keys": "contains:args", "args_keys": ["id"]}),
        ({"meta_keys": ["m"]}, {"keys": "contains:meta", "meta_keys": ["m"]}),
        ({"on_conflict": "use_existing"}, {"on_conflict": "ignore"}),
        ({"states": ["active"]}, {"states": ["active"]}),
    ):
        kind = f"kind.{stage.name('t').replace('-', '_')}"
        reply = await stage.push(
            type=kind, queue=stage.name(), unique=given, args=[{"id": 1}], meta={"m": 1}
        )
        reply.expect(201, {f"job.unique.{name}": value for name, value in expected.items()})


@case("OJS-UNI-003", level=4, capability=UNIQUE)
async def wrong_policies(stage: Stage) -> None:
    """A policy that is wrong is 400."""
    for policy in (
        {"keys": ["colour"]},
        {"keys": ["type", "meta"]},
        {"keys": ["type"], "period": "soon"},
        {"keys": ["type"], "states": ["sleeping"]},
        {"keys": ["type"], "on_conflict": "explode"},
    ):
        (await stage.push(queue=stage.name(), unique=policy)).expect(400)


@case("OJS-UNI-003", "OJS-UNI-006", "OJS-UNI-024", level=4, capability=UNIQUE)
async def members_of_wrong_policies(stage: Stage) -> None:
    """A policy that is wrong is 400 and the member is named."""
    for name, policy in (
        ("keys", {"keys": ["colour"]}),
        ("keys", {"keys": 7}),
        ("meta_keys", {"keys": ["meta"]}),
        ("period", {"period": "soon"}),
        ("states", {"states": ["sleeping"]}),
        ("on_conflict", {"on_conflict": "explode"}),
        ("args_keys", {"args_keys": ["missing"]}),
        ("unique", "yes"),
    ):
        reply = await stage.push(queue=stage.name(), unique=policy, args=[{"id": 1}])
        reply.error(400, "invalid_request")
        stage.check(name in reply["error.message"], f"{name} in the message", reply.text)
    reply = await stage.push(queue=stage.name(), unique={"args_keys": ["id"]}, args=[1])
    reply.error(400, "invalid_request")


@case("OJS-UNI-005", "OJS-UNI-008", "OJS-UNI-012", level=4, capability=UNIQUE)
async def values_are_compared(stage: Stage) -> None:
    """Type, queue and arguments are compared as values, however they are spelled."""
    args = {"keys": ["type", "args"]}
    other = f"kind.{stage.name('t').replace('-', '_')}"
    for policy, first, second, equal in (
        ({"keys": ["type"]}, {"args": [1]}, {"args": [2]}, True),
        ({"keys": ["type"]}, {}, {"type": other}, False),
        ({"keys": ["args"]}, {"args": [1]}, {"args": [1], "type": other}, False),
        ({"keys": ["type", "queue"]}, {}, {"queue": stage.name()}, False),
        (args, {"args": [1]}, {"args": [2]}, False),
        (args, {"args": [{"a": 1, "b": 2}]}, {"args": [{"b": 2, "a": 1}]}, True),
        (args, {"args": [1]}, {"args": [1.0]}, True),
        (args, {"args": ["1"]}, {"args": [1]}, False),
        (args, {"args": ["\u00e9"]}, {"args": ["e\u0301"]}, True),
    ):
        (await _pair(stage, policy, first, second)).expect(409 if equal else 201)


@case(
    "OJS-UNI-005",
    "OJS-UNI-006",
    "OJS-UNI-007",
    "OJS-UNI-008",
    "OJS-UNI-025",
    "OJS-UNI-032",
    level=4,
    capability=UNIQUE,
)
async def what_is_equal(stage: Stage) -> None:
    """Jobs are equal if their policies compare the same things and these are alike."""
    args, meta = {"keys": ["type", "args"]}, {"meta_keys": ["m"]}
    for policy, first, second, equal in (
        ({}, {"args": [1]}, {"args": [2]}, True),
        ({}, {}, {"type": "kind.other.case"}, False),
        (args, {"args": [1]}, {"args": [2]}, False),
        (args, {"args": [{"a": 1, "b": 2}]}, {"args": [{"b": 2, "a": 1}]}, True),
        (args, {"args": [1]}, {"args": [1.0]}, True),
        (args, {"args": ["1"]}, {"args": [1]}, False),
        (args, {"args": [2**53]}, {"args": [2**53 + 1]}, False),
        (args, {"args": ["\u00e9"]}, {"args": ["e\u0301"]}, True),
        ({"args_keys": ["id"]}, {"args": [{"id": 1, "x": 1}]}, {"args": [{"id": 1}]}, True),
        ({"args_keys": ["id"]}, {"args": ["skip", {"id": 1}]}, {"args": [{"id": 1}]}, True),
        ({"args_keys": ["id"]}, {"args": [{"id": 1}]}, {"args": [{"id": 2}]}, False),
        ({"keys": ["queue"]}, {}, {"queue": stage.name()}, False),
        (meta, {"meta": {"m": 1, "n": 1}}, {"meta": {"m": 1, "n": 2}}, True),
        (meta, {"meta": {"m": 1}}, {"meta": {"m": 2}}, False),
        (meta, {"meta": {}}, {"meta": {"n": 1}}, True),
        (meta, {"meta": {}}, {"meta": {"m": 1}}, False),
        ({}, {}, {"unique": args}, False),
    ):
        reply = await _pair(stage, policy, first, second)
        reply.expect(409 if equal else 201)
        if reply.status == 201:
            (await stage.delete(f"jobs/{reply['job.id']}")).expect(200)


@case("OJS-UNI-005", level=4, capability=UNIQUE)
async def jobs_without_a_policy(stage: Stage) -> None:
    """Jobs without a policy are never refused, nor put in the place of others."""
    queue = stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    made = []
    options: tuple[dict[str, Any], ...] = ({"unique": {"keys": ["type"]}}, {}, {})
    for more in options:
        reply = (await stage.push(type=kind, queue=queue, **more)).expect(201)
        made.append(stage.job_in(reply)["id"])
    taken = [job["id"] for job in await drained(stage, queue)]
    stage.equal(sorted(taken), sorted(made), "jobs, none in the place of another")


@case("OJS-UNI-025", level=4, capability=UNIQUE)
async def jobs_before_a_policy(stage: Stage) -> None:
    """A job with a policy is not compared with jobs that have none."""
    queue = stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    policies: tuple[Any, ...] = (None, {}, None)
    for unique in policies:
        (await stage.push(type=kind, queue=queue, unique=unique)).expect(201)
    stage.equal(len(await stage.fetch(queue, count=5)), 3, "jobs stored")


@case("OJS-UNI-009", "OJS-UNI-012", level=4, capability=UNIQUE)
async def states_and_period(stage: Stage) -> None:
    """A job is in the way only in the states of the policy, and within its period."""

    def common(**policy: Any) -> dict[str, Any]:
        kind = f"kind.{stage.name('t').replace('-', '_')}"
        return {"type": kind, "queue": stage.name(), "unique": {"keys": ["type"], **policy}}

    held = common(states=["active"])
    (await stage.push(**held)).expect(201)
    (await stage.push(**held)).expect(201)
    await stage.take(held["queue"])
    (await stage.push(**held)).expect(409)
    ended = common(states=["available", "completed"])
    (await stage.push(**ended)).expect(201)
    (await stage.ack(await stage.take(ended["queue"]))).expect(200)
    (await stage.push(**ended)).expect(409)
    usual = common()
    (await stage.push(**usual)).expect(201)
    (await stage.push(**usual)).expect(409)
    (await stage.ack(await stage.take(usual["queue"]))).expect(200)
    (await stage.push(**usual)).expect(201)
    short = common(period="PT1S")
    (await stage.push(**short)).expect(201)
    (await stage.push(**short)).expect(409)
    await asyncio.sleep(1.5)
    (await stage.push(**short)).expect(201)


@case("OJS-UNI-009", "OJS-UNI-026", level=4, capability=UNIQUE)
async def whose_states_and_period(stage: Stage) -> None:
    """The states and the period are those of the new job's policy."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    common = {"type": kind, "queue": queue}
    (await stage.push(**common, unique={})).expect(201)
    (await stage.push(**common, unique={"states": ["active"]})).expect(201)
    job = await stage.take(queue)
    (await stage.push(**common, unique={"states": ["active"]})).expect(409)
    (await stage.ack(job)).expect(200)
    (await stage.push(**common, unique={"states": ["completed"]})).expect(409)
    (await stage.push(**common, unique={"period": "PT0.001S"})).expect(201)


@case("OJS-UNI-010", level=4, capability=UNIQUE)
async def the_newest_unfinished_counts(stage: Stage) -> None:
    """A conflict names the newest unfinished of several jobs, or the newest if all have ended."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    states = ["available", "completed"]
    jobs = []
    for _ in range(3):
        reply = await stage.push(type=kind, queue=queue, unique={"states": ["cancelled"]})
        jobs.append(reply.expect(201)["job.id"])
    (await stage.ack(await stage.take(queue))).expect(200)
    reply = await stage.push(type=kind, queue=queue, unique={"states": states})
    reply.error(409, "duplicate", existing_job_id=jobs[2], existing_job_state="available")
    for _ in range(2):
        (await stage.ack(await stage.take(queue))).expect(200)
    reply = await stage.push(type=kind, queue=queue, unique={"states": states})
    reply.error(409, "duplicate", existing_job_id=jobs[2], existing_job_state="completed")


@case("OJS-UNI-011", level=4, capability=UNIQUE)
async def retries_are_not_checked(stage: Stage) -> None:
    """A retry comes although an equal job is in one of the states of the policy by then."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    retry = {"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}
    unique = {"keys": ["type"], "states": ["available"]}
    common = {"type": kind, "queue": queue, "retry": retry, "unique": unique}
    first = stage.job_in((await stage.push(**common)).expect(201))
    await stage.take(queue)
    second = await stage.push(**common)
    stage.need(second.status == 201, "states of the policy are not heeded (OJS-UNI-009)")
    (await stage.fail(first)).expect(200)
    await stage.until_state(first, "available", 10)


@case("OJS-UNI-011", "OJS-UNI-027", level=4, capability=UNIQUE)
async def only_enqueueing_is_checked(stage: Stage) -> None:
    """A retry, a requeue, an activation and a dead-letter retry are never refused as duplicates."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    quick = {"max_attempts": 2, "initial_interval_ms": 1, "jitter": False}
    common = {"type": kind, "queue": queue, "retry": quick}
    (await stage.push(**common, unique={"states": ["cancelled"]}, pending=True)).expect(201)
    first = (await stage.push(**common, unique={"states": ["cancelled"]})).expect(201)
    job = await stage.take(queue)
    (await stage.fail(job, requeue=True)).expect(200)
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "retryable"})
    await stage.until_state(job, "available")
    error = {"message": "m", "retryable": False}
    (await stage.fail(await stage.take(queue), error=error)).expect(200, {"state": "discarded"})
    (await stage.post(f"dead-letter/{first['job.id']}/retry", {})).expect(200)


@case("OJS-UNI-012", level=4, capability=UNIQUE)
async def reject(stage: Stage) -> None:
    """With reject the second job is 409, and the first stays as it is."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    common = {"type": kind, "queue": queue, "unique": {"keys": ["type"], "on_conflict": "reject"}}
    first = stage.job_in((await stage.push(**common, args=[1])).expect(201))
    (await stage.push(**common, args=[2])).expect(409)
    seen = await stage.look(first)
    stage.equal([seen["state"], seen["args"]], ["available", [1]], "state and arguments")
    (only,) = await stage.fetch(queue, count=5)
    stage.equal(only["id"], first["id"], "the job in the queue")


@case("OJS-UNI-012", "OJS-UNI-028", level=4, capability=UNIQUE)
async def what_a_rejection_says(stage: Stage) -> None:
    """A refusal of a duplicate names the job that is there, which stays as it is."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    first = stage.job_in(await stage.push(type=kind, queue=queue, unique={}))
    reply = await stage.push(type=kind, queue=queue, unique={"on_conflict": "reject"})
    reply.error(
        409,
        "duplicate",
        existing_job_id={"$eq": first["id"]},
        existing_job_state="available",
        uniqueness_key="string:nonempty",
    )
    stage.equal(dict(await stage.look(first)), dict(first), "the first job")


@case("OJS-UNI-013", level=4, capability=UNIQUE)
async def ignored_jobs(stage: Stage) -> None:
    """With ignore nothing is stored, and the job that is there is answered as deduplicated."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    common = {"type": kind, "queue": queue, "unique": {"keys": ["type"], "on_conflict": "ignore"}}
    first = stage.job_in((await stage.push(**common)).expect(201))
    again = (await stage.push(**common)).expect(200, {"deduplicated": True})
    stage.equal(again["job.id"], first["id"], "the job of the answer")
    stage.equal(len(await drained(stage, queue)), 1, "jobs stored")


@case("OJS-UNI-013", "OJS-UNI-018", level=4, capability=UNIQUE)
async def ignore(stage: Stage) -> None:
    """With ignore nothing is stored and the job that is there is answered, as it is now."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue, key = stage.name(), stage.name("key")
    first = stage.job_in(await stage.push(type=kind, queue=queue, unique={}))
    await stage.take(queue)
    body = {"type": kind, "args": [9], "queue": queue, "unique": {"on_conflict": "ignore"}}
    for _ in range(2):
        (await stage.post("jobs", body, Idempotency_Key=key)).expect(
            200,
            {"job.id": {"$eq": first["id"]}, "job.state": "active", "deduplicated": True},
        )
    await stage.empty(queue)
    (await stage.ack(first)).expect(200)
    # The key still returns the job, although it no longer blocks equal ones.
    reply = await stage.post("jobs", body, Idempotency_Key=key)
    reply.expect(200, {"job.id": {"$eq": first["id"]}, "job.state": "completed"})


@case("OJS-UNI-014", "OJS-UNI-015", "OJS-UNI-029", "OJS-WRK-011", level=4, capability=UNIQUE)
async def replace(stage: Stage) -> None:
    """With replace the job that is there is cancelled, also if held; one that ended stays."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue, worker = stage.name(), stage.name("w")
    policy = {"on_conflict": "replace"}
    first = stage.job_in(await stage.push(type=kind, queue=queue, unique=policy))
    second = stage.job_in((await stage.push(type=kind, queue=queue, unique=policy)).expect(201))
    stage.equal((await stage.look(first))["state"], "cancelled", "state of the first")
    await stage.take(queue, worker)
    third = stage.job_in((await stage.push(type=kind, queue=queue, unique=policy)).expect(201))
    stage.equal((await stage.look(second))["state"], "cancelled", "state of the held one")
    reply = await stage.beat(worker, [second])
    stage.equal(reply["cancelled_jobs"], [second["id"]], "cancelled_jobs")
    (await stage.ack(await stage.take(queue))).expect(200)
    ended = {**policy, "states": ["completed"]}
    (await stage.push(type=kind, queue=queue, unique=ended)).expect(201)
    stage.equal((await stage.look(third))["state"], "completed", "state of one that ended")


@case("OJS-UNI-016", level=4, capability=UNIQUE)
async def replace_except_schedule(stage: Stage) -> None:
    """A job that takes the place of a scheduled one keeps its time."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue, at = stage.name(), "2099-01-02T03:04:05Z"
    unique = {"keys": ["type"], "on_conflict": "replace_except_schedule"}
    common = {"type": kind, "queue": queue, "unique": unique}
    (await stage.push(**common, scheduled_at=at)).expect(201)
    later = await stage.push(**common, args=[2], scheduled_at="2098-01-02T03:04:05Z")
    seen = await stage.look(stage.job_in(later.expect((200, 201))))
    stage.equal(str(moment(seen["scheduled_at"])), str(moment(at)), "scheduled_at")
    stage.equal([seen["state"], seen["args"]], ["scheduled", [2]], "state and arguments")


@case("OJS-UNI-016", "OJS-UNI-030", level=4, capability=UNIQUE)
async def schedules_outlive_their_jobs(stage: Stage) -> None:
    """The new job keeps the time of a scheduled one that it replaces, which is cancelled."""
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue, at = stage.name(), "2099-01-02T03:04:05Z"
    policy = {"on_conflict": "replace_except_schedule"}
    common = {"type": kind, "queue": queue, "unique": policy}
    first = stage.job_in(await stage.push(**common, scheduled_at=at))
    second = stage.job_in((await stage.push(**common, args=[2])).expect(201))
    stage.equal(second["scheduled_at"], at, "scheduled_at")
    stage.equal(second["state"], "scheduled", "state")
    stage.equal(second["args"], [2], "args")
    stage.equal((await stage.look(first))["state"], "cancelled", "state of the first")


@case("OJS-UNI-012", "OJS-UNI-017", level=4, capability=UNIQUE)
async def many_at_once(stage: Stage) -> None:
    """Of equal jobs enqueued at the same time one is first, where uniqueness is strong."""
    stage.need(_strength(stage) == "strong", "the manifest does not say that uniqueness is strong")
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    queue = stage.name()
    unique = {"keys": ["type"], "on_conflict": "reject"}
    calls = [stage.push(type=kind, queue=queue, unique=unique) for _ in range(32)]
    statuses = sorted(reply.status for reply in await asyncio.gather(*calls))
    stage.equal(statuses, [201, *[409] * 31], "statuses")
    stage.equal(len(await stage.fetch(queue, count=40)), 1, "jobs stored")


def _strength(stage: Stage) -> object:
    """Return how strong uniqueness is, from either place of the manifest that is published."""
    capabilities = stage.manifest.get("capabilities")
    claim = capabilities.get(UNIQUE) if isinstance(capabilities, dict) else None
    inner = claim.get("strength") if isinstance(claim, dict) else None
    return stage.manifest.get("unique_job_strength", inner)


@case("OJS-UNI-033", level=4, capability=UNIQUE)
async def strength_is_declared(stage: Stage) -> None:
    """The manifest says how strong uniqueness is."""
    reply = (await stage.get("/ojs/manifest")).expect(200)
    strength = _strength(stage)
    if str(strength).replace("-", "_") not in ("strong", "best_effort"):
        reply.fail("unique_job_strength", "strong or best_effort", show(strength))


@case("OJS-UNI-017", "OJS-UNI-031", level=4, capability=UNIQUE)
async def every_policy_at_once(stage: Stage) -> None:
    """Uniqueness is strong under every policy."""
    strength = stage.manifest.get("unique_job_strength")
    stage.equal(strength, "strong", "unique_job_strength in the manifest")
    for policy, status in (("reject", 409), ("ignore", 200)):
        kind = f"kind.{stage.name('t').replace('-', '_')}"
        queue = stage.name()
        calls = [
            stage.push(type=kind, queue=queue, unique={"on_conflict": policy}) for _ in range(32)
        ]
        replies = await asyncio.gather(*calls)
        statuses = sorted(reply.status for reply in replies)
        stage.equal(statuses, sorted([201, *[status] * 31]), f"statuses with {policy}")
        stage.equal(len(await stage.fetch(queue, count=40)), 1, "jobs stored")
    kind, queue = f"kind.{stage.name('t').replace('-', '_')}", stage.name()
    replace = {"on_conflict": "replace"}
    await asyncio.gather(*(stage.push(type=kind, queue=queue, unique=replace) for _ in range(16)))
    stage.equal(len(await stage.fetch(queue, count=40)), 1, "jobs left with replace")


@case("OJS-UNI-018", level=4, capability=UNIQUE)
async def repetitions_come_first(stage: Stage) -> None:
    """An enqueue repeated by its id is answered as repeated, whatever its policy."""
    queue, chosen = stage.name(), stage.new_id()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    body = {"type": kind, "args": [], "queue": queue, "id": chosen, "unique": {}}
    (await stage.post("jobs", body)).expect(201)
    (await stage.post("jobs", body)).expect(200, {"job.id": {"$eq": chosen}})


@case("OJS-UNI-019", "OJS-UNI-020", "OJS-UNI-021", level=4, capability=UNIQUE)
async def batches(stage: Stage) -> None:
    """A refused job refuses its batch; ignored ones are answered with the job that is there."""
    queue = stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    plain = {"type": "test.case", "args": [], "queue": queue}
    reject = {"type": kind, "args": [], "queue": queue, "unique": {}}
    ignore = {**reject, "unique": {"on_conflict": "ignore"}}
    (await stage.post("jobs/batch", {"jobs": [plain, reject, reject]})).error(
        409, "duplicate", index=2, existing_index=1
    )
    await stage.empty(queue)
    reply = (await stage.post("jobs/batch", {"jobs": [ignore, plain, ignore]})).expect(201)
    ids = [job["id"] for job in reply["jobs"]]
    stage.equal([len(ids), ids[0] == ids[2]], [3, True], "a job for each item")
    (await stage.post("jobs/batch", {"jobs": [plain, reject]})).error(409, "duplicate", index=1)
    again = (await stage.post("jobs/batch", {"jobs": [ignore, ignore]})).expect(200)
    stage.equal([job["id"] for job in again["jobs"]], [ids[0], ids[0]], "the job that is there")
    stage.equal(len(await stage.fetch(queue, count=10)), 2, "jobs stored")


@case("OJS-UNI-023", level=4, capability=UNIQUE)
async def held_keys(stage: Stage) -> None:
    """The list of unique keys has the jobs that have not ended, newest first."""
    queue = stage.name()
    policy = {"keys": ["type", "args"], "period": "PT1H"}
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    both = {"type": kind, "queue": queue, "unique": policy}
    done, first, last = [
        stage.job_in((await stage.push(**both, args=[number])).expect(201)) for number in range(3)
    ]
    await stage.enqueue(queue)
    await stage.delete(f"jobs/{done['id']}")
    page = (await stage.get("unique-jobs", queue=queue)).expect(
        200, {"pagination.per_page": 20, "pagination.has_more": False}
    )
    stage.equal([item["job_id"] for item in page["items"]], [last["id"], first["id"]], "jobs")
    of_type = await stage.get("unique-jobs", type=kind)
    stage.equal(of_type["items"], page["items"], "the items of the type")
    refused = await stage.push(**both, args=[1])
    found = page["items"][1]
    stage.equal(found["uniqueness_key"], refused["error.details.uniqueness_key"], "the key")
    stage.equal((found["queue"], found["type"], found["state"]), (queue, kind, "available"), "job")
    stage.equal(found["created_at"], first["created_at"], "created_at")
    stage.equal(found["policy"], first["unique"], "the policy")
    held_s = seconds_between(found["created_at"], found["expires_at"])
    stage.check(held_s > 0, "a later end", found["expires_at"])
    beyond = await stage.get("unique-jobs", queue=queue, page=9)
    stage.equal(beyond["items"], [], "items beyond the end")
