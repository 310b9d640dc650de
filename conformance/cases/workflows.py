"""Cases of workflows: forms, progress, results passed on, and how they end."""

import asyncio
import re
import time
from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record, Reply, record

FLOWS = "workflows"
ENDED = ("completed", "failed", "cancelled")  # states of workflows
MOST_JOBS = 1_000
MOST_DEPENDENCIES = 10_000
MOST_DEPTH = 5
_LASTING_S = 0.3
_NEAR_MS = 50  # allowed difference between two clocks


def job(queue: str, *args: Any, **more: Any) -> dict[str, Any]:
    """Return a step that enqueues a job without retries."""
    options = {"queue": queue, "retry": {"max_attempts": 1}, **more.pop("options", {})}
    return {"type": "test.step", "args": list(args), "options": options, **more}


async def start(stage: Stage, **body: Any) -> Record:
    """Start a workflow that must be accepted, and return it."""
    reply = (await stage.post("workflows", {"name": "case", **body})).expect(201)
    return record(reply["workflow"], reply)


async def read(stage: Stage, flow: Record) -> Record:
    """Read a workflow that must be there."""
    reply = (await stage.get(f"workflows/{flow['id']}")).expect(200)
    return record(reply["workflow"], reply)


async def settle(stage: Stage, queue: str, result: Any = None, *, fails: bool = False) -> Record:
    """Take the next job of a queue, soon to be there, and end it."""
    taken = await stage.take(queue, wait_ms=5_000)
    reply = await (stage.fail(taken) if fails else stage.ack(taken, result=result))
    reply.expect(200)
    return taken


async def drained(stage: Stage, queue: str, most: int = 9) -> list[Record]:
    """Take all jobs of a queue, as a FETCH may hand out fewer than it is asked for."""
    taken: list[Record] = []
    while found := await stage.fetch(queue, count=most):
        taken += found
    return taken


async def until_state(stage: Stage, flow: Record, state: str) -> None:
    """Wait until a workflow is in a state, by reading it."""

    async def is_there() -> bool:
        return bool((await read(stage, flow)).get("state") == state)

    await stage.until(is_there, 5, f"workflow {flow['id']} is {state}")


@case("OJS-WFL-001", "OJS-WFL-003", "OJS-WFL-011", level=3, capability=FLOWS)
async def forms(stage: Stage) -> None:
    """A chain starts its first step, a group and a batch start all their jobs."""
    for form, first in (("chain", 1), ("group", 3), ("batch", 3)):
        queue = stage.name()
        members: dict[str, Any] = {
            "steps" if form == "chain" else "jobs": [job(queue, n) for n in range(3)]
        }
        if form == "batch":
            members["callbacks"] = {"on_complete": job(queue, "done")}
        await start(stage, type=form, **members)
        stage.equal(len(await drained(stage, queue)), first, f"first steps of a {form}")


@case("OJS-WFL-010", level=3, capability=FLOWS)
async def new_workflows(stage: Stage) -> None:
    """A new workflow has an id that is a UUIDv7, and runs."""
    body = {"name": "case", "type": "chain", "steps": [job(stage.name())]}
    (await stage.post("workflows", body)).expect(
        201, {"workflow.id": "string:uuidv7", "workflow.state": "running"}
    )


@case("OJS-WFL-007", level=3, capability=FLOWS)
async def wrong_forms(stage: Stage) -> None:
    """A workflow of an unknown form, without jobs, or a batch without callbacks is 400."""
    one = [job(stage.name())]
    for body in (
        {"type": "ring", "jobs": one, "steps": one},
        {"type": "chain", "steps": []},
        {"type": "group", "jobs": []},
        {"type": "batch", "jobs": one, "callbacks": {}},
    ):
        (await stage.post("workflows", {"name": "case", **body})).expect(400)


@case(
    "OJS-WFL-001",
    "OJS-WFL-002",
    "OJS-WFL-003",
    "OJS-WFL-010",
    "OJS-WFL-041",
    "OJS-WFL-042",
    "OJS-WFL-045",
    level=3,
    capability=FLOWS,
)
async def forms_under_every_name(stage: Stage) -> None:
    """Each form starts the steps that wait for nothing, under every name of its list."""
    queue = stage.name()
    steps = [job(queue, n) for n in range(3)]
    graph = [job(queue, "a", id="a"), job(queue, "b", id="b", depends_on=["a"])]
    call = {"on_complete": job(queue, "done")}
    for body, form, first in (
        ({"type": "chain", "steps": steps}, "chain", 1),
        ({"type": "chain", "jobs": steps}, "chain", 1),
        ({"workflow_type": "group", "jobs": steps}, "group", 3),
        ({"type": "group", "steps": steps}, "group", 3),
        ({"type": "batch", "jobs": steps, "callbacks": call}, "batch", 3),
        ({"type": "dag", "steps": graph}, "dag", 1),
        ({"steps": graph}, "dag", 1),
        ({"steps": [job(queue), job(queue, depends_on=["0"])]}, "dag", 1),
    ):
        reply = (await stage.post("workflows", {"name": "forms", **body})).expect(
            201,
            {
                "workflow.id": "string:uuidv7",
                "workflow.type": form,
                "workflow.state": "running",
                "workflow.name": "forms",
            },
        )
        stage.check("location" in reply.headers, "Location", reply.headers)
        stage.equal(len(await stage.fetch(queue, count=9)), first, f"first steps of {form}")
        (await stage.delete(f"workflows/{reply['workflow.id']}")).expect(200)
    both = {"type": "chain", "steps": steps, "jobs": steps}
    (await stage.post("workflows", both)).error(400, "invalid_workflow")


@case("OJS-WFL-011", "OJS-WFL-016", "OJS-WFL-018", level=3, capability=FLOWS)
async def chains(stage: Stage) -> None:
    """A chain runs step by step, and has completed when its last step has."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(3)])
    for number in range(3):
        taken = await stage.take(queue, wait_ms=5_000)
        stage.equal(taken["args"], [number], "arguments")
        await stage.empty(queue)
        (await stage.ack(taken, result={"step": number})).expect(200)
    await until_state(stage, flow, "completed")


@case("OJS-WFL-022", level=3, capability=FLOWS)
async def results_of_the_step_before(stage: Stage) -> None:
    """A step of a chain is handed the result of the step before it."""
    queue = stage.name()
    await start(stage, type="chain", steps=[job(queue, n) for n in range(3)])
    for number in range(3):
        taken = await stage.take(queue, wait_ms=5_000)
        if number:
            stage.equal(taken["parent_results"][number - 1], {"step": number - 1}, "its result")
        (await stage.ack(taken, result={"step": number})).expect(200)


@case("OJS-WFL-022", "OJS-WFL-046", "OJS-WFL-050", level=3, capability=FLOWS)
async def results_of_all_steps_before(stage: Stage) -> None:
    """A chain runs step by step, each with the results of those before it."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(3)])
    parents: list[Any] = []
    for number in range(3):
        taken = await stage.take(queue, wait_ms=5_000)
        await stage.empty(queue)
        stage.equal(taken["args"], [number], "arguments")
        stage.equal(taken["workflow_id"], flow["id"], "workflow_id")
        known = [part for part in taken["parent_results"] if part is not None]
        stage.equal(known, parents, "parent_results")
        stage.equal(
            (await stage.look(taken))["parent_results"], taken["parent_results"], "on reading"
        )
        (await stage.ack(taken, result={"step": number})).expect(200)
        parents.append({"step": number})
    seen = await read(stage, flow)
    stage.equal(seen["state"], "completed", "state")
    stage.equal([seen["steps_completed"], seen["steps_total"]], [3, 3], "steps")
    stage.check("completed_at" in seen, "completed_at", dict(seen))


@case("OJS-WFL-014", "OJS-WFL-016", "OJS-WFL-018", level=3, capability=FLOWS)
async def failing_steps(stage: Stage) -> None:
    """A step that fails ends its chain, and those behind never run; a retry is no failure."""
    queue = stage.name()
    retry = {"retry": {"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}}
    steps = [job(queue, "a", options=retry), job(queue, "b"), job(queue, "c")]
    flow = await start(stage, type="chain", steps=steps)
    await settle(stage, queue, fails=True)
    seen = (await read(stage, flow))["state"]
    stage.check(seen not in ENDED, "a chain that goes on while its step has attempts left", seen)
    await settle(stage, queue, fails=True)
    await until_state(stage, flow, "failed")
    await stage.empty(queue)


@case("OJS-WFL-016", "OJS-WFL-027", level=3, capability=FLOWS)
async def states_of_steps(stage: Stage) -> None:
    """A chain shows the state of each step; those behind one that failed are cancelled."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(3)])
    await settle(stage, queue)
    await settle(stage, queue, fails=True)
    await until_state(stage, flow, "failed")
    states = [step["state"] for step in (await read(stage, flow))["steps"]]
    stage.equal(states, ["completed", "failed", "cancelled"], "states of the steps")


@case("OJS-WFL-016", "OJS-WFL-018", level=3, capability=FLOWS)
async def failing_jobs_of_groups(stage: Stage) -> None:
    """The other jobs of a group go on when one has failed, and then the group has failed."""
    queue = stage.name()
    flow = await start(stage, type="group", jobs=[job(queue, n) for n in range(2)])
    await settle(stage, queue, fails=True)
    await settle(stage, queue)
    await until_state(stage, flow, "failed")


@case("OJS-WFL-030", level=3, capability=FLOWS)
async def errors_of_steps(stage: Stage) -> None:
    """A failed chain tells which job failed, at which step, and how."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(2)])
    await settle(stage, queue)
    failed = await settle(stage, queue, fails=True)
    await until_state(stage, flow, "failed")
    reply = (await stage.get(f"workflows/{flow['id']}")).expect(200)
    seen = reply["workflow"]
    # The published text does not say in which part of the workflow these members stand.
    parts = [
        seen,
        *(seen[name] for name in ("error", "metadata") if isinstance(seen.get(name), dict)),
    ]
    members = {name: value for part in reversed(parts) for name, value in part.items()}
    answered = record(members, reply)
    stage.equal(answered["failed_job_ids"], [failed["id"]], "failed_job_ids")
    stage.equal(answered["failed_step_index"], 1, "failed_step_index")
    (error,) = answered["errors"]
    stage.equal(error.get("job_id"), failed["id"], "job_id of the error")
    missing = {"code", "message", "attempt"} - set(error)
    stage.equal(sorted(missing), [], "members that the error lacks")


@case("OJS-WFL-027", level=3, capability=FLOWS)
async def unknown_workflows(stage: Stage) -> None:
    """A workflow that is not there is 404."""
    await start(stage, type="chain", steps=[job(stage.name())])
    (await stage.get(f"workflows/{stage.new_id()}")).expect(404)


@case(
    "OJS-WFL-014",
    "OJS-WFL-030",
    "OJS-WFL-048",
    "OJS-WFL-049",
    "OJS-WFL-053",
    level=3,
    capability=FLOWS,
)
async def failing_steps_of_a_graph(stage: Stage) -> None:
    """A failed step cancels those that wait for it; others go on; a retry is no failure."""
    queue = stage.name()
    retry = {"retry": {"max_attempts": 2, "initial_interval_ms": 1, "jitter": False}}
    steps = [
        job(queue, "a", id="a", options=retry),
        job(queue, "b", id="b", depends_on=["a"]),
        job(queue, "c", id="c", depends_on=["b"]),
        job(queue, "d", id="d"),
    ]
    flow = await start(stage, steps=steps)
    first, other = await stage.fetch(queue, count=2)
    (await stage.fail(first)).expect(200, {"state": "retryable"})
    stage.equal((await read(stage, flow))["state"], "running", "state after a retry")
    again = await stage.take(queue, wait_ms=5_000)
    (await stage.fail(again, error={"code": "broken", "message": "m"})).expect(200)
    seen = await read(stage, flow)
    states = {step["id"]: step["state"] for step in seen["steps"]}
    expected = {"a": "failed", "b": "cancelled", "c": "cancelled", "d": "active"}
    stage.equal(states, expected, "states of the steps")
    stage.equal(seen["state"], "running", "state while a step still runs")
    (await stage.ack(other)).expect(200)
    seen = await read(stage, flow)
    stage.equal(seen["state"], "failed", "state")
    stage.equal(seen["failed_job_ids"], [first["id"]], "failed_job_ids")
    error = seen["errors"][0]
    members = {
        "job_id": first["id"],
        "step_id": "a",
        "code": "broken",
        "message": "m",
        "attempt": 2,
    }
    stage.equal({name: error.get(name) for name in members}, members, "errors")
    stage.equal([seen["failed_step_id"], seen["failed_step_index"]], ["a", 0], "failed step")
    await stage.empty(queue)


@case("OJS-WFL-037", "OJS-WFL-051", level=3, capability=FLOWS)
async def results_of_steps(stage: Stage) -> None:
    """A step shows the result of its job, up to a size."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(3)])
    large = "x" * 200_000
    for result in ({"step": 0}, large, large):
        taken = await stage.take(queue, wait_ms=5_000)
        (await stage.ack(taken, result=result)).expect(200)
    steps = (await read(stage, flow))["steps"]
    shown = [step.get("result") for step in steps]
    stage.equal(shown[0], {"step": 0}, "result of the first step")
    stage.check(shown[1] == large, "result of the second step", type(shown[1]).__name__)
    expected = {"$ref": f"/ojs/v1/jobs/{steps[2]['job_id']}/result", "size_bytes": 200_002}
    stage.equal(shown[2], expected, "result of the third step")
    waiting = await start(stage, type="chain", steps=[job(queue, 0)])
    stage.check("result" not in (await read(stage, waiting))["steps"][0], "no result yet", waiting)


@case(
    "OJS-WFL-004",
    "OJS-WFL-017",
    "OJS-WFL-024",
    "OJS-WFL-040",
    "OJS-WFL-049",
    level=3,
    capability=FLOWS,
)
async def callbacks(stage: Stage) -> None:
    """The callbacks of a batch run at its end: always, if all completed, or if one did not."""
    for fails, expected in ((False, ["complete", "success"]), (True, ["complete", "failure"])):
        queue, after = stage.name(), stage.name()
        calls = {f"on_{name}": job(after, name) for name in ("complete", "success", "failure")}
        flow = await start(
            stage, type="batch", jobs=[job(queue, n) for n in range(2)], callbacks=calls
        )
        await settle(stage, queue, {"n": 0})
        await stage.empty(after)
        await settle(stage, queue, {"n": 1}, fails=fails)
        taken = await stage.fetch(after, count=5, wait_ms=5_000)
        stage.equal(sorted(each["args"][0] for each in taken), expected, "callbacks")
        results = taken[0]["parent_results"]
        stage.equal(results[0], {"n": 0}, "the first result")
        if fails:
            stage.check("error" in results[1], "the error of the other", results)
        else:
            stage.equal(results[1], {"n": 1}, "the second result")
        stage.equal((await read(stage, flow))["state"], "running", "state until they have ended")
        for each in taken:
            (await stage.ack(each)).expect(200)
        stage.equal((await read(stage, flow))["state"], "completed", "state")
    queue, after = stage.name(), stage.name()
    steps = [
        job(queue, "a", id="a"),
        job(after, "end", id="on-complete", depends_on=["a"]),
    ]
    await start(stage, steps=steps)
    await settle(stage, queue, fails=True)
    stage.equal((await stage.take(after, wait_ms=5_000))["args"], ["end"], "a callback by its name")


@case("OJS-WFL-017", level=3, capability=FLOWS)
async def callbacks_fire_once(stage: Stage) -> None:
    """The callbacks of a batch fire once, even if its last jobs end at the same instant."""
    for _ in range(5):
        queue, after = stage.name(), stage.name()
        jobs = [job(queue, n) for n in range(16)]
        calls = {f"on_{name}": job(after, name) for name in ("complete", "success", "failure")}
        await start(stage, type="batch", jobs=jobs, callbacks=calls)
        taken = await drained(stage, queue, 16)
        stage.equal(len(taken), len(jobs), "jobs of the batch")
        await asyncio.gather(*(stage.ack(each) for each in taken))
        fired = await _fired(stage, after)
        stage.equal(fired, ["complete", "success"], "callbacks after the last ACKs came at once")
        await stage.empty(after)


async def _fired(stage: Stage, queue: str) -> list[str]:
    """The names of the next two callbacks, or of those that come in time."""
    fired: list[str] = []
    while len(fired) < 2 and (found := await stage.fetch(queue, wait_ms=5_000)):
        fired += [each["args"][0] for each in found]
    return sorted(fired)


@case("OJS-WFL-017", level=3, capability=FLOWS)
async def callbacks_after_a_failure(stage: Stage) -> None:
    """A batch with a job that failed fires `on_complete` and `on_failure` when all have ended."""
    queue, after = stage.name(), stage.name()
    calls = {f"on_{name}": job(after, name) for name in ("complete", "success", "failure")}
    await start(stage, type="batch", jobs=[job(queue, n) for n in range(2)], callbacks=calls)
    await settle(stage, queue, fails=True)
    await stage.empty(after)
    await settle(stage, queue)
    stage.equal(await _fired(stage, after), ["complete", "failure"], "callbacks")
    await stage.empty(after)


@case("OJS-WFL-040", level=3, capability=FLOWS)
async def callbacks_decide(stage: Stage) -> None:
    """A batch runs until its callbacks have ended, and they decide what it has become."""
    for fails, expected in ((False, "completed"), (True, "failed")):
        queue, after = stage.name(), stage.name()
        calls = {"on_complete": job(after)}
        flow = await start(stage, type="batch", jobs=[job(queue)], callbacks=calls)
        await settle(stage, queue, fails=not fails)
        called = await stage.take(after, wait_ms=5_000)
        seen = (await read(stage, flow))["state"]
        stage.check(seen not in ENDED, "a batch that runs while its callback does", seen)
        (await (stage.fail(called) if fails else stage.ack(called))).expect(200)
        await until_state(stage, flow, expected)


@case("OJS-WFL-005", "OJS-WFL-019", "OJS-WFL-023", "OJS-WFL-028", level=3, capability=FLOWS)
async def nested(stage: Stage) -> None:
    """A workflow may stand in the place of a job; it ends and hands on like a step."""
    queue = stage.name()
    inner = {"type": "chain", "steps": [job(queue, "x"), job(queue, "y")]}
    flow = await start(stage, type="chain", steps=[job(queue, "a"), inner, job(queue, "z")])
    for name, known in (("a", []), ("x", ["ra"]), ("y", ["rx"]), ("z", ["ra", "ry"])):
        taken = await stage.take(queue, wait_ms=5_000)
        stage.equal(taken["args"], [name], "the step")
        found = [part for part in taken["parent_results"] if part is not None]
        stage.equal(found, known, f"parent_results of {name}")
        (await stage.ack(taken, result=f"r{name}")).expect(200)
    seen = await read(stage, flow)
    stage.equal([seen["state"], seen["jobs_total"]], ["completed", 3], "state, and members")
    failing = await start(stage, type="chain", steps=[inner, job(queue, "z")])
    await settle(stage, queue, fails=True)
    stage.equal((await read(stage, failing))["state"], "failed", "state")
    deep: dict[str, Any] = job(queue)
    for _ in range(MOST_DEPTH):
        deep = {"type": "chain", "steps": [deep]}
    await start(stage, **deep)
    await settle(stage, queue)
    await _refused(stage, type="chain", steps=[deep])


@case("OJS-WFL-006", level=3, capability=FLOWS)
async def options_of_workflows(stage: Stage) -> None:
    """A step is enqueued in the queue that the workflow names, unless it names its own."""
    queue, other = stage.name(), stage.name()
    plain = {"type": "test.step", "depends_on": []}
    steps = [
        {**plain, "id": "a", "args": ["a"]},
        {**plain, "id": "b", "args": ["b"], "options": {"queue": other}},
    ]
    await start(stage, steps=steps, options={"queue": queue})
    for queued, args in ((queue, ["a"]), (other, ["b"])):
        stage.equal((await stage.take(queued))["args"], args, "arguments of the job in the queue")


@case("OJS-WFL-006", "OJS-WFL-043", level=3, capability=FLOWS)
async def common_options(stage: Stage) -> None:
    """Options of a workflow hold for its jobs unless they say otherwise."""
    queue, other = stage.name(), stage.name()
    plain = {"type": "test.step", "args": []}
    jobs = [
        {**plain, "options": {"timeout": 30}},
        {**plain, "options": {"queue": other, "priority": 9}},
    ]
    common = {"queue": queue, "priority": 5, "timeout": 60}
    await start(stage, type="group", jobs=jobs, options=common)
    for queued, expected in ((queue, [5, 30_000]), (other, [9, 60_000])):
        taken = await stage.take(queued)
        stage.equal([taken["priority"], taken["timeout_ms"]], expected, "priority and timeout_ms")
    await start(stage, type="group", jobs=[job(queue, options={"priority": 7}), job(queue)])
    found = [(await settle(stage, queue))["priority"] for _ in range(2)]
    stage.equal(found, [7, 0], "priorities in a group")
    await start(stage, type="chain", steps=[job(queue, options={"priority": 7}), job(queue)])
    for _ in range(2):
        stage.equal((await settle(stage, queue))["priority"], 7, "priority in a chain")


async def _refused(stage: Stage, **body: Any) -> Reply:
    reply = (await stage.post("workflows", body)).error(400, "invalid_workflow")
    return reply.expect(400, {"error.details.validation_errors": "array:nonempty"})


@case("OJS-WFL-007", "OJS-WFL-008", "OJS-WFL-009", "OJS-WFL-044", level=3, capability=FLOWS)
async def wrong_workflows(stage: Stage) -> None:
    """A wrong workflow is refused with the place of every mistake, and nothing is stored."""
    queue = stage.name()
    good = job(queue)
    bad: dict[str, Any] = {"args": []}
    reply = await _refused(stage, type="group", jobs=[good, bad, good, bad])
    errors = reply["error.details.validation_errors"]
    stage.equal(len(errors), 2, "errors told at once")
    for error in errors:
        stage.check({"path", "message"} <= set(error), "path and message", error)
    ring = [
        job(queue, id="left", depends_on=["right"]),
        job(queue, id="right", depends_on=["left"]),
    ]
    reply = await _refused(stage, steps=ring)
    messages = [str(error["message"]) for error in reply["error.details.validation_errors"]]
    # Separators are free, and so is the spelling of characters such as arrows.
    circles = [re.findall("left|right", message) for message in messages]
    spelled = (["left", "right", "left"], ["right", "left", "right"])
    stage.check(any(circle in spelled for circle in circles), "the circle spelled out", messages)
    await _refused(stage, steps=[job(queue, id="a"), job(queue, id="a")])
    lost = [job(queue, id="first"), job(queue, id="b", depends_on=["frist"])]
    stage.check("first" in (await _refused(stage, steps=lost)).text, "the nearest id", "not told")
    await _refused(stage, type="chain", steps=[good, 7])
    await _refused(stage, type="group", jobs=[job(queue, id="a"), job(queue, id="a")])
    await _refused(stage, type="group", jobs=[])
    await _refused(stage, type="ring", jobs=[good])
    await stage.empty(queue)


@case("OJS-WFL-009", level=3, capability=FLOWS)
async def as_large_as_they_may_be(stage: Stage) -> None:
    """A workflow of 1,000 jobs is taken, and so is one of 10,000 dependencies; one more is not."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue)] * MOST_JOBS)
    (await stage.delete(f"workflows/{flow['id']}")).expect(200)
    await _refused(stage, type="chain", steps=[job(queue)] * (MOST_JOBS + 1))
    first = [f"a{place}" for place in range(100)]
    then = [f"b{place}" for place in range(MOST_DEPENDENCIES // len(first))]
    steps = [job(queue, id=name) for name in first]
    steps += [job(queue, id=name, depends_on=first) for name in then]
    flow = await start(stage, steps=steps)
    (await stage.delete(f"workflows/{flow['id']}")).expect(200)
    await _refused(stage, steps=[*steps, job(queue, id="c", depends_on=["b0"])])
    await stage.empty(queue)


@case("OJS-WFL-012", level=3, capability=FLOWS)
async def starting_twice(stage: Stage) -> None:
    """An equal request with a used key or id is the same workflow; another one is 409 duplicate."""
    queue, key, chosen = stage.name(), stage.name("key"), stage.new_id()
    body = {"type": "group", "name": "n", "jobs": [job(queue)]}
    first = (await stage.post("workflows", body, Idempotency_Key=key)).expect(201)
    again = (await stage.post("workflows", body, Idempotency_Key=key)).expect(200)
    stage.equal(again["workflow.id"], first["workflow.id"], "id")
    other = {**body, "name": "other"}
    (await stage.post("workflows", other, Idempotency_Key=key)).error(409, "duplicate")
    named = {**body, "id": chosen}
    (await stage.post("workflows", named)).expect(201, {"workflow.id": {"$eq": chosen}})
    (await stage.post("workflows", named)).expect(200, {"workflow.id": {"$eq": chosen}})
    (await stage.post("workflows", {**other, "id": chosen})).error(409, "duplicate")
    stage.equal(len(await stage.fetch(queue, count=9)), 2, "jobs stored")


@case("OJS-WFL-013", level=3, capability=FLOWS)
async def unique_steps(stage: Stage) -> None:
    """A step that meets an equal job refuses the workflow at its start, and fails later."""
    queue = stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    (await stage.push(type=kind, queue=queue, unique={})).expect(201)
    duplicate = {"type": kind, "args": [], "options": {"queue": queue, "unique": {}}}
    (await stage.post("workflows", {"type": "group", "jobs": [job(queue), duplicate]})).error(
        409, "duplicate"
    )
    other = stage.name()
    flow = await start(stage, type="chain", steps=[job(other), duplicate])
    await settle(stage, other)
    seen = await read(stage, flow)
    stage.equal([seen["state"], seen["steps"][1]["state"]], ["failed", "failed"], "states")


@case("OJS-WFL-015", level=3, capability=FLOWS, own_server="main", seconds=150)
async def kills_in_the_middle(stage: Stage) -> None:
    """After a kill -9 an answered end of a step has led to the next one, and work goes on."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(4)])
    for number in range(4):
        taken = await stage.take(queue, wait_ms=5_000)
        stage.equal(taken["args"], [number], "the step")
        (await stage.ack(taken, result=number)).expect(200)
        if number in (0, 2):
            await stage.crash()
    stage.equal((await read(stage, flow))["state"], "completed", "state")


@case("OJS-WFL-047", level=3, capability=FLOWS)
async def cancelled_jobs_are_failures(stage: Stage) -> None:
    """A step fails when its job is cancelled."""
    queue, after = stage.name(), stage.name()
    calls = {"on_failure": job(after, "failure")}
    flow = await start(stage, type="batch", jobs=[job(queue)], callbacks=calls)
    taken = await stage.take(queue)
    (await stage.delete(f"jobs/{taken['id']}")).expect(200)
    stage.equal((await stage.take(after, wait_ms=5_000))["args"], ["failure"], "the callback")
    stage.equal((await read(stage, flow))["jobs"][0]["state"], "failed", "state of the step")


@case("OJS-WFL-020", level=3, capability=FLOWS)
async def ended_steps_stay_ended(stage: Stage) -> None:
    """A dead-letter retry of a failed step changes nothing about its workflow."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, 1), job(queue, 2)])
    failed = await settle(stage, queue, fails=True)
    before = await read(stage, flow)
    (await stage.post(f"dead-letter/{failed['id']}/retry", {})).expect(200)
    await settle(stage, queue)
    stage.equal((await read(stage, flow))["state"], before["state"], "state")
    await stage.empty(queue)


@case("OJS-WFL-021", level=3, capability=FLOWS)
async def times_count_from_enqueueing(stage: Stage) -> None:
    """A time that counts from now does so from the moment at which its step is enqueued."""
    queue = stage.name()
    later = job(queue, "later", options={"scheduled_at": "+PT1H"})
    flow = await start(stage, type="chain", steps=[job(queue, "first"), later])
    await asyncio.sleep(1.2)
    ended = await settle(stage, queue)
    seen = await read(stage, flow)
    waits = await stage.look(seen["steps"][1]["job_id"])
    end = (await stage.look(ended))["completed_at"]
    stage.check(
        waits["scheduled_at"][14:19] == end[14:19], "an hour after the end", waits["scheduled_at"]
    )


@case("OJS-WFL-026", level=3, capability=FLOWS)
async def results_of_64_kilobytes(stage: Stage) -> None:
    """A step with a result of nearly 64 KB completes, and its chain goes on."""
    queue = stage.name()
    await start(stage, type="chain", steps=[job(queue, n) for n in range(2)])
    await settle(stage, queue, {"text": "x" * 63_000})
    stage.equal((await stage.take(queue, wait_ms=5_000))["args"], [1], "the next step")


@case("OJS-WFL-025", "OJS-WFL-051", level=3, capability=FLOWS)
async def large_results(stage: Stage) -> None:
    """A job is handed a quarter of a MiB of results; larger ones as a place and a size."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(3)])
    big = await settle(stage, queue, "x" * 300_000)
    near = await settle(stage, queue, "near")
    del near
    last = await stage.take(queue, wait_ms=5_000)
    stage.equal(last["parent_results"][1], "near", "the nearest result")
    place = last["parent_results"][0]
    stage.check({"$ref", "size_bytes"} <= set(place), "$ref and size_bytes", place)
    stage.check(big["id"] in place["$ref"], "the path of its job", place)
    found = (await stage.get(place["$ref"])).expect(200)
    stage.equal(len(found["result"]), 300_000, "characters at that place")
    (await stage.ack(last)).expect(200)
    stage.equal((await read(stage, flow))["state"], "completed", "state")


@case(
    "OJS-WFL-027",
    "OJS-WFL-028",
    "OJS-WFL-029",
    "OJS-WFL-032",
    "OJS-WFL-052",
    level=3,
    capability=FLOWS,
)
async def reading(stage: Stage) -> None:
    """A workflow is read whole, at the top and under its name, with its steps and progress."""
    queue = stage.name()
    flow = await start(
        stage,
        type="batch",
        jobs=[job(queue, n) for n in range(2)],
        callbacks={"on_complete": job(queue, "end")},
    )
    await settle(stage, queue)
    await stage.take(queue)
    reply = (await stage.get(f"workflows/{flow['id']}")).expect(200)
    seen = record(reply["workflow"], reply)
    for name in ("id", "type", "name", "state", "steps_total", "jobs_completed", "metadata"):
        stage.equal(reply[name], seen[name], f"{name} at the top")
    stage.equal([seen["jobs_total"], seen["jobs_completed"]], [2, 1], "counts without callbacks")
    stage.equal([len(seen["jobs"]), len(seen["steps"])], [2, 3], "members, and all steps")
    states = [step["state"] for step in seen["steps"]]
    stage.equal(states, ["completed", "active", "waiting"], "states of the steps")
    stage.equal(seen["steps"][2]["callback"], "on_complete", "callback")
    for at, step in enumerate(seen["steps"]):
        stage.equal(step["index"], at, "index")
        stage.check({"id", "type", "depends_on"} <= set(step), "its members", step)
    progress = (await stage.get(f"workflows/{flow['id']}/progress")).expect(
        200, {"workflow_id": {"$eq": flow["id"]}, "type": "batch", "state": "running"}
    )
    stage.equal(progress["progress"], 0.5, "progress")
    other = stage.name()
    chain = await start(stage, type="chain", steps=[job(other, n) for n in range(2)])
    running = await stage.take(other)
    (await stage.call("PUT", f"jobs/{running['id']}/progress", {"progress": 0.5})).expect(200)
    answer = (await stage.get(f"workflows/{chain['id']}/progress")).expect(200)
    shares = [answer["progress"], answer["steps"][0]["progress"]]
    stage.equal(shares, [0.25, 0.5], "progress of a chain whose first step has reported")
    (await stage.get(f"workflows/{stage.new_id()}")).error(404, "not_found")


@case("OJS-WFL-031", level=3, capability=FLOWS)
async def listing(stage: Stage) -> None:
    """Workflows are listed newest first without their steps, by state, type and name."""
    queue, name = stage.name(), stage.name("flow")
    made = [
        (await start(stage, name=name, type=form, jobs=[job(queue)]))["id"]
        for form in ("group", "chain", "group")
    ]
    (await stage.delete(f"workflows/{made[1]}")).expect(200)
    for query, expected in (
        ({}, made[::-1]),
        ({"type": "group"}, [made[2], made[0]]),
        ({"state": "cancelled"}, [made[1]]),
        ({"state": "active"}, [made[2], made[0]]),
        ({"state": "pending"}, []),
    ):
        reply = (await stage.get("workflows", name=name, **query)).expect(
            200, {"count": len(expected), "pagination.total": len(expected)}
        )
        stage.equal([flow["id"] for flow in reply["workflows"]], expected, f"workflows for {query}")
        stage.equal(reply["items"], reply["workflows"], "items")
        without = all("steps" not in flow for flow in reply["workflows"])
        stage.check(without, "no steps", reply.text[:300])


@case("OJS-WFL-033", level=3, capability=FLOWS)
async def cancelling(stage: Stage) -> None:
    """A cancelled workflow takes its jobs out of their queue, and starts nothing more."""
    queue = stage.name()
    for form, members in (("chain", "steps"), ("group", "jobs")):
        flow = await start(stage, type=form, **{members: [job(queue, n) for n in range(3)]})
        if form == "chain":
            await settle(stage, queue)
        (await stage.delete(f"workflows/{flow['id']}")).expect(200)
        await until_state(stage, flow, "cancelled")
        await stage.empty(queue)


@case("OJS-WFL-034", level=3, capability=FLOWS)
async def cancelling_what_has_ended(stage: Stage) -> None:
    """A workflow that has completed, or was cancelled before, cannot be cancelled."""
    queue = stage.name()
    flow = await start(stage, type="group", jobs=[job(queue)])
    (await stage.delete(f"workflows/{flow['id']}")).expect(200)
    (await stage.delete(f"workflows/{flow['id']}")).expect(409)
    done = await start(stage, type="group", jobs=[job(queue)])
    await settle(stage, queue)
    await until_state(stage, done, "completed")
    (await stage.delete(f"workflows/{done['id']}")).expect(409)


@case("OJS-WFL-033", "OJS-WFL-034", "OJS-WFL-054", level=3, capability=FLOWS)
async def what_a_cancel_leaves(stage: Stage) -> None:
    """A cancelled workflow starts nothing more, though a held job may finish."""
    queue = stage.name()
    calls = {"on_complete": job(queue, "end")}
    flow = await start(stage, type="batch", jobs=[job(queue, n) for n in range(3)], callbacks=calls)
    await settle(stage, queue)
    held = await stage.take(queue)
    reply = (await stage.delete(f"workflows/{flow['id']}")).expect(
        200, {"workflow.state": "cancelled", "steps_already_completed": 1}
    )
    stage.check(reply["steps_cancelled"] >= 1, "steps_cancelled", reply["steps_cancelled"])
    await stage.empty(queue)
    (await stage.ack(held)).expect(200)
    await stage.empty(queue)
    stage.equal((await read(stage, flow))["state"], "cancelled", "state")
    (await stage.delete(f"workflows/{flow['id']}")).error(409, "conflict")
    done = await start(stage, type="group", jobs=[job(queue)])
    await settle(stage, queue)
    (await stage.delete(f"workflows/{done['id']}")).error(409, "conflict")


@case("OJS-WFL-038", "OJS-WFL-039", level=3, capability=FLOWS)
async def trying_again(stage: Stage) -> None:
    """A retried workflow goes on where it failed, and keeps the results of its steps."""
    queue = stage.name()
    once = {"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}}
    steps = [job(queue, n, options=once) for n in range(3)]
    flow = await start(stage, type="chain", steps=steps)
    path = f"workflows/{flow['id']}/retry"
    (await stage.post(path)).error(409, "conflict", current_state="running")
    await settle(stage, queue)
    await settle(stage, queue, fails=True)
    stage.equal((await read(stage, flow))["state"], "failed", "state")
    (await stage.post(path)).expect(200, {"workflow.state": "running"})
    (await stage.post(path)).error(409, "conflict", current_state="running")
    again = await settle(stage, queue)
    stage.equal(again["attempt"], 1, "the attempt of the job that is tried again")
    last = await settle(stage, queue)
    stage.equal(len(last["parent_results"]), 2, "results that are handed on")
    stage.equal((await read(stage, flow))["state"], "completed", "state")
    types = [event["type"] for event in await stage.events(types="workflow.retried")]
    stage.check("workflow.retried" in types, "workflow.retried", types)
    (await stage.post(path)).error(409, "conflict", current_state="completed")
    gone = await start(stage, type="chain", steps=steps)
    dead = await settle(stage, queue, fails=True)
    (await stage.delete(f"dead-letter/{dead['id']}")).expect(200)
    (await stage.post(f"workflows/{gone['id']}/retry")).error(409, "conflict")
    stage.equal((await read(stage, gone))["state"], "failed", "state")


@case("OJS-WFL-035", level=3, capability=FLOWS)
async def published_events(stage: Stage) -> None:
    """The start of a workflow, its steps that complete and its end are told with their data."""
    stage.need(stage.claims("events"), "the server does not claim events, which it need not tell")
    queue = stage.name()
    good = await start(stage, type="chain", steps=[job(queue, n) for n in range(2)])
    for _ in range(2):
        await settle(stage, queue)
    bad = await start(stage, type="chain", steps=[job(queue)])
    await settle(stage, queue, fails=True)
    for flow, end in ((good, "workflow.completed"), (bad, "workflow.failed")):

        async def is_reported(flow: Record = flow, end: str = end) -> bool:
            return any(event["type"] == end for event in await _reports_of(stage, flow))

        await stage.until(is_reported, 8, end)
    reported = [*await _reports_of(stage, good), *await _reports_of(stage, bad)]
    for kind, members in (
        ("workflow.started", {"total_steps"}),
        ("workflow.step_completed", {"step_id", "step_type", "duration_ms", "steps_remaining"}),
        ("workflow.completed", {"total_steps", "duration_ms"}),
        ("workflow.failed", {"failed_step_id", "failed_step_type", "error"}),
    ):
        mine = [event["data"] for event in reported if event["type"] == kind]
        stage.check(bool(mine), kind, [event["type"] for event in reported])
        missing = {"workflow_name", *members} - set(mine[0])
        stage.equal(sorted(missing), [], f"members that {kind} lacks")


@case("OJS-WFL-035", level=3, capability=FLOWS)
async def events_of_every_form(stage: Stage) -> None:
    """The start, the steps and the end of a group and of a batch are told like those of a chain."""
    stage.need(stage.claims("events"), "the server does not claim events, which it need not tell")
    queue = stage.name()
    calls = {"on_complete": job(queue, "end")}
    for form, more, count in (("group", {}, 2), ("batch", {"callbacks": calls}, 3)):
        flow = await start(stage, type=form, jobs=[job(queue, n) for n in range(2)], **more)
        for _ in range(count):
            await settle(stage, queue)
        expected = {"workflow.started": 1, "workflow.completed": 1}

        async def are_there(flow: Record = flow, expected: dict[str, int] = expected) -> bool:
            kinds = [event["type"] for event in await _reports_of(stage, flow)]
            steps = kinds.count("workflow.step_completed")
            return steps >= 2 and {kind: kinds.count(kind) for kind in expected} == expected

        await stage.until(are_there, 8, f"the events of a {form}: start, two steps, end")


async def _reports_of(stage: Stage, flow: Record) -> list[Record]:
    """Return the events of a workflow that its data name."""
    types = ("started", "step_completed", "completed", "failed")
    found = await stage.events(types=",".join(f"workflow.{name}" for name in types))
    return [event for event in found if event["data"].get("workflow_id") == flow["id"]]


@case("OJS-WFL-035", "OJS-WFL-055", level=3, capability=FLOWS)
async def events(stage: Stage) -> None:
    """Everything that happens to a workflow has its event with the data that belongs to it."""
    queue = stage.name()
    flow = await start(stage, type="chain", steps=[job(queue, n) for n in range(2)])
    await settle(stage, queue)
    await settle(stage, queue, fails=True)
    found = await _events_of(stage, flow)
    names = [event["type"].removeprefix("workflow.") for event in found]
    expected = ["created", "started", "step_completed", "step_failed", "failed"]
    stage.equal(names, expected, "events")
    for event in found:
        missing = {"workflow_id", "workflow_name", "workflow_type", "total_steps"} - set(
            event["data"]
        )
        stage.equal(sorted(missing), [], f"members that {event['type']} lacks")
    for number in (2, 3):
        members = {"step_id", "step_type", "job_id", "steps_remaining", "duration_ms"}
        stage.equal(sorted(members - set(found[number]["data"])), [], "members of a step's event")
    failed = {"failed_step_id", "failed_step_type", "error"} - set(found[4]["data"])
    stage.equal(sorted(failed), [], "members of workflow.failed")
    stage.equal(found[4]["data"]["failed_step_id"], "1", "the step that failed")


@case("OJS-WFL-035", "OJS-WFL-055", level=3, capability=FLOWS)
async def events_of_the_end(stage: Stage) -> None:
    """The end of a workflow is told with its duration, and with the steps that ended."""
    queue = stage.name()
    requested_at = time.monotonic()
    flow = await start(stage, type="group", jobs=[job(queue, n) for n in range(3)])
    began = time.monotonic()
    await settle(stage, queue)
    await settle(stage, queue, fails=True)
    await asyncio.sleep(_LASTING_S)  # makes the duration differ from all other numbers
    ends = time.monotonic()
    await settle(stage, queue)
    over = time.monotonic()
    data = (await _events_of(stage, flow))[-1]["data"]
    least, most = 1000 * (ends - began) - _NEAR_MS, 1000 * (over - requested_at) + _NEAR_MS
    took = data["duration_ms"]
    stage.check(least <= took <= most, f"a duration_ms from {least:.0f} to {most:.0f}", took)
    counts = [data["steps_completed"], data["steps_failed"]]
    stage.equal(counts, [2, 1], "steps_completed and steps_failed")
    flow = await start(stage, type="group", jobs=[job(queue, n) for n in range(3)])
    await settle(stage, queue)
    (await stage.delete(f"workflows/{flow['id']}")).expect(200)
    event = (await _events_of(stage, flow))[-1]
    stage.equal(event["type"], "workflow.cancelled", "the last event")
    took = event["data"]["duration_ms"]
    stage.check(isinstance(took, int) and took >= 0, "a duration_ms", took)
    counts = [event["data"]["steps_completed"], event["data"]["steps_failed"]]
    stage.equal(counts, [1, 0], "steps_completed and steps_failed")


async def _events_of(stage: Stage, flow: Record) -> list[Record]:
    """Return the events of a workflow from the event log."""
    found: list[Record] = []
    after: dict[str, str] = {}
    while True:
        page = (await stage.get("events", types="workflow.*", limit=1000, **after)).expect(200)
        found += [event for event in page["events"] if event["subject"] == flow["id"]]
        if not page["has_more"]:
            return found
        after = {"after": page["cursor"]}


@case("OJS-WFL-036", level=3, capability=FLOWS)
async def finished_workflows_stay(stage: Stage) -> None:
    """A finished workflow can still be read."""
    queue = stage.name()
    flow = await start(stage, type="group", jobs=[job(queue)])
    await settle(stage, queue)
    await asyncio.sleep(1)
    stage.equal((await read(stage, flow))["state"], "completed", "state")
