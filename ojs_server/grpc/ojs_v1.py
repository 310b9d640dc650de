"""`ojs.v1.OJSService`: its calls, each by the operation or read of the same call over HTTP."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.errors import OjsError
from ojs_server.domain.fields import parse_queue
from ojs_server.domain.jobs.job import Lease, State
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.domain.workers.worker import WorkerState, parse_reported
from ojs_server.grpc import messages, values
from ojs_server.grpc.calls import Rpc
from ojs_server.grpc.events import stream_events
from ojs_server.grpc.fetching import fetch, stream_jobs
from ojs_server.grpc.handlers import Behaviour, Service
from ojs_server.grpc.messages import STATES, WORKER_STATES
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from ojs_server.http.call import typed
from ojs_server.http.cron import entries as cron
from ojs_server.http.ids import job_id_of
from ojs_server.http.jobs import bulk_enqueue, dead_letters, enqueue, read
from ojs_server.http.jobs.views import retry_at
from ojs_server.http.paging import LARGEST
from ojs_server.http.queues import read as queues
from ojs_server.http.route import V1
from ojs_server.http.system import health, manifest
from ojs_server.http.workers import ack, heartbeat
from ojs_server.http.workflows import operations as workflows
from ojs_server.ops.jobs.amend import Amend
from ojs_server.ops.jobs.bulk_enqueue import BulkEntry
from ojs_server.ops.jobs.settle import CancelOnce, Remove, Revive
from ojs_server.ops.queues.control import SetPaused
from ojs_wire.calls import AckRequest, BeatRequest, NackRequest

# Metadata of the answer to a heartbeat.
CANCELLED_JOBS: Final = "x-ojs-cancelled-jobs"
SERVICE: Final = pb.DESCRIPTOR.services_by_name["OJSService"]


async def _manifest(rpc: Rpc, message: pb.ManifestRequest) -> pb.ManifestResponse:
    shown = await manifest.described(rpc)
    made = shown["implementation"]
    return pb.ManifestResponse(
        ojs_version=shown["ojs_version"],
        implementation=pb.Implementation(
            name=made["name"], version=made["version"], language=made["language"]
        ),
        conformance_level=shown["conformance_level"],
        protocols=shown["protocols"],
        backend=shown["backend"],
        extensions=shown["extensions"],
        schema_validation=shown["capabilities"]["schema_validation"],
    )


async def _health(rpc: Rpc, message: pb.HealthRequest) -> pb.HealthResponse:
    found = await health.examined(rpc.server)
    return pb.HealthResponse(
        status=f"HEALTH_STATUS_{found['status'].upper()}",
        timestamp=values.timestamp_at(rpc.server.environment.wall_ms()),
        details=values.struct_of(found, "details"),
    )


async def _enqueue(rpc: Rpc, message: pb.EnqueueRequest) -> pb.EnqueueResponse:
    op = enqueue.enqueue_of(rpc, messages.job_request(message))
    done = await enqueue.store(rpc, op)
    return pb.EnqueueResponse(job=messages.job(done.jobs[0]))


async def _enqueue_batch(rpc: Rpc, message: pb.EnqueueBatchRequest) -> pb.EnqueueBatchResponse:
    jobs = []
    for place, entry in enumerate(message.jobs):
        if message.HasField("default_options"):
            options = pb.EnqueueOptions()
            options.CopyFrom(message.default_options)
            options.MergeFrom(entry.options)
            entry.options.CopyFrom(options)
        jobs.append(messages.job_request(entry, f"jobs[{place}]."))
    items = await bulk_enqueue.store(rpc, {"jobs": jobs})
    stored = [item.stored for item in items if isinstance(item, BulkEntry)]
    errors = {
        place: pb.BatchJobError(code=item.answer_code.name, message=item.message)
        for place, item in enumerate(items)
        if isinstance(item, OjsError)
    }
    return pb.EnqueueBatchResponse(jobs=map(messages.job, stored), count=len(stored), errors=errors)


async def _get_job(rpc: Rpc, message: pb.GetJobRequest) -> pb.GetJobResponse:
    stored, _ = await read.load_job(rpc, message.job_id)
    return pb.GetJobResponse(job=messages.job(stored))


async def _cancel_job(rpc: Rpc, message: pb.CancelJobRequest) -> pb.CancelJobResponse:
    done = await rpc.server.engine.run(CancelOnce(await job_id_of(rpc, message.job_id)))
    return pb.CancelJobResponse(job=messages.changed_job(done.after))


async def _ack(rpc: Rpc, message: pb.AckRequest) -> pb.AckResponse:
    request = AckRequest(job_id=message.job_id)
    if message.HasField("result"):
        request.result = values.object_of(message.result, "result")
    await rpc.server.engine.run(ack.ack_of(rpc, request))
    return pb.AckResponse(acknowledged=True)


async def _nack(rpc: Rpc, message: pb.NackRequest) -> pb.NackResponse:
    error = messages.error_in(message.error) if message.HasField("error") else None
    request = NackRequest(job_id=message.job_id, error=error)
    done = await rpc.server.engine.run(ack.fail_of(rpc, request))
    return pb.NackResponse(
        state=STATES.number(done.after.state),
        next_attempt_at=values.timestamp_at(retry_at(done.after)),
    )


async def _beat(rpc: Rpc, message: pb.HeartbeatRequest) -> pb.HeartbeatResponse:
    """Extend the lease of a job; the answer has its deadline."""
    members: dict[str, Any] = {"worker_id": message.worker_id}
    # A worker that beats for itself is named by both fields.
    if message.id and message.id != message.worker_id:
        members["active_job_ids"] = [message.id]
    if message.HasField("extend_by"):
        members["visibility_timeout_ms"] = values.milliseconds_in(message.extend_by, "extend_by")
    members["state"] = WORKER_STATES.name(message.current_state)
    request = typed(members, BeatRequest, strict=False)
    if message.id and not message.worker_id:
        return await _extend(rpc, message.id, request)
    done = await heartbeat.carry_out(rpc, heartbeat.beat_of(rpc, request))
    _name_cancelled(rpc, done.cancelled)
    lease = None
    if message.id in done.extended:
        _, lease = await read.load_job(rpc, message.id)
    return _beaten(done.state, lease)


async def _extend(rpc: Rpc, given: str, request: BeatRequest) -> pb.HeartbeatResponse:
    """Extend the lease of a job for a client that does not name its worker."""
    reported, _ = parse_reported(request.state, shutdown=False)
    stored, lease = await read.load_job(rpc, given)
    if lease is not None:
        lease_ms = request.visibility_timeout_ms or lease.duration_ms
        await rpc.server.engine.run(Amend(lease.job_id, lease_ms=lease_ms))
        stored, lease = await read.load_job(rpc, given)
    _name_cancelled(rpc, (given,) if stored.job.state == State.CANCELLED else ())
    return _beaten(reported, lease)


def _beaten(state: WorkerState, lease: Lease | None) -> pb.HeartbeatResponse:
    return pb.HeartbeatResponse(
        directed_state=_DIRECTED[state],
        new_deadline=None if lease is None else values.timestamp_at(lease.expires_at),
    )


def _name_cancelled(rpc: Rpc, cancelled: Sequence[str]) -> None:
    """Name cancelled jobs in the metadata, since the message has no field for them."""
    if cancelled:
        rpc.context.set_trailing_metadata(((CANCELLED_JOBS, ",".join(cancelled)),))


_DIRECTED: Final = {
    WorkerState.RUNNING: "WORKER_STATE_RUNNING",
    WorkerState.QUIET: "WORKER_STATE_QUIET",
    WorkerState.TERMINATE: "WORKER_STATE_TERMINATE",
    WorkerState.TERMINATED: "WORKER_STATE_TERMINATE",
}


def _page(message: Any) -> dict[str, str]:
    """Return the query of HTTP that asks for the same page."""
    limit = str(message.limit) if message.limit else ""
    return {"limit": limit, "cursor": message.cursor}


async def _list_queues(rpc: Rpc, message: pb.ListQueuesRequest) -> pb.ListQueuesResponse:
    found, pagination = await queues.page_of_queues(rpc, _page(message))
    return pb.ListQueuesResponse(
        queues=[
            pb.QueueInfo(
                name=queue.name,
                paused=queue.paused,
                available_count=queue.counts[State.AVAILABLE],
                created_at=values.timestamp_at(queue.created_at),
            )
            for queue in found
        ],
        next_cursor=pagination.get("next_cursor", ""),
    )


async def _queue_stats(rpc: Rpc, message: pb.QueueStatsRequest) -> pb.QueueStatsResponse:
    queue, _ = await queues.known_queue(rpc, message.queue)
    lately = await queues.last_hour(rpc.server.engine, scoped(rpc.tenant, queue.name))
    return pb.QueueStatsResponse(
        queue=queue.name,
        stats=pb.QueueStatistics(
            available=queue.counts[State.AVAILABLE],
            active=queue.counts[State.ACTIVE],
            scheduled=queue.counts[State.SCHEDULED],
            retryable=queue.counts[State.RETRYABLE],
            dead=queue.counts[State.DISCARDED],
            completed_last_hour=lately.completed_last_hour,
            failed_last_hour=lately.failed_last_hour,
            avg_duration_ms=lately.avg_duration_ms,
            avg_wait_ms=lately.avg_wait_ms,
            throughput_per_second=lately.throughput_per_second,
            paused=queue.paused,
        ),
    )


async def _pause(rpc: Rpc, message: pb.PauseQueueRequest) -> pb.PauseQueueResponse:
    await rpc.server.engine.run(SetPaused(parse_queue("queue", message.queue), True))
    return pb.PauseQueueResponse()


async def _resume(rpc: Rpc, message: pb.ResumeQueueRequest) -> pb.ResumeQueueResponse:
    await rpc.server.engine.run(SetPaused(parse_queue("queue", message.queue), False))
    return pb.ResumeQueueResponse()


async def _list_dead(rpc: Rpc, message: pb.ListDeadLetterRequest) -> pb.ListDeadLetterResponse:
    query = _page(message)
    if message.queue:
        query["queue"] = message.queue
    jobs, pagination = await dead_letters.page_of_jobs(rpc, query)
    return pb.ListDeadLetterResponse(
        jobs=map(messages.job, jobs),
        total_count=pagination["total"],
        next_cursor=pagination.get("next_cursor", ""),
    )


async def _retry_dead(rpc: Rpc, message: pb.RetryDeadLetterRequest) -> pb.RetryDeadLetterResponse:
    job_id = await dead_letters.own_id(rpc, message.job_id)
    change = await rpc.server.engine.run(Revive(job_id))
    return pb.RetryDeadLetterResponse(job=messages.changed_job(change.after))


async def _delete_dead(
    rpc: Rpc, message: pb.DeleteDeadLetterRequest
) -> pb.DeleteDeadLetterResponse:
    await rpc.server.engine.run(Remove(await dead_letters.own_id(rpc, message.job_id)))
    return pb.DeleteDeadLetterResponse()


async def _register_cron(rpc: Rpc, message: pb.RegisterCronRequest) -> pb.RegisterCronResponse:
    request = {
        "name": message.name,
        "expression": message.cron,
        "job_template": messages.job_request(message),
        "timezone": message.timezone or None,
    }
    entry = (await cron.store(rpc, request)).entry
    _, name = entry.scoped_name
    return pb.RegisterCronResponse(name=name, next_run_at=values.timestamp_at(entry.next_run_at))


async def _unregister_cron(
    rpc: Rpc, message: pb.UnregisterCronRequest
) -> pb.UnregisterCronResponse:
    await cron.forget(rpc, message.name)
    return pb.UnregisterCronResponse()


async def _list_cron(rpc: Rpc, message: pb.ListCronRequest) -> pb.ListCronResponse:
    entries = await cron.own_entries(rpc)
    return pb.ListCronResponse(entries=map(messages.cron_entry, entries[:LARGEST]))


async def _create_workflow(
    rpc: Rpc, message: pb.CreateWorkflowRequest
) -> pb.CreateWorkflowResponse:
    done = await workflows.launch(rpc, messages.workflow_request(message))
    view = done.view or await workflows.load(rpc, done.workflow_id)
    return pb.CreateWorkflowResponse(workflow=messages.workflow(view))


async def _get_workflow(rpc: Rpc, message: pb.GetWorkflowRequest) -> pb.GetWorkflowResponse:
    view = await workflows.load(rpc, message.workflow_id)
    return pb.GetWorkflowResponse(workflow=messages.workflow(view))


async def _cancel_workflow(
    rpc: Rpc, message: pb.CancelWorkflowRequest
) -> pb.CancelWorkflowResponse:
    await workflows.end(rpc, message.workflow_id)
    view = await workflows.load(rpc, message.workflow_id)
    return pb.CancelWorkflowResponse(workflow=messages.workflow(view))


BEHAVIOURS: Final[Mapping[str, Behaviour]] = {
    "Manifest": Behaviour(("GET", "/ojs/manifest"), _manifest),
    "Health": Behaviour(("GET", f"{V1}/health"), _health),
    "Enqueue": Behaviour(("POST", f"{V1}/jobs"), _enqueue),
    "EnqueueBatch": Behaviour(("POST", f"{V1}/jobs/bulk"), _enqueue_batch),
    "GetJob": Behaviour(("GET", f"{V1}/jobs/{{id}}"), _get_job),
    "CancelJob": Behaviour(("DELETE", f"{V1}/jobs/{{id}}"), _cancel_job, "job_id"),
    "Fetch": Behaviour(("POST", f"{V1}/workers/fetch"), fetch),
    "Ack": Behaviour(("POST", f"{V1}/workers/ack"), _ack),
    "Nack": Behaviour(("POST", f"{V1}/workers/nack"), _nack),
    "Heartbeat": Behaviour(("POST", f"{V1}/workers/heartbeat"), _beat),
    "StreamJobs": Behaviour(("POST", f"{V1}/workers/fetch"), stream_jobs),
    "StreamEvents": Behaviour(("GET", f"{V1}/events/stream"), stream_events),
    "ListQueues": Behaviour(("GET", f"{V1}/queues"), _list_queues),
    "QueueStats": Behaviour(("GET", f"{V1}/queues/{{name}}/stats"), _queue_stats),
    "PauseQueue": Behaviour(("POST", f"{V1}/queues/{{name}}/pause"), _pause, "queue"),
    "ResumeQueue": Behaviour(("POST", f"{V1}/queues/{{name}}/resume"), _resume, "queue"),
    "ListDeadLetter": Behaviour(("GET", f"{V1}/dead-letter"), _list_dead),
    "RetryDeadLetter": Behaviour(("POST", f"{V1}/dead-letter/{{id}}/retry"), _retry_dead, "job_id"),
    "DeleteDeadLetter": Behaviour(("DELETE", f"{V1}/dead-letter/{{id}}"), _delete_dead, "job_id"),
    "RegisterCron": Behaviour(("POST", f"{V1}/cron"), _register_cron),
    "UnregisterCron": Behaviour(("DELETE", f"{V1}/cron/{{name}}"), _unregister_cron, "name"),
    "ListCron": Behaviour(("GET", f"{V1}/cron"), _list_cron),
    "CreateWorkflow": Behaviour(("POST", f"{V1}/workflows"), _create_workflow),
    "GetWorkflow": Behaviour(("GET", f"{V1}/workflows/{{id}}"), _get_workflow),
    "CancelWorkflow": Behaviour(
        ("DELETE", f"{V1}/workflows/{{id}}"), _cancel_workflow, "workflow_id"
    ),
}
OJS_V1: Final = Service(SERVICE, BEHAVIOURS)
