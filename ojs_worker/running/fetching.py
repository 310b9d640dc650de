"""FETCH: ask for jobs, so that none is lost with an answer that did not arrive."""

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from ojs_wire.codec import encode
from ojs_worker.environment import Environment
from ojs_worker.errors import UNREADABLE, decoded, refusal
from ojs_worker.job import Job
from ojs_worker.transport import Request, Transport

log = logging.getLogger("ojs.worker")

FETCH: Final = "/ojs/v1/workers/fetch"
# Waits up to this many seconds before the next FETCH, after one that brought no jobs.
Waker = Callable[[float], Awaitable[object]]


class Unreadable(msgspec.Struct, frozen=True):
    """A job that came in a form that cannot be read; it still has to be failed."""

    job: Job
    reason: str


class Fetched(msgspec.Struct, frozen=True):
    """Answer to one FETCH, and when that was first sent, in seconds of the environment's
    `elapsed`."""

    jobs: Sequence[Job] = ()
    unreadable: Sequence[Unreadable] = ()
    sent_at: float = -math.inf


class _Answer(msgspec.Struct):
    # Some backends answer null instead of an empty list.
    jobs: list[Job] | None = None


class _Raws(msgspec.Struct):
    jobs: list[msgspec.Raw] | None = None


class _Name(msgspec.Struct):
    id: str
    type: str = ""
    attempt: int = 0


_answer = msgspec.json.Decoder(_Answer)
_raws = msgspec.json.Decoder(_Raws)
_job = msgspec.json.Decoder(Job)
_name = msgspec.json.Decoder(_Name)


class Fetcher:
    """Sends FETCHes for one worker, one at a time.

    A FETCH keeps its `fetch_id` until it is answered; the server returns the same jobs for the same
    id. A server that refuses members beyond plain OJS gets plain OJS from then on.
    """

    def __init__(
        self,
        transport: Transport,
        worker_id: str,
        queues: Sequence[str],
        environment: Environment,
        *,
        hold_s: Callable[[], float],
        timeout_s: float,
        lease_ms: int | None = None,
        job_types: Sequence[str] | None = None,
        late_ack: str | None = None,
    ) -> None:
        self._transport = transport
        self._worker_id = worker_id
        self._wants: dict[str, Any] = {"queues": list(queues)}
        if lease_ms:
            self._wants["visibility_timeout_ms"] = lease_ms
        self._types = None if job_types is None else list(job_types)
        if late_ack is not None:
            self._wants["late_ack"] = late_ack
        self._environment = environment
        self._hold_s = hold_s
        self._timeout_s = timeout_s
        self._pending: str | None = None
        self._sent_at = -math.inf
        self._plain = False

    async def fetch(self, count: int) -> Fetched:
        """Fetch up to this number of jobs; raises the errors of the server or the transport."""
        body = {**self.terms(count), "worker_id": self._worker_id}
        wait_s = 0.0 if self._plain else self._hold_s()
        if not self._plain:
            body["wait_ms"] = round(wait_s * 1000)
        reply = await self._transport.send(
            Request("POST", FETCH, encode(body), timeout_s=wait_s + self._timeout_s)
        )
        if reply.well:
            return self.answered(read(reply.body))
        if reply.status in (400, 422) and not self._plain:
            self._plain, self._pending = True, None
            return await self.fetch(count)
        raise refusal(reply.status, reply.body, reply.retry_after_s)

    def terms(self, count: int) -> dict[str, Any]:
        """Return the members of a FETCH, also for use in a call that settles."""
        terms = {**self._wants, "count": count}
        if self._pending is None:
            # Not for a repetition: the server may return what it gave at the first try.
            self._sent_at = self._environment.elapsed()
        if not self._plain:
            if self._types is not None:
                terms["job_types"] = self._types
            self._pending = self._pending or self._environment.new_id()
            terms["fetch_id"] = self._pending
        return terms

    def answered(self, fetched: Fetched) -> Fetched:
        """Note that the answer has come, and return it with the time at which its FETCH was first
        sent."""
        self._pending = None
        return msgspec.structs.replace(fetched, sent_at=self._sent_at)


def read(body: bytes) -> Fetched:
    """Read the jobs of an answer; one that cannot be read does not spoil the others."""
    try:
        return Fetched(_answer.decode(body).jobs or ())
    except UNREADABLE:
        pass
    jobs, unreadable = [], []
    for raw in decoded(body, _raws).jobs or ():
        try:
            jobs.append(_job.decode(raw))
        except UNREADABLE as error:
            try:
                name = _name.decode(raw)
            except UNREADABLE:
                # Without an id the job cannot even be failed.
                log.error("the server handed out something that is no job: %s", error)
                continue
            job = Job(id=name.id, type=name.type, attempt=name.attempt)
            unreadable.append(Unreadable(job, str(error)))
    return Fetched(jobs, unreadable)
