"""Cases of checkpoints: saving, delivery to the next attempt, and deletion."""

from typing import Any

from conformance.case import case
from conformance.play.stage import Stage

CHECKPOINTS = "checkpoints"


@case(
    "OJS-CHK-001",
    "OJS-CHK-002",
    "OJS-CHK-004",
    "OJS-CHK-010",
    "OJS-CHK-013",
    capability=CHECKPOINTS,
)
async def saving(stage: Stage) -> None:
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


@case("OJS-CHK-003", "OJS-CHK-006", capability=CHECKPOINTS)
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


@case("OJS-CHK-007", "OJS-CHK-008", capability=CHECKPOINTS)
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


@case("OJS-CHK-009", "OJS-CHK-011", "OJS-CHK-012", level=1, capability=CHECKPOINTS)
async def handing_on(stage: Stage) -> None:
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
