"""ACK and FAIL of a job."""

from typing import Final

import msgspec

from ojs_server.domain.errors import TooLarge
from ojs_server.domain.jobs.job import Change
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.http.access.roles import WORK
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.hot_call import HotCall, Prepared
from ojs_server.http.ids import holder_of, job_id_in
from ojs_server.http.jobs.views import settled
from ojs_server.http.route import Route
from ojs_server.ops.jobs.settle import Ack, Fail, Repeated
from ojs_wire import codes
from ojs_wire.calls import AckRequest, NackRequest
from ojs_wire.codec import encode


def _ack(call: Call, body: bytes) -> Prepared:
    return Prepared(ack_of(call, call.parsed(body, AckRequest, optional="id" in call.path_params)))


def ack_of(call: AnyCall, request: AckRequest) -> Ack:
    """Return the operation of an ACK."""
    return Ack(
        job_id_in(call, request.job_id),
        worker_id=holder_of(call, request.worker_id),
        attempt=request.attempt,
        result=result_of(request.result, call.server.settings.max_result_bytes),
        tenant=call.tenant,
    )


def _acknowledged(call: Call, prepared: Prepared, done: Change | Repeated) -> Answer:
    # After a late ACK this is the attempt under way, not the one that was acknowledged.
    attempt = done.after.attempt
    if isinstance(done, Repeated):
        change = Change(done.after, done.after, ())
        return Answer(settled(change, attempt, acknowledged=True, repeated=True))
    return Answer(settled(done, attempt, acknowledged=True))


# Completes the job.
ack: Final = HotCall(_ack, _acknowledged)


def result_of(given: object, limit: int, field: str = "result") -> bytes | None:
    """Encode a result as it is stored; None without one. `field` is its name in the request."""
    if given is msgspec.UNSET:
        return None
    result = encode(given)
    if len(result) > limit:
        raise TooLarge(
            f"`{field}` has {len(result)} bytes; at most {limit} are allowed",
            code=codes.RESULT_TOO_LARGE,
            details={"field": field, "size": len(result), "limit": limit},
        )
    return result


def _nack(call: Call, body: bytes) -> Prepared:
    request = call.parsed(body, NackRequest, optional="id" in call.path_params)
    return Prepared(fail_of(call, request), about=request.attempt)


def fail_of(call: AnyCall, request: NackRequest) -> Fail:
    """Return the operation of a FAIL."""
    return Fail(
        job_id_in(call, request.job_id),
        parse_fault(request.error),
        worker_id=holder_of(call, request.worker_id),
        attempt=request.attempt,
        requeue=bool(request.requeue),
        tenant=call.tenant,
    )


def _failed(call: Call, prepared: Prepared, done: Change | Repeated) -> Answer:
    if isinstance(done, Repeated):
        # The job may have continued since, so its attempt is taken from the request.
        change = Change(done.after, done.after, ())
        return Answer(settled(change, prepared.about, repeated=True))
    # The attempt before the transition, which may have reset it.
    return Answer(settled(done, done.before.attempt))


# Retries, requeues or discards the job.
nack: Final = HotCall(_nack, _failed)


ROUTES: Final = (
    Route("POST", "/workers/ack", ack, WORK, tenanted=True, produces=True),
    Route("POST", "/workers/nack", nack, WORK, tenanted=True, produces=True),
)
