"""Spans of clients and workers, and how a job carries the one of its enqueue."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import baggage
from opentelemetry.context import attach, detach
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from ojs_worker import BlockingContext, Context, Worker
from ojs_worker.client.calls import enqueue
from ojs_worker.client.requests import JobRequest
from ojs_worker.faults import Snooze
from ojs_worker.otel import instrument
from ojs_worker.testing import Sandbox

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

seen: list[Any] = []


def instrumented(provider: TracerProvider) -> Worker:
    """A worker of its own for each sandbox: several spans of one job would be nested."""
    worker = Worker()
    instrument(worker, provider)

    @worker.job("email.send")
    async def send_email(ctx: Context) -> str:
        seen.append((get_current_span().get_span_context().span_id, baggage.get_baggage("user")))
        return "sent"

    @worker.job("thread.wait")
    def wait(ctx: BlockingContext) -> None:
        seen.append((get_current_span().get_span_context().span_id, None))

    @worker.job("fail.once")
    async def fail(ctx: Context) -> None:
        raise ValueError("boom")

    @worker.job("sleep.on")
    async def sleep_on(ctx: Context) -> None:
        raise Snooze("1m")

    return worker


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture(scope="module")
def sandbox(exporter: InMemorySpanExporter) -> Iterator[Sandbox]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with Sandbox(instrumented(provider)) as ojs:
        instrument(ojs.client, provider)
        instrument(ojs.blocking_client, provider)
        yield ojs
    provider.shutdown()


@pytest.fixture
def ojs(sandbox: Sandbox, exporter: InMemorySpanExporter) -> Sandbox:
    sandbox.clear()
    exporter.clear()
    seen.clear()
    return sandbox


def said(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_handler_has_a_span_that_is_linked_to_its_enqueue(
    ojs: Sandbox, exporter: InMemorySpanExporter
) -> None:
    token = attach(baggage.set_baggage("user", "ada"))
    job = await ojs.client.enqueue("email.send", queue="email")
    detach(token)
    await ojs.drain()
    made, done = exporter.get_finished_spans()
    assert (made.name, made.kind) == ("email enqueue", SpanKind.PRODUCER)
    assert (done.name, done.kind) == ("email process", SpanKind.CONSUMER)
    assert made.context is not None
    assert done.context is not None
    meta = ojs.job(job).meta
    assert meta["traceparent"].split("-")[1:3] == [
        f"{made.context.trace_id:032x}",
        f"{made.context.span_id:016x}",
    ]
    (link,) = done.links
    assert link.context.span_id == made.context.span_id
    assert done.parent is None
    assert done.context.trace_id != made.context.trace_id
    assert done.status.status_code is StatusCode.OK
    assert said(done)["ojs.job.id"] == said(made)["ojs.job.id"] == job.id
    assert said(done)["ojs.job.attempt"] == 1
    assert said(done)["messaging.operation.type"] == "process"
    assert seen == [(done.context.span_id, "ada")]


def test_blocking_clients_and_threads_have_spans(
    ojs: Sandbox, exporter: InMemorySpanExporter
) -> None:
    ojs.blocking_client.enqueue("thread.wait")
    ojs.drain_blocking()
    _, done = exporter.get_finished_spans()
    assert done.context is not None
    assert seen == [(done.context.span_id, None)]


async def test_a_job_that_has_an_origin_keeps_it(
    ojs: Sandbox, exporter: InMemorySpanExporter
) -> None:
    job = await ojs.client.enqueue("email.send", meta={"traceparent": PARENT})
    await ojs.drain()
    assert ojs.job(job).meta == {"traceparent": PARENT}
    _, done = exporter.get_finished_spans()
    (link,) = done.links
    assert f"{link.context.span_id:016x}" == PARENT.split("-")[2]


async def test_a_failure_is_an_error_and_a_snooze_is_none(
    ojs: Sandbox, exporter: InMemorySpanExporter
) -> None:
    for job_type in ("fail.once", "sleep.on"):
        await ojs.client.enqueue(job_type)
        await ojs.drain()
    failed, snoozed = (span for span in exporter.get_finished_spans() if "process" in span.name)
    assert failed.status.status_code is StatusCode.ERROR
    assert said(failed)["error.type"] == "ValueError"
    assert [event.name for event in failed.events] == ["exception"]
    assert snoozed.status.status_code is StatusCode.UNSET
    assert not snoozed.events


async def test_each_of_many_jobs_has_a_span(ojs: Sandbox, exporter: InMemorySpanExporter) -> None:
    await ojs.client.enqueue_many([ojs.client.request("email.send") for _ in range(2)])
    assert [span.name for span in exporter.get_finished_spans()] == ["default enqueue"] * 2
    assert len({str(job.meta["traceparent"]) for job in ojs.all_jobs()}) == 2


def test_a_request_goes_with_the_trace_of_its_job() -> None:
    def headers(**meta: Any) -> Any:
        return enqueue(JobRequest(id="i", type="a", args=[], meta=meta)).request.headers

    assert headers(traceparent=PARENT) == {"traceparent": PARENT}
    assert headers(traceparent=PARENT + "\r\nX: y") is None
    assert headers() is None
