"""OpenTelemetry: a span for each request, and one for each queue that jobs are fetched from.

Needs the extra `otel`, and is loaded only where the operator asks for traces. A request belongs to
the trace of its caller; the jobs in it, which may be of many traces, are linked.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect

from ojs_server import __version__
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.job import Job, StoredJob
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.ops.workers.claim import FetchedJobs
from ojs_wire.codec import decode
from ojs_wire.codes import INTERNAL_ERROR
from ojs_wire.tracing import parent_of

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import Link, Span, SpanKind, StatusCode, get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as missing:
    raise ImportError("traces need OpenTelemetry: pip install 'ojs-reference[otel]'") from missing

# The default limit of links per span in the SDK.
MAX_LINKS: Final = 128
_W3C: Final = TraceContextTextMapPropagator()


class Tracing:
    """The spans of one server."""

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        self._tracer = provider.get_tracer("ojs_server", __version__)

    def close(self) -> None:
        """Send the spans that are still buffered."""
        self.provider.shutdown()

    def traced(self, routes: Iterable[Route]) -> tuple[Route, ...]:
        """Return the route table with a span around each handler."""
        return tuple(
            msgspec.structs.replace(route, handler=self._handler(route)) for route in routes
        )

    def enqueued(self, jobs: Sequence[StoredJob]) -> None:
        """Add the jobs that a request stored to its span."""
        span = get_current_span()
        for link in _links((stored.meta for stored in jobs), span.get_span_context().trace_id):
            span.add_link(link.context)
        span.set_attributes(_batch("publish", jobs[0].job.queue, len(jobs)))
        if len(jobs) == 1:
            span.set_attributes(_of_job(jobs[0].job))

    def fetched(self, jobs: FetchedJobs) -> None:
        """Create a span for each queue that gave jobs, from the begin of the request."""
        request = get_current_span()
        begun = request.start_time if isinstance(request, ReadableSpan) else None
        queues: dict[str, list[bytes]] = {}
        for fetched in jobs:
            queues.setdefault(fetched.claimed.job.queue, []).append(fetched.claimed.meta)
        for queue, metas in queues.items():
            attributes = _batch("receive", queue, len(metas))
            if len(jobs) == 1:
                attributes |= _of_job(jobs[0].claimed.job)
            self._tracer.start_span(
                f"{queue} fetch",
                kind=SpanKind.CONSUMER,
                attributes=attributes,
                links=list(_links(metas)),
                start_time=begun,
            ).end()

    @contextmanager
    def span(
        self, method: str, path: str, context: Mapping[str, str]
    ) -> Iterator[Callable[[int], None]]:
        """Make a span of a call by its route, in the trace of its caller."""
        with self._tracer.start_as_current_span(
            f"{method} {path}",
            _W3C.extract(context),
            SpanKind.SERVER,
            {"http.request.method": method, "http.route": path},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield partial(_answered, span)
            except ClientDisconnect:
                raise
            except Exception as error:
                code = error.answer_code if isinstance(error, OjsError) else INTERNAL_ERROR
                span.set_attribute("error.type", code.name)
                _answered(span, code.status)
                raise

    def _handler(self, route: Route) -> Any:
        async def handle(call: Call) -> Answer:
            with self.span(route.method, route.path, call.trace_context) as answered:
                answer = await route.handler(call)
                answered(answer.status)
                return answer

        return handle


class SpanOfLine(logging.Filter):
    """A log filter that adds the current span to each line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the span to a line; every line passes."""
        context = get_current_span().get_span_context()
        if context.is_valid and not hasattr(record, "trace_id"):
            record.trace_id = f"{context.trace_id:032x}"
            record.span_id = f"{context.span_id:016x}"
        return True


def set_up() -> Tracing:
    """Send spans to the collector that the variables OTEL_* name."""
    known = OTELResourceDetector().detect().attributes
    resource = {"service.name": "ojs-server", "service.version": __version__, **known}
    provider = TracerProvider(resource=Resource.create(resource))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    for handler in logging.getLogger().handlers:
        handler.addFilter(SpanOfLine())
    return Tracing(provider)


def _answered(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_status(StatusCode.ERROR)


def _links(metas: Iterable[bytes], known: int = 0) -> Iterator[Link]:
    """Return links to the spans in which jobs were enqueued, except spans of a known trace."""
    left = MAX_LINKS
    for meta in metas:
        # Most jobs have no trace, so their `meta` is not decoded.
        parent = parent_of(decode(meta)) if b"traceparent" in meta else None
        if parent is None or left == 0:
            continue
        context = get_current_span(_W3C.extract({"traceparent": parent})).get_span_context()
        if context.is_valid and context.trace_id != known:
            left -= 1
            yield Link(context)


def _batch(operation: str, queue: str, count: int) -> dict[str, str | int]:
    return {
        "messaging.system": "ojs",
        "messaging.operation.type": operation,
        "messaging.destination.name": queue,
        "messaging.batch.message_count": count,
    }


def _of_job(job: Job) -> dict[str, str | int]:
    return {
        "messaging.message.id": job.id,
        "ojs.job.id": job.id,
        "ojs.job.type": job.type,
        "ojs.job.queue": job.queue,
        "ojs.job.state": job.state,
        "ojs.job.attempt": job.attempt,
        "ojs.job.priority": job.priority,
    }
