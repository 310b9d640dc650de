"""Sends the calls of a client, again until they are answered or their deadline has passed."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from typing import Any, Final, Self, TypeVar

import msgspec

from ojs_worker.client import calls
from ojs_worker.client.calls import Call, Page
from ojs_worker.client.requests import JobRequest
from ojs_worker.codec import CannotOpen, Codec
from ojs_worker.environment import Environment, machine
from ojs_worker.errors import Refused, Unreachable
from ojs_worker.job import Job
from ojs_worker.middleware import Chain, EnqueueLayer
from ojs_worker.settings import deadline_of
from ojs_worker.transport import Reply, Transport
from ojs_worker.transport.tries import NOT_DONE, NOT_NOW, Tries

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], datetime]


class Sender:
    """The transport of a client with its deadline, codec and middleware.

    Where it `blocks`, the transport and the pauses wait for no event loop, so that each coroutine
    is run to its end by one step.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        codec: Codec | None,
        deadline_s: float | None,
        timeout_s: float,
        sleep: Sleep,
        environment: Environment | None,
        blocks: bool = False,
    ) -> None:
        self.transport = transport
        self.middleware: Final[Chain[EnqueueLayer]] = Chain()
        self.timeout_s: Final = timeout_s
        self.sleep: Final = sleep
        self.environment: Final = environment or machine()
        self.now: Now = self.environment.now
        self.blocks: Final = blocks
        self._codec = codec
        self._deadline_s = deadline_of({"deadline": deadline_s})

    def within(self, deadline_s: float) -> Self:
        """Return a sender with another deadline, over the same transport."""
        other = copy(self)
        other._deadline_s = deadline_of({"deadline": deadline_s})
        return other

    @contextmanager
    def diverted(self, transport: Transport, now: Now) -> Iterator[None]:
        """Use another transport and clock for the length of a block."""
        before = self.transport, self.now
        self.transport, self.now = transport, now
        try:
            yield
        finally:
            self.transport, self.now = before

    async def answer(self, call: Call[T]) -> T:
        """Send a call, and return its answer with the arguments of jobs decoded."""
        answer: Any = await self.run(call)
        if isinstance(answer, Page):
            items = [self._opened_item(item) for item in answer.items]
            answer = msgspec.structs.replace(answer, items=items)
        opened: T = self._opened_item(answer)
        return opened

    async def run(
        self, call: Call[T], *, deadline_s: float | None = None, try_s: float | None = None
    ) -> T:
        """Send a call, again while that is safe and of use; raises what the last try ended in."""
        if call.keyed is not None:
            call = call.keyed(self.environment.new_id())
        tries = Tries(self._deadline_s if deadline_s is None else deadline_s, self.environment)
        unsure = False
        while True:
            within_s = tries.within_s(try_s or self.timeout_s, repeatable=call.repeatable)
            request = msgspec.structs.replace(call.request, timeout_s=within_s)
            try:
                reply = await self.transport.send(request)
            except Unreachable as error:
                wait_s = tries.pause_s()
                if wait_s is None or (error.sent and not call.repeatable):
                    raise
                unsure = unsure or error.sent
            else:
                again = NOT_NOW if call.repeatable else NOT_DONE
                if reply.status not in again - call.answers:
                    return await self._read(call, reply, unsure=unsure)
                wait_s = tries.pause_s(reply.retry_after_s)
                if wait_s is None:
                    return call.read(reply)
                unsure = unsure or reply.status not in NOT_DONE
            await self.sleep(wait_s)

    async def _read(self, call: Call[T], reply: Reply, *, unsure: bool) -> T:
        """Read an answer. A refusal may mean that an earlier try was carried out."""
        try:
            return call.read(reply)
        except Refused as refused:
            instead = call.instead(refused) if unsure and call.instead is not None else None
            if instead is None:
                raise
        return await self.run(instead)

    async def store(self, request: JobRequest) -> Job | None:
        """Store one job, through the middleware; None if that dropped it."""
        return await self._through(request, tuple(self.middleware), self._store)

    async def store_many(
        self, requests: list[JobRequest], key: str | None
    ) -> list[tuple[JobRequest, Job]]:
        """Store jobs, all or none; return those that the middleware kept."""
        changed = [await self._changed(request) for request in requests]
        kept = [request for request in changed if request is not None]
        sealed = [self.sealed(request) for request in kept]
        jobs = await self.run(calls.enqueue_many(sealed, key))
        return [(request, self.opened(job)) for request, job in zip(kept, jobs, strict=True)]

    def sealed(self, request: JobRequest) -> JobRequest:
        """Return a request with its arguments encoded."""
        return request if self._codec is None else self._codec.seal(request)

    def opened(self, job: Job) -> Job:
        """Return a job with its arguments decoded; as it was stored if that is not possible
        here."""
        if self._codec is None:
            return job
        with contextlib.suppress(CannotOpen):
            return self._codec.open(job)
        return job

    def _opened_item(self, item: Any) -> Any:
        return self.opened(item) if isinstance(item, Job) else item

    async def _changed(self, request: JobRequest) -> JobRequest | None:
        """Pass one of many jobs through the middleware; None if it was dropped."""
        kept: list[JobRequest] = []

        async def note(reached: JobRequest) -> Job:
            kept.append(reached)
            return Job(id=reached.id, type=reached.type, args=reached.args)

        answered = await self._through(request, tuple(self.middleware), note)
        return kept[0] if answered is not None and kept else None

    async def _through(
        self,
        request: JobRequest,
        layers: tuple[EnqueueLayer, ...],
        innermost: Callable[[JobRequest], Awaitable[Job]],
    ) -> Job | None:
        if not layers:
            return await innermost(request)

        async def call_next(reached: JobRequest) -> Job | None:
            if reached.id != request.id:
                raise ValueError("middleware must not change the id of a job")
            return await self._through(reached, layers[1:], innermost)

        return await layers[0](request, call_next)

    async def _store(self, request: JobRequest) -> Job:
        return await self.answer(calls.enqueue(self.sealed(request)))
