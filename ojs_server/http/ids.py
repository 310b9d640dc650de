"""Parsing of the ids in a request's path or body."""

from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.domain.workers.worker import parse_worker_id
from ojs_server.http.access.authorization import require_own
from ojs_server.http.any_call import AnyCall
from ojs_server.ops.jobs.settle import missing
from ojs_wire.values import UUID7


async def job_id_of(call: AnyCall, given: str | None = None) -> str:
    """Return the id of the job that a call is about, if its caller may see it; `given` is the one
    in its body."""
    job_id = job_id_in(call, given)
    await require_own(call, job_id)
    return job_id


def job_id_in(call: AnyCall, given: str | None) -> str:
    """Return the id of the job that a call is about, of any tenant."""
    job_id = _single_id(call, "job_id", given)
    # Not a valid id, so there is no such job.
    if not UUID7.fullmatch(job_id):
        raise missing(job_id[:100])
    return job_id


def worker_id_of(call: AnyCall, given: str | None) -> str:
    """Return the id of the worker that a call is about, from the path or the body."""
    return known_as(call, _single_id(call, "worker_id", given))


def _single_id(call: AnyCall, field: str, given: str | None) -> str:
    """Return the id in the path or else the body, which must not differ."""
    in_path = call.path_id
    known_id = given if in_path is None else in_path
    if known_id is None:
        raise invalid(field, "is missing")
    if given is not None and given != known_id:
        raise InvalidRequest(f"`{field}` differs from the id in the path", details={"field": field})
    return known_id


def holder_of(call: AnyCall, worker_id: str | None) -> str | None:
    """Return the id of the worker that claims to hold a job; None if none is given."""
    return None if worker_id is None else known_as(call, worker_id)


def known_as(call: AnyCall, worker_id: str) -> str:
    """Return the server's id for a worker: the id that it has sent, within its tenant."""
    known = parse_worker_id(worker_id)
    return known if call.tenant is None else scoped(call.tenant, known)
