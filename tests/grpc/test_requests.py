"""Calls over gRPC are noted and traced like those over HTTP."""

import pytest
from grpc import StatusCode
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from ojs_server.app import Server
from ojs_server.domain.admin.action import Action, ActionFilter
from ojs_server.grpc.ojs_v1 import SERVICE
from ojs_server.http.access.keys import parse_keys
from ojs_server.http.tracing import Tracing
from tests.grpc.conftest import Serve, connect
from tests.http.keys import KEYS
from tests.http.waiting import until

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


async def actions(server: Server) -> list[Action]:
    return await server.engine.read(lambda reader: reader.actions(ActionFilter(), 2**63 - 1, 10))


async def test_a_change_by_an_operators_key_is_noted(serve: Serve) -> None:
    async with (
        serve(keys=parse_keys("", KEYS)) as server,
        connect(server, SERVICE, **{"x-ojs-api-key": KEYS["operator"]}) as operator,
    ):
        await operator.PauseQueue(queue="mail")
        error = await operator.error("RetryDeadLetter", job_id="x")
        assert error.code() is StatusCode.NOT_FOUND
        await operator.Enqueue(type="a")
        [noted] = await actions(server)
        assert (noted.actor.call, noted.actor.target) == (
            "POST /ojs/v1/queues/{name}/pause",
            "mail",
        )
        assert (noted.actor.role, noted.actor.via, noted.outcome) == ("operator", "key", "done")
        assert noted.actor.address == "127.0.0.1"


async def test_programs_are_not_noted(serve: Serve) -> None:
    async with (
        serve(keys=parse_keys("", KEYS)) as server,
        connect(server, SERVICE, **{"x-ojs-api-key": KEYS["producer"]}) as producer,
    ):
        job = (await producer.Enqueue(type="a")).job
        await producer.CancelJob(job_id=job.id)
        assert await actions(server) == []


@pytest.mark.parametrize(
    ("name", "members", "route"),
    [
        ("Enqueue", {"type": "a"}, "POST /ojs/v1/jobs"),
        ("Fetch", {"queues": ["default"]}, "POST /ojs/v1/workers/fetch"),
    ],
)
async def test_a_request_belongs_to_the_trace_of_its_caller(
    serve: Serve, name: str, members: dict[str, object], route: str
) -> None:
    spans, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    parent = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    async with (
        serve(tracing=Tracing(provider)) as server,
        connect(server, SERVICE, **parent) as ojs,
    ):
        await getattr(ojs, name)(**members)
        await until(lambda: bool(spans.get_finished_spans()))
    provider.shutdown()
    [span] = spans.get_finished_spans()
    assert (span.name, span.kind) == (route, SpanKind.SERVER)
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, SPAN)
