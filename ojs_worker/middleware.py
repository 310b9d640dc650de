"""Chains of middleware: the first is the outermost layer. A layer is identified by itself.

Enqueue side: `async def layer(request, call_next)`; it may change the request, answers what
`call_next(request)` answered, and drops the job by answering None. A blocking client takes plain
functions.
Process side: `async def layer(job, ctx, call_next)`; it answers what `await call_next()` answered,
and lets errors pass. An object with a method `call` of that form is a layer as well.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from ojs_worker.client.requests import JobRequest
    from ojs_worker.context import Context
    from ojs_worker.job import Job

Layer = TypeVar("Layer")
Inner = Callable[[], Awaitable[Any]]
EnqueueNext = Callable[["JobRequest"], Coroutine[Any, Any, "Job | None"]]
EnqueueLayer = Callable[["JobRequest", EnqueueNext], Awaitable["Job | None"]]
BlockingNext = Callable[["JobRequest"], "Job | None"]
BlockingLayer = Callable[["JobRequest", BlockingNext], "Job | None"]
ProcessLayer = Callable[["Job", "Context", Inner], Awaitable[Any]]


class Chain(Generic[Layer]):
    """An ordered list of layers that cannot change while it is in use."""

    def __init__(self) -> None:
        self._layers: list[Layer] = []
        self._frozen = False

    def __iter__(self) -> Iterator[Layer]:
        return iter(tuple(self._layers))

    def __len__(self) -> int:
        return len(self._layers)

    def add(self, layer: Layer) -> Layer:
        """Add a layer as the innermost one, and return it, so that this serves as a decorator."""
        return self._put(len(self._layers), layer)

    def prepend(self, layer: Layer) -> Layer:
        """Add a layer as the outermost one."""
        return self._put(0, layer)

    def insert_before(self, other: Layer, layer: Layer) -> Layer:
        """Insert a layer just outside another."""
        return self._put(self._place(other), layer)

    def insert_after(self, other: Layer, layer: Layer) -> Layer:
        """Insert a layer just inside another."""
        return self._put(self._place(other) + 1, layer)

    def remove(self, layer: Layer) -> None:
        """Remove a layer."""
        place = self._place(layer)
        self._check()
        del self._layers[place]

    def freeze(self) -> None:
        """Refuse changes from now on, because a worker uses the chain."""
        self._frozen = True

    def thaw(self) -> None:
        """Allow changes again."""
        self._frozen = False

    def _put(self, place: int, layer: Layer) -> Layer:
        self._check()
        self._layers.insert(place, layer)
        return layer

    def _place(self, layer: Layer) -> int:
        for place, known in enumerate(self._layers):
            if known is layer:
                return place
        raise ValueError(f"{layer!r} is not in this chain")

    def _check(self) -> None:
        if self._frozen:
            raise RuntimeError("middleware cannot change while the worker runs")


def as_process_layer(layer: Any) -> ProcessLayer:
    """A function is a layer; of an object with a method `call`, that method is."""
    call = getattr(layer, "call", layer)
    if not callable(call):
        raise TypeError(f"{layer!r} is neither a function nor has it a method `call`")
    layer_call: ProcessLayer = call
    return layer_call
