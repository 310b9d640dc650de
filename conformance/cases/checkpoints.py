"""Cases of checkpoints: saving, delivery to the next attempt, and deletion."""

from collections.abc import Mapping
from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record, Reply, record

CHECKPOINTS = "checkpoints"
NO_SUCH_CALL = (404, 405)


async def save(stage: Stage, job: Mapping[str, Any], state: Any) -> Reply:
    """Save a checkpoint by the verb of the published cases, or else by that of the published text;
    any answer is returned."""
    path = f"jobs/{job['id']}/checkpoint"
    reply = await stage.call("PUT", path, {"state": state})
    if reply.status in NO_SUCH_CALL:
        reply = await stage.post(path, {"state": state})
    return reply


async def saved(stage: Stage, job: Mapping[str, Any]) -> Record:
    """Return the checkpoint of a job, at the top of its answer or in `checkpoint`."""
    reply = (await stage.get(f"jobs/{job['id']}/checkpoint")).expect(200)
    inner = reply.json.get("checkpoint")
    return record(reply.json if inner is None else inner, reply)


async def held(stage: Stage, **options: Any) -> tuple[str, Record]:
    """Return a queue and a job of it that a worker holds."""
    queue = stage.name()
    await stage.enqueue(queue, **options)
    return queue, await stage.take(queue)


@case(
    "OJS-CHK-001",
    "OJS-CHK-003",
    "OJS-CHK-004",
    "OJS-CHK-007",
    "OJS-CHK-010",
    capability=CHECKPOINTS,
)
async def saving(stage: Stage) -> None:
    """Each save takes the place of the one before, with a number that rises."""
    _, job = await held(stage)
    (await stage.get(f"jobs/{job['id']}/checkpoint")).expect(404)
    states: list[Any] = [{"a": 1, "b": 2}, [1, 2], "text", 7, None, {"b": {"c": []}}]
    for number, state in enumerate(states, start=1):
        (await save(stage, job, state)).expect(200)
        seen = await saved(stage, job)
        stage.equal([seen["state"], seen["sequence"]], [state, number], "state and sequence")
    (await stage.get(f"jobs/{stage.new_id()}/checkpoint")).expect(404)


@case("OJS-CHK-002", capability=CHECKPOINTS)
async def members_at_the_top(stage: Stage) -> None:
    """A checkpoint is answered with its members at the top."""
    _, job = await held(stage)
    (await save(stage, job, {"row": 7})).expect(200)
    (await stage.get(f"jobs/{job['id']}/checkpoint")).expect(
        200, {"job_id": {"$eq": job["id"]}, "state.row": 7, "sequence": 1}
    )


@case("OJS-CHK-013", capability=CHECKPOINTS)
async def deleting(stage: Stage) -> None:
    """A deleted checkpoint is gone, and may be deleted once more."""
    _, job = await held(stage)
    path = f"jobs/{job['id']}/checkpoint"
    (await save(stage, job, 1)).expect(200)
    for answers in ((200,), (200, 404)):
        (await stage.delete(path)).expect(answers)
        (await stage.get(path)).expect(404)


@case("OJS-CHK-018", capability=CHECKPOINTS)
async def counting_after_a_delete(stage: Stage) -> None:
    """The first checkpoint after a delete is number 1."""
    _, job = await held(stage)
    for _ in range(2):
        (await save(stage, job, 1)).expect(200)
    (await stage.delete(f"jobs/{job['id']}/checkpoint")).expect(200)
    (await save(stage, job, 1)).expect(200)
    stage.equal((await saved(stage, job))["sequence"], 1, "sequence")


@case("OJS-CHK-006", capability=CHECKPOINTS)
async def large_states(stage: Stage) -> None:
    """A state of more than a MiB is 413."""
    _, job = await held(stage)
    (await save(stage, job, "x" * 1_100_000)).expect(413)


@case("OJS-CHK-007", capability=CHECKPOINTS)
async def jobs_that_have_ended(stage: Stage) -> None:
    """A job that has ended takes no checkpoint, nor one that does not exist."""
    _, done = await held(stage)
    (await stage.ack(done)).expect(200)
    (await save(stage, done, 1)).expect(409)
    gone = await stage.enqueue(stage.name())
    (await stage.delete(f"jobs/{gone['id']}")).expect(200)
    (await save(stage, gone, 1)).expect(409)
    (await save(stage, {"id": stage.new_id()}, 1)).expect(404)


@case("OJS-CHK-017", capability=CHECKPOINTS)
async def saving_before_the_first_fetch(stage: Stage) -> None:
    """A job that no worker has fetched takes a checkpoint."""
    job = await stage.enqueue(stage.name())
    (await save(stage, job, {"row": 7})).expect(200)
    stage.equal((await saved(stage, job))["state"], {"row": 7}, "state")


@case("OJS-CHK-011", "OJS-CHK-012", level=1, capability=CHECKPOINTS)
async def handing_on(stage: Stage) -> None:
    """FETCH hands the checkpoint of a failed attempt out with the next one."""
    retry = {"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}
    queue, job = await held(stage, retry=retry)
    stage.equal(job.get("checkpoint"), None, "the checkpoint of a job that has none")
    (await save(stage, job, {"row": 7})).expect(200)
    (await stage.fail(job)).expect(200)
    await stage.until_state(job, "available", 10)
    again = await stage.take(queue)
    stage.equal(again["checkpoint"]["state"], {"row": 7}, "checkpoint.state")
    stage.equal(again["checkpoint"]["sequence"], 1, "checkpoint.sequence")


@case("OJS-CHK-019", level=1, capability=CHECKPOINTS)
async def checkpoints_after_the_end(stage: Stage) -> None:
    """The checkpoint of a job that has ended can be read."""
    _, job = await held(stage)
    (await save(stage, job, {"row": 7})).expect(200)
    (await stage.ack(job)).expect(200)
    stage.equal((await saved(stage, job))["state"], {"row": 7}, "state")


@case(
    "OJS-CHK-001",
    "OJS-CHK-004",
    "OJS-CHK-010",
    "OJS-CHK-013",
    "OJS-CHK-017",
    "OJS-CHK-018",
    "OJS-CHK-020",
    "OJS-CHK-021",
    "OJS-CHK-026",
    capability=CHECKPOINTS,
)
async def saving_by_both_verbs(stage: Stage) -> None:
    """Each save takes the place of the one before, with a number that rises; a delete ends it."""
    job = await stage.enqueue(stage.name())
    path = f"jobs/{job['id']}/checkpoint"
    (await stage.get(path)).error(404, "not_found")
    states: list[Any] = [{"a": 1}, [1, 2], "text", 7, None, {"b": {"c": []}}]
    for number, state in enumerate(states, start=1):
        verb = "PUT" if number % 2 else "POST"
        for reply in (await stage.call(verb, path, {"state": state}), await stage.get(path)):
            reply.expect(
                200,
                {
                    "job_id": {"$eq": job["id"]},
                    "sequence": number,
                    "created_at": "string:datetime",
                    "checkpoint.sequence": number,
                },
            )
            stage.equal(reply.json["state"], state, "state")
            stage.equal(reply.json["checkpoint"]["state"], state, "checkpoint.state")
    for _ in range(2):
        (await stage.delete(path)).expect(200, {"deleted": True, "job_id": {"$eq": job["id"]}})
    (await stage.get(path)).error(404, "not_found")
    (await stage.call("PUT", path, {"state": 1})).expect(200, {"sequence": 1})


@case("OJS-CHK-006", "OJS-CHK-022", "OJS-CHK-023", capability=CHECKPOINTS)
async def states_are_opaque(stage: Stage) -> None:
    """A state comes back byte for byte, up to a MiB; a longer one is 413."""
    job = await stage.enqueue(stage.name())
    path = f"jobs/{job['id']}/checkpoint"
    text = b'{"b":1.50,"a":"\\u00e9","n":[1e2, 2]}'
    (await stage.call("PUT", path, raw=b'{"state":' + text + b"}")).expect(200)
    stage.check(
        text in (await stage.get(path)).content, "the same bytes", (await stage.get(path)).text
    )
    (await stage.call("PUT", path, {"state": "x" * (1_048_576 - 2)})).expect(200)
    (await stage.call("PUT", path, {"state": "x" * 1_048_576})).error(413, "payload_too_large")
    (await stage.get(path)).expect(200, {"sequence": 2})


@case("OJS-CHK-007", "OJS-CHK-008", "OJS-CHK-024", capability=CHECKPOINTS)
async def who_may_save(stage: Stage) -> None:
    """A job that has not ended takes a checkpoint, of its holder where one is named."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue)
    path = f"jobs/{job['id']}/checkpoint"
    (await stage.call("PUT", path, {"state": 1})).expect(200)
    await stage.take(queue, worker)
    for claim in ({"worker_id": stage.name("w")}, {"worker_id": worker, "attempt": 2}):
        (await stage.call("PUT", path, {"state": 2, **claim})).error(409, "conflict")
    mine = {"state": 2, "worker_id": worker, "attempt": 1}
    (await stage.call("PUT", path, mine)).expect(200, {"sequence": 2})
    (await stage.ack(job, worker)).expect(200)
    (await stage.call("PUT", path, {"state": 3})).error(409, "conflict")
    unknown = f"jobs/{stage.new_id()}/checkpoint"
    (await stage.call("PUT", unknown, {"state": 1})).error(404, "not_found")
    (await stage.call("PUT", path, {})).expect((400, 409))


@case(
    "OJS-CHK-009",
    "OJS-CHK-011",
    "OJS-CHK-019",
    "OJS-CHK-026",
    level=1,
    capability=CHECKPOINTS,
)
async def the_life_of_a_checkpoint(stage: Stage) -> None:
    """FETCH hands out the checkpoint of a job, over failures, retries and the job's end."""
    queue = stage.name()
    plain = await stage.enqueue(queue)
    taken = await stage.take(queue)
    stage.equal(taken["id"], plain["id"], "the job")
    stage.check("checkpoint" not in taken, "no checkpoint on other jobs", dict(taken))
    job = await stage.enqueue(queue, retry={"max_attempts": 1})
    await stage.take(queue)
    path = f"jobs/{job['id']}/checkpoint"
    (await stage.call("PUT", path, {"state": {"row": 7}})).expect(200)
    (await stage.fail(job)).expect(200, {"state": "discarded"})
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    again = await stage.take(queue)
    stage.equal(again["checkpoint"]["state"], {"row": 7}, "checkpoint.state")
    stage.equal(again["checkpoint"]["sequence"], 1, "checkpoint.sequence")
    (await stage.ack(job)).expect(200)
    (await stage.get(path)).expect(200, {"state.row": 7})
    (await stage.delete(path)).expect(200, {"deleted": True})
    saves = await stage.events(queue, types="job.checkpointed")
    stage.equal(len(saves), 1, "events of saves")
    stage.check("state" not in saves[0]["data"], "no state in the event", saves[0]["data"])


@case("OJS-CHK-025", level=1, capability=CHECKPOINTS)
async def removed_jobs(stage: Stage) -> None:
    """The checkpoint of a job that was removed is gone."""
    _, job = await held(stage, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    (await save(stage, job, 1)).expect(200)
    (await stage.fail(job)).expect(200)
    await saved(stage, job)
    (await stage.delete(f"dead-letter/{job['id']}")).expect(200)
    (await stage.get(f"jobs/{job['id']}/checkpoint")).expect(404)


@case("OJS-CHK-014", capability=CHECKPOINTS)
async def other_paths(stage: Stage) -> None:
    """The paths under /checkpoints lead to the same calls."""
    job = await stage.enqueue(stage.name())
    name = job["id"]
    for at, path in enumerate((f"checkpoints/{name}", f"/ojs/v1/ojs/v1/checkpoints/{name}")):
        (await stage.call("PUT", path, {"state": 5})).expect(200, {"sequence": 1})
        (await stage.post(path, {"state": at})).expect(200, {"sequence": 2})
        for read in (path, f"jobs/{name}/checkpoint"):
            (await stage.get(read)).expect(200, {"state": at})
        (await stage.get(f"{path}/resume")).expect(200, {"checkpoint.state": at})
        (await stage.delete(path)).expect(200, {"deleted": True})
        (await stage.get(f"jobs/{name}/checkpoint")).error(404, "not_found")


@case("OJS-CHK-015", "OJS-CHK-016", capability=CHECKPOINTS)
async def resuming(stage: Stage) -> None:
    """A durable handler is told whether there is a checkpoint, and gets its notes back."""
    job = await stage.enqueue(stage.name())
    path = f"checkpoints/{job['id']}"
    none = (await stage.get(f"{path}/resume")).expect(200, {"has_checkpoint": False})
    stage.check("checkpoint" not in none.json, "no checkpoint yet", none.json)
    notes = {"_replay_log": '[{"seq":0}]', "attempt": "1"}
    saved = {"state": {"row": 4}, "step_index": 2, "metadata": notes}
    (await stage.post(path, saved)).expect(200)
    reply = (await stage.get(f"{path}/resume")).expect(
        200,
        {
            "job_id": {"$eq": job["id"]},
            "has_checkpoint": True,
            "checkpoint.sequence": 1,
            "checkpoint.step_index": 2,
        },
    )
    stage.equal(reply.json["checkpoint"]["state"], {"row": 4}, "checkpoint.state")
    stage.equal(reply.json["checkpoint"].get("metadata"), notes, "checkpoint.metadata")
    (await stage.post(path, {"state": 5})).expect(200)
    later = (await stage.get(f"{path}/resume")).expect(200, {"checkpoint.state": 5})
    stage.check("metadata" not in later.json["checkpoint"], "only what was saved last", later.json)
    unknown = f"checkpoints/{stage.new_id()}/resume"
    (await stage.get(unknown)).error(404, "not_found")
