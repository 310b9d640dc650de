"""OpenTelemetry for clients and workers: a span around each enqueue and each handler.

Needs the extra `otel`. A job carries the context of its enqueue in `meta`, and the span of its
handler is linked to it: it may run much later, and more than once. Where spans are sent to is the
program's own choice, by the provider that it sets up.
"""

from collections.abc import Iterator
from typing import Any, Final

from ojs_wire.tracing import parent_of
from ojs_worker.client.asynchronous import Client
from ojs_worker.client.blocking import BlockingClient
from ojs_worker.client.requests import JobRequest
from ojs_worker.context import Context
from ojs_worker.faults import Snooze
from ojs_worker.job import Job
from ojs_worker.middleware import EnqueueNext, Inner
from ojs_worker.version import installed
from ojs_worker.worker import Worker

try:
    from opentelemetry.baggage.propagation import W3CBaggagePropagator
    from opentelemetry.context import Context as Trace
    from opentelemetry.context import attach, detach
    from opentelemetry.trace import (
        Link,
        Span,
        SpanKind,
        StatusCode,
        TracerProvider,
        get_current_span,
        get_tracer,
    )
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as missing:
    raise ImportError("spans need OpenTelemetry: pip install 'ojs-reference[otel]'") from missing

_CONTEXT: Final = TraceContextTextMapPropagator()
_BAGGAGE: Final = W3CBaggagePropagator()


def instrument(
    target: Worker | Client | BlockingClient, provider: TracerProvider | None = None
) -> None:
    """Have spans made by a client, or by a worker and its `client`, outside all middleware.

    Without a provider those of the program are used, also one that is set later on.
    """
    spans = _Spans(provider)
    if isinstance(target, Worker):
        target.middleware.prepend(spans.process)
        target.client.middleware.prepend(spans.enqueue)
    elif isinstance(target, Client):
        target.middleware.prepend(spans.enqueue)
    else:
        target.layers.prepend(spans.enqueue)


class _Spans:
    """The layers of middleware."""

    def __init__(self, provider: TracerProvider | None) -> None:
        self._tracer = get_tracer("ojs_worker", installed(), provider)

    async def enqueue(self, request: JobRequest, call_next: EnqueueNext) -> Job | None:
        """Make a span that the job names as its origin, unless it names another one already."""
        queue = request.options.get("queue") or "default"
        attributes = _attributes("publish", queue, request.id, request.type)
        with self._tracer.start_as_current_span(
            f"{queue} enqueue", kind=SpanKind.PRODUCER, attributes=attributes
        ):
            if parent_of(request.meta) is None:
                _CONTEXT.inject(request.meta)
                _BAGGAGE.inject(request.meta)
            return await call_next(request)

    async def process(self, job: Job, ctx: Context, call_next: Inner) -> Any:
        """Make a span of a trace of its own for each attempt."""
        attributes: dict[str, str | int] = {
            **_attributes("process", job.queue, job.id, job.type),
            "ojs.job.attempt": job.attempt,
            "ojs.job.priority": job.priority,
        }
        # Only the baggage of the enqueue is propagated; the trace is a new one.
        token = attach(_BAGGAGE.extract(_texts(job.meta), Trace()))
        try:
            with self._tracer.start_as_current_span(
                f"{job.queue} process",
                kind=SpanKind.CONSUMER,
                attributes=attributes,
                links=list(_origin(job)),
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                return await _recorded(span, call_next)
        finally:
            detach(token)


async def _recorded(span: Span, call_next: Inner) -> Any:
    try:
        value = await call_next()
    except Snooze:
        # A snoozed job has neither failed nor ended.
        raise
    except Exception as error:
        span.record_exception(error)
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(StatusCode.ERROR, str(error))
        raise
    span.set_status(StatusCode.OK)
    return value


def _attributes(operation: str, queue: str, job_id: str, job_type: str) -> dict[str, str | int]:
    return {
        "messaging.system": "ojs",
        "messaging.operation.type": operation,
        "messaging.destination.name": queue,
        "messaging.message.id": job_id,
        "ojs.job.id": job_id,
        "ojs.job.type": job_type,
        "ojs.job.queue": queue,
    }


def _origin(job: Job) -> Iterator[Link]:
    if (parent := parent_of(job.meta)) is not None:
        carrier = {**_texts(job.meta), "traceparent": parent}
        yield Link(get_current_span(_CONTEXT.extract(carrier, Trace())).get_span_context())


def _texts(meta: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in meta.items() if isinstance(value, str)}
