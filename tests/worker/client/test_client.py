"""The clients against the real server, in process, on both stores."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.http.access.keys import parse_keys
from ojs_worker import (
    BlockingClient,
    Client,
    Conflict,
    Context,
    Duplicate,
    InvalidRequest,
    JobCancelled,
    JobFailed,
    JobRequest,
    NotFound,
    RateLimit,
    RetryPolicy,
    Unique,
    WaitTimeout,
    Worker,
    batch,
    chain,
    group,
)
from ojs_worker.errors import PermissionDenied, Unauthenticated, UnexpectedAnswer
from ojs_worker.testing import AsgiTransport
from ojs_worker.transport import Reply, Request
from tests.http.conftest import Serve
from tests.http.keys import KEYS

URL = "http://localhost"


def way(server: Server, **more: Any) -> AsgiTransport:
    return AsgiTransport(Application(server), **more)


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with Client(transport=way(server)) as connected:
        yield connected


async def test_ids_have_the_order_in_which_they_were_made(client: Client) -> None:
    made = [client.request("a", [number]).id for number in range(100)]
    assert made == sorted(made)


async def test_a_job_is_enqueued_read_and_cancelled(client: Client) -> None:
    job = (await client.enqueue("email.send", ["ada"], meta={"user": 1})).job
    assert (job.state, job.args, job.meta, job.queue) == (
        "available",
        ["ada"],
        {"user": 1},
        "default",
    )
    assert await client.get(job.id) == job
    assert (await client.cancel(job.id)).state == "cancelled"
    with pytest.raises(Conflict, match="409"):
        await client.cancel(job.id)
    with pytest.raises(JobCancelled):
        await client.result(job)


async def test_every_option_reaches_the_server(client: Client) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    handle = await client.enqueue(
        "email.send",
        {"to": "ada"},
        queue="mail",
        priority=7,
        at=soon,
        expires_in="P1D",
        timeout=timedelta(minutes=2),
        grace_period=5,
        visibility_timeout="10m",
        retry=RetryPolicy(max_attempts=5, initial_interval=2, non_retryable_errors=["smtp.*"]),
        unique=Unique(keys=["type", "args"], args_keys=["to"], period="1h"),
        tags=["a", "b"],
    )
    job = handle.job
    assert (job.queue, job.priority, job.state, job.max_attempts) == ("mail", 7, "scheduled", 5)
    assert job.args == [{"to": "ada"}]
    assert (job.timeout_ms, job.grace_period, job.tags) == (120_000, 5, ["a", "b"])
    assert job.limit_s == 120
    assert job.expires_at
    assert job.scheduled_at


async def test_a_delay_is_counted_from_now(client: Client) -> None:
    job = (await client.enqueue("a.b", delay="2h")).job
    assert job.state == "scheduled"
    given = datetime.fromisoformat(str(job.scheduled_at))
    assert timedelta(minutes=119) < given - datetime.now(UTC) < timedelta(minutes=121)


async def test_the_same_request_again_makes_no_second_job(client: Client) -> None:
    request = client.request("a.b", [1])
    first, second = await client.send(request), await client.send(request)
    assert first.id == second.id == request.id
    with pytest.raises(Duplicate):
        await client.enqueue("a.b", [2], id=request.id)


async def test_an_idempotency_key_is_sent(client: Client) -> None:
    request = client.request("a.b", [1], idempotency_key="order-7")
    first = await client.send(request)
    assert (await client.send(request)).id == first.id
    other = client.request("a.b", [2], idempotency_key="order-7")
    with pytest.raises(Duplicate):
        await client.send(other)


async def test_an_equal_job_that_is_there_is_answered_or_named(client: Client) -> None:
    first = await client.enqueue("a.b", [1], unique=True)
    assert await client.enqueue("a.b", [1], unique=True) == first
    once = Unique(keys=["type", "args"], on_conflict="reject")
    with pytest.raises(Duplicate) as refused:
        await client.enqueue("a.b", [1], unique=once)
    assert refused.value.existing_job_id == first.id
    assert refused.value.request_id
    await client.enqueue("a.b", [2], unique=True)


async def test_many_jobs_at_once(client: Client) -> None:
    jobs = await client.enqueue_many(client.request("a.b", [n]) for n in range(25))
    assert [one.job.args for one in jobs] == [[n] for n in range(25)]
    with pytest.raises(ValueError, match="no job to enqueue"):
        await client.enqueue_many([])


async def test_wrong_jobs_are_refused_before_or_by_the_server(client: Client) -> None:
    with pytest.raises(ValueError, match="'Email' is not a job type"):
        await client.enqueue("Email")
    with pytest.raises(TypeError, match='did you mean "priority"'):
        await client.enqueue("a.b", priorty=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="must be a list or a mapping"):
        await client.enqueue("a.b", "text")
    with pytest.raises(InvalidRequest, match="cannot be written as JSON"):
        await client.enqueue("a.b", [object()])
    with pytest.raises(ValueError, match="must have a time zone"):
        await client.enqueue("a.b", at=datetime(2030, 1, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="not both"):
        await client.enqueue("a.b", delay=1, at="+PT1S")
    with pytest.raises(InvalidRequest, match="priority") as refused:
        await client.enqueue("a.b", priority="high")  # type: ignore[arg-type]
    assert refused.value.status == 400
    with pytest.raises(NotFound):
        await client.get("01a1f0c0-0000-7000-8000-000000000000")


async def test_a_result_is_waited_for(client: Client, server: Server) -> None:
    worker = Worker(transport=way(server), long_poll=2)

    @worker.job("sum.up")
    async def sum_up(a: int, b: int) -> int:
        return a + b

    @worker.job("never.well", retry=1)
    def never() -> None:
        raise ValueError("never")

    job = await sum_up.enqueue(2, b=3)
    with pytest.raises(
        WaitTimeout, match="available in the queue default, which no worker"
    ) as late:
        await client.result(job, timeout_s=0.05)
    assert (late.value.job, late.value.served) == (await client.get(job.id), False)
    waiting = asyncio.create_task(client.result(job.id, timeout_s=20))
    async with worker:
        assert await waiting == 5
        failed = await never.enqueue()
        with pytest.raises(JobFailed, match="never") as ended:
            await client.result(failed, timeout_s=20)
    assert ended.value.error
    assert ended.value.error["type"] == "ValueError"


async def test_a_server_without_that_call_is_asked_for_the_job() -> None:
    asked = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        found = scope["path"].endswith("/result")
        ended = len(asked) > 2
        job = {"id": "1", "type": "a.b", "state": "completed" if ended else "active", "result": 7}
        body = b"404 page not found" if found else httpx.Response(200, json={"job": job}).content
        await send({"type": "http.response.start", "status": 404 if found else 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async with Client(transport=AsgiTransport(app)) as client:
        assert await client.result("1", timeout_s=20) == 7
    assert asked[0].endswith("/result")
    assert asked[1:] == ["/ojs/v1/jobs/1"] * (len(asked) - 1)


async def test_cron_entries(client: Client) -> None:
    entry = await client.put_cron(
        "nightly",
        "0 3 * * *",
        "report.make",
        {"kind": "full"},
        timezone="Europe/Berlin",
        overlap="skip",
        queue="reports",
    )
    assert entry.name == "nightly"
    assert entry.timezone == "Europe/Berlin"
    assert [one.name for one in await client.list_crons()] == ["nightly"]
    assert (await client.enable_cron("nightly", enabled=False)).enabled is False
    job = (await client.trigger_cron("nightly")).job
    assert (job.type, job.queue, job.args) == ("report.make", "reports", [{"kind": "full"}])
    assert (await client.get_cron("nightly")).expression == "0 3 * * *"
    await client.delete_cron("nightly")
    with pytest.raises(NotFound):
        await client.get_cron("nightly")


async def test_middleware_sees_every_job(client: Client) -> None:
    @client.middleware.add
    async def stamp(request: JobRequest, call_next: Any) -> Any:
        request.meta["stamp"] = 1
        return await call_next(request)

    @client.middleware.add
    async def drop(request: JobRequest, call_next: Any) -> Any:
        return None if request.type == "drop.me" else await call_next(request)

    assert (await client.enqueue("a.b")).job.meta == {"stamp": 1}
    with pytest.raises(LookupError, match=r"dropped the job drop\.me"):
        await client.enqueue("drop.me")
    requests = [client.request("a.b"), client.request("drop.me"), client.request("c.d")]
    jobs = await client.enqueue_many(requests)
    found = [(one.type, one.job.meta) for one in jobs]
    assert found == [
        ("a.b", {"stamp": 1}),
        ("c.d", {"stamp": 1}),
    ]


async def test_middleware_may_not_change_the_id(client: Client) -> None:
    @client.middleware.add
    async def rename(request: JobRequest, call_next: Any) -> Any:
        return await call_next(client.request("a.b"))

    with pytest.raises(ValueError, match="must not change the id"):
        await client.enqueue("a.b")


async def test_keys_are_sent_and_asked_for_anew(serve: Serve) -> None:
    producer = KEYS["producer"]
    tokens = iter(["wrong-wrong-wrong-wrong", producer])

    async def fresh() -> str:
        return next(tokens)

    async with serve(keys=parse_keys("", KEYS)) as server:
        with pytest.raises(Unauthenticated):
            await Client(transport=way(server)).enqueue("a.b")
        await Client(transport=way(server, auth=producer)).enqueue("a.b")
        with pytest.raises(PermissionDenied):
            await Client(transport=way(server, auth=KEYS["worker"])).enqueue("a.b")
        refreshed = Client(transport=way(server, auth=fresh))
        with pytest.raises(Unauthenticated):
            await refreshed.enqueue("a.b")
        await refreshed.enqueue("a.b")


async def test_the_manifest_is_read(client: Client) -> None:
    assert (await client.manifest())["specversion"] == "1.0"


def test_a_blocking_client_has_the_same_calls() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert names(Client) <= names(BlockingClient) | {"middleware"}


async def test_a_workflow_hands_results_on(client: Client, server: Server) -> None:
    worker = Worker(transport=way(server), long_poll=2)

    @worker.job("give.number")
    async def give(n: int) -> int:
        return n

    @worker.job("sum.up")
    async def sum_up(ctx: Context) -> Any:
        return ctx.parent_results

    flow = chain(
        give.request(5),
        group(give.request(1), give.request(2)),
        sum_up.request(),
        name="sums",
        queue="default",
    )
    started = await client.start(flow)
    assert (started.type, started.name, started.state) == ("chain", "sums", "running")
    async with worker:
        async with asyncio.timeout(20):
            while not (shown := await client.get_workflow(started.id)).ended:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    assert shown.state == "completed"
    last = await client.get(shown.steps[2].job_id or "")
    assert last.result == [5, {"0": 1, "1": 2}]


async def test_a_batch_calls_back_and_can_be_cancelled(client: Client) -> None:
    one = client.request("a.b", delay=60)
    flow = batch(one, one, on_complete=client.request("c.d"), on_failure=client.request("e.f"))
    started = await client.start(flow)
    assert (started.type, started.steps_total) == ("batch", 2)
    assert (await client.cancel_workflow(started.id)).state == "cancelled"
    with pytest.raises(ValueError, match="else it is a group"):
        batch(one)
    with pytest.raises(ValueError, match="at least one job"):
        chain()
    with pytest.raises(TypeError, match=r"option of all jobs of a workflow; did you mean .timeout"):
        chain(one, timeut="5m")  # type: ignore[call-arg]


async def test_a_workflow_has_options_for_its_jobs_as_an_enqueue_has(client: Client) -> None:
    flow = chain(client.request("a.b"), timeout="5m", retry=7, tags=["t"], queue="slow")
    started = await client.start(flow)
    job = await client.get(started.steps[0].job_id or "")
    assert (job.queue, job.tags, job.max_attempts) == ("slow", ["t"], 7)
    assert job.timeout_ms == 300_000


async def test_workflows_and_cron_entries_have_members_with_types(client: Client) -> None:
    flow = await client.start(chain(client.request("a.b"), client.request("c.d"), name="n"))
    assert repr(flow) == f"<Workflow chain {flow.id}: running, 0 of 2 steps>"
    assert not flow.ended
    assert [(step.type, step.state) for step in flow.steps] == [
        ("a.b", "pending"),
        ("c.d", "waiting"),
    ]
    assert [one.id async for one in client.workflows.list(name="n")] == [flow.id]
    progress = await client.workflows.progress(flow.id)
    assert (progress.progress, [step.id for step in progress.steps]) == (0, ["0", "1"])
    assert (await client.cancel_workflow(flow.id)).ended
    entry = await client.put_cron("c", "@daily", "a.b", timezone="UTC")
    assert repr(entry) == f"<CronEntry c: @daily UTC, a.b, next at {entry.next_run_at}>"
    paused = await client.cron.pause("c")
    assert repr(paused) == "<CronEntry c: @daily UTC, a.b, disabled>"
    assert (await client.cron.resume("c")).enabled
    assert (await client.cron.change("c", description="d")).description == "d"
    job = await client.trigger_cron("c")
    assert [(run.job_id, run.manual) async for run in client.cron.history("c")] == [(job.id, True)]


async def test_an_answer_of_another_shape_is_told() -> None:
    class Odd:
        async def send(self, request: Request) -> Reply:
            return Reply(200, b'{"workflow": {"id": 7}, "cron_jobs": [{"id": "x"}]}')

        async def close(self) -> None: ...

    client = Client(transport=Odd())
    with pytest.raises(UnexpectedAnswer, match="cannot be read"):
        await client.get_workflow("x")
    with pytest.raises(UnexpectedAnswer, match="cannot be read"):
        await client.list_crons()


async def test_a_rate_limit_goes_by_a_key_that_arguments_fill_in(client: Client) -> None:
    worker = Worker(transport=Told())
    limit = RateLimit(key="tenant:{tenant}", concurrency=2, rate=100, period="1m")

    @worker.job("report.make", rate_limit=limit)
    async def make(pages: int, tenant: str = "acme") -> None: ...

    def keys(*requests: JobRequest) -> list[str]:
        return [one.options["rate_limit"]["key"] for one in requests]

    assert keys(make.request(1), make.request(1, "b"), make.request(1, tenant="c")) == [
        "tenant:acme",
        "tenant:b",
        "tenant:c",
    ]
    await client.send(make.request(1))
    found = await client.rate_limits.get("tenant:acme")
    assert (found["concurrency"]["limit"], found["rate"]["limit"]) == (2, 100)
    assert found["rate"]["period"] == "PT60S"


class Told:
    """A transport of clients that send nothing."""

    async def send(self, request: Request) -> Reply:
        return Reply(404)

    async def close(self) -> None: ...
