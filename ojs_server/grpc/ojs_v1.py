"""`ojs.v1.OJSService`: one table of the calls, each by a route of HTTP.

RPC ──▶ request_of: message → parameters, query, body ──▶ the route's handler
        answer_of: JSON → message ◀──────────────────────────────┘
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from google.protobuf.message import Message

from ojs_server.environment import wall_ms
from ojs_server.grpc import messages, values
from ojs_server.grpc.calls import RouteRequest, Rpc
from ojs_server.grpc.events import stream_events
from ojs_server.grpc.fetching import fetch, stream_jobs
from ojs_server.grpc.handlers import Behaviour
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from ojs_server.http.route import V1
from ojs_wire.values import format_timestamp

SERVICE: Final = pb.DESCRIPTOR.services_by_name["OJSService"]
_WORKER_STATES: Final = "WORKER_STATE_"


class Row(msgspec.Struct, frozen=True):
    """One RPC: its route, the conversion of its message to a request, and the message of the
    answer."""

    method: str
    path: str
    request_of: Callable[[Any], RouteRequest]
    answer_of: Callable[[Any], Message]


def _ack(message: pb.AckRequest) -> RouteRequest:
    body: dict[str, Any] = {"job_id": message.job_id}
    if message.HasField("result"):
        body["result"] = values.object_of(message.result, "result")
    return RouteRequest(body=body)


def _nack(message: pb.NackRequest) -> RouteRequest:
    error = messages.error_in(message.error) if message.HasField("error") else None
    return RouteRequest(body={"job_id": message.job_id, "error": error})


def _nacked(shown: Any) -> pb.NackResponse:
    return pb.NackResponse(
        state=messages.state(shown["state"]),
        next_attempt_at=values.timestamp_of(shown.get("next_attempt_at")),
    )


def _beat_of(message: pb.HeartbeatRequest) -> RouteRequest:
    body: dict[str, Any] = {"worker_id": message.worker_id}
    if message.id:
        body["active_job_ids"] = [message.id]
    if message.HasField("extend_by"):
        body["visibility_timeout_ms"] = values.milliseconds_in(message.extend_by, "extend_by")
    state = messages.name_of(pb.WorkerState, _WORKER_STATES, message.current_state)
    if state is not None:
        body["state"] = state
    return RouteRequest(body=body)


def _enqueue_batch(message: pb.EnqueueBatchRequest) -> RouteRequest:
    jobs = []
    for place, entry in enumerate(message.jobs):
        if message.HasField("default_options"):
            options = pb.EnqueueOptions()
            options.CopyFrom(message.default_options)
            options.MergeFrom(entry.options)
            entry.options.CopyFrom(options)
        jobs.append(messages.job_request(entry, f"jobs[{place}]."))
    return RouteRequest(body={"jobs": jobs})


def _enqueued_batch(shown: Any) -> pb.EnqueueBatchResponse:
    stored = [item["job"] for item in shown["items"] if "job" in item]
    errors = {
        item["index"]: pb.BatchJobError(
            code=item["error"]["code"], message=item["error"]["message"]
        )
        for item in shown["items"]
        if "error" in item
    }
    return pb.EnqueueBatchResponse(
        jobs=[messages.job(job) for job in stored], count=len(stored), errors=errors
    )


def _manifest(shown: Any) -> pb.ManifestResponse:
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


def _health(shown: Any) -> pb.HealthResponse:
    return pb.HealthResponse(
        status=f"HEALTH_STATUS_{shown['status'].upper()}",
        timestamp=values.timestamp_of(format_timestamp(wall_ms())),
        details=values.struct_of(shown, "details"),
    )


def _page(message: Any) -> dict[str, str]:
    query = {"limit": str(message.limit) if message.limit else "", "cursor": message.cursor}
    return {name: text for name, text in query.items() if text}


def _queues(shown: Any) -> pb.ListQueuesResponse:
    return pb.ListQueuesResponse(
        queues=[
            pb.QueueInfo(
                name=queue["name"],
                paused=queue["paused"],
                available_count=queue["counts"]["available"],
                created_at=values.timestamp_of(queue["created_at"]),
            )
            for queue in shown["queues"]
        ],
        next_cursor=shown["pagination"].get("next_cursor", ""),
    )


def _queue_stats(shown: Any) -> pb.QueueStatsResponse:
    counts, name = shown["stats"], shown["queue"]["name"]
    return pb.QueueStatsResponse(
        queue=name,
        stats=pb.QueueStatistics(
            available=counts["available"],
            active=counts["active"],
            scheduled=counts["scheduled"],
            retryable=counts["retryable"],
            dead=counts["discarded"],
            completed_last_hour=counts["completed_last_hour"],
            failed_last_hour=counts["failed_last_hour"],
            avg_duration_ms=counts["avg_duration_ms"] or 0,
            avg_wait_ms=counts["avg_wait_ms"] or 0,
            throughput_per_second=counts["throughput_per_second"] or 0,
            paused=shown["queue"]["paused"],
        ),
    )


def _dead_letters(message: pb.ListDeadLetterRequest) -> RouteRequest:
    queue = {"queue": message.queue} if message.queue else {}
    return RouteRequest(query={**_page(message), **queue})


def _cron(message: pb.RegisterCronRequest) -> RouteRequest:
    request = messages.job_request(message)
    zone = {"timezone": message.timezone} if message.timezone else {}
    return RouteRequest(
        body={
            "name": message.name,
            "expression": message.cron,
            "job_template": request,
            **zone,
        }
    )


def _registered(shown: Any) -> pb.RegisterCronResponse:
    entry = shown["cron"]
    return pb.RegisterCronResponse(
        name=entry["name"], next_run_at=values.timestamp_of(entry["next_run_at"])
    )


def _job_id(message: Any) -> RouteRequest:
    return RouteRequest({"id": message.job_id})


def _queue(message: Any) -> RouteRequest:
    return RouteRequest({"name": message.queue})


def _workflow_id(message: Any) -> RouteRequest:
    return RouteRequest({"id": message.workflow_id})


def _nothing(message: Any) -> RouteRequest:
    return RouteRequest()


_ROWS: Final[Mapping[str, Row]] = {
    "Manifest": Row("GET", "/ojs/manifest", _nothing, _manifest),
    "Health": Row("GET", f"{V1}/health", _nothing, _health),
    "Enqueue": Row(
        "POST",
        f"{V1}/jobs",
        lambda message: RouteRequest(body=messages.job_request(message)),
        lambda shown: pb.EnqueueResponse(job=messages.job(shown["job"])),
    ),
    "EnqueueBatch": Row("POST", f"{V1}/jobs/bulk", _enqueue_batch, _enqueued_batch),
    "GetJob": Row(
        "GET",
        f"{V1}/jobs/{{id}}",
        _job_id,
        lambda shown: pb.GetJobResponse(job=messages.job(shown["job"])),
    ),
    "CancelJob": Row(
        "DELETE",
        f"{V1}/jobs/{{id}}",
        _job_id,
        lambda shown: pb.CancelJobResponse(job=messages.job(shown["job"])),
    ),
    "Ack": Row(
        "POST",
        f"{V1}/workers/ack",
        _ack,
        lambda shown: pb.AckResponse(acknowledged=shown["acknowledged"]),
    ),
    "Nack": Row("POST", f"{V1}/workers/nack", _nack, _nacked),
    "ListQueues": Row(
        "GET", f"{V1}/queues", lambda message: RouteRequest(query=_page(message)), _queues
    ),
    "QueueStats": Row("GET", f"{V1}/queues/{{name}}/stats", _queue, _queue_stats),
    "PauseQueue": Row(
        "POST", f"{V1}/queues/{{name}}/pause", _queue, lambda shown: pb.PauseQueueResponse()
    ),
    "ResumeQueue": Row(
        "POST", f"{V1}/queues/{{name}}/resume", _queue, lambda shown: pb.ResumeQueueResponse()
    ),
    "ListDeadLetter": Row(
        "GET",
        f"{V1}/dead-letter",
        _dead_letters,
        lambda shown: pb.ListDeadLetterResponse(
            jobs=[messages.job(job) for job in shown["jobs"]],
            total_count=shown["pagination"]["total"],
            next_cursor=shown["pagination"].get("next_cursor", ""),
        ),
    ),
    "RetryDeadLetter": Row(
        "POST",
        f"{V1}/dead-letter/{{id}}/retry",
        _job_id,
        lambda shown: pb.RetryDeadLetterResponse(job=messages.job(shown["job"])),
    ),
    "DeleteDeadLetter": Row(
        "DELETE",
        f"{V1}/dead-letter/{{id}}",
        _job_id,
        lambda shown: pb.DeleteDeadLetterResponse(),
    ),
    "RegisterCron": Row("POST", f"{V1}/cron", _cron, _registered),
    "UnregisterCron": Row(
        "DELETE",
        f"{V1}/cron/{{name}}",
        lambda message: RouteRequest({"name": message.name}),
        lambda shown: pb.UnregisterCronResponse(),
    ),
    "ListCron": Row(
        "GET",
        f"{V1}/cron",
        lambda message: RouteRequest(query={"limit": "1000"}),
        lambda shown: pb.ListCronResponse(
            entries=[messages.cron_entry(entry) for entry in shown["crons"]]
        ),
    ),
    "CreateWorkflow": Row(
        "POST",
        f"{V1}/workflows",
        lambda message: RouteRequest(body=messages.workflow_request(message)),
        lambda shown: pb.CreateWorkflowResponse(workflow=messages.workflow(shown["workflow"])),
    ),
    "GetWorkflow": Row(
        "GET",
        f"{V1}/workflows/{{id}}",
        _workflow_id,
        lambda shown: pb.GetWorkflowResponse(workflow=messages.workflow(shown["workflow"])),
    ),
    "CancelWorkflow": Row(
        "DELETE",
        f"{V1}/workflows/{{id}}",
        _workflow_id,
        lambda shown: pb.CancelWorkflowResponse(workflow=messages.workflow(shown["workflow"])),
    ),
}


async def _beat(rpc: Rpc, message: pb.HeartbeatRequest) -> pb.HeartbeatResponse:
    """Extend the lease of a job; the answer has its deadline."""
    beaten = await rpc.ask("POST", f"{V1}/workers/heartbeat", _beat_of(message))
    answer = pb.HeartbeatResponse(
        directed_state=_DIRECTED[beaten["state"]],
    )
    if message.id in beaten["jobs_extended"]:
        shown = await rpc.ask("GET", f"{V1}/jobs/{{id}}", RouteRequest({"id": message.id}))
        deadline = values.timestamp_of(shown["job"].get("lease_expires_at"))
        if deadline is not None:
            answer.new_deadline.CopyFrom(deadline)
    return answer


_DIRECTED: Final = {
    "running": "WORKER_STATE_RUNNING",
    "quiet": "WORKER_STATE_QUIET",
    "terminate": "WORKER_STATE_TERMINATE",
    "terminated": "WORKER_STATE_TERMINATE",
}


def _behaviour(row: Row) -> Behaviour:
    async def behave(rpc: Rpc, message: Any) -> Message:
        return row.answer_of(await rpc.ask(row.method, row.path, row.request_of(message)))

    return behave


# Calls without a key.
PUBLIC: Final = frozenset({"Health", "Manifest"})

BEHAVIOURS: Final[Mapping[str, Behaviour]] = {
    **{name: _behaviour(row) for name, row in _ROWS.items()},
    "Fetch": fetch,
    "Heartbeat": _beat,
    "StreamJobs": stream_jobs,
    "StreamEvents": stream_events,
}
