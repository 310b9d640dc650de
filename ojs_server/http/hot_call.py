"""Hot calls: handlers in two halves, from body to operation, and from outcome to answer.

Neither half awaits, so that such a call needs no task unless it has to wait. `Carried` takes it
from one half to the other, for calls that are answered without a task (`hot_dispatch.py`) and for
those that come through the application.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from ojs_server.http.call import Answer, Call
from ojs_server.http.prefer_header import waits_until
from ojs_server.ops.operation import AnyOperation

# Work that has to wait before it has the outcome of an operation.
Work = Coroutine[Any, Any, Any]


class Prepared(msgspec.Struct, frozen=True):
    """The operation of a hot call, as its handler has read it from the request."""

    operation: AnyOperation
    # Set if one transaction may not be enough to carry the operation out.
    wait: Callable[[], Work] | None = None
    # Values that the answer needs besides the outcome.
    about: Any = None


class HotCall(msgspec.Struct, frozen=True, eq=False):
    """A hot call in two steps: parse the request, make the answer. As a handler it does both.
    `retry` returns a coroutine that carries on after a refusal that need not be final. `measure` is
    called for each call that was carried out."""

    parse: Callable[[Call, bytes], Prepared]
    render: Callable[[Call, Prepared, Any], Answer]
    retry: Callable[[Call, Prepared, BaseException], Work | None] | None = None
    measure: Callable[[Call, Prepared, float], None] | None = None

    async def __call__(self, call: Call) -> Answer:
        """Answer a call whose body may not be complete."""
        body = await call.body()
        carried = _Awaited(call, self)
        carried.carry(body)
        return await carried.answer()


class Carried(ABC):
    """A hot call that is being carried out: the caller of its operation."""

    __slots__ = ("_hot", "_prepared", "_started", "call")

    _prepared: Prepared

    def __init__(self, call: Call, hot: HotCall) -> None:
        self._started: float = call.server.environment.monotonic()
        self._hot = hot
        self.call = call

    @abstractmethod
    def answered(self, answer: Answer | Exception) -> None:
        """Send the answer, or the error that the call is refused with."""

    @abstractmethod
    def wait(self, work: Work) -> None:
        """Carry on with a coroutine in a task."""

    @abstractmethod
    def gone(self) -> bool:
        """Return True if nobody waits for the answer."""

    @property
    def waits_until(self) -> float:
        """The moment up to which the client is ready to wait."""
        return waits_until(self.call, self._started)

    def carry(self, body: bytes) -> None:
        """Parse the call, and give its operation to the engine."""
        try:
            self._prepared = prepared = self._hot.parse(self.call, body)
            if prepared.wait is None:
                self.call.server.engine.enter(prepared.operation, self)
            else:
                self.wait(self._finish(prepared.wait()))
        except Exception as error:
            self.answered(error)

    def resolve(self, outcome: Any) -> None:
        """Make the answer of an outcome, or keep waiting if a refusal is not final."""
        call, hot, prepared = self.call, self._hot, self._prepared
        try:
            if isinstance(outcome, BaseException):
                again = None if hot.retry is None else hot.retry(call, prepared, outcome)
                if again is None:
                    raise outcome
                self.wait(self._finish(again))
                return
            answer = hot.render(call, prepared, outcome)
            if hot.measure is not None:
                hot.measure(call, prepared, call.server.environment.monotonic() - self._started)
        except Exception as error:
            self.answered(error)
        else:
            self.answered(answer)

    async def _finish(self, work: Work) -> None:
        try:
            outcome = await work
        except Exception as error:
            self.answered(error)
        else:
            self.resolve(outcome)


class _Outcome(msgspec.Struct, frozen=True):
    """The outcome of an operation, or the error that it was refused with."""

    value: Any


class _Awaited(Carried):
    """A call whose answer a task awaits, in whose context all of it runs."""

    __slots__ = ("_news",)

    def __init__(self, call: Call, hot: HotCall) -> None:
        super().__init__(call, hot)
        # The answer or the error, or what comes before it: work, and the outcome.
        self._news: asyncio.Future[Answer | Work | _Outcome] = _future()

    def answered(self, answer: Answer | Exception) -> None:
        """Hand the answer to the task, unless that was cancelled."""
        if self._news.done():
            return
        if isinstance(answer, Exception):
            self._news.set_exception(answer)
        else:
            self._news.set_result(answer)

    def resolve(self, outcome: Any) -> None:
        """Hand the outcome to the task, unless that was cancelled."""
        if not self._news.done():
            self._news.set_result(_Outcome(outcome))

    def wait(self, work: Work) -> None:
        """Hand the work to the task, unless that was cancelled."""
        if self._news.done():
            work.close()
        else:
            self._news.set_result(work)

    def gone(self) -> bool:
        """Return True if the task was cancelled."""
        return self._news.cancelled()

    async def answer(self) -> Answer:
        """Return the answer, or raise the error."""
        while not isinstance(news := await self._news, Answer):
            self._news = _future()
            if isinstance(news, _Outcome):
                super().resolve(news.value)
            else:
                await news
        return news


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()
