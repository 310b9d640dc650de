"""Workers of the workflow engine Zeebe: one test for each row of what they count on."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from ojs_wire.codec import decode, encode
from ojs_worker import Client, chain
from ojs_worker.job import Job
from ojs_worker.transport import Request
from ojs_worker.zeebe import (
    AlreadyCompleted,
    BlockingZeebeJob,
    BpmnError,
    LeaseExpired,
    ZeebeClient,
    ZeebeJob,
)
from tests.systems.world import World, serving, until

Run = Callable[[ZeebeClient], AbstractAsyncContextManager[ZeebeClient]]
QUICK: dict[str, Any] = {"heartbeat_interval": 0.3, "poll_interval": 0.02}


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    """A server with the profile of this system."""
    async with serving(store_url, "zeebe") as made:
        yield made


@pytest.fixture
def client(world: World) -> ZeebeClient:
    """A client without workers yet."""
    return ZeebeClient(transport=world.transport)


class Hands:
    """A handler that keeps its jobs until the test decides on them."""

    def __init__(self) -> None:
        self.jobs: list[ZeebeJob] = []
        self.free = asyncio.Event()

    async def __call__(self, job: ZeebeJob) -> None:
        self.jobs.append(job)
        await self.free.wait()

    async def have(self, count: int) -> None:
        """Wait for so many jobs."""
        await until(lambda: len(self.jobs) >= count)


def hand(client: ZeebeClient, task_type: str = "slow", **options: Any) -> Hands:
    """A worker whose handler keeps its jobs."""
    hands = Hands()

    async def handler(job: ZeebeJob) -> None:
        await hands(job)

    client.create_worker(task_type, handler, **{**QUICK, **options})
    return hands


@asynccontextmanager
async def two(world: World) -> AsyncIterator[tuple[Hands, Hands, Job]]:
    """Return a job that one worker has lost by its timeout and a second one holds."""
    first, second = (ZeebeClient(transport=world.transport) for _ in range(2))
    hands, others = hand(first, max_jobs=1), hand(second, max_jobs=1)
    job = await first.create_job("slow")
    async with first:
        await hands.have(1)
        async with second:
            await world.pass_time(60)
            await others.have(1)
            try:
                yield hands, others, job
            finally:
                hands.free.set()
                others.free.set()


async def test_2_1_a_worker_is_for_one_task_type(world: World, client: ZeebeClient) -> None:
    done: list[str] = []

    async def handler(job: ZeebeJob) -> None:
        done.append(job.type)

    worker = client.create_worker("mine", handler, **QUICK)
    other = await client.create_job("other")
    mine = await client.create_job("mine")
    async with client:
        await client.result(mine, timeout_s=20)
    assert (worker.task_type, done) == ("mine", ["mine"])
    assert (await world.job(other.id)).state == "available"


async def test_2_2_a_job_is_a_step_of_a_running_workflow(world: World, client: ZeebeClient) -> None:
    seen: list[tuple[str | None, dict[str, Any]]] = []

    async def handler(job: ZeebeJob) -> dict[str, Any]:
        seen.append((job.process_instance_key, job.variables))
        return {job.type: True, "last": job.type}

    for task_type in ("first", "second"):
        client.create_worker(task_type, handler, **QUICK)
    jobs = Client(transport=world.transport)
    steps = [jobs.request(name, [{"order": 7}]) for name in ("first", "second")]
    flow = await jobs.start(chain(*steps))
    async with client:
        await until(lambda: len(seen) == 2)
    assert seen[0] == (flow.id, {"order": 7})
    # Variables of the steps before are newer than those that the step was started with.
    assert seen[1] == (flow.id, {"order": 7, "first": True, "last": "first"})


async def test_2_3_workers_poll_on_and_on(client: ZeebeClient) -> None:
    client.create_worker("a", _nothing, max_jobs=1, **QUICK)
    async with client:
        for _ in range(3):
            assert await client.result(await client.create_job("a", {"n": 1})) == {"n": 1}


async def test_2_4_a_held_request_is_answered_as_soon_as_a_job_appears(world: World) -> None:
    asked = {"queues": ["default"], "job_types": ["a"], "worker_id": "w", "wait_ms": 600_000}
    held = asyncio.create_task(world.call("POST", "/ojs/v1/workers/fetch", asked))
    await until(lambda: len(world.server.engine.wakeups) == 1)
    assert not held.done()
    await ZeebeClient(transport=world.transport).create_job("a")
    async with asyncio.timeout(20):
        assert len((await held)["jobs"]) == 1


@pytest.mark.parametrize("accept", ["*/*", "application/x-ndjson"])
async def test_2_5_jobs_come_many_at_once(world: World, client: ZeebeClient, accept: str) -> None:
    jobs = [await client.create_job("a", {"text": "one\ntwo"}) for _ in range(3)]
    asked = {"queues": ["default"], "job_types": ["a"], "worker_id": "w", "count": 32}
    headers = {"Accept": accept}
    reply = await world.transport.send(
        Request("POST", "/ojs/v1/workers/fetch", encode(asked), headers)
    )
    if accept == "*/*":
        found = decode(reply.body)["jobs"]
    else:
        found = [decode(line) for line in reply.body.splitlines()]
    assert [one["id"] for one in found] == [job.id for job in jobs]


async def test_2_6_freed_capacity_asks_again(client: ZeebeClient) -> None:
    hands = hand(client, max_jobs=2)
    jobs = [await client.create_job("slow") for _ in range(3)]
    async with client:
        await hands.have(2)
        hands.free.set()
        for job in jobs:
            await client.result(job, timeout_s=20)


async def test_2_7_the_length_of_a_poll_is_configurable(world: World, client: ZeebeClient) -> None:
    first = client.create_worker("a", _nothing).worker.config()
    second = client.create_worker("b", _nothing, long_poll=600).worker.config()
    assert (first.long_poll_s, second.long_poll_s) == (30, 600)
    limits = (await world.call("GET", "/ojs/manifest"))["limits"]
    assert limits["max_wait_ms"] == 600_000
    await client.create_job("a")
    asked = {"queues": ["default"], "wait_ms": 700_000}
    answer = await world.call("POST", "/ojs/v1/workers/fetch", asked)
    assert answer["granted_wait_ms"] == 600_000


async def test_2_8_32_jobs_at_once_unless_said_otherwise(client: ZeebeClient) -> None:
    hands = hand(client)
    for _ in range(40):
        await client.create_job("slow")
    async with client:
        await hands.have(32)
        assert len(hands.jobs) == 32
        hands.free.set()
        await hands.have(40)


async def test_2_9_the_worker_states_the_timeout(world: World, client: ZeebeClient) -> None:
    hands = hand(client, timeout=7)
    usual = hand(client, "usual")
    await client.create_job("slow")
    await client.create_job("usual")
    async with client:
        await hands.have(1)
        await usual.have(1)
        leases = [await _lease_ms(world, one.jobs[0].key) for one in (hands, usual)]
        hands.free.set()
        usual.free.set()
    assert leases == [7_000, 60_000]


async def test_2_10_expiry_is_seen_by_a_look_that_comes_often(store_url: str) -> None:
    async with serving(store_url, "zeebe") as world:
        client = ZeebeClient(transport=world.transport)
        hands = hand(client)
        job = await client.create_job("slow")
        async with client:
            await hands.have(1)
            assert (await world.pass_time(59.9)).lapsed == 0
            assert (await world.pass_time(0.1)).lapsed == 1
            hands.free.set()
        assert "job.failed" in await world.event_types(job.id)


async def test_2_11_the_client_does_not_manage_the_timeout(world: World) -> None:
    client = ZeebeClient(transport=world.transport)
    hands = hand(client)
    await client.create_job("slow")
    async with client:
        await hands.have(1)
        key = hands.jobs[0].key
        before = await _expiry(world, key)
        await world.pass_time(30)
        beaten = (await world.event_types(key)).count("job.heartbeat")
        await until(lambda: _beat_at(world, hands.jobs[0].worker, world.clock.now))
        assert await _expiry(world, key) == before
        assert (await world.event_types(key)).count("job.heartbeat") == beaten == 0
        hands.free.set()


async def test_2_12_a_late_completion_is_accepted(world: World, client: ZeebeClient) -> None:
    hands = hand(client, max_jobs=1)
    job = await client.create_job("slow", {"a": 1})
    async with client:
        await hands.have(1)
        await world.pass_time(60)
        assert (await world.job(job.id)).state == "available"
        await hands.jobs[0].complete({"b": 2})
        hands.free.set()
    assert await client.result(job) == {"a": 1, "b": 2}


async def test_2_13_a_completion_after_somebody_elses_is_an_error(world: World) -> None:
    async with two(world) as (first, second, _):
        await second.jobs[0].complete()
        with pytest.raises(AlreadyCompleted):
            await first.jobs[0].complete()


async def test_2_14_the_first_may_finish_while_the_second_runs(world: World) -> None:
    async with two(world) as (first, second, job):
        await first.jobs[0].complete({"by": "first"})
        assert await _lease_ms(world, job.id) is None
        with pytest.raises(AlreadyCompleted):
            await second.jobs[0].complete({"by": "second"})
        assert await ZeebeClient(transport=world.transport).result(job) == {"by": "first"}


async def test_2_15_the_timeout_is_not_the_time_that_work_may_take(world: World) -> None:
    client = ZeebeClient(transport=world.transport)
    hands = hand(client, max_jobs=1, timeout=1)
    job = await client.create_job("slow")
    async with client:
        await hands.have(1)
        await world.pass_time(3600)
        assert not hands.free.is_set()
        hands.free.set()
        assert await client.result(job, timeout_s=20) == {}


async def test_2_16_work_is_done_at_least_once(world: World) -> None:
    async with two(world) as (first, second, _):
        (one,), (again,) = first.jobs, second.jobs
        assert one.key == again.key
        assert one.retries == again.retries == 3


async def test_2_17_the_server_learns_only_by_reports(world: World, client: ZeebeClient) -> None:
    hands = hand(client)
    job = await client.create_job("slow")
    async with client:
        await hands.have(1)
        assert (await world.job(job.id)).state == "active"
        await hands.jobs[0].complete()
        assert (await world.job(job.id)).state == "completed"
        hands.free.set()


async def test_2_18_a_late_failure_is_always_an_error(world: World) -> None:
    async with two(world) as (first, second, job):
        with pytest.raises(LeaseExpired):
            await first.jobs[0].fail("too late")
        assert (await world.job(job.id)).state == "active"
        await second.jobs[0].complete()


async def test_2_19_silence_alone_takes_no_job(world: World) -> None:
    await world.call("POST", "/ojs/v1/workers/register", {"worker_id": "w"})
    job = await ZeebeClient(transport=world.transport).create_job("a")
    asked = {"queues": ["default"], "worker_id": "w", "visibility_timeout_ms": 3_600_000}
    await world.call("POST", "/ojs/v1/workers/fetch", asked)
    swept = await world.pass_time(3599)
    assert (swept.dead, swept.lapsed) == (0, 0)
    assert (await world.job(job.id)).state == "active"


async def test_2_20_a_slow_worker_finishes_eventually(world: World) -> None:
    """200 seconds of work, a timeout of 60, three attempts: the first worker completes it."""
    clients = [ZeebeClient(transport=world.transport) for _ in range(4)]
    hands = [hand(one, max_jobs=1) for one in clients]
    job = await clients[0].create_job("slow", retries=3)
    async with clients[0], clients[1], clients[2], clients[3]:
        for given in range(1, 4):
            await _given(hands, given)
            await world.pass_time(60)
        await _given(hands, 4)
        await world.pass_time(20)
        lost = [one.jobs[0] for one in hands]
        assert {one.retries for one in lost} == {3}
        await lost[0].complete()
        for one in hands:
            one.free.set()
    assert (await world.job(job.id)).state == "completed"


async def test_2_21_what_comes_too_late_raises_in_the_workers_code(world: World) -> None:
    first, second = (ZeebeClient(transport=world.transport) for _ in range(2))
    hands, others = hand(first, max_jobs=1), hand(second, max_jobs=1)
    await first.create_job("slow")
    async with first:
        await hands.have(1)
        async with second:
            await world.pass_time(60)
            await others.have(1)
            await others.jobs[0].complete()
            # The first worker's handler returns too late, and there is no caller to raise to.
            hands.free.set()
            await until(lambda: first.workers[0].too_late == 1)
            others.free.set()
    assert second.workers[0].too_late == 0


async def test_2_22_one_client_makes_many_workers(world: World, client: ZeebeClient) -> None:
    kinds = {"a": {"timeout": 5, "max_jobs": 1}, "b": {"timeout": 9, "max_jobs": 2}}
    hands = {name: hand(client, name, **options) for name, options in kinds.items()}
    for name in ("a", "a", "b", "b", "b"):
        await client.create_job(name)
    async with client:
        await hands["a"].have(1)
        await hands["b"].have(2)
        held = {name: [job.worker for job in one.jobs] for name, one in hands.items()}
        leases = [await _lease_ms(world, hands[name].jobs[0].key) for name in kinds]
        for one in hands.values():
            one.free.set()
    assert leases == [5_000, 9_000]
    assert [len(held["a"]), len(held["b"])] == [1, 2]
    assert len({*held["a"], *held["b"]}) == 2


# Expectations of the system's users beyond the rows.


async def test_variables_go_in_and_are_merged_out(client: ZeebeClient) -> None:
    seen: list[ZeebeJob] = []

    async def handler(job: ZeebeJob) -> dict[str, Any]:
        seen.append(job)
        return {"b": 3}

    client.create_worker("a", handler, **QUICK)
    client.create_worker("few", handler, fetch_variables=["b"], **QUICK)
    given, headers = {"a": 1, "b": 2}, {"method": "post"}
    async with client:
        job = await client.create_job("a", given, custom_headers=headers)
        assert await client.result(job, timeout_s=20) == {"a": 1, "b": 3}
        few = await client.create_job("few", given)
        # A worker that is given few variables leaves the others as they are.
        assert await client.result(few, timeout_s=20) == {"a": 1, "b": 3}
    assert (seen[0].custom_headers, seen[1].custom_headers) == (headers, {})
    assert [one.variables for one in seen] == [given, {"b": 2}]


@pytest.mark.parametrize("task_type", ["getCustomer", "Send Email"])
async def test_task_types_are_any_text(client: ZeebeClient, task_type: str) -> None:
    async def handler(job: ZeebeJob) -> dict[str, Any]:
        return {"type": job.type}

    client.create_worker(task_type, handler, **QUICK)
    async with client:
        job = await client.create_job(task_type)
        assert await client.result(job, timeout_s=20) == {"type": task_type}


async def test_a_completion_counts_by_its_own_variables(client: ZeebeClient) -> None:
    given, brought = {"a": "x" * 900_000}, {"b": "y" * 300_000}

    async def handler(job: ZeebeJob) -> dict[str, Any]:
        return brought

    client.create_worker("a", handler, **QUICK)
    async with client:
        job = await client.create_job("a", given)
        assert await client.result(job, timeout_s=20) == {**given, **brought}


async def test_a_failure_says_retries_and_backoff_until_there_is_an_incident(
    world: World, client: ZeebeClient
) -> None:
    left: list[int] = []

    async def handler(job: ZeebeJob) -> None:
        left.append(job.retries)
        await job.fail("busy", retries=7 if len(left) == 1 else job.retries - 4, backoff=5)

    client.create_worker("a", handler, **QUICK)
    job = await client.create_job("a")
    async with client:
        for state in ("retryable", "retryable", "discarded"):
            await _until(world, job, state)
            await world.pass_time(5)
    assert left == [3, 7, 3]
    found = await world.call("GET", f"/ojs/v1/dead-letter/{job.id}")
    assert found["job"]["error"]["type"] == "incident"


async def test_an_error_of_the_business_ends_the_job(world: World, client: ZeebeClient) -> None:
    async def says(job: ZeebeJob) -> None:
        await job.error("NO_FUNDS", "the card is empty", {"left": 0})

    async def raises(_: ZeebeJob) -> None:
        raise BpmnError("NO_FUNDS", variables={"left": 0})

    client.create_worker("says", says, **QUICK)
    client.create_worker("raises", raises, **QUICK)
    async with client:
        for name in ("says", "raises"):
            job = await client.create_job(name)
            await _until(world, job, "discarded")
            shown = (await world.call("GET", f"/ojs/v1/jobs/{job.id}"))["job"]
            assert shown["error"]["type"] == "NO_FUNDS"
            assert shown["error"]["details"]["variables"] == {"left": 0}


async def test_an_exception_costs_a_retry(world: World, client: ZeebeClient) -> None:
    async def handler(_: ZeebeJob) -> None:
        raise ValueError("no")

    client.create_worker("a", handler, **QUICK)
    job = await client.create_job("a", retries=1)
    async with client:
        await _until(world, job, "discarded")


async def test_the_timeout_of_a_running_job_is_changed(world: World, client: ZeebeClient) -> None:
    hands = hand(client, max_jobs=1)
    await client.create_job("slow")
    async with client:
        await hands.have(1)
        (job,) = hands.jobs
        await job.update_timeout("10m")
        assert await _expiry(world, job.key) == world.clock.now + 600_000
        await job.complete()
        with pytest.raises(AlreadyCompleted):
            await job.update_timeout(1)
        with pytest.raises(RuntimeError, match="settled already"):
            await job.complete()
        hands.free.set()


async def test_a_handler_in_a_thread_has_the_same_words(world: World, client: ZeebeClient) -> None:
    threads: list[str] = []

    def handler(job: BlockingZeebeJob) -> None:
        threads.append(threading.current_thread().name)
        job.update_timeout(90)
        if "code" in job.variables:
            job.error(job.variables["code"])
        elif "wrong" in job.variables:
            job.fail("no", retries=0)
        else:
            job.complete({"done": True})

    client.create_worker("a", handler, **QUICK)
    async with client:
        done = await client.create_job("a")
        assert await client.result(done, timeout_s=20) == {"done": True}
        for variables in ({"code": "X"}, {"wrong": 1}):
            job = await client.create_job("a", variables)
            await _until(world, job, "discarded")
    assert threading.main_thread().name not in threads


async def test_a_lost_job_may_be_stopped(world: World, client: ZeebeClient) -> None:
    held, stopped = asyncio.Event(), asyncio.Event()

    async def handler(_: ZeebeJob) -> None:
        held.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    client.create_worker("slow", handler, stop_lost=True, max_jobs=1, **QUICK)
    await client.create_job("slow")
    async with client:
        await held.wait()
        await world.pass_time(60)
        async with asyncio.timeout(20):
            await stopped.wait()
        # It may have come again by now, and would keep the worker from ending.
        for life in client._lives:
            life.engine.force()


async def _given(hands: list[Hands], count: int) -> None:
    await until(lambda: sum(len(one.jobs) for one in hands) == count)


async def _nothing(job: ZeebeJob) -> None:
    """A handler that leaves the variables as they are."""


async def _until(world: World, job: Job, state: str) -> None:
    async def there() -> bool:
        return (await world.job(job.id)).state == state

    await until(there)


async def _beat_at(world: World, worker_id: str | None, moment: int) -> bool:
    assert worker_id is not None
    (load,) = await world.server.engine.read(lambda reader: reader.workers([worker_id]))
    return load.worker.beat_at == moment


async def _lease_ms(world: World, job_id: str) -> int | None:
    found = await world.server.engine.read(lambda reader: reader.job(job_id))
    assert found is not None
    return None if found[1] is None else found[1].duration_ms


async def _expiry(world: World, job_id: str) -> int:
    found = await world.server.engine.read(lambda reader: reader.job(job_id))
    assert found is not None
    assert found[1] is not None
    return found[1].expires_at
