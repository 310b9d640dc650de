"""ACK and FAIL: telling the server how a delivery ended, until it is heard.

`Settler` is the seam: another one may gather outcomes and tell many in one call.
"""

import asyncio
import logging
import random
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from ojs_wire.codec import encode
from ojs_worker.backoff import pause
from ojs_worker.errors import Unreachable, error_body
from ojs_worker.faults import BadResult, Fault, refused_result
from ojs_worker.job import Job
from ojs_worker.transport import Reply, Request, Transport

log = logging.getLogger("ojs.worker")

ACK: Final = "/ojs/v1/workers/ack"
NACK: Final = "/ojs/v1/workers/nack"
_REFUSED: Final = frozenset({400, 413, 422})


class Done(msgspec.Struct, frozen=True):
    """The handler returned; `result` is JSON."""

    result: bytes


class Failed(msgspec.Struct, frozen=True):
    """The handler did not do it."""

    fault: Fault


class Released(msgspec.Struct, frozen=True):
    """The job goes back as if it had not been fetched."""

    reason: str


Outcome = Done | Failed | Released


class Verdict(StrEnum):
    """What the server made of an outcome."""

    SETTLED = "settled"
    GONE = "gone"  # the job is not this worker's any more
    REFUSED = "refused"  # the server will not have it; the lease ends by itself


class Settler(Protocol):
    """Tells outcomes. It returns when the server has answered, and is cancelled to give up."""

    async def settle(self, job: Job, outcome: Outcome) -> Verdict:
        """Tell one outcome, as often as it takes."""
        ...


class _Ack(msgspec.Struct):
    job_id: str
    worker_id: str
    attempt: int
    result: msgspec.Raw


class _Nack(msgspec.Struct, omit_defaults=True):
    job_id: str
    worker_id: str
    attempt: int
    error: Fault
    requeue: bool = False


_encode = msgspec.json.Encoder().encode


def done(value: Any) -> Done:
    """A handler's return value as JSON; `BadResult` where JSON cannot hold it."""
    if value is None:
        return Done(b"null")
    try:
        result = encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadResult(f"the handler's result cannot be written as JSON: {error}") from error
    # The encoder writes NaN as null, so only a result with a null in it is worth a look.
    if b"null" in result and _has_nan(value):
        raise BadResult("the handler's result cannot be written as JSON: it holds NaN or infinity")
    return Done(result)


class SingleSettler:
    """One call for each job."""

    def __init__(self, transport: Transport, worker_id: str, *, timeout_s: float) -> None:
        self._transport = transport
        self._worker_id = worker_id
        self._timeout_s = timeout_s

    async def settle(self, job: Job, outcome: Outcome) -> Verdict:
        """Tell one outcome, as often as it takes."""
        failures, unsure = 0, False
        request = self._request(job, outcome)
        while True:
            try:
                reply = await self._transport.send(request)
            except Unreachable as error:
                reason: str = str(error)
                unsure = unsure or error.sent
                wait_s = 0.0
            else:
                if reply.well:
                    return Verdict.SETTLED
                if reply.status in (404, 409):
                    _log_gone(job, reply, unsure=unsure)
                    return Verdict.GONE
                if reply.status in _REFUSED:
                    said = str(error_body(reply.body).message)
                    if not isinstance(outcome, Done):
                        log.error("the server refused the FAIL of job %s: %s", job.id, said)
                        return Verdict.REFUSED
                    log.error("the server refused the result of job %s: %s", job.id, said)
                    outcome = Failed(refused_result(reply.status, said))
                    request = self._request(job, outcome)
                    continue
                reason = f"answered {reply.status}: {error_body(reply.body).message}"
                wait_s = reply.retry_after_s or 0.0
            failures += 1
            if failures == 1:
                log.warning("cannot settle job %s yet, trying on: %s", job.id, reason)
            await asyncio.sleep(max(wait_s, pause(failures, random.random())))

    def _request(self, job: Job, outcome: Outcome) -> Request:
        match outcome:
            case Done(result):
                told: Any = _Ack(job.id, self._worker_id, job.attempt, msgspec.Raw(result))
                return self._post(ACK, _encode(told))
            case Failed(fault):
                return self._post(
                    NACK, _written(_Nack(job.id, self._worker_id, job.attempt, fault))
                )
            case Released(reason):
                fault = Fault(code="released", type="released", message=reason, retryable=True)
                return self._post(
                    NACK, _written(_Nack(job.id, self._worker_id, job.attempt, fault, requeue=True))
                )

    def _post(self, path: str, body: bytes) -> Request:
        return Request("POST", path, body, timeout_s=self._timeout_s)


def _written(nack: _Nack) -> bytes:
    try:
        return _encode(nack)
    except UnicodeEncodeError:
        # Half a surrogate pair in an error's text: no JSON can hold it.
        fault = nack.error
        plain = msgspec.structs.replace(
            fault,
            message=ascii(fault.message),
            type=ascii(fault.type),
            details=None,
            backtrace=[ascii(line) for line in fault.backtrace or ()],
        )
        return _encode(msgspec.structs.replace(nack, error=plain))


def _log_gone(job: Job, reply: Reply, *, unsure: bool) -> None:
    if unsure:
        # The first try may have been heard and its answer lost; this is then its echo.
        log.info("job %s was settled already, or is not held any more", job.id)
    else:
        said = error_body(reply.body).message
        log.warning("the lease of job %s is lost, its outcome is dropped: %s", job.id, said)


def _has_nan(value: Any) -> bool:
    plain = msgspec.to_builtins(value)
    stack = [plain]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list | tuple):
            stack.extend(node)
        elif isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
            return True
    return False
