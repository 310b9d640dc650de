"""`ojs.v1.OJSService`: each of its calls, as a client of gRPC makes it."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import StatusCode, aio

from ojs_server.app import Server
from ojs_server.domain.access.failed_attempts import MOST
from ojs_server.domain.jobs.job import State
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.grpc.ojs_v1 import BEHAVIOURS, SERVICE
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from ojs_server.grpc.values import EXACT, value_of
from ojs_server.http.access.keys import parse_keys
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.settle import Ack
from ojs_server.store.records import EventFilter
from ojs_wire.values import UUID7
from tests.grpc.conftest import LIMIT_S, Serve, Stub, connect, info_of
from tests.http.keys import KEYS
from tests.http.waiting import until

UNKNOWN = "01902e5a-0000-7000-8000-000000000000"


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    """A server that asks for no keys."""
    async with serve() as running:
        yield running


@pytest.fixture
async def ojs(server: Server) -> AsyncIterator[Stub]:
    """A client of it."""
    async with connect(server, SERVICE) as stub:
        yield stub


def struct(**members: Any) -> Struct:
    return Struct(fields={name: value_of(value) for name, value in members.items()})


async def enqueue(ojs: Stub, *args: Any, kind: str = "email.send", **options: Any) -> pb.Job:
    answer = await ojs.Enqueue(
        type=kind,
        args=[value_of(one) for one in args],
        options=pb.EnqueueOptions(**options) if options else None,
    )
    job: pb.Job = answer.job
    return job


async def fetch(ojs: Stub, count: int = 1, worker_id: str = "w1") -> list[pb.Job]:
    answer = await ojs.Fetch(queues=["default"], count=count, worker_id=worker_id)
    return list(answer.jobs)


def test_every_call_has_a_behaviour() -> None:
    assert sorted(BEHAVIOURS) == sorted(method.name for method in SERVICE.methods)
    assert len(BEHAVIOURS) == 25


async def test_the_manifest_names_the_binding(ojs: Stub, server: Server) -> None:
    manifest = await ojs.Manifest()
    assert manifest.protocols == ["http", "grpc"]
    assert manifest.backend == server.store.kind
    assert manifest.implementation.name == "ojs-server"
    assert manifest.conformance_level == 4
    assert "urn:ojs:ext:progress" in manifest.extensions


async def test_health_tells_of_the_store(ojs: Stub) -> None:
    health = await ojs.Health()
    assert health.status == pb.HEALTH_STATUS_OK
    assert health.details["backend"]["status"] == "ok"
    assert health.timestamp.seconds > 0


async def test_a_job_is_kept_as_it_was_sent(ojs: Stub) -> None:
    args = ["a@example.org", 7, -1.5, True, None, [1, {"deep": "er"}]]
    job = await enqueue(
        ojs,
        *args,
        queue="mail",
        priority=5,
        timeout=Duration(seconds=90),
        ttl=Duration(seconds=3600),
        visibility_timeout=Duration(seconds=45),
        tags=["a", "b"],
        trace_id="trace-1",
        meta=struct(room="blue"),
        retry=pb.RetryPolicy(
            max_attempts=7,
            initial_interval=Duration(seconds=2),
            backoff_coefficient=3.0,
            max_interval=Duration(seconds=60),
            jitter=False,
            non_retryable_errors=["Auth.*"],
            on_exhaustion="dead_letter",
        ),
        unique=pb.UniquePolicy(
            key=["type", "queue"],
            period=Duration(seconds=60),
            on_conflict=pb.UNIQUE_CONFLICT_ACTION_IGNORE,
            states=[pb.JOB_STATE_AVAILABLE],
        ),
    )
    assert UUID7.fullmatch(job.id)
    kept = (await ojs.GetJob(job_id=job.id)).job
    assert [MessageToDict(one) for one in kept.args] == args
    assert (kept.queue, kept.priority, kept.max_attempts) == ("mail", 5, 7)
    assert kept.state == pb.JOB_STATE_AVAILABLE
    assert list(kept.tags) == ["a", "b"]
    assert kept.trace_id == "trace-1"
    assert kept.meta["room"] == "blue"
    assert kept.timeout.seconds == 90
    assert kept.visibility_timeout.seconds == 45
    assert kept.retry_policy.initial_interval.seconds == 2
    assert kept.retry_policy.backoff_coefficient == 3.0
    assert kept.retry_policy.max_interval.seconds == 60
    assert list(kept.retry_policy.non_retryable_errors) == ["Auth.*"]
    assert kept.retry_policy.on_exhaustion == "dead_letter"
    assert not kept.retry_policy.jitter
    assert list(kept.unique_policy.key) == ["type", "queue"]
    assert kept.unique_policy.on_conflict == pb.UNIQUE_CONFLICT_ACTION_IGNORE
    assert kept.unique_policy.period.seconds == 60
    assert list(kept.unique_policy.states) == [pb.JOB_STATE_AVAILABLE]
    assert kept.expires_at.seconds - kept.created_at.seconds == 3600
    assert kept.specversion == "1.0"


async def test_a_delayed_job_is_scheduled(ojs: Stub) -> None:
    job = await enqueue(ojs, delay_until=Timestamp(seconds=4_000_000_000))
    assert job.state == pb.JOB_STATE_SCHEDULED
    assert job.scheduled_at.seconds == 4_000_000_000


async def test_a_batch_answers_each_job_by_itself(ojs: Stub) -> None:
    answer = await ojs.EnqueueBatch(
        jobs=[
            pb.BatchJobEntry(type="email.send", args=[value_of(1)]),
            pb.BatchJobEntry(type="Not A Type"),
            pb.BatchJobEntry(type="email.send", options=pb.EnqueueOptions(queue="own")),
        ],
        default_options=pb.EnqueueOptions(queue="shared", priority=3),
    )
    assert [(job.queue, job.priority) for job in answer.jobs] == [("shared", 3), ("own", 3)]
    assert answer.count == 2
    assert list(answer.errors) == [1]
    assert answer.errors[1].code == "invalid_request"


async def test_a_job_is_fetched_and_acknowledged(ojs: Stub) -> None:
    job = await enqueue(ojs, 1)
    [held] = await fetch(ojs)
    assert (held.id, held.state, held.attempt) == (job.id, pb.JOB_STATE_ACTIVE, 1)
    assert (await ojs.Ack(job_id=job.id, result=struct(sent=1))).acknowledged
    done = (await ojs.GetJob(job_id=job.id)).job
    assert done.state == pb.JOB_STATE_COMPLETED
    assert done.result["sent"] == 1
    assert done.completed_at.seconds > 0
    assert await fetch(ojs) == []


async def test_a_result_that_is_no_object_stands_in_one(ojs: Stub, server: Server) -> None:
    job = await enqueue(ojs)
    await fetch(ojs)
    await server.engine.run(Ack(job.id, result=b"[1,2]"))
    done = (await ojs.GetJob(job_id=job.id)).job
    assert MessageToDict(done.result) == {"value": [1.0, 2.0]}


async def test_a_failure_is_tried_again(ojs: Stub) -> None:
    job = await enqueue(ojs)
    await fetch(ojs)
    error = pb.JobError(
        code="smtp", message="no route", retryable=True, backtrace="a\nb", details=struct(port=25)
    )
    answer = await ojs.Nack(job_id=job.id, error=error)
    assert answer.state == pb.JOB_STATE_RETRYABLE
    assert answer.next_attempt_at.seconds > 0
    [noted] = (await ojs.GetJob(job_id=job.id)).job.errors
    assert (noted.code, noted.message, noted.attempt) == ("smtp", "no route", 1)
    assert noted.backtrace == "a\nb"
    assert noted.details["port"] == 25
    assert noted.occurred_at.seconds > 0


async def test_a_final_failure_is_a_dead_letter(ojs: Stub) -> None:
    first, second = await enqueue(ojs), await enqueue(ojs)
    assert len(await fetch(ojs, 2)) == 2
    for job in (first, second):
        answer = await ojs.Nack(job_id=job.id, error=pb.JobError(code="x", retryable=False))
        assert answer.state == pb.JOB_STATE_DISCARDED
    page = await ojs.ListDeadLetter(limit=1)
    assert page.total_count == 2
    rest = await ojs.ListDeadLetter(queue="default", limit=1, cursor=page.next_cursor)
    assert {page.jobs[0].id, rest.jobs[0].id} == {first.id, second.id}
    assert rest.next_cursor == ""
    revived = await ojs.RetryDeadLetter(job_id=first.id)
    assert revived.job.state == pb.JOB_STATE_AVAILABLE
    await ojs.DeleteDeadLetter(job_id=second.id)
    assert await ojs.refused("GetJob", job_id=second.id) == (
        StatusCode.NOT_FOUND,
        f"there is no job {second.id} here",
    )


async def test_a_job_is_cancelled(ojs: Stub) -> None:
    job = await enqueue(ojs)
    answer = await ojs.CancelJob(job_id=job.id, reason="no need")
    assert answer.job.state == pb.JOB_STATE_CANCELLED


async def test_a_cancelled_job_may_be_cancelled_again_and_no_other_that_has_ended(
    ojs: Stub, server: Server
) -> None:
    job = await enqueue(ojs)
    first = (await ojs.CancelJob(job_id=job.id)).job
    again = (await ojs.CancelJob(job_id=job.id)).job
    assert again == first
    assert (again.id, again.state) == (job.id, pb.JOB_STATE_CANCELLED)
    done = await enqueue(ojs)
    await fetch(ojs)
    await ojs.Ack(job_id=done.id)
    error = await ojs.error("CancelJob", job_id=done.id)
    assert error.code() is StatusCode.FAILED_PRECONDITION
    logged = await server.engine.read(lambda reader: reader.events(0, EventFilter(), 100))
    cancelled = [one for one in logged.events if one.event.type == "job.cancelled"]
    assert [one.event.subject for one in cancelled] == [job.id]


async def test_a_heartbeat_extends_the_job_that_it_names(ojs: Stub) -> None:
    job = await enqueue(ojs)
    await fetch(ojs)
    before = (await ojs.Heartbeat(id=job.id, worker_id="w1")).new_deadline
    answer = await ojs.Heartbeat(
        id=job.id,
        worker_id="w1",
        extend_by=Duration(seconds=7200),
        current_state=pb.WORKER_STATE_RUNNING,
    )
    assert answer.directed_state == pb.WORKER_STATE_RUNNING
    assert answer.new_deadline.seconds > before.seconds + 3600
    quiet = await ojs.Heartbeat(worker_id="w1", current_state=pb.WORKER_STATE_QUIET)
    assert quiet.directed_state == pb.WORKER_STATE_QUIET
    assert not quiet.HasField("new_deadline")


async def test_a_heartbeat_tells_that_its_job_is_cancelled(ojs: Stub) -> None:
    job, other = await enqueue(ojs), await enqueue(ojs)
    await fetch(ojs, 2)
    await ojs.CancelJob(job_id=job.id)
    for worker_id in ("w1", ""):
        beat = ojs.Heartbeat(id=job.id, worker_id=worker_id)
        assert not (await beat).HasField("new_deadline")
        assert cancelled_in(await beat.trailing_metadata()) == job.id
        beat = ojs.Heartbeat(id=other.id, worker_id=worker_id)
        assert (await beat).HasField("new_deadline")
        assert cancelled_in(await beat.trailing_metadata()) is None


def cancelled_in(metadata: Any) -> str | None:
    """The value of the metadata that name cancelled jobs."""
    found: str | None = dict(tuple(metadata or ())).get("x-ojs-cancelled-jobs")
    return found


@pytest.mark.parametrize("worker_id", ["w1", ""])
async def test_a_heartbeat_of_a_job_needs_no_worker(ojs: Stub, worker_id: str) -> None:
    job = await enqueue(ojs)
    await fetch(ojs, worker_id=worker_id)
    before = (await ojs.GetJob(job_id=job.id)).job.started_at.seconds
    answer = await ojs.Heartbeat(
        id=job.id, extend_by=Duration(seconds=7200), current_state=pb.WORKER_STATE_QUIET
    )
    assert answer.new_deadline.seconds >= before + 7200
    # The server has nothing to say to a worker that it does not know.
    assert answer.directed_state == pb.WORKER_STATE_QUIET
    assert (await ojs.Heartbeat(id=job.id)).HasField("new_deadline")
    await ojs.Ack(job_id=job.id)
    assert not (await ojs.Heartbeat(id=job.id)).HasField("new_deadline")
    assert (await ojs.error("Heartbeat", id=UNKNOWN)).code() is StatusCode.NOT_FOUND


async def test_a_heartbeat_of_a_worker_may_name_it_twice(ojs: Stub) -> None:
    answer = await ojs.Heartbeat(id="w1", worker_id="w1")
    assert answer.directed_state == pb.WORKER_STATE_RUNNING
    status, message = await ojs.refused("Heartbeat")
    assert status is StatusCode.INVALID_ARGUMENT
    assert "`worker_id`" in message


async def test_queues_are_listed_counted_and_paused(ojs: Stub) -> None:
    for name in ("a", "b", "b"):
        await enqueue(ojs, queue=name)
    listed = await ojs.ListQueues(limit=1)
    rest = await ojs.ListQueues(cursor=listed.next_cursor)
    found = {one.name: one.available_count for one in (*listed.queues, *rest.queues)}
    assert found == {"a": 1, "b": 2}
    await ojs.PauseQueue(queue="b")
    stats = await ojs.QueueStats(queue="b")
    assert stats.queue == "b"
    assert (stats.stats.available, stats.stats.active, stats.stats.paused) == (2, 0, True)
    assert list((await ojs.Fetch(queues=["b"])).jobs) == []
    await ojs.ResumeQueue(queue="b")
    assert len((await ojs.Fetch(queues=["b"])).jobs) == 1


async def test_cron_entries_come_and_go(ojs: Stub) -> None:
    made = await ojs.RegisterCron(
        name="daily",
        cron="0 9 * * *",
        timezone="Europe/Berlin",
        type="report.make",
        args=[value_of("x")],
        options=pb.EnqueueOptions(
            queue="reports", timeout=Duration(seconds=90), meta=struct(by="me"), max_attempts=4
        ),
    )
    assert made.name == "daily"
    assert made.next_run_at.seconds > 0
    [entry] = (await ojs.ListCron()).entries
    assert (entry.name, entry.cron, entry.timezone) == ("daily", "0 9 * * *", "Europe/Berlin")
    assert entry.type == "report.make"
    assert [one.string_value for one in entry.args] == ["x"]
    assert entry.options.queue == "reports"
    assert entry.options.timeout.seconds == 90
    assert entry.options.meta["by"] == "me"
    assert entry.options.max_attempts == 4
    assert entry.next_run_at == made.next_run_at
    await ojs.UnregisterCron(name="daily")
    assert list((await ojs.ListCron()).entries) == []


async def test_a_workflow_runs_by_what_its_steps_depend_on(ojs: Stub) -> None:
    made = await ojs.CreateWorkflow(
        name="order",
        steps=[
            pb.WorkflowStep(id="pay", type="card.charge", args=[value_of(1)]),
            pb.WorkflowStep(id="send", type="parcel.send", depends_on=["pay"]),
        ],
    )
    workflow = made.workflow
    assert (workflow.name, workflow.state) == ("order", pb.WORKFLOW_STATE_RUNNING)
    [job] = await fetch(ojs)
    assert (job.type, job.workflow_id) == ("card.charge", workflow.id)
    await ojs.Ack(job_id=job.id)
    shown = (await ojs.GetWorkflow(workflow_id=workflow.id)).workflow
    assert [(step.id, list(step.depends_on)) for step in shown.steps] == [
        ("pay", []),
        ("send", ["pay"]),
    ]
    assert shown.steps[0].state == pb.WORKFLOW_STEP_STATE_COMPLETED
    assert shown.steps[0].job_id == job.id
    ended = (await ojs.CancelWorkflow(workflow_id=workflow.id, reason="enough")).workflow
    assert ended.state == pb.WORKFLOW_STATE_CANCELLED
    assert ended.completed_at.seconds > 0


async def test_a_stream_pushes_as_many_jobs_as_are_wanted_at_a_time(ojs: Stub) -> None:
    for number in range(3):
        await enqueue(ojs, number)
    stream = ojs.StreamJobs(queues=["default"], worker_id="w1", max_concurrent=2)
    first, second = await stream.read(), await stream.read()
    third = asyncio.ensure_future(stream.read())
    assert (await ojs.QueueStats(queue="default")).stats.active == 2
    assert not third.done()
    await ojs.Ack(job_id=first.id)
    job = await third
    assert len({first.id, second.id, job.id}) == 3
    stream.cancel()


async def test_a_waiting_stream_is_given_a_job_as_soon_as_there_is_one(ojs: Stub) -> None:
    stream = ojs.StreamJobs(queues=["default"])
    reading = asyncio.ensure_future(stream.read())
    await stream.initial_metadata()
    job = await enqueue(ojs)
    assert (await reading).id == job.id
    stream.cancel()


async def test_a_stream_that_was_left_takes_no_job(ojs: Stub, server: Server) -> None:
    stream = ojs.StreamJobs(queues=["default"])
    await stream.initial_metadata()
    while not len(server.engine.wakeups):  # noqa: ASYNC110  it is the server that is awaited
        await asyncio.sleep(0.01)
    stream.cancel()
    while len(server.engine.wakeups):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    job = await enqueue(ojs)
    assert (await ojs.GetJob(job_id=job.id)).job.state == pb.JOB_STATE_AVAILABLE


async def test_a_stop_ends_streams_with_a_sentence(ojs: Stub, server: Server) -> None:
    jobs, events = ojs.StreamJobs(queues=["default"]), ojs.StreamEvents()
    await asyncio.gather(jobs.initial_metadata(), events.initial_metadata())
    while not (len(server.engine.wakeups) and server.engine.log_reader.running):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    server.begin_stop()
    for stream in (jobs, events):
        error = await ojs_error(stream)
        assert error == (StatusCode.UNAVAILABLE, "the server is stopping")


async def test_a_stop_ends_a_stream_whose_client_holds_all_that_it_may(
    ojs: Stub, server: Server
) -> None:
    await enqueue(ojs)
    stream = ojs.StreamJobs(queues=["default"])
    await stream.read()
    while not len(server.engine.endings):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    server.begin_stop()
    assert await ojs_error(stream) == (StatusCode.UNAVAILABLE, "the server is stopping")


async def ojs_error(stream: Any) -> tuple[StatusCode, str]:
    with pytest.raises(Exception, match="the server is stopping") as caught:
        await stream.read()
    error: Any = caught.value
    return error.code(), error.details()


async def test_events_are_streamed_as_they_happen(ojs: Stub, server: Server) -> None:
    kinds = ["job.enqueued", "job.completed"]
    mine = await following(ojs.StreamEvents(event_types=kinds, queues=["mail"]), server)
    await enqueue(ojs, queue="other")
    job = await enqueue(ojs, queue="mail", kind="mail.send")
    event = await mine.read()
    assert (event.type, event.job_id, event.job_type) == ("job.enqueued", job.id, "mail.send")
    assert event.queue == "mail"
    assert event.timestamp.seconds > 0
    assert event.id.startswith("evt_")
    mine.cancel()


async def following(stream: Any, server: Server) -> Any:
    """A stream of events that follows the log."""
    await stream.initial_metadata()
    while not server.engine.log_reader.running:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return stream


async def test_events_of_one_job_are_streamed(ojs: Stub, server: Server) -> None:
    other, job = await enqueue(ojs), await enqueue(ojs)
    stream = await following(ojs.StreamEvents(job_id=job.id), server)
    await ojs.CancelJob(job_id=other.id)
    await ojs.CancelJob(job_id=job.id)
    event = await stream.read()
    assert (event.type, event.job_id) == ("job.cancelled", job.id)
    stream.cancel()


@pytest.mark.parametrize(
    "wished", [["job.dead"], ["job.discarded"], ["job.d*"], ["job.de*"], ["job.dis*"], []]
)
async def test_a_dead_letter_has_the_name_of_the_binding(
    ojs: Stub, server: Server, wished: list[str]
) -> None:
    job = await enqueue(ojs)
    await fetch(ojs)
    stream = await following(ojs.StreamEvents(event_types=wished), server)
    await ojs.Nack(job_id=job.id, error=pb.JobError(code="x", retryable=False))
    while (event := await stream.read()).type != "job.dead":
        assert not wished, event
    assert event.job_id == job.id
    stream.cancel()


async def test_events_of_one_workflow_are_streamed(ojs: Stub, server: Server) -> None:
    steps = [pb.WorkflowStep(id="a", type="a")]
    workflow = (await ojs.CreateWorkflow(steps=steps)).workflow
    stream = await following(ojs.StreamEvents(workflow_id=workflow.id), server)
    await ojs.CancelJob(job_id=(await enqueue(ojs)).id)
    await ojs.CancelWorkflow(workflow_id=workflow.id)
    event = await stream.read()
    assert event.type == "workflow.cancelled"
    assert event.workflow_id == workflow.id
    stream.cancel()


@pytest.mark.parametrize(
    ("name", "members", "status", "code"),
    [
        ("Enqueue", {"type": "Not A Type"}, StatusCode.INVALID_ARGUMENT, "invalid_request"),
        ("GetJob", {"job_id": UNKNOWN}, StatusCode.NOT_FOUND, "not_found"),
        ("Ack", {"job_id": UNKNOWN}, StatusCode.NOT_FOUND, "not_found"),
        ("Fetch", {}, StatusCode.INVALID_ARGUMENT, "invalid_request"),
        ("Fetch", {"queues": ["q"], "count": 5000}, StatusCode.INVALID_ARGUMENT, "invalid_request"),
        ("StreamJobs", {"queues": ["Q"]}, StatusCode.INVALID_ARGUMENT, "invalid_request"),
        ("PauseQueue", {"queue": "Q Q"}, StatusCode.INVALID_ARGUMENT, "invalid_request"),
        ("QueueStats", {"queue": "none"}, StatusCode.NOT_FOUND, "not_found"),
        ("GetWorkflow", {"workflow_id": "x"}, StatusCode.NOT_FOUND, "not_found"),
        ("CreateWorkflow", {}, StatusCode.INVALID_ARGUMENT, "invalid_workflow"),
        ("RegisterCron", {"name": "a"}, StatusCode.INVALID_ARGUMENT, "invalid_request"),
        ("UnregisterCron", {"name": "a"}, StatusCode.NOT_FOUND, "not_found"),
    ],
)
async def test_a_refusal_has_the_code_of_ojs(
    ojs: Stub, name: str, members: dict[str, Any], status: StatusCode, code: str
) -> None:
    error = await ojs.error(name, **members)
    assert error.code() is status
    info = info_of(error)
    assert (info.reason, info.domain) == (code, "openjobspec.org")
    assert info.metadata["retryable"] == "false"
    assert info.metadata["request_id"].startswith("req_")


@pytest.mark.parametrize("name", ["Enqueue", "StreamJobs"])
async def test_bytes_that_are_no_message_are_refused(server: Server, name: str) -> None:
    async with aio.insecure_channel(f"127.0.0.1:{server.ports.grpc}") as channel:
        stream: Any = channel.unary_stream(f"/{SERVICE.full_name}/{name}")
        # A public client sends JSON.
        with pytest.raises(aio.AioRpcError) as caught:
            await stream(b'{"type": "email.send"}', timeout=LIMIT_S).read()
    assert caught.value.code() is StatusCode.INVALID_ARGUMENT
    assert info_of(caught.value).reason == "invalid_payload"


async def test_a_wrong_state_is_a_failed_precondition(ojs: Stub) -> None:
    job = await enqueue(ojs)
    error = await ojs.error("Ack", job_id=job.id)
    assert error.code() is StatusCode.FAILED_PRECONDITION
    assert info_of(error).reason == "conflict"


async def test_an_equal_job_exists_already(ojs: Stub) -> None:
    unique = pb.UniquePolicy(key=["type"], on_conflict=pb.UNIQUE_CONFLICT_ACTION_REJECT)
    await enqueue(ojs, unique=unique)
    message = pb.EnqueueOptions(unique=unique)
    error = await ojs.error("Enqueue", type="email.send", options=message)
    assert error.code() is StatusCode.ALREADY_EXISTS


async def test_numbers_that_doubles_round_are_refused_both_ways(ojs: Stub, server: Server) -> None:
    inside = Value(number_value=float(EXACT))
    job = (await ojs.Enqueue(type="a", args=[inside])).job
    assert job.args[0].number_value == EXACT
    status, message = await ojs.refused(
        "Enqueue", type="a", args=[Value(number_value=float(EXACT) * 2)]
    )
    assert status is StatusCode.INVALID_ARGUMENT
    assert "args[0]" in message
    await ojs.CancelJob(job_id=job.id)
    exact = await stored(server, [EXACT + 1])
    status, message = await ojs.refused("GetJob", job_id=exact)
    assert status is StatusCode.FAILED_PRECONDITION
    assert str(EXACT + 1) in message
    # It is left for a worker that can carry it.
    status, message = await ojs.refused("Fetch", queues=["default"])
    assert status is StatusCode.FAILED_PRECONDITION
    assert exact in message
    found = await server.engine.read(lambda reader: reader.job(exact))
    assert found is not None
    assert found[0].job.state == State.AVAILABLE


async def stored(server: Server, args: list[Any]) -> str:
    done = await server.engine.run(Enqueue((parse_draft({"type": "a", "args": args}),)))
    return done.jobs[0].job.id


async def test_a_repeated_key_enqueues_once(server: Server) -> None:
    async with connect(server, SERVICE, **{"x-ojs-idempotency-key": "k1"}) as ojs:
        first, second = await enqueue(ojs), await enqueue(ojs)
        assert first.id == second.id


async def test_a_request_id_is_echoed(server: Server) -> None:
    async with connect(server, SERVICE, **{"x-ojs-request-id": "mine-1"}) as ojs:
        call = ojs.Manifest()
        metadata = dict(tuple(await call.initial_metadata()))
        assert metadata["x-ojs-request-id"] == "mine-1"
        assert metadata["x-ojs-server-version"]
        await call
        assert info_of(await ojs.error("GetJob", job_id="x")).metadata["request_id"] == "mine-1"


async def test_keys_and_roles_are_those_of_http(serve: Serve) -> None:
    async with serve(keys=parse_keys("", KEYS)) as server:
        async with connect(server, SERVICE) as nobody:
            assert (await nobody.Health()).status == pb.HEALTH_STATUS_OK
            error = await nobody.error("Enqueue", type="a")
            assert error.code() is StatusCode.UNAUTHENTICATED
            stream = await nobody.error("StreamEvents")
            assert stream.code() is StatusCode.UNAUTHENTICATED
        async with connect(server, SERVICE, **{"x-ojs-api-key": KEYS["worker"]}) as worker:
            error = await worker.error("Enqueue", type="a")
            assert error.code() is StatusCode.PERMISSION_DENIED
            assert list((await worker.Fetch(queues=["default"])).jobs) == []
        async with connect(server, SERVICE, authorization=f"Bearer {KEYS['producer']}") as producer:
            assert (await enqueue(producer)).id


async def test_a_key_with_two_roles_does_what_both_may_and_owns_its_cron_entries(
    serve: Serve,
) -> None:
    shop, other = "the-key-of-the-shop", "the-key-of-another"
    keys = parse_keys(f"shop=worker+producer:{shop},worker:{other}", {})
    options = pb.EnqueueOptions(meta=struct(cron_owner="shop"))
    entry = {"cron": "@daily", "type": "a", "options": options}
    async with serve(keys=keys) as server:
        async with connect(server, SERVICE, **{"x-ojs-api-key": shop}) as mine:
            job = await enqueue(mine)
            assert [one.id for one in await fetch(mine)] == [job.id]
            assert (await mine.RegisterCron(name="daily", **entry)).name == "daily"
            error = await mine.error("PauseQueue", queue="default")
            assert error.code() is StatusCode.PERMISSION_DENIED
        async with connect(server, SERVICE, **{"x-ojs-api-key": other}) as worker:
            for refused in (
                await worker.error("RegisterCron", name="daily", **entry),
                await worker.error("RegisterCron", name="another", **entry),
                await worker.error("UnregisterCron", name="daily"),
            ):
                assert refused.code() is StatusCode.PERMISSION_DENIED
                assert "another key's: allowed are" in (refused.details() or "")
            assert [one.name for one in (await worker.ListCron()).entries] == ["daily"]


async def test_wrong_keys_are_slowed_by_the_address_of_the_client(serve: Serve) -> None:
    proxies = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    async with serve(keys=parse_keys("", KEYS), trusted_proxy=proxies) as server:
        client = {"x-forwarded-for": "192.0.2.1"}
        async with connect(server, SERVICE, **client, authorization="Bearer guessed") as guessing:
            for _ in range(MOST):
                error = await guessing.error("ListQueues")
                assert error.code() is StatusCode.UNAUTHENTICATED
            error = await guessing.error("ListQueues")
            assert error.code() is StatusCode.RESOURCE_EXHAUSTED
            assert int(dict(tuple(error.trailing_metadata() or ()))["retry-after"]) <= 61
        async with connect(server, SERVICE, **client, **{"x-ojs-api-key": KEYS["viewer"]}) as known:
            await known.ListQueues()
        other = {"x-forwarded-for": "192.0.2.2", "x-ojs-api-key": "guessed"}
        async with connect(server, SERVICE, **other) as beside:
            assert (await beside.error("ListQueues")).code() is StatusCode.UNAUTHENTICATED


async def test_tenants_see_what_is_theirs(server: Server) -> None:
    async with (
        connect(server, SERVICE, **{"x-ojs-tenant": "acme"}) as acme,
        connect(server, SERVICE, **{"x-ojs-tenant": "beta"}) as beta,
    ):
        job = await enqueue(acme)
        assert (await beta.error("GetJob", job_id=job.id)).code() is StatusCode.NOT_FOUND
        assert await fetch(beta) == []
        assert [one.id for one in await fetch(acme)] == [job.id]
        error = await acme.error("PauseQueue", queue="default")
        assert error.code() is StatusCode.PERMISSION_DENIED


async def test_a_message_over_the_limit_is_refused(serve: Serve) -> None:
    async with serve(max_body_bytes=2000) as server, connect(server, SERVICE) as ojs:
        error = await ojs.error("Enqueue", type="a", args=[value_of("x" * 3000)])
        assert error.code() is StatusCode.RESOURCE_EXHAUSTED


async def test_streams_beyond_the_limit_are_refused(serve: Serve) -> None:
    async with serve(max_streams=1) as server, connect(server, SERVICE) as ojs:
        first = ojs.StreamJobs(queues=["default"])
        await first.initial_metadata()
        while not len(server.engine.wakeups):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        error = await ojs.error("StreamJobs", queues=["default"])
        assert error.code() is StatusCode.RESOURCE_EXHAUSTED
        assert info_of(error).metadata["retryable"] == "true"
        first.cancel()


async def test_calls_are_counted_by_name(ojs: Stub, server: Server) -> None:
    await ojs.Manifest()
    await ojs.error("GetJob", job_id="x")
    counted = [
        b'route="/ojs.v1.OJSService/Manifest",status="200"',
        b'route="/ojs.v1.OJSService/GetJob",status="404"',
    ]
    # An answer is on its way before it is counted.
    await until(lambda: all(line in server.services.metrics.render() for line in counted))
