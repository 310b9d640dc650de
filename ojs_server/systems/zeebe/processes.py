"""Processes of Zeebe's clients. Each is one job, whose type is the id of the process."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import Conflict, NotFound, NotReady, Unsupported, invalid
from ojs_server.domain.fields import printable_type
from ojs_server.domain.jobs.job import TERMINAL, State
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.http.any_call import AnyCall
from ojs_server.http.jobs.enqueue import trace
from ojs_server.ops.jobs.blocking_enqueue import enqueue as enqueue_or_wait
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.numeric_ids import Number
from ojs_server.ops.jobs.settle import Cancel
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_server.systems.zeebe.keys import id_of, load, settle
from ojs_server.systems.zeebe.variables import at_the_end, chosen

VERSION: Final = 1
TENANT: Final = "<default>"
# The wait for a client that names none.
USUAL_WAIT_MS: Final = 10_000
_RETRIES: Final = 3


class Created(msgspec.Struct, frozen=True):
    """A process instance that was created."""

    key: int
    process: str
    job_id: str


def definition_key(process: str) -> int:
    """Return a key for a process, the same each time; definitions with keys do not exist."""
    return int.from_bytes(hashlib.sha256(process.encode()).digest()[:6])


def require_tenants(given: Collection[str]) -> None:
    """Raise for the tenants in Zeebe's calls: here, the tenant of a call is that of its key or
    header."""
    if any(name not in ("", TENANT) for name in given):
        raise invalid("tenantIds", f"must be {TENANT}; a tenant is named by X-OJS-Tenant")


async def create(
    call: AnyCall,
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
            "type": "process",
            "args": [dict(variables)],
            "retry": {"max_attempts": _RETRIES, "on_exhaustion": "dead_letter"},
        },
        tenant=call.tenant,
        request_id=call.sent_request_id,
    )
    # Set afterwards, since a process may be called `pay@2`, which is a type and a version in OJS.
    draft = draft.shaped(type=printable_type("bpmnProcessId", process))
    engine = call.server.engine
    done = await enqueue_or_wait(engine, Enqueue((draft,)), 0, call.disconnected)
    job_id = done.jobs[0].job.id
    trace(call, done.jobs)
    return Created(await engine.run(Number(job_id)), process, job_id)


async def result(
    call: AnyCall, created: Created, wait_ms: int, names: Collection[str]
) -> Mapping[str, Any]:
    """Wait for the variables that a process ends with."""
    engine = call.server.engine
    wait_s = min(wait_ms or USUAL_WAIT_MS, engine.rules.profile.max_wait_ms) / 1000
    stored = await load(call, created.key, created.job_id)
    if stored.job.state not in TERMINAL:
        stored = await wait_for_end(engine, stored, wait_s)
    state = stored.job.state
    if state == State.COMPLETED:
        return chosen(at_the_end(stored), names)
    if state in TERMINAL:
        word = "cancelled" if state == State.CANCELLED else "an incident"
        raise Conflict(f"process instance {created.key} is {word}")
    raise NotReady(f"process instance {created.key} has not ended after {wait_s:g} s")


async def cancel(call: AnyCall, key: int) -> None:
    """Cancel the job that a process is."""
    await settle(call, key, Cancel(await id_of(call, key)))
