"""The ids that a request names, in its path or in its body."""

from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.workers import parse_worker_id
from ojs_server.http.call import Call
from ojs_server.ops.settle import missing
from ojs_wire.values import UUID7


def job_id_of(call: Call, given: str | None = None) -> str:
    """The job that a call is about; `given` is what its body says."""
    job_id = call.params.get("id", given)
    if job_id is None:
        raise invalid("job_id", "is missing")
    if given is not None and given != job_id:
        raise InvalidRequest(
            "`job_id` differs from the id in the path", details={"field": "job_id"}
        )
    # An id of another form names no job, whatever it is.
    if not UUID7.fullmatch(job_id):
        raise missing(job_id[:100])
    return job_id


def worker_id_of(call: Call, given: str | None) -> str:
    """The worker that a call is about; `given` is what its body says."""
    worker_id = call.params.get("id", given)
    if worker_id is None:
        raise invalid("worker_id", "is missing")
    if given is not None and given != worker_id:
        raise InvalidRequest(
            "`worker_id` differs from the id in the path", details={"field": "worker_id"}
        )
    return parse_worker_id(worker_id)


def holder_of(worker_id: str | None) -> str | None:
    """The worker that says it holds a job, where it says so."""
    return None if worker_id is None else parse_worker_id(worker_id)
