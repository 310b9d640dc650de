"""The calls of the clients: the request of each, whether it may be repeated, and how its answer is
read.

Nothing is sent here. The two clients send these calls, each in its own way.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from ojs_wire.tracing import parent_of
from ojs_worker.client.flows import Flow
from ojs_worker.client.records import CronEntry, Workflow
from ojs_worker.client.requests import JobRequest
from ojs_worker.client.waiting import Presence
from ojs_worker.errors import (
    InvalidRequest,
    JobCancelled,
    JobFailed,
    Refused,
    UnexpectedAnswer,
    decoded,
    refusal,
)
from ojs_worker.forms import encode
from ojs_worker.job import Job
from ojs_worker.transport import Reply, Request

V1: Final = "/ojs/v1"
T = TypeVar("T")
Json = dict[str, Any]
# A cron run that is due while the last one is active: skip it, allow it, replace the last one, or
# wait for its end.
Overlap = Literal["skip", "allow", "cancel_previous", "enqueue"]


class Call(msgspec.Struct, Generic[T], frozen=True):
    """One request, and how to read its answer. `repeatable` means that sending it twice has no
    further effect."""

    request: Request
    read: Callable[[Reply], T]
    repeatable: bool = True
    # Statuses that answer this call, although they mean "try again" elsewhere.
    answers: frozenset[int] = frozenset()
    # Returns the same call with an idempotency key, which makes it repeatable.
    keyed: "Callable[[str], Call[T]] | None" = None
    # For a repeated call that was refused because an earlier try was carried out: returns the call
    # that gets the lost answer, or None for any other refusal.
    instead: "Callable[[Refused], Call[T] | None] | None" = None


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page of a list, and the mark after which the next page begins."""

    items: list[T]
    has_more: bool = False
    mark: Any = None


class _JobAnswer(msgspec.Struct):
    job: Job


class _JobsAnswer(msgspec.Struct):
    jobs: list[Job]


class _Workers(msgspec.Struct):
    workers: list[Presence]


class _Result(msgspec.Struct):
    state: str = ""
    result: Any = None
    error: Any = None


_job = msgspec.json.Decoder(_JobAnswer)
_jobs = msgspec.json.Decoder(_JobsAnswer)
_workers = msgspec.json.Decoder(_Workers)
_result = msgspec.json.Decoder(_Result)
_object = msgspec.json.Decoder(Json)
A = TypeVar("A")


def enqueue(request: JobRequest) -> Call[Job]:
    """Store one job."""
    body = encoded(request.wire(), "the job")
    return Call(
        Request("POST", f"{V1}/jobs", body, _headers(request)),
        lambda reply: answer_as(reply, _job).job,
    )


def enqueue_many(requests: Sequence[JobRequest], key: str | None) -> Call[list[Job]]:
    """Store up to a thousand jobs, all or none."""
    if not requests:
        raise ValueError("there is no job to enqueue")
    body = encoded({"jobs": [request.wire() for request in requests]}, "the jobs")
    return Call(
        Request("POST", f"{V1}/jobs/batch", body, _key(key)),
        lambda reply: answer_as(reply, _jobs).jobs,
    )


def get(job_id: str) -> Call[Job]:
    """Read a job."""
    return Call(Request("GET", _job_path(job_id)), lambda reply: answer_as(reply, _job).job)


def cancel(job_id: str) -> Call[Job]:
    """Cancel a job. Repeated it is refused, and the job is read instead."""
    return Call(
        Request("DELETE", _job_path(job_id)),
        lambda reply: answer_as(reply, _job).job,
        instead=lambda refused: get(job_id) if _is_cancelled(refused) else None,
    )


class Ended(msgspec.Struct, frozen=True):
    """The outcome of a job, or the fact that it has none yet."""

    job_id: str
    state: str = ""
    result: Any = None
    error: Any = None
    # The server has no such call; ask for the job instead.
    unknown_call: bool = False

    @property
    def ended(self) -> bool:
        """True if the job has an outcome."""
        return bool(self.state)

    def value(self) -> Any:
        """Return the result, or raise the exception for the job's end."""
        if self.state == "cancelled":
            raise JobCancelled(self.job_id)
        if self.state == "discarded":
            raise JobFailed(self.job_id, self.error if isinstance(self.error, dict) else None)
        return self.result


def result(job_id: str, wait_s: float) -> Call[Ended]:
    """Ask for the outcome of a job; the server may hold the call for `wait_s`."""

    def read(reply: Reply) -> Ended:
        if reply.status == 404 and b"resource_type" not in reply.body:
            return Ended(job_id, unknown_call=True)
        if reply.status in (202, 408):
            return Ended(job_id)
        answer = answer_as(reply, _result)
        return Ended(job_id, answer.state, answer.result, answer.error)

    path = f"{_job_path(job_id)}/result?wait=true&timeout={wait_s:.3f}"
    return Call(Request("GET", path), read, answers=frozenset({408}))


def ended(job: Job) -> Ended:
    """Return the outcome of a job that was read."""
    if not job.ended:
        return Ended(job.id)
    return Ended(job.id, job.state, job.result, job.error)


def serving(queue: str) -> Call[list[Presence]]:
    """Ask which workers serve a queue now."""
    query = urlencode({"queue": queue, "presence": "online", "limit": 1000})
    return Call(
        Request("GET", f"{V1}/workers?{query}"), lambda reply: answer_as(reply, _workers).workers
    )


def start_flow(flow: Flow, flow_id: str) -> Call[Workflow]:
    """Start a workflow; its id is the client's, so it may be sent again."""
    body = encoded(flow.wire(flow_id), "the workflow")
    return Call(Request("POST", f"{V1}/workflows", body), flow_of)


def get_flow(flow_id: str) -> Call[Workflow]:
    """Read a workflow."""
    return Call(Request("GET", _flow_path(flow_id)), flow_of)


def cancel_flow(flow_id: str) -> Call[Workflow]:
    """Cancel a workflow. Repeated it is refused, and the workflow is read instead."""
    return Call(
        Request("DELETE", _flow_path(flow_id)),
        flow_of,
        instead=lambda refused: get_flow(flow_id) if _is_cancelled(refused) else None,
    )


def put_cron(
    name: str,
    expression: str,
    job: JobRequest,
    *,
    timezone: str | None,
    overlap: Overlap | None,
    enabled: bool | None,
    description: str | None,
) -> Call[CronEntry]:
    """Register a cron entry, or replace it."""
    body: Json = {
        "name": name,
        "cron": expression,
        "type": job.type,
        "args": job.args,
        "meta": job.meta or None,
        "options": job.options,
        "timezone": timezone,
        "overlap_policy": overlap,
        "enabled": enabled,
        "description": description,
    }
    members = {member: value for member, value in body.items() if value is not None}
    return Call(Request("POST", f"{V1}/cron", encoded(members, "the cron entry")), cron_of)


def get_cron(name: str) -> Call[CronEntry]:
    """Read a cron entry."""
    return Call(Request("GET", _cron_path(name)), cron_of)


def list_crons() -> Call[list[CronEntry]]:
    """List all cron entries."""
    return Call(Request("GET", f"{V1}/cron?limit=1000"), _crons_of)


def enable_cron(name: str, *, enabled: bool) -> Call[CronEntry]:
    """Enable or disable a cron entry."""
    return Call(Request("PATCH", _cron_path(name), encode({"enabled": enabled})), cron_of)


def delete_cron(name: str) -> Call[None]:
    """Remove a cron entry."""
    return Call(Request("DELETE", _cron_path(name)), no_answer, repeatable=False)


def trigger_cron(name: str) -> Call[Job]:
    """Run a cron entry now."""
    return Call(
        Request("POST", f"{_cron_path(name)}/trigger", b"{}"),
        lambda reply: answer_as(reply, _job).job,
        repeatable=False,
    )


def manifest() -> Call[Json]:
    """Read the server's manifest."""
    return Call(Request("GET", "/ojs/manifest"), lambda reply: answer_as(reply, _object))


def encoded(value: object, what: str) -> bytes:
    """Encode a value as JSON; raises an error that names what JSON cannot hold."""
    try:
        return encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidRequest(f"{what} cannot be written as JSON: {error}") from error


def flow_of(reply: Reply) -> Workflow:
    """Return the workflow in an answer."""
    return _member(answer_as(reply, _object), ("workflow",), Workflow)


def cron_of(reply: Reply) -> CronEntry:
    """Return the cron entry in an answer."""
    return _member(answer_as(reply, _object), ("cron_job", "cron"), CronEntry)


def _crons_of(reply: Reply) -> list[CronEntry]:
    body = answer_as(reply, _object)
    for name in ("cron_jobs", "crons", "items"):
        if isinstance(entries := body.get(name), list):
            return _shaped(entries, list[CronEntry])
    raise UnexpectedAnswer("the answer holds no list of cron entries")


def _member(body: Json, names: Sequence[str], kind: type[T]) -> T:
    """Return the record under one of these names; some servers give its members directly."""
    members = next((body[name] for name in names if isinstance(body.get(name), dict)), body)
    return _shaped(members, kind)


def _shaped(value: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UnexpectedAnswer(f"the server's answer cannot be read: {error}") from error


def answer_as(reply: Reply, decoder: "msgspec.json.Decoder[A]") -> A:
    """Decode an answer; raises the exception that fits if the server refused."""
    if not reply.well:
        raise refusal(reply.status, reply.body, reply.retry_after_s)
    return decoded(reply.body, decoder)


def no_answer(reply: Reply) -> None:
    """Return nothing; raises the exception that fits if the server refused."""
    if not reply.well:
        raise refusal(reply.status, reply.body, reply.retry_after_s)


def _is_cancelled(refused: Refused) -> bool:
    return refused.status == 409 and refused.details.get("current_state") == "cancelled"


def _key(key: str | None) -> Mapping[str, str] | None:
    return {"Idempotency-Key": key} if key else None


def _headers(request: JobRequest) -> Mapping[str, str] | None:
    """Return the headers that make the request a part of the trace of its job."""
    key, parent = _key(request.idempotency_key), parent_of(request.meta)
    return key if parent is None else {**(key or {}), "traceparent": parent}


def path_of(root: str, query: Mapping[str, Any], *parts: str) -> str:
    """Return a path with its query; members that are None are left out."""
    path = "/".join((root, *(quote(part, safe="") for part in parts)))
    parameters = {name: _written(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(parameters)}" if parameters else path


def _written(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case list() | tuple():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _job_path(job_id: str) -> str:
    return f"{V1}/jobs/{quote(job_id, safe='')}"


def _flow_path(flow_id: str) -> str:
    return f"{V1}/workflows/{quote(flow_id, safe='')}"


def _cron_path(name: str) -> str:
    return f"{V1}/cron/{quote(name, safe='')}"
