"""Serving: how a worker comes to its tasks, and how it ends."""

import asyncio
import os
import signal
import threading
from typing import Any

import pytest

from ojs_server.app import Application
from ojs_worker.errors import ServerTrouble, Unreachable
from ojs_worker.jobmanager import ClaimedTask, JobManager, JobManagerClient, Task
from ojs_worker.testing.asgi import AsgiTransport
from tests.http.listening import on_a_socket
from tests.systems.jobmanager.workers import (
    ROOM,
    OwnApi,
    Rotate,
    call,
    claim_by_hand,
    in_thread,
    manager,
    noted,
    own_signals,
    status,
)
from tests.systems.world import World, serving, until


async def test_1_11_serving_starts_with_the_first_register(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, execute=lambda task: task.id) as worker:
        assert worker.worker_id is None
        await in_thread(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await client.wait_for(task, timeout_s=20)).result == task.id


async def test_1_15_an_exception_fails_the_task(world: World, client: JobManagerClient) -> None:
    def execute(_: ClaimedTask) -> None:
        raise ValueError("too wide")

    async with manager(world, execute=execute) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        ended = await client.wait_for(task, timeout_s=20)
    assert (ended.status, ended.error) == ("failed", "too wide")


@pytest.mark.parametrize("result", [object(), "x" * (1 << 20)])
async def test_1_15_a_result_that_cannot_be_sent_fails_the_task(
    world: World, client: JobManagerClient, result: object
) -> None:
    async with manager(world, execute=lambda _: result) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        ended = await client.wait_for(await client.submit(ROOM, "modifiers:Rotate"), timeout_s=20)
    assert ended.status == "failed"
    assert "result" in str(ended.error)


async def test_1_16_no_thread_keeps_the_program_alive(world: World, client: Any) -> None:
    kinds: list[bool] = []

    def execute(_: ClaimedTask) -> None:
        kinds.append(threading.current_thread().daemon)

    async with manager(world, execute=execute) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        await client.wait_for(await client.submit(ROOM, "modifiers:Rotate"), timeout_s=20)
        loops = [one.daemon for one in threading.enumerate() if one.name == "ojs-loop"]
    assert kinds == [True]
    assert loops
    assert all(loops)


async def test_1_18_an_announced_task_wakes_the_claim_at_once(
    world: World, client: JobManagerClient
) -> None:
    async with on_a_socket(world.server) as url:
        done = threading.Event()
        with JobManager(url, execute=lambda _: done.set(), polling_interval=600) as worker:
            await in_thread(worker.register, Rotate, room=ROOM)
            await until(lambda: len(world.server.engine.log_reader) == 1)
            await client.submit(ROOM, "modifiers:Rotate")
            assert await in_thread(done.wait, 20)
            await in_thread(worker.disconnect)


async def test_1_19_a_lost_event_costs_time_only(world: World, client: JobManagerClient) -> None:
    async with manager(world, execute=lambda _: None, push=False) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await client.wait_for(task, timeout_s=20)).status == "completed"


async def test_1_20_one_task_follows_the_other_without_a_pause(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, execute=lambda _: None, polling_interval=0.05) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        await client.wait_for(await client.submit(ROOM, "modifiers:Rotate"), timeout_s=20)
        asked: list[float] = []
        worker._service.news = noted(asked)  # type: ignore[method-assign,assignment]
        await until(lambda: bool(asked))
        asked.clear()
        tasks = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(5)]
        await client.wait_for(tasks[-1], timeout_s=20)
        assert [await status(world, task) for task in tasks] == ["completed"] * 5


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("no answer", sent=True),
        ServerTrouble("away", status=503),
        RuntimeError("the program has no token just now"),
    ],
)
async def test_1_20_a_server_that_is_away_costs_no_task(
    world: World, client: JobManagerClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    claim, move = JobManagerClient.claim, JobManagerClient.move
    still = {"claim", "running", "completed"}

    def fail(what: str) -> None:
        if what in still:
            still.remove(what)
            raise error

    async def claiming(self: JobManagerClient, *given: Any) -> Any:
        fail("claim")
        return await claim(self, *given)

    async def moving(
        self: JobManagerClient, task: Task, status: str, *more: Any, **named: Any
    ) -> Any:
        fail(status)
        return await move(self, task, status, *more, **named)

    monkeypatch.setattr(JobManagerClient, "claim", claiming)
    monkeypatch.setattr(JobManagerClient, "move", moving)
    async with manager(world, execute=lambda task: task.id) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await client.wait_for(task, timeout_s=20)).result == task.id
    assert not still


async def test_1_21_waiting_obeys_signals_and_puts_old_handlers_back(store_url: str) -> None:
    async with serving(store_url, "jobmanager") as world:
        way = AsgiTransport(Application(world.server), loop=asyncio.get_running_loop())
        before = signal.getsignal(signal.SIGTERM)
        worker = JobManager(way, push=False)
        await in_thread(worker.register, Rotate, room=ROOM)
        waiting = asyncio.create_task(in_thread(worker.wait))
        await asyncio.sleep(0)
        assert not waiting.done()
        await in_thread(worker.disconnect)
        await waiting
        assert signal.getsignal(signal.SIGTERM) is before


def test_1_21_in_the_main_thread_a_signal_ends_the_wait() -> None:
    with own_signals() as before:
        worker = JobManager("http://127.0.0.1:9", push=False)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        worker.wait()
        assert [signal.getsignal(sig) for sig in before] == list(before.values())


async def test_1_22_disconnecting_waits_for_the_task_and_leaves(
    world: World, client: JobManagerClient
) -> None:
    begun, free = threading.Event(), threading.Event()

    def execute(_: ClaimedTask) -> None:
        begun.set()
        free.wait(20)

    async with manager(world, execute=execute) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        first, second = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(2)]
        await in_thread(begun.wait, 20)
        worker_id = worker.worker_id
        leaving = asyncio.create_task(in_thread(worker.disconnect))
        await asyncio.sleep(0.02)
        assert not leaving.done()
        free.set()
        await leaving
    assert [await status(world, one) for one in (first, second)] == ["completed", "pending"]
    await call(world, "PATCH", f"/workers/{worker_id}", {}, status=404)


async def test_1_28_an_api_object_of_the_program_works_as_it_is(
    world: World, client: JobManagerClient
) -> None:
    api = OwnApi(world)
    with JobManager(api, polling_interval=0.02) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        await client.submit(ROOM, "modifiers:Rotate", {"angle": 5})
        found = await in_thread(claim_by_hand, worker)
        assert found.extension.angle == 5
        await in_thread(worker.disconnect)
    assert api.asked > 3


async def test_1_31_tasks_are_done_one_by_one(world: World, client: JobManagerClient) -> None:
    running: list[int] = []
    most: list[int] = []

    def execute(_: ClaimedTask) -> None:
        running.append(1)
        most.append(len(running))
        running.pop()

    async with manager(world, execute=execute) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        tasks = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(4)]
        for task in tasks:
            await client.wait_for(task, timeout_s=20)
    assert most == [1] * 4
