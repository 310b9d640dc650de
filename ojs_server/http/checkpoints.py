"""Checkpoints: a job's state between its attempts, opaque and as it was sent."""

import msgspec

from ojs_server.domain.beside import Checkpoint
from ojs_server.domain.checkpoint import MAX_STATE
from ojs_server.domain.errors import NotFound, TooLarge
from ojs_server.http.call import Answer, Call, parsed
from ojs_server.http.ids import holder_of, job_id_of
from ojs_server.ops.checkpoint import Clear, Save
from ojs_server.ops.settle import missing
from ojs_wire.calls import CheckpointRequest
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp

# The state, and room for what a request says beside it.
MAX_BODY = MAX_STATE + 4096


class _State(msgspec.Struct):
    state: msgspec.Raw


async def save(call: Call) -> Answer:
    """Keep the state in the place of the one before."""
    body = await call.body(MAX_BODY)
    request = call.typed(parsed(body), CheckpointRequest)
    state = bytes(msgspec.json.decode(body, type=_State).state)
    if len(state) > MAX_STATE:
        raise TooLarge(
            f"`state` has {len(state)} bytes; at most {MAX_STATE} are allowed",
            details={"field": "state", "size": len(state), "limit": MAX_STATE},
        )
    saved = await call.server.engine.run(
        Save(
            await job_id_of(call, request.job_id),
            state,
            sequence=request.sequence,
            worker_id=holder_of(call, request.worker_id),
            attempt=request.attempt,
        )
    )
    return Answer(_answer(saved))


async def read(call: Call) -> Answer:
    """The newest state; it stays readable when the job has ended."""
    job_id = await job_id_of(call)
    found, one = await call.server.engine.read(
        lambda reader: (reader.job(job_id), reader.checkpoint(job_id))
    )
    if found is None:
        raise missing(job_id)
    if one is None:
        raise NotFound(
            f"job {job_id} has no checkpoint",
            details={"resource_type": "checkpoint", "resource_id": job_id},
        )
    return Answer(_answer(one))


async def clear(call: Call) -> Answer:
    """Forget the state; there need not be any."""
    cleared = await call.server.engine.run(Clear(await job_id_of(call)))
    return Answer({"deleted": True, "job_id": cleared.job_id})


def _answer(one: Checkpoint) -> bytes:
    # Flat as the cases read it, and once more as the text on checkpoints has it.
    flat = b'"job_id":%b,"state":%b,"sequence":%d,"created_at":%b' % (
        encode(one.job_id),
        one.state,
        one.sequence,
        encode(format_timestamp(one.saved_at)),
    )
    return b"{" + flat + b',"checkpoint":{' + flat + b"}}"
