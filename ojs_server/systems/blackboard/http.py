"""The blackboard: jobs are added, polled by function block, and their results pushed."""

from typing import Any, Final, TypeVar

import msgspec

from ojs_server.domain.errors import ValidationError
from ojs_server.domain.fields import client_id
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.suggestions import refuse_lookalikes
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.domain.workers.kind import BLOCKS, Kind, type_of
from ojs_server.http.access.roles import ENQUEUE, READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import known_as
from ojs_server.http.jobs.read import load_job
from ojs_server.http.route import Route
from ojs_server.http.workers.ack import result_of
from ojs_server.http.workers.fetch import withheld_headers
from ojs_server.http.workers.function_blocks import check_result
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.settle import Ack, Fail
from ojs_server.ops.workers.claim import Claim
from ojs_server.store.records import Claimed
from ojs_server.systems.blackboard.domain import (
    QUEUE,
    Phase,
    parse_phase,
    parse_push,
    phase_of,
    view,
)
from ojs_server.systems.blackboard.requests import (
    BoardJobRequest,
    BoardPollRequest,
    BoardResultRequest,
)
from ojs_wire import codec

Body = TypeVar("Body", bound=msgspec.Struct)


async def put(call: Call) -> Answer:
    """Add a job to the board, for a block that some worker has registered."""
    request = await _read(call, BoardJobRequest)
    phase = parse_phase(request.jobType)
    name, own_id = request.functionBlockId, client_id(request.jobId, "jobId")
    draft = parse_draft(
        {
            "id": own_id,
            "type": await _known_type(call, name, own_id),
            "queue": QUEUE,
            "args": [request.context or {}],
            "meta": {"phase": phase.lower(), "function_block": name},
        },
        tenant=call.tenant,
    )
    done = await call.server.engine.run(Enqueue((draft,)))
    return Answer(_shown(done.jobs[0], phase, name), 201 if done.created else 200)


async def poll(call: Call) -> Answer:
    """Deliver jobs for a worker's blocks, as a bare list."""
    request = await _read(call, BoardPollRequest)
    names = {type_of(name, "functionBlockIds"): name for name in request.functionBlockIds}
    claim = Claim(
        queues=(),
        count=request.limit or 1,
        worker_id=known_as(call, request.workerId),
        job_types=tuple(names),
        known=True,
        tenant=call.tenant,
    )
    found = await call.server.engine.run(claim)
    handed = [_handed(job.claimed, names) for job in found]
    return Answer(handed, headers=withheld_headers(found))


async def result(call: Call) -> Answer:
    """Store the result of a job that a worker has pushed."""
    request = await _read(call, BoardResultRequest)
    stored, _ = await load_job(call, request.jobId)
    job_id = stored.job.id
    phase = phase_of(stored.meta)
    push = parse_push(
        phase,
        request.status,
        request.result,
        request.error,
        request.acquires,
        request.dbUpdates,
    )
    if push.fault is not None:
        change = await call.server.engine.run(Fail(job_id, push.fault))
        return Answer(view(change.after))
    kind = await _kind_of(call, stored.job.type)
    if phase is Phase.EXECUTE and kind is not None and kind.result_schema is not None:
        check_result(kind.result_schema, push.data)
    kept = result_of(codec.decode(push.stored()), call.server.settings.max_result_bytes)
    done = await call.server.engine.run(Ack(job_id, result=kept))
    return Answer(view(done.after))


async def read(call: Call) -> Answer:
    """Show one job of the board."""
    stored, _ = await load_job(call)
    kind = await _kind_of(call, stored.job.type)
    name = stored.job.type if kind is None else kind.name
    return Answer(_shown(stored, phase_of(stored.meta), name))


async def _read(call: Call, shape: type[Body]) -> Body:
    value = await call.json()
    refuse_lookalikes("", value, shape.__struct_fields__)
    return call.typed(value, shape)


async def _kind_of(call: Call, job_type: str) -> Kind | None:
    room = scoped(call.tenant, BLOCKS)
    return await call.server.engine.read(lambda reader: reader.kind_of_type(room, job_type))


async def _known_type(call: Call, name: str, own_id: str | None) -> str:
    job_type = type_of(name)
    # A repeated request is answered with its job, even if no worker of the block is left.
    if await _kind_of(call, job_type) is None and not await _is_own(call, own_id):
        raise ValidationError(
            f"the function block {name!r} has been registered by no worker",
            details={"field": "functionBlockId"},
        )
    return job_type


async def _is_own(call: Call, job_id: str | None) -> bool:
    if job_id is None:
        return False
    found = await call.server.engine.read(lambda reader: reader.job(job_id))
    return found is not None and found[0].job.tenant == call.tenant


def _handed(claimed: Claimed, names: dict[str, str]) -> dict[str, Any]:
    return {
        "jobId": claimed.job.id,
        "jobType": phase_of(claimed.meta),
        "functionBlockId": names[claimed.job.type],
        "context": _context(claimed.args),
    }


def _shown(stored: StoredJob, phase: Phase, name: str) -> dict[str, Any]:
    kept = None if stored.result is None else codec.decode(stored.result)
    return {
        **view(stored.job),
        "jobType": phase,
        "functionBlockId": name,
        "context": _context(stored.args),
        "result": kept,
    }


def _context(args: bytes) -> Any:
    given = codec.decode(args)
    return given[0] if given else {}


ROUTES: Final = (
    Route("POST", "/blackboard/jobs", put, ENQUEUE, tenanted=True, produces=True),
    Route("POST", "/blackboard/job", poll, WORK, tenanted=True, produces=True),
    Route("POST", "/blackboard/job/result", result, WORK, tenanted=True, produces=True),
    Route("GET", "/blackboard/job/{id}", read, READ, tenanted=True),
)
