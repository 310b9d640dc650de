"""The load of a round: clients that send the operations of the plan at the same time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from conformance.guarantees.calls import Answer, Caller
from conformance.guarantees.ledger import Ledger
from conformance.guarantees.plan import Moment, Round, Step
from conformance.tasks import to_the_end

# A client lets a job go that it could settle only at the end of its lease.
_MARGIN_S: Final = 1.0
_NO_CONTENT: Final = 204


class Moments:
    """Counts requests that were sent and answers that began, and says when one is reached."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._counts: dict[Moment, int] = {"sent": 0, "answered": 0}
        self._moment: Moment = "sent"
        self._at = 0

    def expect(self, moment: Moment, at: int) -> None:
        """Count from now on, up to this number."""
        self.reached.clear()
        self._counts = {"sent": 0, "answered": 0}
        self._moment, self._at = moment, at

    def sent(self) -> None:
        """Count a request."""
        self._count("sent")

    def answered(self) -> None:
        """Count an answer."""
        self._count("answered")

    def _count(self, moment: Moment) -> None:
        self._counts[moment] += 1
        if moment == self._moment and self._counts[moment] == self._at:
            self.reached.set()


class _Held(msgspec.Struct, frozen=True):
    id: str
    until_s: float


class Load:
    """The clients of a run, which hold jobs from one round to the next."""

    def __init__(
        self, caller: Caller, ledger: Ledger, lease_s: float, clock: Callable[[], float]
    ) -> None:
        self.answers = 0  # in the 200s
        self.last = ""  # the last answer that is none
        self._caller = caller
        self._ledger = ledger
        self._lease_s = lease_s
        self._clock = clock
        self._held: dict[int, list[_Held]] = {}
        self._scheduled: dict[int, list[str]] = {}
        self._number = 0
        self._is_over = False

    async def play(
        self, plan: Round, moments: Moments, strike: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Play a round, and strike in the middle; calls that are under way then are awaited.

        Where the operations end before that moment, it is struck at their end.
        """
        self._is_over = False
        moments.expect(plan.moment, plan.at)
        clients = [
            asyncio.create_task(self._client(number, steps))
            for number, steps in enumerate(plan.clients, 1)
        ]
        reached = asyncio.create_task(moments.reached.wait())
        ended = asyncio.create_task(asyncio.wait(clients))
        either: set[asyncio.Task[Any]] = {reached, ended}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            await to_the_end(strike())
            await ended
        finally:
            for task in (*either, *clients):
                task.cancel()
            await asyncio.gather(*either, *clients, return_exceptions=True)
        for client in clients:
            client.result()

    def end(self) -> None:
        """Let each client end after the call that is under way."""
        self._is_over = True

    async def drain(self) -> int:
        """Fetch and complete all jobs that are there; return their number."""
        count = 0
        while answer := await self._fetch(0):
            if not self._held.get(0):
                break
            count += len(answer.jobs)
            while held := self._held[0]:
                await self._settle(0, held.pop(), Step("complete", 0))
        return count

    async def _client(self, number: int, steps: tuple[Step, ...]) -> None:
        for step in steps:
            if self._is_over or not await self._step(number, step):
                # After a call without an answer, as a producer or worker would pause.
                return

    async def _step(self, number: int, step: Step) -> bool:
        match step.do:
            case "enqueue" | "schedule":
                return await self._enqueue(number, step)
            case "cancel":
                return await self._cancel(number, step)
            case "fetch":
                return bool(await self._fetch(number))
            case _:
                now = self._clock()
                held = [job for job in self._held.get(number, []) if now < job.until_s - _MARGIN_S]
                self._held[number] = held
                if not held:
                    return bool(await self._fetch(number))
                return await self._settle(number, held.pop(step.pick % len(held)), step)

    async def _enqueue(self, number: int, step: Step) -> bool:
        self._number += 1
        name = f"{self._caller.queue} {self._number}"
        self._ledger.sends(name)
        answer = await self._caller.enqueue(name, step.do)
        id = answer.job.get("id")
        if answer.call.is_promise and isinstance(id, str):
            self._ledger.enqueued(id, name, answer.call, answer.state)
            if answer.state == "scheduled":
                self._scheduled.setdefault(number, []).append(id)
        return self._counted(answer)

    async def _cancel(self, number: int, step: Step) -> bool:
        scheduled = self._scheduled.get(number)
        if not scheduled:
            return await self._enqueue(number, Step("schedule", step.pick))
        id = scheduled.pop(step.pick % len(scheduled))
        self._ledger.settles(id)
        answer = await self._caller.cancel(id)
        self._ledger.settled(id, answer.call, answer.state)
        return self._counted(answer)

    async def _fetch(self, number: int) -> Answer | None:
        worker = f"{self._caller.queue}-{number}"
        answer = await self._caller.fetch(worker)
        if not answer.call.is_promise or (
            answer.json is None and answer.call.status != _NO_CONTENT
        ):
            self._ledger.lost_fetch()
        for job in answer.jobs if answer.call.is_promise else ():
            self._ledger.delivered(job["id"], _name(job), answer.call)
            until_s = answer.call.sent_s + self._lease_s
            self._held.setdefault(number, []).append(_Held(job["id"], until_s))
        return answer if self._counted(answer) else None

    async def _settle(self, number: int, held: _Held, step: Step) -> bool:
        worker = f"{self._caller.queue}-{number}"
        self._ledger.settles(held.id)
        answer = await self._caller.settle(step.do, held.id, worker)
        self._ledger.settled(held.id, answer.call, answer.state)
        return self._counted(answer)

    def _counted(self, answer: Answer) -> bool:
        """Count an answer; return False if there is none."""
        if answer.call.is_promise:
            self.answers += 1
        else:
            self.last = str(answer)
        return answer.call.status != 0


def _name(job: dict[str, object]) -> str:
    """Return the name that the arguments of a job have, or the arguments where they are others."""
    args = job.get("args")
    if isinstance(args, list) and len(args) == 1 and isinstance(args[0], str):
        return args[0]
    return msgspec.json.encode(args).decode()
