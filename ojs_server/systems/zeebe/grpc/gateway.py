"""`gateway_protocol.Gateway`: the calls of Zeebe's clients.

Each is admitted as the call of HTTP that does the same.
"""

from collections.abc import Mapping
from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_server.grpc.calls import Rpc
from ojs_server.grpc.errors import stopping
from ojs_server.grpc.handlers import Behaviour, Service
from ojs_server.http.route import V1
from ojs_server.ops.workers.fetch import give_back
from ojs_server.systems.zeebe import jobs as zeebe
from ojs_server.systems.zeebe import processes
from ojs_server.systems.zeebe.grpc.proto import zeebe_pb2 as pb
from ojs_server.systems.zeebe.jobs import Activated, Activation
from ojs_server.systems.zeebe.not_served import DECIDE, DEPLOY, MESSAGES, REPLACE, SIGNALS
from ojs_server.systems.zeebe.processes import TENANT, VERSION, Created, definition_key
from ojs_server.systems.zeebe.variables import parse_variables
from ojs_wire.codec import encode

SERVICE: Final = pb.DESCRIPTOR.services_by_name["Gateway"]
# Most jobs that a stream takes at a time, so that few wait for a client that does not read.
_PUSHED: Final = 16

_FETCH: Final = ("POST", f"{V1}/workers/fetch")
_ACK: Final = ("POST", f"{V1}/workers/ack")
_NACK: Final = ("POST", f"{V1}/workers/nack")
_BEAT: Final = ("POST", f"{V1}/workers/heartbeat")
_ENQUEUE: Final = ("POST", f"{V1}/jobs")
_CANCEL: Final = ("DELETE", f"{V1}/jobs/{{id}}")
_REVIVE: Final = ("POST", f"{V1}/dead-letter/{{id}}/retry")
_HEALTH: Final = ("GET", f"{V1}/health")

NOT_SERVED: Final[Mapping[str, str]] = {
    "DeployProcess": DEPLOY,
    "DeployResource": DEPLOY,
    "DeleteResource": DEPLOY,
    "PublishMessage": MESSAGES,
    "BroadcastSignal": SIGNALS,
    "EvaluateDecision": DECIDE,
    "ModifyProcessInstance": REPLACE,
    "MigrateProcessInstance": REPLACE,
}


async def _topology(rpc: Rpc, message: pb.TopologyRequest) -> pb.TopologyResponse:
    settings, ports = rpc.server.settings, rpc.server.ports
    partition = pb.Partition(partitionId=1, role=pb.Partition.LEADER, health=pb.Partition.HEALTHY)
    return pb.TopologyResponse(
        brokers=[
            pb.BrokerInfo(
                nodeId=0,
                host=settings.host,
                port=ports.grpc or 0,
                partitions=[partition],
                version=zeebe.ZEEBE_VERSION,
            )
        ],
        clusterSize=1,
        partitionsCount=1,
        replicationFactor=1,
        gatewayVersion=zeebe.ZEEBE_VERSION,
    )


def _require_worker(name: str) -> None:
    # REST may leave it out.
    if not name.strip():
        raise invalid("worker", "must not be blank")


async def _activate(rpc: Rpc, message: pb.ActivateJobsRequest) -> None:
    """Send one batch as soon as there is one; the stream ends after it, or empty at the time
    limit."""
    processes.require_tenants(message.tenantIds)
    _require_worker(message.worker)
    activation = Activation(
        message.type,
        message.worker,
        message.timeout,
        message.maxJobsToActivate,
        message.requestTimeout or processes.USUAL_WAIT_MS,
        tuple(message.fetchVariable),
    )
    with rpc.place():
        jobs = await zeebe.activate(rpc, activation)
    if jobs and not await rpc.write(pb.ActivateJobsResponse(jobs=map(_job, jobs))):
        await give_back(rpc.server.engine, [job.lease for job in jobs])


async def _stream(rpc: Rpc, message: pb.StreamActivatedJobsRequest) -> None:
    """Push jobs as fast as the client reads them, until it leaves."""
    processes.require_tenants(message.tenantIds)
    _require_worker(message.worker)
    engine = rpc.server.engine
    activation = Activation(
        message.type,
        message.worker,
        message.timeout,
        _PUSHED,
        engine.rules.profile.max_wait_ms,
        tuple(message.fetchVariable),
    )
    with rpc.place():
        while not rpc.left.is_set():
            jobs = await zeebe.activate(rpc, activation)
            for place, job in enumerate(jobs):
                if not await rpc.write(_job(job)):
                    await give_back(engine, [job.lease for job in jobs[place:]])
                    return
            if engine.wakeups.closed:
                raise stopping()


def _job(job: Activated) -> pb.ActivatedJob:
    return pb.ActivatedJob(
        key=job.key,
        type=job.type,
        processInstanceKey=job.key,
        bpmnProcessId=job.type,
        processDefinitionVersion=VERSION,
        processDefinitionKey=definition_key(job.type),
        elementId=job.type,
        elementInstanceKey=job.key,
        customHeaders=encode(job.headers).decode(),
        worker=job.worker,
        retries=job.retries,
        deadline=job.deadline,
        variables=encode(job.variables).decode(),
        tenantId=TENANT,
    )


async def _complete(rpc: Rpc, message: pb.CompleteJobRequest) -> pb.CompleteJobResponse:
    variables = parse_variables(message.variables)
    await zeebe.complete(rpc, message.jobKey, variables)
    return pb.CompleteJobResponse()


async def _fail(rpc: Rpc, message: pb.FailJobRequest) -> pb.FailJobResponse:
    await zeebe.fail(
        rpc,
        message.jobKey,
        message.retries,
        message.errorMessage,
        message.retryBackOff,
        parse_variables(message.variables),
    )
    return pb.FailJobResponse()


async def _throw(rpc: Rpc, message: pb.ThrowErrorRequest) -> pb.ThrowErrorResponse:
    await zeebe.throw(
        rpc,
        message.jobKey,
        message.errorCode,
        message.errorMessage,
        parse_variables(message.variables),
    )
    return pb.ThrowErrorResponse()


async def _set_retries(
    rpc: Rpc, message: pb.UpdateJobRetriesRequest
) -> pb.UpdateJobRetriesResponse:
    await zeebe.update(rpc, message.jobKey, retries=message.retries, timeout_ms=None)
    return pb.UpdateJobRetriesResponse()


async def _set_timeout(
    rpc: Rpc, message: pb.UpdateJobTimeoutRequest
) -> pb.UpdateJobTimeoutResponse:
    await zeebe.update(rpc, message.jobKey, retries=None, timeout_ms=message.timeout)
    return pb.UpdateJobTimeoutResponse()


async def _resolve(rpc: Rpc, message: pb.ResolveIncidentRequest) -> pb.ResolveIncidentResponse:
    await zeebe.resolve(rpc, message.incidentKey)
    return pb.ResolveIncidentResponse()


async def _cancel(
    rpc: Rpc, message: pb.CancelProcessInstanceRequest
) -> pb.CancelProcessInstanceResponse:
    await processes.cancel(rpc, message.processInstanceKey)
    return pb.CancelProcessInstanceResponse()


async def _set_variables(rpc: Rpc, message: pb.SetVariablesRequest) -> pb.SetVariablesResponse:
    variables = parse_variables(message.variables)
    await zeebe.set_variables(rpc, message.elementInstanceKey, variables)
    return pb.SetVariablesResponse(key=message.elementInstanceKey)


async def _start(rpc: Rpc, message: pb.CreateProcessInstanceRequest) -> Created:
    processes.require_tenants([message.tenantId])
    return await processes.create(
        rpc,
        message.bpmnProcessId,
        parse_variables(message.variables),
        definition_key=message.processDefinitionKey,
        version=message.version,
        starts_at=[instruction.elementId for instruction in message.startInstructions],
    )


async def _create(
    rpc: Rpc, message: pb.CreateProcessInstanceRequest
) -> pb.CreateProcessInstanceResponse:
    return pb.CreateProcessInstanceResponse(**_created(await _start(rpc, message)))


async def _create_with_result(
    rpc: Rpc, message: pb.CreateProcessInstanceWithResultRequest
) -> pb.CreateProcessInstanceWithResultResponse:
    with rpc.place():
        created = await _start(rpc, message.request)
        variables = await processes.result(
            rpc, created, message.requestTimeout, tuple(message.fetchVariables)
        )
    return pb.CreateProcessInstanceWithResultResponse(
        **_created(created), variables=encode(variables).decode()
    )


def _created(created: Created) -> dict[str, Any]:
    return {
        "processDefinitionKey": definition_key(created.process),
        "bpmnProcessId": created.process,
        "version": VERSION,
        "processInstanceKey": created.key,
        "tenantId": TENANT,
    }


BEHAVIOURS: Final[Mapping[str, Behaviour]] = {
    "Topology": Behaviour(_HEALTH, _topology),
    "ActivateJobs": Behaviour(_FETCH, _activate),
    "StreamActivatedJobs": Behaviour(_FETCH, _stream),
    "CompleteJob": Behaviour(_ACK, _complete),
    "FailJob": Behaviour(_NACK, _fail),
    "ThrowError": Behaviour(_NACK, _throw),
    "UpdateJobRetries": Behaviour(_NACK, _set_retries),
    "UpdateJobTimeout": Behaviour(_BEAT, _set_timeout),
    "ResolveIncident": Behaviour(_REVIVE, _resolve, "incidentKey"),
    "SetVariables": Behaviour(_NACK, _set_variables),
    "CancelProcessInstance": Behaviour(_CANCEL, _cancel, "processInstanceKey"),
    "CreateProcessInstance": Behaviour(_ENQUEUE, _create),
    "CreateProcessInstanceWithResult": Behaviour(_ENQUEUE, _create_with_result),
}
GATEWAY: Final = Service(SERVICE, BEHAVIOURS, NOT_SERVED)
