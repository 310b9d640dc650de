"""Jobs in the form of Zeebe's clients: numeric keys, variables, retries, incidents.

The number of a job is its key, and that of the process instance, of the element instance and of the
incident that it may become.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import InvalidRequest, TooLarge, invalid
from ojs_server.domain.fields import printable_type
from ojs_server.domain.jobs.job import Job, Lease, State
from ojs_server.domain.jobs.reported_error import MAX_RETRIES, MAX_TEXT, Fault
from ojs_server.http.any_call import AnyCall
from ojs_server.http.ids import known_as
from ojs_server.http.workers.ack import result_of
from ojs_server.http.workers.fetch import trace, wait_for_jobs
from ojs_server.ops.jobs.amend import Amend
from ojs_server.ops.jobs.settle import Ack, Fail, Revive
from ojs_server.ops.workers.claim import Claim, FetchedJob
from ojs_server.systems.zeebe.claim import NUMBERED, number_of
from ojs_server.systems.zeebe.incidents import THROWN, RaiseIncident, out_of_retries, too_large
from ojs_server.systems.zeebe.keys import id_of, settle
from ojs_server.systems.zeebe.variables import chosen, headers_of, merging, variables_of
from ojs_wire.values import MAX_DURATION

# Most jobs per activation, whatever the client requests.
MOST_AT_ONCE: Final = 1000
# Clients expect a version of Zeebe, of the gateway and of the broker behind it.
ZEEBE_VERSION: Final = "8.8.0"
# The purpose of a job in a BPMN engine; here, all are tasks.
KIND: Final = "BPMN_ELEMENT"
LISTENER_EVENT: Final = "UNSPECIFIED"


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
    headers: Mapping[str, Any]
    worker: str
    retries: int
    deadline: int
    variables: Mapping[str, Any]
    lease: Lease


async def activate(call: AnyCall, activation: Activation) -> list[Activated]:
    """Deliver jobs, as soon as there are some within the wait."""
    if activation.timeout_ms < 1 or activation.timeout_ms > MAX_DURATION:
        raise invalid("timeout", "must be the milliseconds that a worker has, from 1 on")
    if activation.count < 1:
        raise invalid("maxJobsToActivate", "must be 1 or more")
    claim = Claim(
        queues=(),
        count=min(activation.count, MOST_AT_ONCE),
        worker_id=_worker_id(call, activation.worker),
        job_types=(printable_type("type", activation.type),),
        lease_ms=activation.timeout_ms,
        late_ack="accept_unfinished",
        tenant=call.tenant,
        policy=NUMBERED,
    )
    deliveries = await wait_for_jobs(call, claim, max(0, activation.wait_ms))
    trace(call, deliveries)
    return [_activated(delivery, activation) for delivery in deliveries]


def _worker_id(call: AnyCall, name: str) -> str:
    """Return the id of a worker, whose name may be any text."""
    try:
        return known_as(call, name)
    except InvalidRequest:
        return known_as(call, f"zeebe.{hashlib.sha256(name.encode()).hexdigest()[:32]}")


def _activated(fetched: FetchedJob, activation: Activation) -> Activated:
    claimed, lease = fetched.claimed, fetched.lease
    job = claimed.job
    return Activated(
        key=number_of(fetched),
        type=activation.type,
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


async def complete(call: AnyCall, key: int, variables: Mapping[str, Any]) -> None:
    """Complete a job, also after its timeout unless another worker did. The variables are its
    result; with more of them than a result may have the job becomes an incident."""
    job_id = await id_of(call, key)
    try:
        result = result_of(variables, call.server.settings.max_result_bytes, "variables")
    except TooLarge as error:
        await settle(call, key, RaiseIncident(job_id, too_large(error)))
        raise _with_incident(error, key) from None
    await settle(call, key, Ack(job_id, result=result, any_holder=True))


async def fail(
    call: AnyCall,
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
        fault = out_of_retries(text)
    await _end(call, key, fault, variables)


async def throw(
    call: AnyCall, key: int, code: str, message: str, variables: Mapping[str, Any]
) -> None:
    """End a job with a business error, which always becomes an incident."""
    if not code:
        raise invalid("errorCode", "is missing")
    details = {"action": "dead_letter", "error_code": code[:MAX_TEXT]}
    text = message[:MAX_TEXT] or f"the handler threw {code[:100]}"
    fault = Fault(code[:255], THROWN, text, retryable=False, details=details)
    await _end(call, key, fault, variables)


async def _end(call: AnyCall, key: int, fault: Fault, variables: Mapping[str, Any]) -> None:
    """Fail a job, and merge variables into its own; if they become too many, the job becomes an
    incident without them."""
    job_id = await id_of(call, key)
    try:
        await settle(call, key, Fail(job_id, fault, amend=merging(variables)))
    except TooLarge as error:
        await settle(call, key, RaiseIncident(job_id, too_large(error)))
        raise _with_incident(error, key) from None


def _with_incident(error: TooLarge, key: int) -> TooLarge:
    return TooLarge(
        f"{error.message}; job {key} is an incident until it is resolved",
        details=error.details,
        code=error.answer_code,
    )


async def update(call: AnyCall, key: int, *, retries: int | None, timeout_ms: int | None) -> None:
    """Change the retries of a job, or its timeout, which then counts from now."""
    if retries is not None and not 1 <= retries <= MAX_RETRIES:
        raise invalid("retries", f"must be a number from 1 to {MAX_RETRIES}")
    if timeout_ms is not None and not 1 <= timeout_ms <= MAX_DURATION:
        raise invalid("timeout", "must be a number of milliseconds, from 1 on")
    await settle(call, key, Amend(await id_of(call, key), retries=retries, lease_ms=timeout_ms))


async def set_variables(call: AnyCall, key: int, variables: Mapping[str, Any]) -> None:
    """Merge variables into those of a job that has not ended; the next delivery has them."""
    await settle(call, key, Amend(await id_of(call, key), change=merging(variables)))


async def resolve(call: AnyCall, key: int) -> None:
    """Restore the retries of the job of an incident."""
    job_id = await id_of(call, key)
    await call.server.engine.run(Revive(job_id))
