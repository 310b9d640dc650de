"""The played server: answers a worker honestly or as a case tells it to, and records all of it."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from conformance.played import answers
from conformance.played.book import Book, Job, Refused, Wanted
from conformance.played.calls import ALL, Kind, call_of
from conformance.played.listener import Heard, Listener, Said
from conformance.played.others import Others
from conformance.played.record import Asked, Record, Settlement, settlements
from conformance.played.script import Odd, Script
from conformance.wire import parse_body

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
        self._listener = Listener(self._handle, self._heard_nonsense)

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

    async def close(self) -> None:
        """Go away: connections are refused, and the open ones break."""
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

    async def changed(self, met: Callable[[], bool], within_s: float) -> bool:
        """Wait until something that a request may change holds; tell whether it does."""
        until = time.monotonic() + within_s
        while not met():
            event = self._changed
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    await event.wait()
            except TimeoutError:
                return met()
        return True

    # ------------------------------------------------------------------ one request

    def _heard_nonsense(self, data: bytes) -> None:
        self.nonsense.append(data)
        self.notify()

    async def _handle(self, heard: Heard) -> Said:
        self._left -= 1
        self._bytes_left -= len(heard.content)
        if self._left < 0 or self._bytes_left < 0:
            self.flooded = True
            self.notify()
            return Said(breaks=True)
        call = call_of(heard.method, heard.path)
        read = parse_body(heard.content)
        asked = Asked(
            number=self.number,
            at=time.monotonic(),
            kind=call.kind,
            method=heard.method,
            path=heard.path,
            query=heard.query,
            headers=heard.headers,
            content=heard.content,
            body=read if isinstance(read, dict) else {},
            id=call.id,
        )
        is_json = not heard.content or isinstance(read, dict)
        if self._others.sent(asked):
            answer = await self._answer(asked, is_json)
            self.notify()
            return _written(asked, answer)
        self.record.add(asked)
        self.notify()
        try:
            reply = await self._scripted(asked, is_json=is_json)
        except asyncio.CancelledError:
            asked.trouble = "the connection was closed before the answer"
            asked.ended_at = time.monotonic()
            self.notify()
            raise
        asked.ended_at = time.monotonic()
        if reply.breaks or reply.raw is not None:
            asked.trouble = "the connection was broken" if reply.breaks else "answered with garbage"
        else:
            asked.status, asked.answer = reply.status, reply.content
        self.notify()
        return reply

    async def _scripted(self, asked: Asked, *, is_json: bool) -> Said:
        try:
            odd = self.script.odd(asked)
        except Exception as error:
            # An exception in the case must not be blamed on the worker.
            self.fault, odd = error, None
        if odd is None:
            return _written(asked, await self._answer(asked, is_json))
        if odd.after is not None:
            await odd.after.wait()
        answer = await self._answer(asked, is_json) if odd.carry_out else None
        return _oddly(asked, odd, answer)

    async def _answer(self, asked: Asked, is_json: bool) -> Answer:
        try:
            if not is_json:
                raise Refused(400, "invalid_request", "the body is no JSON object")
            if asked.kind not in self.kinds:
                raise Refused(404, "not_found", f"there is no {asked.method} {asked.path}")
            return 200, await self._honest(asked)
        except Refused as refusal:
            return refusal.status, answers.error(refusal)

    async def _honest(self, asked: Asked) -> dict[str, Any]:
        match asked.kind:
            case Kind.FETCH:
                return {"jobs": await self._fetched(asked, asked.body, wait=True)}
            case Kind.BEAT:
                return self._beaten(asked)
            case Kind.ACK | Kind.FAIL:
                return self._single(settlements(asked)[0])
            case Kind.SETTLE:
                return await self._settled(asked)
            case Kind.REGISTER:
                self._known.add(asked.worker_id)
                return answers.registered(
                    asked.worker_id or "played", self.interval_s, self.lease_s
                )
            case Kind.DEREGISTER:
                return answers.deregistered(asked.worker_id)
            case Kind.MANIFEST:
                return answers.manifest(settles=Kind.SETTLE in self.kinds)
            case _:
                return {"ok": True}

    def _beaten(self, asked: Asked) -> dict[str, Any]:
        if not asked.worker_id:
            raise Refused(400, "invalid_request", "`worker_id` is missing")
        known = asked.worker_id in self._known
        self._known.add(asked.worker_id)
        jobs = self.book.verdicts(asked.worker_id, asked.listed)
        return answers.beaten(asked, self.directive, jobs, self.lease_s, known=known)

    def _single(self, settlement: Settlement) -> dict[str, Any]:
        job = self.book.settle(settlement)
        if settlement.outcome == "ack":
            return answers.acknowledged(job)
        return answers.failed(job, requeued=settlement.requeue)

    async def _settled(self, asked: Asked) -> dict[str, Any]:
        outcomes = settlements(asked)
        results = [self._among(one) for one in outcomes]
        terms = asked.body.get("fetch")
        jobs = (
            await self._fetched(asked, terms, wait=not outcomes) if isinstance(terms, dict) else []
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
        self, asked: Asked, terms: Mapping[str, Any], *, wait: bool
    ) -> list[dict[str, Any]]:
        wanted = _wanted(terms, asked.worker_id)
        wait_ms = terms.get("wait_ms")
        wait_s = wait_ms / 1000 if isinstance(wait_ms, int | float) and wait else 0.0
        jobs: list[Job] = []

        def handed() -> bool:
            jobs.extend(self._handed(wanted))
            return bool(jobs) or not self.holds_fetches

        await self.changed(handed, min(wait_s, _LONGEST_WAIT_S))
        asked.given = tuple(job.id for job in jobs)
        return [answers.envelope(job, self.lease_s) for job in jobs]

    def _handed(self, wanted: Wanted) -> list[Job]:
        # As with any server, a directive takes precedence over a FETCH.
        if self.directive in ("quiet", "terminate") or self._others.are_idle(wanted.worker_id):
            return []
        return self.book.claim(wanted, time.monotonic())


def _wanted(terms: Mapping[str, Any], worker_id: str) -> Wanted:
    queues, count, types = (terms.get(name) for name in ("queues", "count", "job_types"))
    if not isinstance(queues, list) or not queues:
        raise Refused(400, "invalid_request", "`queues` must name at least one queue")
    return Wanted(
        queues=[str(queue) for queue in queues],
        count=count if isinstance(count, int) and count > 0 else 1,
        worker_id=worker_id,
        fetch_id=str(terms.get("fetch_id") or ""),
        job_types=[str(one) for one in types] if isinstance(types, list) and types else None,
    )


def _written(asked: Asked, answer: Answer) -> Said:
    accept = asked.headers.get("accept", "")
    headers = {
        "Content-Type": JSON if JSON in accept else OJS_JSON,
        "OJS-Version": "1.0",
        "X-Request-Id": asked.headers.get("x-request-id", f"played-{asked.number}"),
    }
    return Said(status=answer[0], headers=headers, content=msgspec.json.encode(answer[1]))


def _oddly(asked: Asked, odd: Odd, answer: Answer | None) -> Said:
    if odd.breaks or odd.raw is not None:
        return Said(raw=odd.raw, breaks=odd.breaks)
    if odd.status is not None:
        refusal = Refused(odd.status, odd.code, "made to fail by the case")
        reply = _written(asked, (odd.status, answers.error(refusal)))
        return msgspec.structs.replace(reply, headers={**reply.headers, **odd.headers})
    assert answer is not None
    body = {**answer[1], **odd.members}
    return _written(asked, (answer[0], {k: v for k, v in body.items() if v is not None}))
