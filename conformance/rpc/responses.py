"""Translates answers of `ojs.v1` into those of HTTP; HTTP itself adds what messages lack.

Values that the two write differently, such as times, stay as HTTP writes them.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from conformance.rpc.requests import RpcCall

Json = dict[str, Any]
# A result that is no object is wrapped in one, under this name.
_VALUE: Final = "value"
_MOMENTS: Final = (
    *("created_at", "enqueued_at", "scheduled_at", "started_at", "completed_at", "expires_at"),
)
_SHOWN: Final = ("id", "type", "queue", "state")
# Members that the answer to a settled job leaves out.
_LONG: Final = {"args", "meta", "result", "error", "errors"}
# Calls whose answer contains the whole job.
_WHOLE: Final = {"Enqueue", "GetJob", "Fetch"}


def paths_of(call: RpcCall, answer: Json) -> list[str]:
    """Return the paths below `/ojs/v1/` of the things that an answer is about."""
    match call.method:
        case "Fetch":
            return [f"jobs/{job['id']}" for job in answer["jobs"]]
        case "QueueStats" | "PauseQueue" | "ResumeQueue":
            return [f"queues/{call.members['queue']}/stats"]
        case "GetWorkflow" | "CancelWorkflow":
            return [f"workflows/{call.id}"]
        case "Enqueue":
            return [f"jobs/{answer['job']['id']}"]
    return [f"jobs/{call.members['job_id']}"]


def http_answer(call: RpcCall, answer: Json, seen: list[Json]) -> tuple[int, Json]:
    """Return the status and the body of the HTTP answer."""
    match call.method:
        case "Fetch":
            pairs = zip(answer["jobs"], seen, strict=True)
            return 200, {"jobs": [_job(job, shown.get("job", {})) for job, shown in pairs]}
        case "QueueStats":
            return 200, _stats(answer, seen[0])
        case "PauseQueue" | "ResumeQueue":
            queue = {name: seen[0].get("queue", {}).get(name) for name in ("name", "paused")}
            return 200, {"queue": queue, "status": seen[0].get("status")}
        case "GetWorkflow" | "CancelWorkflow":
            return 200, _workflow(answer["workflow"], seen[0])
        case "Ack" | "Nack":
            return 200, _settled(call, answer, seen[0].get("job", {}))
    whole = call.method in _WHOLE
    job = _job(answer["job"], seen[0].get("job", {}), whole=whole)
    body = {"job": job, **{name: job[name] for name in _SHOWN}}
    return 201 if call.method == "Enqueue" else 200, body


def _job(message: Json, shown: Json, *, whole: bool = True) -> Json:
    job = dict(shown)
    for name in ("id", "type", "queue", "priority", "attempt", "max_attempts"):
        if whole or name in ("id", "type", "queue"):
            job[name] = message[name]
    job["state"] = _word(message["state"], "JOB_STATE_")
    if whole:
        job["args"] = message["args"]
        if message["tags"] or job.get("tags"):
            job["tags"] = message["tags"]
        job["meta"] = message.get("meta", {})
        if "retry" in job and "retry_policy" in message:
            job["retry"] = _retry(message["retry_policy"], job["retry"])
        for name in ("timeout", "visibility_timeout"):
            if name in message and f"{name}_ms" in job:
                job[f"{name}_ms"] = _milliseconds(message[name])
    if set(message.get("result", {_VALUE: 0})) != {_VALUE}:
        job["result"] = message["result"]
    for name in _MOMENTS:
        if name in message:
            job[name] = _moment(message[name], job.get(name))
    if message["errors"] and len(message["errors"]) == len(job.get("errors", ())):
        job["errors"] = [
            {**known, **{name: error[name] for name in ("code", "message", "retryable", "attempt")}}
            for known, error in zip(job["errors"], message["errors"], strict=True)
        ]
    return job


def _retry(message: Json, shown: Json) -> Json:
    known = {
        name: message[name] for name in shown if name in message and not name.endswith("_interval")
    }
    for name in ("initial_interval", "max_interval"):
        known[f"{name}_ms"] = _milliseconds(message[name])
    return {**shown, **known}


def _settled(call: RpcCall, answer: Json, job: Json) -> Json:
    names = ("id", "state", "attempt", "max_attempts", "completed_at", "discarded_at")
    body = {name: job[name] for name in names if name in job}
    short = {name: value for name, value in job.items() if name not in _LONG}
    body |= {"job": short, "job_id": call.members["job_id"]}
    if call.method == "Ack":
        return {**body, "acknowledged": answer["acknowledged"]}
    body["state"] = _word(answer["state"], "JOB_STATE_")
    if "next_attempt_at" in answer:
        body["next_attempt_at"] = _moment(answer["next_attempt_at"], job.get("next_attempt_at"))
    return body


def _stats(message: Json, shown: Json) -> Json:
    counts = dict(shown.get("stats", {}))
    for name in ("available", "active", "scheduled", "retryable", "dead"):
        counts[name] = int(message["stats"][name])
    counts["discarded"] = counts["dead"]
    queue = {
        **shown.get("queue", {}),
        "name": message["queue"],
        "paused": message["stats"]["paused"],
    }
    return {**shown, "stats": counts, "queue": queue}


def _workflow(message: Json, shown: Json) -> Json:
    flow = dict(shown.get("workflow", {}))
    flow["id"], flow["name"] = message["id"], message["name"] or None
    flow["state"] = _word(message["state"], "WORKFLOW_STATE_")
    known = {step["id"]: step for step in flow.get("steps", ())}
    flow["steps"] = [
        {
            **known.get(step["id"], {}),
            "id": step["id"],
            "type": step["type"],
            "state": _word(step["state"], "WORKFLOW_STEP_STATE_"),
            "job_id": step["job_id"] or None,
            "depends_on": step["depends_on"],
        }
        for step in message["steps"]
    ]
    same = {name: flow[name] for name in shown if name in flow and name != "workflow"}
    return {**shown, **same, "workflow": flow}


def _word(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower()


def _milliseconds(duration: str) -> int:
    return round(float(duration.removesuffix("s")) * 1000)


def _moment(moment: str, shown: Any) -> str:
    """Return the time in HTTP's spelling if both are equal, else the one of the message."""
    return shown if isinstance(shown, str) and _when(shown) == _when(moment) else moment


def _when(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def refused(error: Mapping[str, Any], statuses: Mapping[str, int], number: int) -> tuple[int, Json]:
    """Return the status and the body of HTTP for an error."""
    details = error.get("details", {})
    body = {
        "code": error.get("code", ""),
        "message": error["message"],
        "retryable": details.get("retryable") == "true",
        "request_id": details.get("request_id", ""),
    }
    return statuses.get(body["code"], 500 + number), {"error": body}
