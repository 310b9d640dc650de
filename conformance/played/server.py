"""The played server: answers a worker honestly or as a case tells it to, and records all of it."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from conformance.played import answers
from conformance.played.book import Book, FetchTerms, Job, Refused
from conformance.played.calls import ALL, Kind, call_of
from conformance.played.listener import HttpReply, HttpRequest, Listener
from conformance.played.others import Others
from conformance.played.record import Record, Settlement, WorkerRequest, settlements
from conformance.played.script import Odd, Script
from conformance.played.stalls import Stalls
from conformance.verdicts.exchanges import parse_body

JSON = "application/json"
OJS_JSON = "application/openjobspec+json"
_LONGEST_WAIT_S = 30.0
# No case needs more; connections of a worker that sends more are broken off.
MOST_REQUESTS = 5_000
MOST_BYTES = 64 * 1024 * 1024
Answer = tuple[int, dict[str, Any]]


class PlayedServer:
    """A server with jobs of its own. Without `kinds` it has every call but `settle`."""

    def __init__(
        self,
        *,
        interval_s: float = 5.0,
        kinds: Collection[Kind] = ALL,
        most_requests: int = MOST_REQUESTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.record = Record()
        self.book = Book()
        self.script = Script()
        self.kinds = set(kinds)
        self.directive = "running"  # or quiet, terminate, resume
        self.holds_fetches = True  # lets a FETCH with `wait_ms` wait
        self.nonsense: list[bytes] = []
        self.fault: Exception | None = None  # an exception of the case's own rule
        self.flooded = False
        self.interval_s = interval_s
        self.lease_s = answers.LEASE_S
        self._left = most_requests
        self._bytes_left = most_bytes
        self._known: set[str] = set()
        self._others = Others()
        self._changed = asyncio.Event()
        self._stalls = Stalls()
        self._watching: asyncio.Task[None] | None = None
        self._listener = Listener(self._handle, self._note_nonsense)

    @property
    def url(self) -> str:
        """The URL at which it listens."""
        return self._listener.url

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._listener.port

    @property
    def number(self) -> int:
        """The number that the next request will have."""
        return len(self.record.all)

    def expect_another(self) -> None:
        """Record what the process says that registers next, as another command is started."""
        self._others.expect()

    async def open(self) -> None:
        """Begin to listen, or come back to the same port."""
        await self._listener.open()
        # The time until now was no stall.
        self._stalls = Stalls()
        self._watching = asyncio.create_task(self._stalls.watch())

    async def close(self) -> None:
        """Go away: connections are refused, and the open ones break."""
        if self._watching is not None:
            self._watching.cancel()
        await self._listener.close()

    def offer(self, job: Job) -> Job:
        """Add a job for a worker to fetch."""
        self.book.offer(job)
        self.notify()
        return job

    def notify(self) -> None:
        """Wake the requests that wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self, holds: Callable[[], bool], within_s: float) -> bool:
        """Wait until something that a request may change holds; tell whether it does."""
        until = time.monotonic() + within_s
        while not holds():
            event = self._changed
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    await event.wait()
            except TimeoutError:
                return holds()
        return True

    # ------------------------------------------------------------------ one request

    def _note_nonsense(self, data: bytes) -> None:
        self.nonsense.append(data)
        self.notify()

    async def _handle(self, http_request: HttpRequest) -> HttpReply:
        self._left -= 1
        self._bytes_left -= len(http_request.content)
        if self._left < 0 or self._bytes_left < 0:
            self.flooded = True
            self.notify()
            return HttpReply(breaks=True)
        call = call_of(http_request.method, http_request.path)
        now, read = time.monotonic(), parse_body(http_request.content)
        request = WorkerRequest(
            number=self.number,
            at=now,
            unread_s=self._stalls.unread_s(now),
            kind=call.kind,
            method=http_request.method,
            path=http_request.path,
            query=http_request.query,
            headers=http_request.headers,
            content=http_request.content,
            body=read if isinstance(read, dict) else {},
            id=call.id,
        )
        is_json = not http_request.content or isinstance(read, dict)
        if self._others.sent(request):
            answer = await self._answer(request, is_json)
            self.notify()
            return _written(request, answer)
        self.record.add(request)
        self.notify()
        try:
            reply = await self._scripted(request, is_json=is_json)
        except asyncio.CancelledError:
            request.trouble = "the connection was closed before the answer"
            request.ended_at = time.monotonic()
            self.notify()
            raise
        request.ended_at = time.monotonic()
        if reply.breaks or reply.raw is not None:
            request.trouble = (
                "the connection was broken" if reply.breaks else "answered with garbage"
            )
        else:
            request.status, request.answer = reply.status, reply.content
        self.notify()
        return reply

    async def _scripted(self, request: WorkerRequest, *, is_json: bool) -> HttpReply:
        try:
            odd = self.script.odd(request)
        except Exception as error:
            # An exception in the case must not be blamed on the worker.
            self.fault, odd = error, None
        if odd is None:
            return _written(request, await self._answer(request, is_json))
        if odd.after is not None:
            await odd.after.wait()
        answer = await self._answer(request, is_json) if odd.carry_out else None
        return _oddly(request, odd, answer)

    async def _answer(self, request: WorkerRequest, is_json: bool) -> Answer:
        try:
            if not is_json:
                raise Refused(400, "invalid_request", "the body is no JSON object")
            if request.kind not in self.kinds:
                raise Refused(404, "not_found", f"there is no {request.method} {request.path}")
            return 200, await self._honest(request)
        except Refused as refusal:
            return refusal.status, answers.error(refusal)

    async def _honest(self, request: WorkerRequest) -> dict[str, Any]:
        match request.kind:
            case Kind.FETCH:
                return {"jobs": await self._fetched(request, request.body, wait=True)}
            case Kind.BEAT:
                return self._beaten(request)
            case Kind.ACK | Kind.FAIL:
                return self._single(settlements(request)[0])
            case Kind.SETTLE:
                return await self._settled(request)
            case Kind.REGISTER:
                self._known.add(request.worker_id)
                return answers.registered(
                    request.worker_id or "played", self.interval_s, self.lease_s
                )
            case Kind.DEREGISTER:
                return answers.deregistered(request.worker_id)
            case Kind.MANIFEST:
                return answers.manifest(settles=Kind.SETTLE in self.kinds)
            case _:
                return {"ok": True}

    def _beaten(self, request: WorkerRequest) -> dict[str, Any]:
        if not request.worker_id:
            raise Refused(400, "invalid_request", "`worker_id` is missing")
        known = request.worker_id in self._known
        self._known.add(request.worker_id)
        jobs = self.book.answer_to_beat(request.worker_id, request.listed)
        return answers.beaten(request, self.directive, jobs, self.lease_s, known=known)

    def _single(self, settlement: Settlement) -> dict[str, Any]:
        job = self.book.settle(settlement)
        if settlement.outcome == "ack":
            return answers.acknowledged(job)
        return answers.failed(job, requeued=settlement.requeue)

    async def _settled(self, request: WorkerRequest) -> dict[str, Any]:
        outcomes = settlements(request)
        results = [self._among(outcome) for outcome in outcomes]
        terms = request.body.get("fetch")
        jobs = (
            await self._fetched(request, terms, wait=not outcomes)
            if isinstance(terms, dict)
            else []
        )
        return {"results": results, "jobs": jobs}

    def _among(self, settlement: Settlement) -> dict[str, Any]:
        try:
            job = self.book.settle(settlement)
        except Refused as refusal:
            if self.book.settled_before(settlement):
                job = self.book.jobs[settlement.job_id]
                return answers.outcome(job, str(job.state), repeated=True)
            named = {"job_id": settlement.job_id, "attempt": settlement.attempt}
            return {**named, "error": answers.error(refusal)["error"]}
        return answers.outcome(job, answers.after_fail(job, requeued=settlement.requeue))

    async def _fetched(
        self, request: WorkerRequest, terms: Mapping[str, Any], *, wait: bool
    ) -> list[dict[str, Any]]:
        fetch_terms = _terms_of(terms, request.worker_id)
        wait_ms = terms.get("wait_ms")
        wait_s = wait_ms / 1000 if isinstance(wait_ms, int | float) and wait else 0.0
        jobs: list[Job] = []

        def handed() -> bool:
            jobs.extend(self._handed(fetch_terms))
            return bool(jobs) or not self.holds_fetches

        await self.changed(handed, min(wait_s, _LONGEST_WAIT_S))
        request.delivered = tuple(job.id for job in jobs)
        return [answers.envelope(job, self.lease_s) for job in jobs]

    def _handed(self, fetch_terms: FetchTerms) -> list[Job]:
        # As with any server, a directive takes precedence over a FETCH.
        if self.directive in ("quiet", "terminate") or self._others.are_idle(fetch_terms.worker_id):
            return []
        return self.book.hand_out(fetch_terms, time.monotonic())


def _terms_of(terms: Mapping[str, Any], worker_id: str) -> FetchTerms:
    queues, count, types = (terms.get(name) for name in ("queues", "count", "job_types"))
    if not isinstance(queues, list) or not queues:
        raise Refused(400, "invalid_request", "`queues` must name at least one queue")
    return FetchTerms(
        queues=[str(queue) for queue in queues],
        count=count if isinstance(count, int) and count > 0 else 1,
        worker_id=worker_id,
        fetch_id=str(terms.get("fetch_id") or ""),
        job_types=[str(type_) for type_ in types] if isinstance(types, list) and types else None,
    )


def _written(request: WorkerRequest, answer: Answer) -> HttpReply:
    accept = request.headers.get("accept", "")
    headers = {
        "Content-Type": JSON if JSON in accept else OJS_JSON,
        "OJS-Version": "1.0",
        "X-Request-Id": request.headers.get("x-request-id", f"played-{request.number}"),
    }
    return HttpReply(status=answer[0], headers=headers, content=msgspec.json.encode(answer[1]))


def _oddly(request: WorkerRequest, odd: Odd, answer: Answer | None) -> HttpReply:
    if odd.breaks or odd.raw is not None:
        return HttpReply(raw=odd.raw, breaks=odd.breaks)
    if odd.status is not None:
        refusal = Refused(odd.status, odd.code, "made to fail by the case")
        reply = _written(request, (odd.status, answers.error(refusal)))
        return msgspec.structs.replace(reply, headers={**reply.headers, **odd.headers})
    assert answer is not None
    body = {**answer[1], **odd.members}
    return _written(request, (answer[0], {k: v for k, v in body.items() if v is not None}))
