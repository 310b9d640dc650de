"""Calls of gRPC in cases: what is said and heard, what is told of it, and where there is none."""

import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from conformance.play.stage import Stage
from conformance.play.wire import Wire
from conformance.processes.server import ServerProcess
from conformance.runs.runner import Plan, play_own, run
from conformance.verdicts.grpc_statuses import Status
from conformance.verdicts.reply import CheckFailed
from conformance.verdicts.result import SkipReason, Verdict
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from tests.conformance.fake_server import FakeServer, Reply
from tests.conformance.runs.test_own_cases import own

ANYTHING: dict[str, Any] = {"GET /ojs/manifest": Reply(json={"specversion": "1.0"})}


async def get_job(request: bytes, context: Any) -> pb.GetJobResponse:
    """A job, unless it is unknown."""
    job_id = pb.GetJobRequest.FromString(request).job_id
    await context.send_initial_metadata((("x-ojs-request-id", "r-1"),))
    if job_id == "unknown":
        info = error_details_pb2.ErrorInfo(reason="not_found", domain="d", metadata={"a": "b"})
        detail = AnyMessage()
        detail.Pack(info)
        told = status_pb2.Status(code=5, details=[detail]).SerializeToString()
        metadata = (("grpc-status-details-bin", told), ("retry-after", "3"))
        await context.abort(grpc.StatusCode.NOT_FOUND, "no such job", metadata)
    return pb.GetJobResponse(job=pb.Job(id=job_id, state="JOB_STATE_ACTIVE"))


async def stream_jobs(request: bytes, context: Any) -> AsyncIterator[pb.Job]:
    """One job, and the end."""
    yield pb.Job(id="j-1")


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A stage whose server has two calls."""
    server = aio.server()
    serialize = {"response_serializer": lambda message: message.SerializeToString()}
    handlers = {
        "GetJob": grpc.unary_unary_rpc_method_handler(get_job, **serialize),
        "StreamJobs": grpc.unary_stream_rpc_method_handler(stream_jobs, **serialize),
    }
    service = "ojs.v1.OJSService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with FakeServer().client() as client:
        yield Stage(Wire(client), {}, grpc=f"127.0.0.1:{port}")
    await server.stop(None)


async def test_an_answer_has_its_status_metadata_and_members(stage: Stage) -> None:
    async with stage.rpcs() as ojs:
        reply = await ojs.call("GetJob", job_id="j-1")
    reply.expect(Status.OK, {"job.id": "j-1", "job.state": "JOB_STATE_ACTIVE", "job.priority": 0})
    assert reply.headers["x-ojs-request-id"] == "r-1"
    (told,) = stage.wire.exchanges
    assert told.url.endswith("/ojs.v1.OJSService/GetJob")
    assert (told.request_body, told.status) == ('{"job_id":"j-1"}', 0)


async def test_a_refusal_is_an_error_with_what_is_said_of_it(stage: Stage) -> None:
    async with stage.rpcs(x_ojs_tenant="acme") as ojs:
        reply = await ojs.call("GetJob", job_id="unknown")
        unserved = await ojs.call("Nothing")
    reply.error(Status.NOT_FOUND, "not_found", a="b").expect(None, {"error.domain": "d"})
    assert reply.headers["retry-after"] == "3"
    assert stage.wire.exchanges[0].request_headers == {"x-ojs-tenant": "acme"}
    unserved.expect(Status.UNIMPLEMENTED)


async def test_a_stream_brings_its_messages_and_its_end(stage: Stage) -> None:
    async with stage.rpcs() as ojs:
        stream = ojs.stream("StreamJobs", queues=["q"])
        assert (await stream.next())["id"] == "j-1"
        (await stream.end()).expect(Status.OK)
        ended, going_on = ojs.stream("StreamJobs"), ojs.stream("StreamJobs")
        await ended.next()
        with pytest.raises(CheckFailed, match="another message, got its end, status 0"):
            await ended.next()
        with pytest.raises(CheckFailed, match=r"its end, got .*j-1"):
            await going_on.end()


async def test_a_case_without_a_port_of_grpc_is_skipped_and_says_why() -> None:
    async def never(stage: Stage) -> None:
        raise AssertionError("the case is played")

    plan = Plan(own=[own(never, grpc=True)], url="http://server")
    (result,) = (await run(plan, transport=FakeServer(ANYTHING).transport())).results
    assert (result.verdict, result.skipped) == (Verdict.SKIPPED, SkipReason.PRECONDITION)
    assert result.reason == "it needs the port of gRPC: --grpc, or {grpc_port} in --server-cmd"


async def test_a_case_is_not_played_where_grpc_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "conformance.rpc.client", raising=False)
    monkeypatch.delitem(sys.modules, "conformance.rpc", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    async def play(stage: Stage) -> None:
        async with stage.rpcs():
            raise AssertionError("there is a client")

    async with FakeServer().client() as client:
        result = await play_own(own(play, grpc=True), Stage(Wire(client), {}, grpc="here:1"))
    assert result.verdict is Verdict.SKIPPED
    assert result.reason.startswith("NOT RUN: gRPC is not installed: pip install")


async def test_a_command_is_given_a_port_for_grpc() -> None:
    process = ServerProcess("server --port {port} --grpc-port {grpc_port}")
    plain = ServerProcess("server --port {port}")
    try:
        assert process.grpc.startswith("127.0.0.1:")
        assert process.grpc != f"127.0.0.1:{process.port}"
        assert plain.grpc == ""
    finally:
        await process.close()
        await plain.close()
