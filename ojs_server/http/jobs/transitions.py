"""Cancel and activate a job."""

from typing import Any, Final

from msgspec.structs import replace

from ojs_server.domain.jobs.job import Change
from ojs_server.http.access.roles import ENQUEUE
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import job_id_of
from ojs_server.http.jobs.views import changed_answer, enqueued_at, job_answer
from ojs_server.http.route import Route
from ojs_server.ops.jobs.settle import Activate, Cancel
from ojs_wire.calls import EmptyRequest
from ojs_wire.codec import encode


async def cancel(call: Call) -> Answer:
    """Cancel at once, whatever the job does."""
    if call.scope["method"] == "POST":
        await call.read(EmptyRequest, optional=True)
    change = await call.server.engine.run(Cancel(await job_id_of(call)))
    return await changed(call, change)


async def activate(call: Call) -> Answer:
    """Put a pending job into its queue."""
    await call.read(EmptyRequest, optional=True)
    change = await call.server.engine.run(Activate(await job_id_of(call)))
    return await changed(call, change, activated_at=enqueued_at(change))


async def changed(call: Call, change: Change, **more: Any) -> Answer:
    """Answer the whole job after a transition."""
    found = await call.server.engine.read(lambda reader: reader.job(change.after.id))
    if found is None:
        # The job was removed in between.
        return Answer(changed_answer(change, **more))
    # Show the job right after the transition. None of these transitions leaves a result.
    whole = replace(found[0], job=change.after, result=None)
    members = encode({"previous_state": change.before.state, **more})[1:-1]
    return Answer(job_answer(whole, None, members))


ROUTES: Final = (
    Route("DELETE", "/jobs/{id}", cancel, ENQUEUE, tenanted=True),
    Route("POST", "/jobs/{id}/activate", activate, ENQUEUE, tenanted=True),
)
