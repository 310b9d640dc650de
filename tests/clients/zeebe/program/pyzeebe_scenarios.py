"""Scenarios with pyzeebe: ADDRESS of the gateway, URL of the server."""

import asyncio
import json
import os
import sys
import traceback
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc_health.v1 import health_pb2
from pyzeebe import (
    Job,
    JobController,
    ZeebeClient,
    ZeebeTaskRouter,
    ZeebeWorker,
    create_insecure_channel,
)
from pyzeebe.errors import (
    BusinessError,
    JobAlreadyDeactivatedError,
    ProcessInstanceNotFoundError,
    UnknownGrpcStatusCodeError,
    ZeebeBackPressureError,
)
from pyzeebe.grpc_internals.zeebe_adapter import ZeebeAdapter

ADDRESS, URL = sys.argv[1:3]
# The key of the server, if it has any.
KEY = os.environ.get("OJS_AUTH_TOKEN")
AT_ONCE = 6
LIMIT_S = 30

Play = Callable[["Stage"], Awaitable[None]]
SCENARIOS: dict[str, Play] = {}


def scenario(name: str) -> Callable[[Play], Play]:
    """Register a scenario."""

    def register(play: Play) -> Play:
        SCENARIOS[name] = play
        return play

    return register


class _Keyed(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Shows the key in the metadata of each call."""

    async def intercept_unary_unary(self, call: Any, details: Any, request: Any) -> Any:
        return await call(_with_key(details), request)


class _KeyedStreams(grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """Shows the key in the metadata of each call that answers by a stream."""

    async def intercept_unary_stream(self, call: Any, details: Any, request: Any) -> Any:
        return await call(_with_key(details), request)


def _with_key(details: Any) -> Any:
    metadata = [*(details.metadata or ()), ("authorization", f"Bearer {KEY}")]
    return details._replace(metadata=grpc.aio.Metadata(*metadata))


def channel() -> grpc.aio.Channel:
    """A channel to the gateway: pyzeebe's own, or one of gRPC that shows the key."""
    if KEY is None:
        return create_insecure_channel(ADDRESS)
    return grpc.aio.insecure_channel(ADDRESS, interceptors=[_Keyed(), _KeyedStreams()])


class Stage:
    """A client and a worker, and a task type that no other scenario has."""

    def __init__(self, number: int) -> None:
        self.channel = channel()
        self.client = ZeebeClient(self.channel)
        self.adapter = ZeebeAdapter(self.channel)
        self.type = f"py-{os.getpid()}-{number}"
        self.ended: asyncio.Queue[Any] = asyncio.Queue()

    def worker(self, **options: Any) -> ZeebeWorker:
        """A worker without tasks yet."""
        return ZeebeWorker(channel(), **options)

    async def start(self, variables: dict[str, Any] | None = None) -> int:
        """A process of this type."""
        made = await self.client.run_process(self.type, variables)
        key: int = made.process_instance_key
        return key

    async def worked(self, worker: ZeebeWorker, count: int = 1) -> list[Any]:
        """Let the worker run until its tasks have reported this much."""
        working = asyncio.create_task(worker.work())
        told = [await self.ended.get() for _ in range(count)]
        await worker.stop()
        working.cancel()
        return told


def expect(found: object, wanted: object) -> None:
    """Raise unless both are equal."""
    if found != wanted:
        raise AssertionError(f"found {found!r}, wanted {wanted!r}")


async def refused(error: type[BaseException], call: Awaitable[Any]) -> BaseException:
    """A call that must be refused with this error."""
    try:
        await call
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__}")


@scenario("topology")
async def _(stage: Stage) -> None:
    topology = await stage.client.topology()
    expect(len(topology.brokers), 1)
    expect(topology.gateway_version.startswith("8."), True)


@scenario("health")
async def _(stage: Stage) -> None:
    health = await stage.client.healthcheck()
    expect(health.status, health_pb2.HealthCheckResponse.SERVING)


@scenario("a task completes its job")
async def _(stage: Stage) -> None:
    await stage.start({"a": 1})
    worker = stage.worker()

    @worker.task(task_type=stage.type)
    async def task(a: int) -> dict[str, int]:
        stage.ended.put_nowait(a)
        return {"b": a + 1}

    expect(await stage.worked(worker), [1])


@scenario("a process is waited for")
async def _(stage: Stage) -> None:
    worker = stage.worker()

    @worker.task(task_type=stage.type)
    async def task(a: int) -> dict[str, int]:
        return {"b": a + 1}

    working = asyncio.create_task(worker.work())
    done = await stage.client.run_process_with_result(stage.type, {"a": 9_007_199_254_740_993})
    expect(done.variables, {"a": 9_007_199_254_740_993, "b": 9_007_199_254_740_994})
    await worker.stop()
    working.cancel()


@scenario("a task of a thread completes its job")
async def _(stage: Stage) -> None:
    await stage.start({"a": 1})
    worker = stage.worker()
    loop = asyncio.get_running_loop()

    @worker.task(task_type=stage.type, single_value=True, variable_name="b")
    def task(a: int) -> int:
        loop.call_soon_threadsafe(stage.ended.put_nowait, a)
        return a

    expect(await stage.worked(worker), [1])


@scenario("a task that raises fails its job, and is tried again")
async def _(stage: Stage) -> None:
    key = await stage.start()
    worker = stage.worker()

    @worker.task(task_type=stage.type)
    async def task(job: Job) -> None:
        stage.ended.put_nowait((job.key, job.retries))
        if job.retries > 2:
            raise RuntimeError("not yet")

    expect(await stage.worked(worker, 2), [(key, 3), (key, 2)])


@scenario("a task throws an error of the business")
async def _(stage: Stage) -> None:
    await stage.start()

    async def handle(error: Exception, job: Job, control: JobController) -> None:
        await control.set_error_status("broke", error_code="NO_MONEY")
        stage.ended.put_nowait(str(error))

    worker = stage.worker(exception_handler=handle)

    @worker.task(task_type=stage.type)
    async def task() -> None:
        raise BusinessError("NO_MONEY", "broke")

    expect(len(await stage.worked(worker)), 1)


@scenario("a failure backs off and leaves variables")
async def _(stage: Stage) -> None:
    await stage.start({"a": 1})

    async def handle(error: Exception, job: Job, control: JobController) -> None:
        await control.set_failure_status("later", retry_back_off_ms=200, variables={"b": 2})

    worker = stage.worker(exception_handler=handle)

    @worker.task(task_type=stage.type)
    async def task(job: Job) -> None:
        stage.ended.put_nowait(dict(job.variables))
        if "b" not in job.variables:
            raise RuntimeError("not yet")

    expect(await stage.worked(worker, 2), [{"a": 1}, {"a": 1, "b": 2}])


@scenario("a task is given the variables that it names")
async def _(stage: Stage) -> None:
    await stage.start({"a": 1, "b": 2})
    worker = stage.worker()

    @worker.task(task_type=stage.type, variables_to_fetch=["b"])
    async def task(job: Job, b: int) -> None:
        stage.ended.put_nowait(dict(job.variables))

    expect(await stage.worked(worker), [{"b": 2}])


@scenario("a router brings the tasks of a worker")
async def _(stage: Stage) -> None:
    await stage.start()
    router = ZeebeTaskRouter()

    @router.task(task_type=stage.type)
    async def task(job: Job) -> None:
        stage.ended.put_nowait(job.type)

    worker = stage.worker()
    worker.include_router(router)
    expect(await stage.worked(worker), [stage.type])


@scenario("a streaming worker is pushed its jobs")
async def _(stage: Stage) -> None:
    worker = stage.worker(stream_enabled=True)

    @worker.task(task_type=stage.type)
    async def task(n: int) -> None:
        stage.ended.put_nowait(n)

    working = asyncio.create_task(worker.work())
    for number in range(5):
        await stage.start({"n": number})
    expect(sorted([await stage.ended.get() for _ in range(5)]), [0, 1, 2, 3, 4])
    await worker.stop()
    working.cancel()


@scenario("fifty jobs are done once each")
async def _(stage: Stage) -> None:
    keys = {await stage.start({"n": number}) for number in range(50)}
    worker = stage.worker()

    @worker.task(task_type=stage.type)
    async def task(job: Job) -> None:
        stage.ended.put_nowait(job.key)

    done = await stage.worked(worker, 50)
    expect((len(done), set(done)), (50, keys))


@scenario("a late completion is accepted once")
async def _(stage: Stage) -> None:
    key = await stage.start()
    first = [job async for job in _activated(stage, timeout=200)]
    again = [job async for job in _activated(stage, timeout=200)]
    expect([job.key for job in (*first, *again)], [key, key])
    await stage.adapter.complete_job(key, {})
    await refused(Exception, stage.adapter.complete_job(key, {}))


def _activated(stage: Stage, timeout: int) -> Any:
    return stage.adapter.activate_jobs(stage.type, "w", timeout, 1, [], 5000)


@scenario("a late failure is refused")
async def _(stage: Stage) -> None:
    key = await stage.start()
    expect([job.key async for job in _activated(stage, timeout=200)], [key])
    await asyncio.sleep(0.7)
    failing = stage.adapter.fail_job(key, 1, "no", 0, {})
    await refused(JobAlreadyDeactivatedError, failing)


@scenario("an instance is cancelled once")
async def _(stage: Stage) -> None:
    key = await stage.start()
    await stage.client.cancel_process_instance(key)
    await refused(ProcessInstanceNotFoundError, stage.client.cancel_process_instance(key))


@scenario("what needs an engine is refused with a sentence")
async def _(stage: Stage) -> None:
    error = await refused(
        UnknownGrpcStatusCodeError, stage.client.publish_message("name", "correlation")
    )
    expect("BPMN engine" in repr(error.grpc_error.details()), True)  # type: ignore[attr-defined]


@scenario("a job that was enqueued over HTTP is done")
async def _(stage: Stage) -> None:
    body = json.dumps({"type": stage.type, "args": [{"to": "a@example.org"}], "queue": "letters"})
    headers = {"Content-Type": "application/json"}
    if KEY is not None:
        headers["Authorization"] = f"Bearer {KEY}"
    request = urllib.request.Request(f"{URL}/ojs/v1/jobs", body.encode(), headers)
    await asyncio.to_thread(lambda: urllib.request.urlopen(request).read())
    worker = stage.worker()

    @worker.task(task_type=stage.type)
    async def task(to: str) -> None:
        stage.ended.put_nowait(to)

    expect(await stage.worked(worker), ["a@example.org"])


@scenario("a type of several words is done")
async def _(stage: Stage) -> None:
    stage.type = f"Send Email {stage.type}"
    key = await stage.start({"a": 1})
    worker = stage.worker()

    @worker.task(task_type=stage.type)
    async def task(job: Job, a: int) -> None:
        stage.ended.put_nowait((job.key, job.type, a))

    expect(await stage.worked(worker), [(key, stage.type, 1)])


@scenario("a completion that is too large is an incident")
async def _(stage: Stage) -> None:
    key = await stage.start({"a": "x" * 900_000})
    expect([job.key async for job in _activated(stage, timeout=200)], [key])
    error = await refused(
        ZeebeBackPressureError, stage.adapter.complete_job(key, {"b": "y" * 1_100_000})
    )
    expect("is an incident" in repr(error.grpc_error.details()), True)  # type: ignore[attr-defined]
    await asyncio.sleep(0.7)
    await refused(JobAlreadyDeactivatedError, stage.adapter.complete_job(key, {}))


async def main() -> None:
    """Play all, a few at a time."""
    places = asyncio.Semaphore(AT_ONCE)

    async def play(number: int, name: str) -> None:
        async with places:
            error = None
            try:
                async with asyncio.timeout(LIMIT_S):
                    await SCENARIOS[name](Stage(number))
            except Exception:
                error = traceback.format_exc()
            print(json.dumps({"scenario": name, "error": error}), flush=True)

    await asyncio.gather(*(play(number, name) for number, name in enumerate(SCENARIOS)))


asyncio.run(main())
