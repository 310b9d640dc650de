"""Spans of the server: of requests, and of the jobs in them."""

import io
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from ojs_server.http.tracing import Tracing, set_up
from tests.http.conftest import Serve, connect
from tests.http.steps import JOBS, V1, WORKERS

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
async def traced(serve: Serve, spans: InMemorySpanExporter) -> AsyncIterator[httpx.AsyncClient]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    async with serve(tracing=Tracing(provider)) as server, connect(server) as client:
        yield client
    provider.shutdown()


def said(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def linked(span: ReadableSpan) -> Sequence[str]:
    return [f"{link.context.span_id:016x}" for link in span.links]


def job(**more: Any) -> dict[str, Any]:
    return {"type": "email.send", "args": [], "options": {"queue": "email"}, **more}


async def test_a_request_belongs_to_the_trace_of_its_caller(
    traced: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    body = job(meta={"traceparent": PARENT})
    stored = (await traced.post(JOBS, json=body, headers={"traceparent": PARENT})).json()["job"]
    assert stored["meta"] == {"traceparent": PARENT}
    (span,) = spans.get_finished_spans()
    assert (span.name, span.kind) == (f"POST {JOBS}", SpanKind.SERVER)
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == SPAN
    assert said(span)["http.response.status_code"] == 201
    assert said(span)["messaging.destination.name"] == "email"
    assert said(span)["ojs.job.id"] == stored["id"]
    assert linked(span) == []


async def test_jobs_of_other_traces_are_linked(
    traced: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    both = [job(meta={"traceparent": PARENT}), job(meta={"traceparent": "odd"}), job()]
    await traced.post(f"{JOBS}/batch", json={"jobs": both})
    await traced.post(f"{JOBS}/bulk", json={"jobs": both[:1]})
    batch, bulk = spans.get_finished_spans()
    assert linked(batch) == linked(bulk) == [SPAN]
    assert batch.parent is None
    assert said(batch)["messaging.batch.message_count"] == 3
    assert "ojs.job.id" not in said(batch)


@pytest.mark.parametrize("path", ["fetch", "settle"])
async def test_a_fetch_has_a_span_for_each_queue_that_gave_jobs(
    traced: httpx.AsyncClient, spans: InMemorySpanExporter, path: str
) -> None:
    await traced.post(JOBS, json=job(meta={"traceparent": PARENT}))
    spans.clear()
    wanted = {"queues": ["sms", "email"], "count": 5}
    body = wanted if path == "fetch" else {"worker_id": "w", "results": [], "fetch": wanted}
    await traced.post(f"{WORKERS}/{path}", json=body)
    fetch, request = spans.get_finished_spans()
    assert (fetch.name, fetch.kind) == ("email fetch", SpanKind.CONSUMER)
    assert fetch.parent == request.context
    assert fetch.start_time == request.start_time
    assert linked(fetch) == [SPAN]
    assert said(fetch)["messaging.operation.type"] == "receive"
    spans.clear()
    await traced.post(f"{WORKERS}/{path}", json=body)
    assert [span.name for span in spans.get_finished_spans()] == [request.name]


async def test_a_refusal_is_an_error_only_where_the_server_is_at_fault(
    traced: httpx.AsyncClient, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await traced.post(JOBS, json={"type": 1})
    (span,) = spans.get_finished_spans()
    assert said(span)["http.response.status_code"] == 400
    assert span.status.status_code is StatusCode.UNSET
    spans.clear()
    monkeypatch.setattr("ojs_server.http.jobs.lists.page_of", None)
    assert (await traced.get(f"{V1}/jobs")).status_code == 500
    (span,) = spans.get_finished_spans()
    assert said(span)["error.type"] == "internal_error"
    assert span.status.status_code is StatusCode.ERROR


def test_what_is_set_up_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=jobs,deployment=test")
    # Nothing is to be sent by this test.
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    for name in ("OTEL_SERVICE_NAME", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    handler = logging.StreamHandler(io.StringIO())
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    tracing = set_up()
    try:
        attributes = tracing.provider.resource.attributes
        assert (attributes["service.name"], attributes["deployment"]) == ("jobs", "test")
        with tracing.provider.get_tracer("test").start_as_current_span("a") as span:
            record = logging.LogRecord("a", logging.INFO, __file__, 1, "a", None, None)
            assert handler.filter(record)
            context = span.get_span_context()
            assert vars(record)["trace_id"] == f"{context.trace_id:032x}"
    finally:
        tracing.close()
