"""Cases of the blackboard: putting, polling, pushing, and its view of jobs."""

from conformance.case import case
from conformance.cases.tenants import TENANTS, two
from conformance.play.stage import Stage

BOARD = "board"
SCHEMA = {"type": "object", "required": ["size"]}
LONGEST = 255  # name of a block


async def arrived(stage: Stage, *blocks: object) -> str:
    """A worker that has registered these blocks and was heard of."""
    reply = await stage.post("workers/register", {"functionBlocks": list(blocks)})
    worker: str = reply.expect(200).json["worker_id"]
    await stage.beat(worker)
    return worker


@case("OJS-BBD-001", "OJS-BBD-002", "OJS-BBD-003", "OJS-BBD-007", level=1, own_server=BOARD)
async def polling(stage: Stage) -> None:
    """A job waits for its block, is handed out once, and keeps the block's own name."""
    block = f"{stage.name('Block')} 1"
    worker = await arrived(stage, block)
    new = {"functionBlockId": block, "jobType": "ACQUIRE", "context": {"a": 1}}
    put = (await stage.post("blackboard/jobs", new)).expect(201, {"blackboard_status": "PENDING"})
    poll = {"workerId": worker, "functionBlockIds": [block], "limit": 5}
    first = (await stage.post("blackboard/job", poll)).expect(200)
    handed = {"jobId": put.json["jobId"], **new}
    stage.equal(first.json, [handed], "what was polled")
    stage.equal((await stage.post("blackboard/job", poll)).expect(200).json, [], "second poll")
    seen = await stage.get(f"blackboard/job/{put.json['jobId']}")
    seen.expect(200, {"blackboard_status": "POLLED", "outcome": None, "functionBlockId": block})
    for change in ({"limit": 0}, {"workerId": "online"}):
        (await stage.post("blackboard/job", {**poll, **change})).error(400, "invalid_request")
    unknown = {**poll, "workerId": stage.name("w")}
    (await stage.post("blackboard/job", unknown)).error(404, "not_found")
    gone = {**poll, "workerId": await arrived(stage, block)}
    (await stage.post("workers/deregister", {"worker_id": gone["workerId"]})).expect(200)
    (await stage.post("blackboard/job", gone)).error(409, "conflict")
    wrong = await stage.post("blackboard/jobs", {**new, "jobType": "UNDO"})
    wrong.error(400, "invalid_request", field="jobType")
    anonymous = await stage.post("blackboard/jobs", {"functionBlockId": stage.name("block")})
    anonymous.error(422, "validation_error", field="functionBlockId")


@case("OJS-BBD-003", level=1, own_server=BOARD)
async def names_of_blocks(stage: Stage) -> None:
    """The name of a block has 1 to 255 characters, any that can be printed."""
    long = stage.name("Block ").ljust(LONGEST, "x")
    for name in ("b", long):
        await arrived(stage, name)
        put = await stage.post("blackboard/jobs", {"functionBlockId": name})
        put.expect(201, {"functionBlockId": {"$eq": name}})
        (await stage.delete(f"jobs/{put['jobId']}")).expect(200)
    for name in ("", f"{long}x", "a\nb"):
        refused = await stage.post("workers/register", {"functionBlocks": [name]})
        refused.error(400, "invalid_request", field="functionBlocks[0]")
        refused = await stage.post("blackboard/jobs", {"functionBlockId": name})
        refused.error(400, "invalid_request", field="functionBlockId")


@case("OJS-BBD-007", level=1, own_server=BOARD)
async def jobs_from_elsewhere(stage: Stage) -> None:
    """A job that was enqueued elsewhere is shown, as EXECUTE unless its `meta` says otherwise."""
    for meta, phase in (
        ({}, "EXECUTE"),
        ({"phase": "rollback"}, "ROLLBACK"),
        ({"phase": "undo"}, "EXECUTE"),
        ({"phase": 7}, "EXECUTE"),
    ):
        job = await stage.enqueue(stage.name(), meta=meta)
        seen = await stage.get(f"blackboard/job/{job['id']}")
        seen.expect(200, {"jobType": phase, "blackboard_status": "PENDING", "outcome": None})


@case("OJS-BBD-008", level=1, own_server=BOARD)
async def repeating(stage: Stage) -> None:
    """A job with an id of its own is put once, however often it is asked for."""
    block = stage.name("block")
    worker = await arrived(stage, block)
    own = stage.new_id()
    new = {"functionBlockId": block, "jobId": own, "context": {"a": 1}}
    (await stage.post("blackboard/jobs", new)).expect(201, {"jobId": own})
    (await stage.post("blackboard/jobs", new)).expect(200, {"blackboard_status": "PENDING"})
    other = await stage.post("blackboard/jobs", {**new, "context": {"a": 2}})
    other.error(409, "duplicate")
    wrong = await stage.post("blackboard/jobs", {**new, "jobId": "mine"})
    wrong.error(400, "invalid_request", field="jobId")
    poll = {"workerId": worker, "functionBlockIds": [block], "limit": 5}
    first = (await stage.post("blackboard/job", poll)).expect(200).json
    stage.equal([polled["jobId"] for polled in first], [own], "what was polled")
    pushed = {"jobId": own, "status": "success", "result": 7}
    (await stage.post("blackboard/job/result", pushed)).expect(200)
    again = (await stage.post("blackboard/jobs", new)).expect(200, {"outcome": "success"})
    stage.equal(again.json["result"], {"result": 7}, "the result")


@case("OJS-BBD-009", level=1, own_server=BOARD)
async def lookalikes(stage: Stage) -> None:
    """A member that resembles a known one is refused with its name; others are passed over."""
    block = stage.name("block")
    worker = await arrived(stage, block)
    new, poll = {"functionBlockId": block}, {"workerId": worker, "functionBlockIds": [block]}
    for path, body, wrong, canonical in (
        ("blackboard/jobs", new, "type", "jobType"),
        ("blackboard/jobs", new, "job_type", "jobType"),
        ("blackboard/job", poll, "limits", "limit"),
        ("workers/register", {}, "function_blocks", "functionBlocks"),
    ):
        reply = await stage.post(path, {**body, wrong: "ROLLBACK"})
        message = reply.error(422, "validation_error", field=wrong)["error.message"]
        stage.check(canonical in message, f"`{canonical}` in the message", message)
    (await stage.post("blackboard/jobs", {**new, "origin": "a test"})).expect(201)


@case("OJS-BBD-006", level=1, own_server=BOARD)
async def shapes(stage: Stage) -> None:
    """Found entities and changes are kept in the shape in which they were pushed."""
    block = stage.name("block")
    worker = await arrived(stage, block)
    poll = {"workerId": worker, "functionBlockIds": [block]}
    for phase, pushed, kept in (
        ("ACQUIRE", {"acquires": {"id": 1}}, {"acquires": {"id": 1}}),
        ("ACQUIRE", {"acquires": [{"id": 1}]}, {"acquires": [{"id": 1}]}),
        ("EXECUTE", {"dbUpdates": {"patch": [1]}}, {"db_updates": {"patch": [1]}}),
        ("EXECUTE", {"dbUpdates": [{"patch": 1}]}, {"db_updates": [{"patch": 1}]}),
    ):
        new = {"functionBlockId": block, "jobType": phase}
        job_id = (await stage.post("blackboard/jobs", new)).expect(201).json["jobId"]
        (await stage.post("blackboard/job", poll)).expect(200)
        done = {"jobId": job_id, "status": "Success", **pushed}
        (await stage.post("blackboard/job/result", done)).expect(200)
        seen = (await stage.get(f"blackboard/job/{job_id}")).expect(200, {"outcome": "success"})
        stage.equal(seen.json["result"], {"result": None, **kept}, "what is kept of the result")


@case("OJS-BBD-004", "OJS-BBD-005", "OJS-BBD-006", "OJS-BBD-007", level=1, own_server=BOARD)
async def pushing(stage: Stage) -> None:
    """A push is final, held to the block's schema, and keeps what belongs to its phase."""
    block = stage.name("block")
    worker = await arrived(stage, {"id": block, "resultDataJsonSchema": SCHEMA})
    poll = {"workerId": worker, "functionBlockIds": [block]}
    path = "blackboard/job/result"
    (await stage.post("blackboard/jobs", {"functionBlockId": block})).expect(201)
    job_id = (await stage.post("blackboard/job", poll)).expect(200).json[0]["jobId"]
    for wrong in (
        {"status": "done"},
        {"status": "success", "error": "no"},
        {"status": "success", "acquires": []},
        {"status": "success", "dbUpdates": {"drop": []}},
    ):
        (await stage.post(path, {"jobId": job_id, **wrong})).error(400, "invalid_request")
    against = {"jobId": job_id, "status": "success", "result": {}}
    (await stage.post(path, against)).error(422, "validation_error", field="result")
    updates = {"create": [{"id": 1}]}
    pushed = {**against, "result": {"size": 1}, "dbUpdates": updates}
    (await stage.post(path, pushed)).expect(200, {"blackboard_status": "PUSHED"})
    (await stage.post(path, pushed)).error(409, "conflict")
    seen = (await stage.get(f"blackboard/job/{job_id}")).expect(200, {"outcome": "success"})
    kept = {"result": {"size": 1}, "db_updates": updates}
    stage.equal(seen.json["result"], kept, "what is kept of the result")


@case("OJS-TEN-025", level=1, capability=TENANTS, own_server=BOARD)
async def of_tenants(stage: Stage) -> None:
    """Two tenants have blocks of one name, and each is handed its own jobs."""
    acme, beta = two(stage)
    block, path = f"{stage.name('Block')} 1", "blackboard/job/result"
    mine = await arrived(acme, {"id": block, "resultDataJsonSchema": SCHEMA})
    new = {"functionBlockId": block}
    for stranger in (beta, stage):
        (await stranger.post("blackboard/jobs", new)).error(422, "validation_error")
    other = await arrived(beta, block)
    job_id = (await acme.post("blackboard/jobs", new)).expect(201).json["jobId"]
    poll = {"functionBlockIds": [block]}
    found = await beta.post("blackboard/job", {**poll, "workerId": other})
    stage.equal(found.expect(200).json, [], "jobs for the other tenant")
    done = {"jobId": job_id, "status": "success", "result": {"size": 1}}
    for reply in (
        await beta.post("blackboard/job", {**poll, "workerId": mine}),
        await beta.get(f"blackboard/job/{job_id}"),
        await beta.post(path, done),
    ):
        reply.error(404, "not_found")
    held = (await acme.post("blackboard/job", {**poll, "workerId": mine})).expect(200).json
    stage.equal([polled["jobId"] for polled in held], [job_id], "the tenant's own job")
    against = await acme.post(path, {**done, "result": {}})
    against.error(422, "validation_error", field="result")
    (await acme.post(path, done)).expect(200)
    job = (await stage.get(f"jobs/{job_id}")).expect(200).json["job"]
    stage.equal(job["meta"]["tenant_id"], acme.headers["X-OJS-Tenant"], "whose the job is")
