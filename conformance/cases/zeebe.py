"""Cases of Zeebe's gateway: jobs with keys, late completions, incidents, processes of one job."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.grpc_statuses import Status
from conformance.verdicts.reply import Record, Reply

if TYPE_CHECKING:
    from conformance.rpc.client import Stub

SERVICE = "gateway_protocol.Gateway"
OWN = "zeebe"
MINUTE = 60_000
BRIEF_MS = 200
LARGEST = 2**63 - 1
# Calls that need a BPMN engine.
NOT_SERVED = (
    *("DeployProcess", "DeployResource", "DeleteResource", "PublishMessage", "BroadcastSignal"),
    *("EvaluateDecision", "ModifyProcessInstance", "MigrateProcessInstance"),
)


class Gateway:
    """A client of the gateway, with an unused job type."""

    def __init__(self, stage: Stage, stub: "Stub") -> None:
        self.stage = stage
        self.stub = stub
        self.type = f"Charge card: {stage.name()}"

    async def start(self, **variables: Any) -> str:
        """Start a process of the type; its key is returned."""
        reply = await self.stub.call(
            "CreateProcessInstance", bpmnProcessId=self.type, variables=json.dumps(variables)
        )
        key: str = reply.expect(Status.OK)["processInstanceKey"]
        return key

    async def activated(self, wait_ms: int = 10_000, **more: Any) -> list[Record]:
        """The jobs of one activation, after which its stream must end."""
        request = {"type": self.type, "worker": "w", "timeout": MINUTE, "maxJobsToActivate": 32}
        stream = self.stub.stream("ActivateJobs", **{**request, "requestTimeout": wait_ms, **more})
        if wait_ms < 0:
            (await stream.end()).expect(Status.OK)
            return []
        jobs: list[Record] = (await stream.next())["jobs"]
        (await stream.end()).expect(Status.OK)
        return jobs

    async def activate_one(self, **more: Any) -> Record:
        """The only job of an activation."""
        jobs = await self.activated(**more)
        self.stage.equal(len(jobs), 1, "the number of jobs")
        return jobs[0]

    async def none(self) -> None:
        """Require that no job is to be had."""
        await self.activated(-1)

    async def call(self, method: str, **members: Any) -> Reply:
        """A call that must be accepted."""
        return (await self.stub.call(method, **members)).expect(Status.OK)

    async def refused(self, status: Status, method: str, **members: Any) -> str:
        """A call that must be refused; the message is returned."""
        reply = (await self.stub.call(method, **members)).expect(
            status, {"error.message": "string:nonempty"}
        )
        message: str = reply["error.message"]
        return message


@asynccontextmanager
async def gateway(stage: Stage) -> AsyncIterator[Gateway]:
    """Connect to the gateway."""
    async with stage.rpcs(SERVICE) as stub:
        yield Gateway(stage, stub)


def variables_of(job: Record) -> Any:
    """The variables of a job, as a client reads them."""
    return json.loads(job["variables"])


@case("OJS-ZEE-001", "OJS-ZEE-005", grpc=True, own_server=OWN)
async def keys(stage: Stage) -> None:
    """A job has one key to its end, above those before, for whatever is asked of it."""
    async with gateway(stage) as zeebe:
        made = [await zeebe.start() for _ in range(3)]
        numbers = [int(key) for key in made]
        stage.check(numbers == sorted(set(numbers)), "keys that rise", numbers)
        jobs = await zeebe.activated()
        stage.equal([job["key"] for job in jobs], made, "the keys")
        first = jobs[0]
        for name in ("processInstanceKey", "elementInstanceKey"):
            stage.equal(first[name], first["key"], name)
        stage.equal([job["retries"] for job in jobs], [3, 3, 3], "retries")
        await zeebe.call("FailJob", jobKey=first["key"], retries=2)
        again = await zeebe.activate_one()
        stage.equal([again["key"], again["retries"]], [first["key"], 2], "key and retries")


@case("OJS-ZEE-002", "OJS-ZEE-004", grpc=True, own_server=OWN)
async def jobs_of_all_queues(stage: Stage) -> None:
    """Jobs of one type are activated from all queues, with their variables and headers."""
    kind = stage.name("mail")
    async with gateway(stage) as zeebe:
        meta = {"custom_headers": {"template": "hello"}}
        for queue in (stage.name(), stage.name()):
            members = {"type": kind, "queue": queue, "meta": meta}
            (await stage.push(**members, args=[{"to": "a", "n": 1}])).expect(201)
        for job in await zeebe.activated(type=kind):
            stage.equal(variables_of(job), {"to": "a", "n": 1}, "variables")
            stage.equal(json.loads(job["customHeaders"]), {"template": "hello"}, "headers")
            stage.equal([job["type"], job["worker"]], [kind, "w"], "type and worker")
        (await stage.push(type=kind, args=[1, 2])).expect(201)
        stage.equal(
            variables_of(await zeebe.activate_one(type=kind)), {"args": [1, 2]}, "variables"
        )


@case("OJS-ZEE-004", "OJS-ZEE-007", grpc=True, own_server=OWN)
async def arguments_after_the_first(stage: Stage) -> None:
    """Variables that are merged change the first argument, and leave those after it."""
    kind = stage.name("mail")
    async with gateway(stage) as zeebe:
        made = (await stage.push(type=kind, args=[{"a": 1}, 2, 3])).expect(201)
        job = await zeebe.activate_one(type=kind)
        stage.equal(variables_of(job), {"a": 1}, "variables")
        await zeebe.call("FailJob", jobKey=job["key"], retries=1, variables='{"b":2}')
        shown = await stage.look(made["job.id"])
        stage.equal(shown["args"], [{"a": 1, "b": 2}, 2, 3], "args")
        stage.equal(
            variables_of(await zeebe.activate_one(type=kind)), {"a": 1, "b": 2}, "variables"
        )


@case("OJS-ZEE-002", grpc=True, own_server=OWN)
async def activation(stage: Stage) -> None:
    """An activation waits as long as it says, takes as many as it says, and says all it must."""
    async with gateway(stage) as zeebe:
        await zeebe.none()
        async with stage.waiting(zeebe.activate_one()) as (waiting,):
            await asyncio.sleep(0.2)
            key = await zeebe.start()
            stage.equal((await waiting)["key"], key, "the key")
        made = [await zeebe.start() for _ in range(3)]
        few = await zeebe.activated(maxJobsToActivate=2)
        stage.equal([job["key"] for job in few], made[:2], "the keys")
        right: dict[str, Any] = {
            "type": zeebe.type,
            "worker": "w",
            "timeout": 1000,
            "maxJobsToActivate": 1,
        }
        for name, value in (
            *(("type", ""), ("type", "  "), ("worker", "")),
            *(("timeout", 0), ("timeout", -1), ("maxJobsToActivate", 0)),
        ):
            stream = zeebe.stub.stream("ActivateJobs", **{**right, name: value})
            (await stream.end()).expect(Status.INVALID_ARGUMENT)


@case("OJS-ZEE-002", grpc=True, own_server=OWN)
async def as_many_as_may_wait(stage: Stage) -> None:
    """An activation beyond those that may wait is RESOURCE_EXHAUSTED, until one has ended."""
    async with gateway(stage) as zeebe:
        request: dict[str, Any] = {"type": zeebe.type, "worker": "w", "timeout": MINUTE}
        request |= {"maxJobsToActivate": 1}

        async def status() -> int:
            stream = zeebe.stub.stream("ActivateJobs", **request, requestTimeout=-1)
            return (await stream.end()).status

        async def is_full() -> bool:
            return await status() == Status.RESOURCE_EXHAUSTED

        async def has_room() -> bool:
            return await status() == Status.OK

        waiting = [
            zeebe.stub.stream("ActivateJobs", **request, requestTimeout=MINUTE) for _ in range(2)
        ]
        await asyncio.gather(*(stream.begun() for stream in waiting))
        await stage.until(is_full, 5, "a third activation is refused")
        waiting[0].leave()
        await stage.until(has_room, 5, "room for another activation")
        waiting[1].leave()


@case("OJS-ZEE-003", grpc=True, own_server=OWN)
async def streams(stage: Stage) -> None:
    """A stream is pushed jobs as they come; jobs that come after its end wait for others."""
    async with gateway(stage) as zeebe:
        request: dict[str, Any] = {"type": zeebe.type, "worker": "w", "timeout": MINUTE}
        stream = zeebe.stub.stream("StreamActivatedJobs", **request)
        await stream.begun()
        made = [await zeebe.start() for _ in range(3)]
        pushed = [(await stream.next())["key"] for _ in made]
        stage.equal(pushed, made, "the keys")
        stream.leave()
        await asyncio.sleep(0.3)  # no event tells that the server has noticed
        key = await zeebe.start()
        stage.equal((await zeebe.activate_one())["key"], key, "the key")


@case("OJS-ZEE-004", grpc=True, own_server=OWN)
async def variables(stage: Stage) -> None:
    """Whole numbers of 64 bits keep their digits, and longer ones are refused."""
    async with gateway(stage) as zeebe:
        text = f'{{"order":{LARGEST},"deep":{{"list":[{-LARGEST},1.5]}}}}'
        await zeebe.call("CreateProcessInstance", bpmnProcessId=zeebe.type, variables=text)
        job = await zeebe.activate_one()
        stage.equal(variables_of(job), json.loads(text), "variables")
        for wrong in (f'{{"order":{2**64}}}', '{"order"', "[1]"):
            await zeebe.refused(
                Status.INVALID_ARGUMENT,
                "CreateProcessInstance",
                bpmnProcessId=zeebe.type,
                variables=wrong,
            )


@case("OJS-ZEE-013", grpc=True, own_server=OWN)
async def types(stage: Stage) -> None:
    """A type is any text, to calls of OJS, too; only those take its end for a version."""
    async with gateway(stage) as zeebe:
        kind = zeebe.type
        made = (await stage.push(type=kind)).expect(201)
        job = await zeebe.activate_one()
        stage.equal([job["type"], job["bpmnProcessId"]], [kind, kind], "the type")
        await zeebe.call("CompleteJob", jobKey=job["key"])
        stage.equal((await stage.look(made["job.id"]))["type"], kind, "the type")
        steps = [{"type": kind, "args": []}]
        (await stage.post("workflows", {"type": "chain", "steps": steps})).expect(201)
        await zeebe.start()
        fetched = (await stage.post("workers/fetch", {"job_types": [kind], "count": 9})).expect(200)
        stage.equal([job["type"] for job in fetched["jobs"]], [kind, kind], "the types")
        (await stage.push(type=" ")).expect(400)
        versioned = f"{stage.name()}@2.0"
        (await stage.push(type=versioned)).expect(201)
        await zeebe.activated(-1, type=versioned)
        name, _, _ = versioned.partition("@")
        stage.equal((await zeebe.activate_one(type=name))["type"], name, "the type")
    manifest = await stage.get("/ojs/manifest")
    manifest.expect(200, {"capabilities.any_job_type": True})


@case("OJS-ZEE-014", grpc=True, own_server=OWN)
async def too_many_variables(stage: Stage) -> None:
    """A completion counts by its own variables; with too many it leaves an incident."""
    limit = (await stage.get("/ojs/manifest")).expect(200)["limits"]["max_result_bytes"]
    async with gateway(stage) as zeebe:
        half = "x" * (limit * 3 // 5)
        key = await zeebe.start(a=half)
        await zeebe.activate_one()
        await zeebe.call("CompleteJob", jobKey=key, variables=json.dumps({"b": half}))
        key = await zeebe.start()
        await zeebe.activate_one()
        many = json.dumps({"b": "x" * limit})
        await zeebe.refused(Status.RESOURCE_EXHAUSTED, "CompleteJob", jobKey=key, variables=many)
        await zeebe.none()
        await zeebe.refused(Status.FAILED_PRECONDITION, "CompleteJob", jobKey=key)
        await zeebe.call("ResolveIncident", incidentKey=key)
        stage.equal((await zeebe.activate_one())["key"], key, "the key")


@case("OJS-ZEE-006", grpc=True, own_server=OWN)
async def completions(stage: Stage) -> None:
    """A completion counts after the timeout, too, until another one; its variables are merged."""
    async with gateway(stage) as zeebe:
        key = await zeebe.start(a=1, b=1)
        await zeebe.activate_one(timeout=BRIEF_MS)
        stage.equal((await zeebe.activate_one(timeout=BRIEF_MS))["key"], key, "the key")
        await zeebe.call("CompleteJob", jobKey=key, variables='{"b":2,"c":3}')
        await zeebe.refused(Status.NOT_FOUND, "CompleteJob", jobKey=key)
        await zeebe.refused(Status.NOT_FOUND, "CompleteJob", jobKey="77")
        await zeebe.none()


@case("OJS-ZEE-007", grpc=True, own_server=OWN)
async def failures(stage: Stage) -> None:
    """A failure sets the retries, backs off and leaves variables; without retries it is final."""
    async with gateway(stage) as zeebe:
        key = await zeebe.start(a=1)
        await zeebe.activate_one()
        failing = {"jobKey": key, "retries": 7, "errorMessage": "no", "retryBackOff": 2500}
        await zeebe.call("FailJob", **failing, variables='{"b":2}')
        await zeebe.none()
        again = await zeebe.activate_one()
        stage.equal([again["key"], again["retries"]], [key, 7], "key and retries")
        stage.equal(variables_of(again), {"a": 1, "b": 2}, "variables")
        await zeebe.call("FailJob", jobKey=key, retries=0, errorMessage="no more")
        await zeebe.none()
        await zeebe.refused(Status.FAILED_PRECONDITION, "FailJob", jobKey=key, retries=1)
        await zeebe.refused(Status.NOT_FOUND, "FailJob", jobKey="77", retries=1)


@case("OJS-ZEE-008", grpc=True, own_server=OWN)
async def incidents(stage: Stage) -> None:
    """An error is an incident: calls on the job are refused until it is resolved."""
    async with gateway(stage) as zeebe:
        kind = stage.name("pay")
        (await stage.push(type=kind, queue=(queue := stage.name()))).expect(201)
        key = (await zeebe.activate_one(type=kind))["key"]
        await zeebe.call("ThrowError", jobKey=key, errorCode="NO_FUNDS", errorMessage="empty")
        await zeebe.refused(Status.FAILED_PRECONDITION, "CompleteJob", jobKey=key)
        dead = (await stage.get("dead-letter", queue=queue)).expect(200, {"jobs": {"$size": 1}})
        stage.equal(dead["jobs"][0]["error"]["code"], "NO_FUNDS", "the code of the error")
        await zeebe.call("ResolveIncident", incidentKey=key)
        again = await zeebe.activate_one(type=kind)
        stage.equal(again["key"], key, "the key")
        stage.check(again["retries"] > 0, "retries", again["retries"])
        await zeebe.refused(Status.NOT_FOUND, "ResolveIncident", incidentKey="77")


@case("OJS-ZEE-009", grpc=True, own_server=OWN)
async def updates(stage: Stage) -> None:
    """Retries, the timeout and variables are changed where the job is."""
    async with gateway(stage) as zeebe:
        key = await zeebe.start(a=1, b=1)
        await zeebe.call("SetVariables", elementInstanceKey=key, variables='{"b":2}')
        await zeebe.call("UpdateJobRetries", jobKey=key, retries=8)
        job = await zeebe.activate_one()
        stage.equal(variables_of(job), {"a": 1, "b": 2}, "variables")
        stage.equal(job["retries"], 8, "retries")
        await zeebe.call("UpdateJobTimeout", jobKey=key, timeout=BRIEF_MS)
        stage.equal((await zeebe.activate_one(wait_ms=5000))["key"], key, "the key")
        await zeebe.refused(Status.INVALID_ARGUMENT, "UpdateJobRetries", jobKey=key, retries=0)
        await zeebe.refused(Status.NOT_FOUND, "UpdateJobRetries", jobKey="77", retries=1)


@case("OJS-ZEE-006", "OJS-ZEE-010", grpc=True, own_server=OWN)
async def processes(stage: Stage) -> None:
    """A process is one job; who wants its result waits for the variables at its end."""
    async with gateway(stage) as zeebe:
        request = {"bpmnProcessId": zeebe.type, "variables": '{"a":1,"b":1}'}
        waiting = zeebe.call(
            "CreateProcessInstanceWithResult", request=request, requestTimeout=10_000
        )
        async with stage.waiting(waiting) as (result,):
            job = await zeebe.activate_one()
            await zeebe.call("CompleteJob", jobKey=job["key"], variables='{"b":2}')
            answer = await result
        stage.equal(json.loads(answer["variables"]), {"a": 1, "b": 2}, "variables")
        stage.equal(answer["processInstanceKey"], job["key"], "the key")
        stage.equal([answer["version"], answer["bpmnProcessId"]], [1, zeebe.type], "the process")
        await zeebe.refused(
            Status.DEADLINE_EXCEEDED,
            "CreateProcessInstanceWithResult",
            request={"bpmnProcessId": stage.name("other")},
            requestTimeout=1,
        )
        key = await zeebe.start()
        await zeebe.call("CancelProcessInstance", processInstanceKey=key)
        await zeebe.none()
        await zeebe.refused(Status.NOT_FOUND, "CancelProcessInstance", processInstanceKey=key)
        await zeebe.refused(
            Status.NOT_FOUND, "CreateProcessInstance", bpmnProcessId=zeebe.type, version=2
        )


@case("OJS-ZEE-011", grpc=True, own_server=OWN)
async def what_is_not_served(stage: Stage) -> None:
    """Calls that need a BPMN engine are refused with advice; the topology is one broker's."""
    async with gateway(stage) as zeebe:
        for method in NOT_SERVED:
            message = await zeebe.refused(Status.UNIMPLEMENTED, method)
            stage.check(len(message.split()) > 3, "a sentence that says what to use", message)
        topology = await zeebe.call("Topology")
        topology.expect(None, {"brokers": {"$size": 1}, "brokers[0].partitions": {"$size": 1}})
        version = topology["gatewayVersion"]
        stage.equal(topology["brokers"][0]["version"], version, "the version of the broker")
        stage.check(version.startswith("8."), "a version of 8", version)


@case("OJS-ZEE-012", own_server=OWN)
async def rest(stage: Stage) -> None:
    """Jobs are activated and ended by Camunda's REST calls, with texts for keys."""
    request = {"type": "pay", "worker": "w", "timeout": MINUTE, "maxJobsToActivate": 5}

    async def started(**variables: Any) -> str:
        body = {"processDefinitionId": "pay", "variables": variables}
        made = (await stage.post("/v2/process-instances", body)).expect(200)
        key: str = made["processInstanceKey"]
        return key

    async def activated() -> list[Record]:
        reply = await stage.post("/v2/jobs/activation", {**request, "requestTimeout": -1})
        jobs: list[Record] = reply.expect(200)["jobs"]
        return jobs

    key = await started(order=LARGEST)
    (job,) = await activated()
    stage.equal([job["jobKey"], job["retries"]], [key, 3], "key and retries")
    stage.equal(job["variables"], {"order": LARGEST}, "variables")
    (await stage.post(f"/v2/jobs/{key}/completion", {"variables": {"b": 1}})).expect(204)
    again = await stage.post(f"/v2/jobs/{key}/completion", {})
    again.expect(404, {"status": 404, "title": "string:nonempty", "detail": "string:nonempty"})
    stage.equal(again.headers.get("content-type"), "application/problem+json", "content-type")
    key = await started(a=1)
    variables = {"variables": {"b": 2}}
    (await stage.call("PUT", f"/v2/element-instances/{key}/variables", variables)).expect(204)
    stage.equal((await activated())[0]["variables"], {"a": 1, "b": 2}, "variables")
    (await stage.post(f"/v2/jobs/{key}/failure", {"errorMessage": "no"})).expect(204)
    stage.equal(await activated(), [], "jobs of an incident")
    (await stage.post(f"/v2/jobs/{key}/completion", {})).expect(409)
    change = {"changeset": {"retries": 2}}
    (await stage.call("PATCH", f"/v2/jobs/{key}", change)).expect(204)
    (await stage.post(f"/v2/incidents/{key}/resolution", {})).expect(204)
    stage.equal([job["retries"] for job in await activated()], [2], "retries")
    (await stage.post(f"/v2/jobs/{key}/error", {"errorCode": "NO_FUNDS"})).expect(204)
    (await stage.get("/v2/topology")).expect(200, {"brokers": {"$size": 1}})
    other = await started()
    (await stage.post(f"/v2/process-instances/{other}/cancellation", {})).expect(204)
    stage.equal(await activated(), [], "jobs of a cancelled process")
    wrong = await stage.post("/v2/jobs/activation", {**request, "timeout": 0})
    wrong.expect(400, {"status": 400})


def problem(stage: Stage, reply: Reply, status: int, title: str) -> None:
    """Require a problem of a title."""
    reply.expect(status, {"title": title, "status": status, "detail": "string:nonempty"})
    stage.equal(reply.headers.get("content-type"), "application/problem+json", "content-type")


@case("OJS-ZEE-015", own_server=OWN)
async def problems(stage: Stage) -> None:
    """Each error below /v2 is a problem with a title of Camunda's."""
    activation: dict[str, Any] = {"type": stage.name(), "timeout": MINUTE, "maxJobsToActivate": 1}
    activate = "/v2/jobs/activation"
    problem(stage, await stage.get(f"/v2/{stage.name()}"), 404, "NOT_FOUND")
    problem(stage, await stage.get(activate), 405, "METHOD_NOT_ALLOWED")
    wrong = {**activation, "timeout": 0}
    problem(stage, await stage.post(activate, wrong), 400, "INVALID_ARGUMENT")
    problem(stage, await stage.post("/v2/deployments", {}), 501, "UNIMPLEMENTED")
    process = {"processDefinitionId": activation["type"]}
    made = (await stage.post("/v2/process-instances", process)).expect(200)
    (await stage.post(activate, activation)).expect(200, {"jobs": {"$size": 1}})
    complete = f"/v2/jobs/{made['processInstanceKey']}/completion"
    limit = (await stage.get("/ojs/manifest")).expect(200)["limits"]["max_result_bytes"]
    many = await stage.post(complete, {"variables": {"b": "x" * limit}})
    problem(stage, many, 413, "MAX_MESSAGE_SIZE_EXCEEDED")
    problem(stage, await stage.post(complete, {}), 409, "INVALID_STATE")


@case("OJS-ZEE-015", own_server=OWN)
async def back_pressure(stage: Stage) -> None:
    """An activation beyond those that may wait is back-pressure, as Camunda's clients know it."""
    kind = stage.name()
    activation = {"type": kind, "timeout": MINUTE, "maxJobsToActivate": 1}
    now = {**activation, "requestTimeout": -1}

    async def activated() -> Reply:
        waiting = {**activation, "requestTimeout": 10_000}
        while True:
            reply = await stage.post("/v2/jobs/activation", waiting)
            # A look whether all places are taken takes one for a moment.
            if reply.status != 503:
                return reply

    async def is_full() -> bool:
        return (await stage.post("/v2/jobs/activation", now)).status == 503

    async with stage.waiting(activated(), activated()) as waiting:
        await stage.until(is_full, 5, "a third activation is refused")
        third = await stage.post("/v2/jobs/activation", now)
        problem(stage, third, 503, "RESOURCE_EXHAUSTED")
        for _ in waiting:
            (await stage.post("/v2/process-instances", {"processDefinitionId": kind})).expect(200)
        for one in waiting:
            (await one).expect(200, {"jobs": {"$size": 1}})


@case("OJS-ZEE-016", own_server=OWN)
async def searches(stage: Stage) -> None:
    """Jobs, incidents and process instances are found, newest first, by what names them."""
    kind = stage.name("Send Email ")

    async def found(what: str, **body: Any) -> list[Record]:
        reply = await stage.post(f"/v2/{what}/search", body)
        items: list[Record] = reply.expect(200)["items"]
        return items

    keys = []
    for _ in range(3):
        made = await stage.post("/v2/process-instances", {"processDefinitionId": kind})
        keys.append(made.expect(200)["processInstanceKey"])
    activation = {"type": kind, "timeout": MINUTE, "maxJobsToActivate": 1, "requestTimeout": -1}
    (await stage.post("/v2/jobs/activation", activation)).expect(200)
    (await stage.post(f"/v2/jobs/{keys[0]}/failure", {"errorMessage": "no"})).expect(204)
    jobs = await found("jobs", filter={"type": kind})
    stage.equal([job["jobKey"] for job in jobs], keys[::-1], "the keys")
    stage.equal([job["state"] for job in jobs], ["CREATED", "CREATED", "FAILED"], "the states")
    (incident,) = await found("incidents", filter={"processDefinitionId": kind})
    stage.equal([incident["jobKey"], incident["errorMessage"]], [keys[0], "no"], "the incident")
    page = {"filter": {"processDefinitionId": kind}, "page": {"from": 1, "limit": 1}}
    (instance,) = await found("process-instances", **page)
    stage.equal(instance["processInstanceKey"], keys[1], "the key")
    (await stage.post("/v2/jobs/search", {"filter": {"worker": "w"}})).expect(400)
