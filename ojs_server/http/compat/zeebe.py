"""Jobs in the form of Zeebe's clients: numeric keys, variables, retries, incidents.

A process is one job whose type is the id of the process. Its number is the key of the job, of the
process instance, of the element instance and of the incident that it may become.
"""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.compat.kind import type_of
from ojs_server.domain.compat.variables import chosen, headers_of, variables_of
from ojs_server.domain.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    NotReady,
    Unsupported,
    invalid,
)
from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State
from ojs_server.domain.jobs.reported_error import MAX_RETRIES, MAX_TEXT, Fault
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.http.access.authorization import require_own
from ojs_server.http.call import Call
from ojs_server.http.ids import known_as
from ojs_server.http.workers.ack import result_of
from ojs_server.http.workers.fetch import wait_for_jobs
from ojs_server.ops.jobs.amend import Amend
from ojs_server.ops.jobs.blocking_enqueue import enqueue as enqueue_or_wait
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.numeric_ids import Number
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail, Revive
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_server.ops.workers.claim import Claim, FetchedJob
from ojs_server.store.base import Reader
from ojs_wire.values import MAX_DURATION

# Most jobs per activation, whatever the client requests.
MOST_AT_ONCE: Final = 1000
# The wait for a client that names none.
USUAL_WAIT_MS: Final = 10_000
VERSION: Final = 1
TENANT: Final = "<default>"
# Clients expect a version of Zeebe.
GATEWAY_VERSION: Final = "8.8.0"
_PROCESS: Final = "bpmn_process_id"
_RETRIES: Final = 3


class Activation(msgspec.Struct, frozen=True):
    """The request of a client to activate jobs: their type, number and timeout. `names` are the
    variables to return; empty for all."""

    type: str
    worker: str
    timeout_ms: int
    count: int
    wait_ms: int = 0
    names: tuple[str, ...] = ()


class Activated(msgspec.Struct, frozen=True):
    """A job that is activated for a client."""

    key: int
    type: str
    process: str
    headers: Mapping[str, Any]
    worker: str
    retries: int
    deadline: int
    variables: Mapping[str, Any]
    lease: Lease


class Created(msgspec.Struct, frozen=True):
    """A process instance that was created."""

    key: int
    process: str
    job_id: str


def require_tenants(given: Collection[str]) -> None:
    """Raise for the tenants in Zeebe's calls: here, the tenant of a call is that of its key or
    header."""
    if any(name not in ("", TENANT) for name in given):
        raise invalid("tenantIds", f"must be {TENANT}; a tenant is named by X-OJS-Tenant")


async def activate(call: Call, activation: Activation) -> list[Activated]:
    """Deliver jobs, as soon as there are some within the wait."""
    if activation.timeout_ms < 1 or activation.timeout_ms > MAX_DURATION:
        raise invalid("timeout", "must be the milliseconds that a worker has, from 1 on")
    if activation.count < 1:
        raise invalid("maxJobsToActivate", "must be 1 or more")
    if not activation.type.strip():
        raise invalid("type", "must not be blank")
    if not activation.worker.strip():
        raise invalid("worker", "must not be blank")
    claim = Claim(
        queues=(),
        count=min(activation.count, MOST_AT_ONCE),
        worker_id=_worker_id(call, activation.worker),
        job_types=(type_of(activation.type, "type"),),
        lease_ms=activation.timeout_ms,
        late_ack="accept_unfinished",
        tenant=call.tenant,
        numbered=True,
    )
    deliveries = await wait_for_jobs(call, claim, max(0, activation.wait_ms))
    if deliveries and call.server.tracer is not None:
        call.server.tracer.fetched(deliveries)
    return [_activated(delivery, activation) for delivery in deliveries]


def _worker_id(call: Call, name: str) -> str:
    """Return the id of a worker, whose name may be any text."""
    try:
        return known_as(call, name)
    except InvalidRequest:
        return known_as(call, f"zeebe.{hashlib.sha256(name.encode()).hexdigest()[:32]}")


def _activated(fetched: FetchedJob, activation: Activation) -> Activated:
    claimed, lease = fetched.claimed, fetched.lease
    job = claimed.job
    assert fetched.number is not None
    return Activated(
        key=fetched.number,
        type=activation.type,
        process=process_of(claimed.meta) or activation.type,
        headers=headers_of(claimed.meta),
        worker=activation.worker,
        retries=retries_of(job),
        deadline=lease.expires_at,
        variables=chosen(variables_of(claimed.args, claimed.parent_results), activation.names),
        lease=lease,
    )


def retries_of(job: Job) -> int:
    """Return the number of deliveries that a job has left, the running one included."""
    return max(0, job.max_attempts - (job.attempt - job.releases) + (job.state == State.ACTIVE))


class _Meta(msgspec.Struct):
    bpmn_process_id: Any = None


_meta: Final = msgspec.json.Decoder(_Meta)


def process_of(meta: bytes) -> str | None:
    """Return the id of the process that a job was started for."""
    given = _meta.decode(meta).bpmn_process_id
    return given if isinstance(given, str) else None


def definition_key(process: str) -> int:
    """Return a key for a process, the same each time; definitions with keys do not exist."""
    return int.from_bytes(hashlib.sha256(process.encode()).digest()[:6])


async def complete(call: Call, key: int, variables: Mapping[str, Any]) -> None:
    """Complete a job, also after its timeout unless another worker did; the result is its
    variables, merged with those of the completion."""
    job_id = await _job_id(call, key)
    found = await call.server.engine.read(lambda reader: reader.job(job_id))
    if found is None:
        raise _missing(key)
    stored = found[0]
    merged = {**variables_of(stored.args, stored.parent_results), **variables}
    result = result_of(merged, call.server.settings.max_result_bytes)
    await _settle(call, key, Ack(job_id, result=result, any_holder=True))


async def fail(
    call: Call,
    key: int,
    retries: int,
    message: str,
    backoff_ms: int,
    variables: Mapping[str, Any],
) -> None:
    """Fail a job and set its remaining retries; with none it becomes an incident."""
    if not 0 <= backoff_ms <= MAX_DURATION:
        raise invalid("retryBackOff", "must be a number of milliseconds, from 0 on")
    if retries > MAX_RETRIES:
        raise invalid("retries", f"must be {MAX_RETRIES} at most")
    text = message[:MAX_TEXT] or "the handler failed"
    if retries > 0:
        details = {"action": "retry", "retries": retries, "retry_after_ms": backoff_ms}
        fault = Fault("JobFailed", "JobFailed", text, details=details)
    else:
        fault = Fault("incident", "incident", text, details={"action": "dead_letter"})
    await _settle(call, key, Fail(await _job_id(call, key), fault, variables=variables))


async def throw(
    call: Call, key: int, code: str, message: str, variables: Mapping[str, Any]
) -> None:
    """End a job with a business error, which always becomes an incident."""
    if not code:
        raise invalid("errorCode", "is missing")
    details = {"action": "dead_letter", "error_code": code[:MAX_TEXT]}
    text = message[:MAX_TEXT] or f"the handler threw {code[:100]}"
    fault = Fault(code[:255], "BpmnError", text, retryable=False, details=details)
    await _settle(call, key, Fail(await _job_id(call, key), fault, variables=variables))


async def update(call: Call, key: int, *, retries: int | None, timeout_ms: int | None) -> None:
    """Change the retries of a job, or its timeout, which then counts from now."""
    if retries is not None and not 1 <= retries <= MAX_RETRIES:
        raise invalid("retries", f"must be a number from 1 to {MAX_RETRIES}")
    if timeout_ms is not None and not 1 <= timeout_ms <= MAX_DURATION:
        raise invalid("timeout", "must be a number of milliseconds, from 1 on")
    await _settle(call, key, Amend(await _job_id(call, key), retries=retries, lease_ms=timeout_ms))


async def set_variables(call: Call, key: int, variables: Mapping[str, Any]) -> None:
    """Merge variables into those of a job that has not ended; the next delivery has them."""
    await _settle(call, key, Amend(await _job_id(call, key), variables=variables))


async def resolve(call: Call, key: int) -> None:
    """Restore the retries of the job of an incident."""
    job_id = await _job_id(call, key)
    await call.server.engine.run(Revive(job_id))


async def cancel(call: Call, key: int) -> None:
    """Cancel the job that a process is."""
    await _settle(call, key, Cancel(await _job_id(call, key)))


async def create(
    call: Call,
    process: str,
    variables: Mapping[str, Any],
    *,
    definition_key: int = 0,
    version: int = -1,
    starts_at: Collection[str] = (),
) -> Created:
    """Start a process: one job, whose type is the id of the process."""
    if starts_at:
        raise Unsupported("startInstructions need a BPMN engine; a process is one job here")
    if not process:
        if definition_key:
            raise Unsupported(
                "there are no process definitions here; name the process by bpmnProcessId"
            )
        raise invalid("bpmnProcessId", "is missing")
    if version not in (-1, 0, VERSION):
        raise NotFound(f"process {process[:100]!r} has no version {version} here")
    draft = parse_draft(
        {
            "type": type_of(process, "bpmnProcessId"),
            "args": [dict(variables)],
            "meta": {_PROCESS: process},
            "retry": {"max_attempts": _RETRIES, "on_exhaustion": "dead_letter"},
        },
        tenant=call.tenant,
        request_id=call.sent_request_id,
    )
    engine = call.server.engine
    done = await enqueue_or_wait(engine, Enqueue((draft,)), 0, call.disconnected)
    job_id = done.jobs[0].job.id
    if call.server.tracer is not None:
        call.server.tracer.enqueued(done.jobs)
    return Created(await engine.run(Number(job_id)), process, job_id)


async def result(
    call: Call, created: Created, wait_ms: int, names: Collection[str]
) -> Mapping[str, Any]:
    """Wait for the variables that a process ends with."""
    engine = call.server.engine
    wait_s = min(wait_ms or USUAL_WAIT_MS, engine.rules.profile.max_wait_ms) / 1000
    found = await engine.read(lambda reader: reader.job(created.job_id))
    if found is None:
        raise _missing(created.key)
    stored = found[0]
    if stored.job.state not in TERMINAL:
        stored = await wait_for_end(engine, stored, wait_s)
    state = stored.job.state
    if state == State.COMPLETED:
        return chosen(variables_of(b"[" + (stored.result or b"{}") + b"]"), names)
    if state in TERMINAL:
        word = "cancelled" if state == State.CANCELLED else "an incident"
        raise Conflict(f"process instance {created.key} is {word}")
    raise NotReady(f"process instance {created.key} has not ended after {wait_s:g} s")


async def _job_id(call: Call, key: int) -> str:
    """Return the id of the job with this key, if the caller may see it."""

    def look(reader: Reader) -> str | None:
        # Keys are 64-bit numbers from 1 on.
        return reader.job_numbered(key) if key > 0 else None

    job_id = await call.server.engine.read(look)
    if job_id is None:
        raise _missing(key)
    try:
        await require_own(call, job_id)
    except NotFound:
        raise _missing(key) from None
    return job_id


async def _settle(call: Call, key: int, op: Ack | Fail | Amend | Cancel) -> None:
    """Run an operation on a job; raises NotFound if it has ended."""
    try:
        await call.server.engine.run(op)
    except NotFound:
        raise _missing(key) from None
    except Conflict as error:
        state = (error.details or {}).get("current_state")
        if state in (State.COMPLETED, State.CANCELLED):
            raise _missing(key) from None
        if state == State.DISCARDED:
            raise Conflict(
                f"an incident is open on job {key}; resolve it first", details=error.details
            ) from None
        raise Conflict(
            f"job {key} is not activated any more, it is {state}", details=error.details
        ) from None


def _missing(key: int) -> NotFound:
    return NotFound(
        f"there is no job with the key {key}, or it has ended",
        details={"resource_type": "job", "resource_id": str(key)},
    )
