"""Settling in bulk: while a call is under way, outcomes gather; the next call reports all of them,
and fetches as many jobs as there are free places then.

To fetch, it reserves the FETCH of `fetch_loop`, if none is under way. A call without an answer is
sent again unchanged: the server recognises repeated settlements, and returns the same jobs for the
same `fetch_id`. Whatever is not plainly settled is left to single calls, and so is everything if
the server has no such call, or when the worker ends.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from ojs_wire.codec import encode
from ojs_wire.codes import ALL
from ojs_worker.environment import Environment
from ojs_worker.errors import ErrorBody, UnexpectedAnswer, Unreachable, decoded, error_body
from ojs_worker.handlers.outcomes import Outcome, Verdict
from ojs_worker.job import Job
from ojs_worker.lines import counted
from ojs_worker.running.fetching import Fetched, read
from ojs_worker.running.settling import GONE, REFUSED, SingleSettler, in_place_of, log_gone, written
from ojs_worker.transport import NO_SUCH_CALL, Request, Transport
from ojs_worker.transport.backoff import Backoff
from ojs_worker.transport.extensions import Extensions

log = logging.getLogger("ojs.worker")

SETTLE: Final = "/ojs/v1/workers/settle"
# Servers limit the size of bodies, and a call refused for its size costs more than a second call.
MAX_BYTES: Final = 500_000
_STATUS: Final = {code.name: code.status for code in ALL}


class FetchReservations(Protocol):
    """A fetcher that lets one other call fetch in its place."""

    def reserve_fetch(self, settled: Sequence[Job]) -> dict[str, Any] | None:
        """Return what to fetch in the call that settles these jobs; None for nothing."""
        ...

    def finish_fetch(self, fetched: Fetched | None) -> None:
        """Take the jobs that the call has fetched; None if it had no answer."""
        ...


class _Settled(msgspec.Struct):
    job_id: str
    error: ErrorBody | None = None


class _Answer(msgspec.Struct):
    results: list[_Settled]


_answer = msgspec.json.Decoder(_Answer)


class _Pending:
    """An outcome that is being sent. `verdict` is None if it must be sent in a call of its own."""

    __slots__ = ("body", "job", "outcome", "unsure", "verdict")

    def __init__(self, job: Job, outcome: Outcome, verdict: asyncio.Future[Verdict | None]) -> None:
        self.job = job
        self.outcome = outcome
        self.body = written(job, outcome)
        self.verdict = verdict
        self.unsure = False

    def end(self, verdict: Verdict | None) -> None:
        """Set the verdict, unless its waiter has given up."""
        if not self.verdict.done():
            self.verdict.set_result(verdict)


class BulkSettler:
    """Sends many outcomes in one call, one call at a time."""

    def __init__(
        self,
        transport: Transport,
        worker_id: str,
        single: SingleSettler,
        environment: Environment,
        *,
        read_extensions: Callable[[], Awaitable[Extensions | None]],
        timeout_s: float,
    ) -> None:
        self._transport = transport
        self._head = b'{"worker_id":' + encode(worker_id) + b',"results":['
        self._single = single
        self._environment = environment
        self._read_extensions = read_extensions
        self._timeout_s = timeout_s
        self._extensions: Extensions | None = None
        self._waiting: list[_Pending] = []
        self._task: asyncio.Task[None] | None = None
        self._hurried = asyncio.Event()
        # Set if calls may also fetch jobs; otherwise they only settle.
        self.fetches: FetchReservations | None = None

    async def settle(self, job: Job, outcome: Outcome) -> Verdict:
        """Report one outcome, with retries."""
        if self._settles_singly:
            return await self._single.settle(job, outcome)
        loop = asyncio.get_running_loop()
        pending = _Pending(job, outcome, loop.create_future())
        self._waiting.append(pending)
        if self._task is None:
            # A task starts in the loop's next turn, so outcomes of this turn go into the same call.
            self._task = loop.create_task(self._run())
        verdict = await pending.verdict
        if verdict is None:
            verdict = await self._single.settle(job, outcome, unsure=pending.unsure)
        return verdict

    def hurry(self) -> None:
        """Report every outcome in a call of its own from now on, also those that wait for a
        call."""
        self._hurried.set()
        self._let_go(self._waiting)

    async def close(self) -> None:
        """Cancel the call that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def _settles_singly(self) -> bool:
        known = self._extensions is not None and not self._extensions.bulk_settle
        return known or self._hurried.is_set()

    async def _run(self) -> None:
        batch: list[_Pending] = []
        try:
            if self._extensions is None:
                self._extensions = await self._read_extensions()
            while self._waiting:
                if self._extensions is None or self._settles_singly:
                    # The manifest is unavailable; ask for it again next time.
                    self._let_go(self._waiting)
                    return
                batch = self._next(self._extensions.max_results)
                if batch:
                    await self._exchange(batch)
        except Exception:
            log.exception("jobs cannot be settled together, they are settled one by one")
            self._let_go(batch)
            self._let_go(self._waiting)
        finally:
            self._task = None

    def _next(self, most: int) -> list[_Pending]:
        """Return as many outcomes as fit into one call; those that were given up are left out."""
        batch: list[_Pending] = []
        size = 0
        while self._waiting and len(batch) < most:
            pending = self._waiting[0]
            size += len(pending.body)
            if batch and size > MAX_BYTES:
                break
            del self._waiting[0]
            if not pending.verdict.done():
                batch.append(pending)
        return batch

    async def _exchange(self, batch: list[_Pending]) -> None:
        terms = self.fetches and self.fetches.reserve_fetch([pending.job for pending in batch])
        body = self._head + b",".join([pending.body for pending in batch]) + b"]"
        body += b',"fetch":' + encode(terms) + b"}" if terms else b"}"
        fetched = None
        try:
            fetched = await self._send(batch, body)
            # First let the settled jobs free their places, which the new jobs need.
            await asyncio.sleep(0)
        finally:
            if terms and self.fetches is not None:
                self.fetches.finish_fetch(fetched)

    async def _send(self, batch: list[_Pending], body: bytes) -> Fetched | None:
        """Send the call until it is answered; the jobs that came with the answer, if one did."""
        request = Request("POST", SETTLE, body, timeout_s=self._timeout_s)
        backoff = Backoff(f"settle {counted(len(batch), 'job')}", self._environment.random)
        while not all(pending.verdict.done() for pending in batch):
            wait_s = None
            try:
                reply = await self._transport.send(request)
            except Unreachable as error:
                reason = str(error)
                for pending in batch:
                    pending.unsure = pending.unsure or error.sent
            else:
                if reply.well:
                    return self._read_answer(batch, reply.body)
                if reply.status in NO_SUCH_CALL:
                    self._extensions = Extensions()
                if reply.status in NO_SUCH_CALL | REFUSED:
                    # Single calls show which of the outcomes is refused.
                    break
                reason = f"answered {reply.status}: {error_body(reply.body).message}"
                wait_s = reply.retry_after_s
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(backoff.next_s(reason, wait_s)):
                    await self._hurried.wait()
            if self._hurried.is_set():
                break
        self._let_go(batch)
        return None

    def _read_answer(self, batch: list[_Pending], body: bytes) -> Fetched | None:
        try:
            results = decoded(body, _answer).results
            fetched = read(body)
            if [result.job_id for result in results] != [pending.job.id for pending in batch]:
                raise UnexpectedAnswer("the server does not answer the jobs that were reported")
        except UnexpectedAnswer as error:
            log.warning("jobs that were reported together are reported one by one: %s", error)
            for pending in batch:
                pending.unsure = True
            self._let_go(batch)
            return None
        for pending, result in zip(batch, results, strict=True):
            if result.error is None:
                pending.end(Verdict.SETTLED)
            else:
                self._refused(pending, result.error)
        return fetched

    def _refused(self, pending: _Pending, error: ErrorBody) -> None:
        status, message = _STATUS.get(str(error.code), 0), str(error.message)
        if status in GONE:
            log_gone(pending.job, error, unsure=pending.unsure)
            pending.end(Verdict.GONE)
        elif status not in REFUSED:
            pending.end(None)
        elif other := in_place_of(pending.job, pending.outcome, status, message):
            self._waiting.append(_Pending(pending.job, other, pending.verdict))
        else:
            pending.end(Verdict.REFUSED)

    def _let_go(self, those: list[_Pending]) -> None:
        """Let these outcomes be reported one by one."""
        for pending in those:
            pending.end(None)
        those.clear()
