"""Camunda's REST API for jobs, on top of the calls of Zeebe's gateway; keys are texts."""

from typing import Any, Final

from ojs_server.http.access.roles import ENQUEUE, OPERATE, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.responses import NO_CONTENT
from ojs_server.http.route import ANYONE, Route
from ojs_server.systems.zeebe import jobs as zeebe
from ojs_server.systems.zeebe import processes
from ojs_server.systems.zeebe.jobs import KIND, LISTENER_EVENT, Activated, Activation
from ojs_server.systems.zeebe.keys import parse_key
from ojs_server.systems.zeebe.processes import TENANT, VERSION, definition_key
from ojs_server.systems.zeebe.requests import (
    ActivationRequest,
    CompletionRequest,
    ErrorRequest,
    FailureRequest,
    JobUpdateRequest,
    ProcessRequest,
    VariablesRequest,
    long,
)

_DONE: Final = Answer(b"", NO_CONTENT)


async def topology(call: Call) -> Answer:
    """Show one broker with one partition, and a version that clients know."""
    ports = call.server.ports
    partition = {"partitionId": 1, "role": "leader", "health": "healthy"}
    broker = {
        "nodeId": 0,
        "host": call.server.settings.host,
        "port": ports.grpc or ports.http or 0,
        "partitions": [partition],
        "version": zeebe.ZEEBE_VERSION,
    }
    counts = dict.fromkeys(("clusterSize", "partitionsCount", "replicationFactor"), 1)
    shown = {"brokers": [broker], **counts, "gatewayVersion": zeebe.ZEEBE_VERSION}
    # There are no changes of the cluster.
    return Answer({**shown, "lastCompletedChangeId": "-1"})


async def activate(call: Call) -> Answer:
    """Deliver jobs of a type, as soon as there are some within the wait."""
    request = await call.read(ActivationRequest)
    processes.require_tenants(request.tenantIds or ())
    activation = Activation(
        request.type,
        request.worker or "",
        long("timeout", request.timeout) or 0,
        request.maxJobsToActivate,
        long("requestTimeout", request.requestTimeout) or processes.USUAL_WAIT_MS,
        tuple(request.fetchVariable or ()),
    )
    with call.server.waiting.take():
        jobs = await zeebe.activate(call, activation)
    return Answer({"jobs": [_job(job) for job in jobs]})


def _job(job: Activated) -> dict[str, Any]:
    key = str(job.key)
    return {
        "jobKey": key,
        "type": job.type,
        "processInstanceKey": key,
        "processDefinitionKey": str(definition_key(job.type)),
        "processDefinitionId": job.type,
        "bpmnProcessId": job.type,
        "processDefinitionVersion": VERSION,
        "elementId": job.type,
        "elementInstanceKey": key,
        "customHeaders": job.headers,
        "worker": job.worker,
        "retries": job.retries,
        "deadline": job.deadline,
        "variables": job.variables,
        "tenantId": TENANT,
        "kind": KIND,
        "listenerEventType": LISTENER_EVENT,
    }


async def complete(call: Call) -> Answer:
    """Complete a job."""
    request = await call.read(CompletionRequest, optional=True)
    await zeebe.complete(call, _key(call), request.variables or {})
    return _DONE


async def fail(call: Call) -> Answer:
    """Fail a job."""
    request = await call.read(FailureRequest, optional=True)
    await zeebe.fail(
        call,
        _key(call),
        request.retries or 0,
        request.errorMessage or "",
        long("retryBackOff", request.retryBackOff) or 0,
        request.variables or {},
    )
    return _DONE


async def throw(call: Call) -> Answer:
    """End a job with a business error."""
    request = await call.read(ErrorRequest)
    await zeebe.throw(
        call,
        _key(call),
        request.errorCode,
        request.errorMessage or "",
        request.variables or {},
    )
    return _DONE


async def update(call: Call) -> Answer:
    """Change the retries of a job, or its timeout, which then counts from now."""
    change = (await call.read(JobUpdateRequest)).changeset
    timeout_ms = long("timeout", change.timeout)
    await zeebe.update(call, _key(call), retries=change.retries, timeout_ms=timeout_ms)
    return _DONE


async def resolve(call: Call) -> Answer:
    """Restore the retries of the job of an incident."""
    await call.optional_json()
    await zeebe.resolve(call, _key(call))
    return _DONE


async def create(call: Call) -> Answer:
    """Start a process instance, and wait for its end if the client asks for that."""
    request = await call.read(ProcessRequest)
    processes.require_tenants([request.tenantId or ""])
    created = await processes.create(
        call,
        request.processDefinitionId or "",
        request.variables or {},
        definition_key=int(bool(request.processDefinitionKey)),
        version=request.processDefinitionVersion or VERSION,
        starts_at=request.startInstructions or (),
    )
    shown = {
        "processDefinitionKey": str(definition_key(created.process)),
        "processDefinitionId": created.process,
        "processDefinitionVersion": VERSION,
        "processInstanceKey": str(created.key),
        "tenantId": TENANT,
    }
    if not request.awaitCompletion:
        return Answer({**shown, "variables": {}})
    names = tuple(request.fetchVariables or ())
    wait_ms = long("requestTimeout", request.requestTimeout) or 0
    variables = await processes.result(call, created, wait_ms, names)
    return Answer({**shown, "variables": variables})


async def cancel(call: Call) -> Answer:
    """Cancel the job that a process is."""
    await call.optional_json()
    await processes.cancel(call, _key(call))
    return _DONE


async def set_variables(call: Call) -> Answer:
    """Merge variables into those of a job that has not ended."""
    request = await call.read(VariablesRequest)
    await zeebe.set_variables(call, _key(call), request.variables)
    return _DONE


def _key(call: Call) -> int:
    return parse_key(call.path_params["key"])


ROUTES: Final = (
    Route("POST", "/jobs/activation", activate, WORK, waits=True),
    Route("POST", "/jobs/{key}/completion", complete, WORK),
    Route("POST", "/jobs/{key}/failure", fail, WORK),
    Route("POST", "/jobs/{key}/error", throw, WORK),
    Route("PATCH", "/jobs/{key}", update, WORK),
    Route("POST", "/incidents/{key}/resolution", resolve, OPERATE),
    Route("POST", "/process-instances", create, ENQUEUE, waits=True, produces=True),
    Route("POST", "/process-instances/{key}/cancellation", cancel, ENQUEUE),
    Route("PUT", "/element-instances/{key}/variables", set_variables, WORK),
    Route("GET", "/topology", topology, ANYONE),
)
