"""Checkpoints: a job's state between its attempts, opaque and as it was sent."""

from typing import Final

import msgspec

from ojs_server.domain.errors import NotFound, TooLarge
from ojs_server.domain.jobs.attachments import Checkpoint
from ojs_server.domain.jobs.checkpoint import MAX_METADATA, MAX_STATE
from ojs_server.http.access.roles import OPERATE, READ, WORK
from ojs_server.http.call import Answer, Call, parsed
from ojs_server.http.ids import holder_of, job_id_of
from ojs_server.http.route import Route
from ojs_server.ops.jobs.checkpoint import Clear, Save
from ojs_server.ops.jobs.settle import missing
from ojs_wire.calls import CheckpointRequest
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp

# The state, its metadata, and 4096 bytes for the other members.
MAX_BODY = MAX_STATE + MAX_METADATA + 4096


class _Kept(msgspec.Struct):
    """The members of a checkpoint that are stored as they were sent."""

    state: msgspec.Raw
    metadata: msgspec.Raw = msgspec.Raw(b"null")


async def save(call: Call) -> Answer:
    """Save a checkpoint, replacing the one before."""
    body = await call.body(MAX_BODY)
    request = call.typed(parsed(body), CheckpointRequest)
    kept = msgspec.json.decode(body, type=_Kept)
    state = _bounded("state", kept.state, MAX_STATE)
    metadata = None
    if request.metadata is not None:
        metadata = _bounded("metadata", kept.metadata, MAX_METADATA)
    saved = await call.server.engine.run(
        Save(
            await job_id_of(call, request.job_id),
            state,
            sequence=request.sequence,
            worker_id=holder_of(call, request.worker_id),
            attempt=request.attempt,
            step_index=request.step_index,
            metadata=metadata,
        )
    )
    return Answer(_answer(saved))


async def read(call: Call) -> Answer:
    """Show the checkpoint of a job, also after the job has ended."""
    job_id = await job_id_of(call)
    saved = await _newest(call, job_id)
    if saved is None:
        raise NotFound(
            f"job {job_id} has no checkpoint",
            details={"resource_type": "checkpoint", "resource_id": job_id},
        )
    return Answer(_answer(saved))


async def resume(call: Call) -> Answer:
    """Show the checkpoint from which a job resumes, if it has one."""
    job_id = await job_id_of(call)
    saved = await _newest(call, job_id)
    found = b"false" if saved is None else b'true,"checkpoint":{%b}' % _members(saved)
    return Answer(b'{"job_id":%b,"has_checkpoint":%b}' % (encode(job_id), found))


async def clear(call: Call) -> Answer:
    """Delete the checkpoint, if there is one."""
    cleared = await call.server.engine.run(Clear(await job_id_of(call)))
    return Answer({"deleted": True, "job_id": cleared.job_id})


async def _newest(call: Call, job_id: str) -> Checkpoint | None:
    found, saved = await call.server.engine.read(
        lambda reader: (reader.job(job_id), reader.checkpoint(job_id))
    )
    if found is None:
        raise missing(job_id)
    return saved


def _bounded(name: str, value: msgspec.Raw, limit: int) -> bytes:
    """Return a member's JSON, unless it is too large."""
    text = bytes(value)
    if len(text) > limit:
        raise TooLarge(
            f"`{name}` has {len(text)} bytes; at most {limit} are allowed",
            details={"field": name, "size": len(text), "limit": limit},
        )
    return text


def _answer(saved: Checkpoint) -> bytes:
    # At the top level for the conformance cases, and nested as in the document on checkpoints.
    flat = _members(saved)
    return b'{%b,"checkpoint":{%b}}' % (flat, flat)


def _members(saved: Checkpoint) -> bytes:
    text = b'"job_id":%b,"state":%b,"sequence":%d,"created_at":%b' % (
        encode(saved.job_id),
        saved.state,
        saved.sequence,
        encode(format_timestamp(saved.saved_at)),
    )
    if saved.step_index is not None:
        text += b',"step_index":%d' % saved.step_index
    if saved.metadata is not None:
        text += b',"metadata":' + saved.metadata
    return text


ROUTES: Final = (
    Route("PUT", "/jobs/{id}/checkpoint", save, WORK, tenanted=True, produces=True),
    Route("GET", "/jobs/{id}/checkpoint", read, READ, tenanted=True),
    Route("DELETE", "/jobs/{id}/checkpoint", clear, WORK | OPERATE, tenanted=True),
    Route("GET", "/checkpoints/{id}/resume", resume, READ, tenanted=True),
)
