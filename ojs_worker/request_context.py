"""The context of the request that a program serves, which is stored in the `meta` of its jobs.

An adapter of a framework makes the context known with `during`, and gives clients the middleware.
The members are those of the standard's framework adapters; one that the producer gives itself stays
as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from ojs_wire.tracing import parent_of
from ojs_worker.client.requests import JobRequest
from ojs_worker.job import Job
from ojs_worker.middleware import BlockingNext, EnqueueNext

USER_ID: Final = "ojs.context.user_id"
REQUEST_ID: Final = "ojs.context.request_id"
LOCALE: Final = "ojs.context.locale"
TENANT_ID: Final = "tenant_id"
TRACEPARENT: Final = "traceparent"
# Clients choose the header, and every job of the request has a copy.
MAX_REQUEST_ID: Final = 128

# Members of `meta`, each with its name.
Context = Iterable[tuple[str, Any]]
_present: ContextVar[Callable[[], Context] | None] = ContextVar("ojs_request_context", default=None)


@contextmanager
def during(context: Callable[[], Context]) -> Iterator[None]:
    """Have jobs that are enqueued within the block carry a context. It is asked for at each
    enqueue, as frameworks find out about the user of a request late."""
    token = _present.set(context)
    try:
        yield
    finally:
        _present.reset(token)


def is_known() -> bool:
    """Tell whether a context is known."""
    return _present.get() is not None


def with_context(request: JobRequest) -> JobRequest:
    """Return an enqueue with the present context in its `meta`."""
    if (context := _present.get()) is not None:
        request.meta = {**dict(context()), **request.meta}
    return request


def blocking(request: JobRequest, call_next: BlockingNext) -> Job | None:
    """Middleware of blocking clients."""
    return call_next(with_context(request))


async def in_loop(request: JobRequest, call_next: EnqueueNext) -> Job | None:
    """Middleware of other clients."""
    return await call_next(with_context(request))


def from_headers(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the members that the headers of a request give."""
    request_id = headers.get("X-Request-ID", "")
    if 0 < len(request_id) <= MAX_REQUEST_ID and request_id.isprintable():
        yield REQUEST_ID, request_id
    parent = headers.get("traceparent", "")
    if parent_of({TRACEPARENT: parent}) is not None:
        yield TRACEPARENT, parent
