"""Hot calls: handlers in two halves, from body to operation, and from outcome to answer.

Neither half awaits, so that such a call needs no task unless it has to wait (`hot_dispatch.py`).
Calls that do not arrive whole use the same two halves.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from ojs_server.http.call import Answer, Call
from ojs_server.ops.operation import AnyOperation

# Work that has to wait before it has the outcome of an operation.
Work = Coroutine[Any, Any, Any]


class Asked(msgspec.Struct, frozen=True):
    """The operation of a hot call, as its handler has read it from the request."""

    operation: AnyOperation
    # Set if one transaction may not be enough to carry the operation out.
    patiently: Callable[[], Work] | None = None
    # Values that the answer needs besides the outcome.
    about: Any = None


def _never(call: Call, asked: Asked, error: BaseException) -> Work | None:
    return None


def _count_nothing(call: Call, asked: Asked, seconds: float) -> None:
    """Measure nothing beyond the request."""


class HotCall(msgspec.Struct, frozen=True, eq=False):
    """A hot call in two steps: parse the request, make the answer. As a handler it does both.
    `retry` returns a coroutine that carries on after a refusal that need not be final. `measure` is
    called for each call that was carried out."""

    parse: Callable[[Call, bytes], Asked]
    render: Callable[[Call, Asked, Any], Answer]
    retry: Callable[[Call, Asked, BaseException], Work | None] = _never
    measure: Callable[[Call, Asked, float], None] = _count_nothing

    async def __call__(self, call: Call) -> Answer:
        """Answer a call whose body may not be complete."""
        asked = self.parse(call, await call.body())
        monotonic = call.server.environment.monotonic
        begun = monotonic()
        outcome = await self._carried_out(call, asked)
        self.measure(call, asked, monotonic() - begun)
        return self.render(call, asked, outcome)

    async def _carried_out(self, call: Call, asked: Asked) -> Any:
        if asked.patiently is not None:
            return await asked.patiently()
        try:
            return await call.server.engine.run(asked.operation)
        except Exception as error:
            again = self.retry(call, asked, error)
            if again is None:
                raise
        return await again
