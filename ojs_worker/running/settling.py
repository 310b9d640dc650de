"""ACK and FAIL: report the outcome of a delivery, until the server has answered.

`Settler` is the interface; another one may collect outcomes and report many in one call.
"""

import logging
from typing import Final, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from ojs_worker.environment import Environment
from ojs_worker.errors import ErrorBody, Unreachable, error_body
from ojs_worker.faults import Fault, refused_result
from ojs_worker.handlers.outcomes import Done, Failed, Outcome, Verdict
from ojs_worker.job import Job
from ojs_worker.transport import Request, Transport
from ojs_worker.transport.backoff import Backoff

log = logging.getLogger("ojs.worker")

ACK: Final = "/ojs/v1/workers/ack"
NACK: Final = "/ojs/v1/workers/nack"
GONE: Final = frozenset({404, 409})
REFUSED: Final = frozenset({400, 413, 422})


class Settler(Protocol):
    """Reports outcomes. A call returns when the server has answered, and is cancelled to give
    up."""

    async def settle(self, job: Job, outcome: Outcome) -> Verdict:
        """Report one outcome, with retries."""
        ...

    def hurry(self) -> None:
        """Stop waiting for further outcomes, because the worker ends."""
        ...


class _Ack(msgspec.Struct):
    job_id: str
    attempt: int
    result: msgspec.Raw
    worker_id: str | UnsetType = UNSET
    outcome: str | UnsetType = UNSET


class _Nack(msgspec.Struct, omit_defaults=True):
    job_id: str
    attempt: int
    error: Fault
    worker_id: str | UnsetType = UNSET
    outcome: str | UnsetType = UNSET
    requeue: bool = False


_encode = msgspec.json.Encoder().encode


class SingleSettler:
    """Sends each outcome in a call of its own."""

    def __init__(
        self, transport: Transport, worker_id: str, environment: Environment, *, timeout_s: float
    ) -> None:
        self._transport = transport
        self._worker_id = worker_id
        self._environment = environment
        self._timeout_s = timeout_s

    async def settle(self, job: Job, outcome: Outcome, *, unsure: bool = False) -> Verdict:
        """Report one outcome, with retries; `unsure` if an earlier try may have arrived."""
        backoff = Backoff(f"settle job {job.id}", self._environment.random)
        while True:
            path = ACK if isinstance(outcome, Done) else NACK
            body = written(job, outcome, self._worker_id)
            wait_s = None
            try:
                reply = await self._transport.send(
                    Request("POST", path, body, timeout_s=self._timeout_s)
                )
            except Unreachable as missing:
                reason = str(missing)
                unsure = unsure or missing.sent
            else:
                if reply.well:
                    return Verdict.SETTLED
                error = error_body(reply.body)
                message = str(error.message)
                if reply.status in GONE:
                    log_gone(job, error, unsure=unsure)
                    return Verdict.GONE
                if reply.status in REFUSED:
                    other = in_place_of(job, outcome, reply.status, message)
                    if other is None:
                        return Verdict.REFUSED
                    outcome = other
                    continue
                reason = f"answered {reply.status}: {message}"
                wait_s = reply.retry_after_s
            await backoff.wait(reason, wait_s)

    def hurry(self) -> None:
        """Do nothing, because no outcome waits for another one."""


def written(job: Job, outcome: Outcome, worker_id: str | UnsetType = UNSET) -> bytes:
    """Encode an outcome as JSON: with the worker's id for a call of its own, else as one of
    many."""
    if isinstance(outcome, Done):
        word = "ack" if worker_id is UNSET else UNSET
        return _encode(_Ack(job.id, job.attempt, msgspec.Raw(outcome.result), worker_id, word))
    word = "fail" if worker_id is UNSET else UNSET
    if isinstance(outcome, Failed):
        nack = _Nack(job.id, job.attempt, outcome.fault, worker_id, word)
    else:
        fault = Fault(code="released", type="released", message=outcome.reason, retryable=True)
        nack = _Nack(job.id, job.attempt, fault, worker_id, word, requeue=True)
    try:
        return _encode(nack)
    except UnicodeEncodeError:
        # A lone surrogate in the error cannot be encoded as JSON.
        fault = nack.error
        plain = msgspec.structs.replace(
            fault,
            message=ascii(fault.message),
            type=ascii(fault.type),
            details=None,
            backtrace=[ascii(line) for line in fault.backtrace or ()],
        )
        return _encode(msgspec.structs.replace(nack, error=plain))


def in_place_of(job: Job, outcome: Outcome, status: int, message: str) -> Failed | None:
    """Return the outcome to report after the server has refused one; None if there is none."""
    if not isinstance(outcome, Done):
        log.error("the server refused the FAIL of job %s: %s", job.id, message)
        return None
    log.error("the server refused the result of job %s: %s", job.id, message)
    return Failed(refused_result(status, message))


def log_gone(job: Job, error: ErrorBody, *, unsure: bool) -> None:
    """Log that the server does not know the job as this worker's."""
    details = error.details if isinstance(error.details, dict) else {}
    if details.get("current_state") == "cancelled":
        log.info("job %s was cancelled, its outcome is dropped", job.id)
    elif unsure:
        # Perhaps the first try succeeded and only its answer was lost.
        log.info("job %s was settled already, or is not held any more", job.id)
    else:
        log.warning(
            "the lease of job %s is lost, its outcome is dropped: %s", job.id, error.message
        )
