"""Dead letters: every discarded job, to be looked at, tried again or deleted."""

from ojs_server.domain.errors import invalid
from ojs_server.domain.job import State
from ojs_server.domain.validate import parse_queue
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import cursor_at, page_of, place_of
from ojs_server.http.views import array, changed_answer, enqueued_at, envelope, job_answer
from ojs_server.ops.settle import Remove, Revive, missing
from ojs_server.store.base import Place
from ojs_wire.calls import EmptyRequest
from ojs_wire.values import JOB_TYPE, UUID7


async def listing(call: Call) -> Answer:
    """Discarded jobs, newest first."""
    query = call.query()
    page = page_of(call)
    queue = parse_queue("queue", query["queue"]) if query.get("queue") else None
    job_type = query.get("type") or None
    if job_type is not None and not JOB_TYPE.fullmatch(job_type):
        raise invalid("type", "must be a job type, like email.send")
    after = None if page.cursor is None else place_of(page.cursor)
    found = await call.server.engine.read(
        lambda reader: reader.dead_letters(queue, job_type, page.limit, page.offset, after)
    )
    cursor = None
    if found.has_more:
        last = found.jobs[-1].job
        cursor = cursor_at(Place(last.finished_at or 0, last.id))
    jobs = (envelope(stored) for stored in found.jobs)
    return Answer(array("jobs", jobs, pagination=page.describe(found.total, cursor)))


async def detail(call: Call) -> Answer:
    """One discarded job."""
    job_id = _job_id(call)
    found = await call.server.engine.read(lambda reader: reader.job(job_id))
    if found is None or found[0].job.state != State.DISCARDED:
        raise missing(job_id, "dead_letter_job")
    return Answer(job_answer(found[0]))


async def retry(call: Call) -> Answer:
    """Fresh attempts for a discarded job; its history stays."""
    await call.read(EmptyRequest, optional=True)
    change = await call.server.engine.run(Revive(_job_id(call)))
    return Answer(changed_answer(change, re_enqueued_at=enqueued_at(change)))


async def delete(call: Call) -> Answer:
    """Remove a discarded job for good."""
    change = await call.server.engine.run(Remove(_job_id(call)))
    return Answer({"deleted": True, "job_id": change.before.id})


def _job_id(call: Call) -> str:
    job_id = call.params["id"]
    if not UUID7.fullmatch(job_id):
        raise missing(job_id[:100], "dead_letter_job")
    return job_id
