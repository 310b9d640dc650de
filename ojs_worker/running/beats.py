"""Registration, BEATs and deregistration."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ojs_wire.codec import encode
from ojs_worker.environment import Environment
from ojs_worker.errors import UnexpectedAnswer, Unreachable, decoded, error_body, refusal
from ojs_worker.running.lease_check import Bounds
from ojs_worker.running.machine import State
from ojs_worker.transport import NO_SUCH_CALL, Reply, Request, Transport
from ojs_worker.transport.backoff import Backoff

log = logging.getLogger("ojs.worker")

REGISTER: Final = "/ojs/v1/workers/register"
DEREGISTER: Final = "/ojs/v1/workers/deregister"
BEAT: Final = "/ojs/v1/workers/heartbeat"
# Lower bound of the interval.
LEAST_S: Final = 0.05
# Limit of the delay with which the end of a suspension is noticed.
LOOK_S: Final = 1.0
Attempts = Mapping[str, int]


class Report(msgspec.Struct, frozen=True):
    """The content of a BEAT: the worker's state, and each held job with the number of its delivery;
    and when it was made, in seconds of the environment's `elapsed`."""

    state: State
    held: Attempts
    at: float = -math.inf


class Answer(msgspec.Struct):
    """The members of the answer to a BEAT that a worker reads; a server may leave any of them
    out."""

    state: Any = None
    directive: Any = None
    jobs_lost: list[str] | None = None
    jobs_extended: list[str] | None = None
    cancelled_jobs: list[str] | None = None
    registered: Any = None
    visibility_timeout: Any = None


class _Registered(msgspec.Struct):
    heartbeat_interval: float | None = None
    heartbeat_timeout: Any = None
    visibility_timeout_default: Any = None


_answer = msgspec.json.Decoder(Answer)
_registered = msgspec.json.Decoder(_Registered)


class Beats:
    """Sends the BEATs of one worker, one after the other, so that its states arrive in order."""

    def __init__(
        self,
        transport: Transport,
        worker_id: str,
        profile: Mapping[str, Any],
        environment: Environment,
        *,
        report: Callable[[], Report],
        on_answer: Callable[[Answer, Report], None],
        bounds: Bounds,
        interval_s: float,
        timeout_s: float,
        extends: bool = True,
    ) -> None:
        self._transport = transport
        self._worker_id = worker_id
        self._profile = profile
        self._environment = environment
        # Members that tell the server not to renew leases.
        self._terms: Mapping[str, Any] = {} if extends else {"extend": False}
        self._report = report
        self._on_answer = on_answer
        self._bounds = bounds
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._wake = asyncio.Event()
        # Held while a BEAT is on its way.
        self._sending = asyncio.Lock()
        self._stopped = False
        self._waiting: list[asyncio.Future[None]] = []
        # True if the next BEAT has to describe this worker, which the server does not know.
        self._send_profile = False
        # Older servers have a number in `active_jobs` and refuse a list; it is then left out.
        self._list_twice = True
        self._failures = 0
        self.introduced = asyncio.Event()

    @property
    def connected(self) -> bool:
        """True if the last BEAT was answered."""
        return self.introduced.is_set() and not self._failures

    async def run(self) -> None:
        """Register, then beat until stopped or cancelled."""
        await self._register()
        while not self._stopped:
            started = self._environment.elapsed()
            self._wake.clear()
            await self.beat()
            self.introduced.set()
            await self._sleep_until(started + self._interval_s)

    async def register_again(self) -> bool:
        """Register again and send a BEAT, after the server has removed or deleted this worker;
        return True if the server accepts it."""
        welcome = await self._register()
        if welcome:
            await self.now()
        return welcome

    def soon(self) -> None:
        """Send the next BEAT without waiting for the interval."""
        self._wake.set()

    async def now(self) -> None:
        """Send a BEAT that begins after this call, and wait until it was answered or has failed."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._wake.set()
        await waiting

    async def stop(self) -> None:
        """Begin no further BEAT, and wait for the answer to the one that is on its way, which the
        server could otherwise read after the worker has left."""
        self._stopped = True
        async with self._sending:
            pass

    async def beat(self) -> None:
        """Send one BEAT. Without an answer nothing changes for the worker."""
        async with self._sending:
            waiting, self._waiting = self._waiting, []
            report = self._report()
            try:
                answer = await self._send(report)
            finally:
                for future in waiting:
                    if not future.done():
                        future.set_result(None)
            if answer is not None:
                self._on_answer(answer, report)

    async def renew(self, job_id: str, lease_ms: int) -> bool:
        """Change the lease of one job; returns True if it is still held."""
        body = {
            "worker_id": self._worker_id,
            "state": self._report().state,
            "active_job_ids": [job_id],
            "visibility_timeout_ms": lease_ms,
        }
        reply = await self._post(BEAT, encode(body))
        if not reply.well:
            raise refusal(reply.status, reply.body, reply.retry_after_s)
        answer = decoded(reply.body, _answer)
        return job_id not in {*(answer.jobs_lost or ()), *(answer.cancelled_jobs or ())}

    async def deregister(self) -> None:
        """Send the last BEAT and deregister; both only if the server can be reached."""
        await self.beat()
        with contextlib.suppress(Unreachable):
            body = encode({"worker_id": self._worker_id, "reason": "shutdown"})
            reply = await self._post(DEREGISTER, body)
            if not reply.well and reply.status not in NO_SUCH_CALL:
                log.warning("the server refused to deregister: %s", error_body(reply.body).message)

    async def _sleep_until(self, until: float) -> None:
        # The loop's clock stops while the machine is suspended, so check the other clock regularly.
        while not self._wake.is_set() and (left_s := until - self._environment.elapsed()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, LOOK_S)):
                    await self._wake.wait()

    async def _register(self) -> bool:
        """Register until the server has answered; False if it refuses this worker for good."""
        body = encode({"worker_id": self._worker_id, **self._profile})
        backoff = Backoff("register", self._environment.random)
        while True:
            wait_s = None
            try:
                reply = await self._post(REGISTER, body)
            except Unreachable as error:
                reason = str(error)
            else:
                if reply.well:
                    self._learn(reply.body)
                    return True
                if reply.status in NO_SUCH_CALL:
                    log.info("the server knows no registration; the worker goes on without it")
                    self._send_profile = True
                    return True
                reason = f"answered {reply.status}: {error_body(reply.body).message}"
                if reply.status in (400, 409, 422):
                    log.error("the server refused the registration, which %s", reason)
                    return reply.status != 409
                wait_s = reply.retry_after_s
            await backoff.wait(reason, wait_s)

    def _learn(self, body: bytes) -> None:
        with contextlib.suppress(UnexpectedAnswer):
            answer = decoded(body, _registered)
            self._bounds.learn(
                dead_after_s=answer.heartbeat_timeout, lease_s=answer.visibility_timeout_default
            )
            if answer.heartbeat_interval and answer.heartbeat_interval > 0:
                self._interval_s = min(self._interval_s, max(answer.heartbeat_interval, LEAST_S))

    async def _send(self, report: Report) -> Answer | None:
        ids = list(report.held)
        body: dict[str, Any] = {
            "worker_id": self._worker_id,
            "state": report.state,
            "active_job_ids": ids,
            **self._terms,
        }
        if self._list_twice:
            body["active_jobs"] = ids
        if self._send_profile:
            body |= self._profile
        try:
            reply = await self._post(BEAT, encode(body), within_s=self._interval_s)
        except Unreachable as error:
            self._failed(str(error))
            return None
        if reply.well:
            return self._read(reply.body)
        if reply.status in (400, 422) and self._list_twice:
            self._list_twice = False
            return await self._send(report)
        self._failed(f"answered {reply.status}: {error_body(reply.body).message}")
        return None

    async def _post(self, path: str, body: bytes, within_s: float = math.inf) -> Reply:
        timeout_s = min(self._timeout_s, within_s)
        return await self._transport.send(Request("POST", path, body, timeout_s=timeout_s))

    def _read(self, body: bytes) -> Answer | None:
        try:
            answer = decoded(body, _answer)
        except UnexpectedAnswer as error:
            self._failed(str(error))
            return None
        if self._failures:
            log.info("heartbeats are answered again")
        self._failures = 0
        self._send_profile = answer.registered is False
        self._bounds.learn(lease_s=answer.visibility_timeout)
        return answer

    def _failed(self, reason: str) -> None:
        self._failures += 1
        level = logging.WARNING if self._failures in (1, 6) else logging.DEBUG
        log.log(level, "a heartbeat was not accepted: %s", reason)
