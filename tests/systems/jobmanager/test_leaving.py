"""Heartbeats, and what becomes of the tasks and jobs of workers that go."""

import pytest

from ojs_worker.jobmanager import JobManagerClient
from tests.systems.jobmanager.workers import (
    ROOM,
    Rotate,
    aside,
    claim_by_hand,
    claimed,
    has_beaten,
    held,
    manager,
    put,
    status,
)
from tests.systems.world import World


async def test_1_7_the_heartbeat_is_a_patch(world: World) -> None:
    made = await put(world)
    assert made["heartbeat_interval"] == 30
    beaten = await world.call("PATCH", f"/workers/{made['worker_id']}", {})
    assert beaten["last_heartbeat_at"]


async def test_1_23_deleting_a_worker_fails_its_tasks_and_its_orphans_go(
    world: World, client: JobManagerClient
) -> None:
    made = await put(world)
    other = await put(world, "Scale")
    await put(world, "Scale", worker_id=made["worker_id"])
    task = await client.submit(ROOM, "modifiers:Rotate")
    await claimed(world, made["worker_id"])
    await world.call("DELETE", f"/workers/{made['worker_id']}")
    assert await status(world, task) == "failed"
    (left,) = await client.list_jobs(ROOM)
    assert (left.name, left.workers) == ("Scale", [other["worker_id"]])
    assert "job_types.changed" in await world.told(ROOM)


@pytest.mark.parametrize("swept", [False, True])
async def test_1_24_the_error_says_that_the_worker_went(
    world: World, client: JobManagerClient, swept: bool
) -> None:
    worker_id, task = await held(world, client)
    if swept:
        await world.pass_time(60)
    else:
        await world.call("DELETE", f"/workers/{worker_id}")
    assert (await client.task(task.id)).error == "Worker disconnected"


async def test_1_25_a_silent_worker_is_swept_after_a_minute(
    world: World, client: JobManagerClient
) -> None:
    _, task = await held(world, client)
    assert (await world.pass_time(59)).dead == 0
    assert (await world.pass_time(1)).dead == 1
    assert await status(world, task) == "failed"
    assert await client.list_jobs(ROOM) == []


async def test_1_26_a_dropped_connection_is_found_by_its_silence(world: World) -> None:
    made = await put(world)
    assert (await world.pass_time(60)).dead == 1
    await world.call("PATCH", f"/workers/{made['worker_id']}", {}, status=404)


@pytest.mark.parametrize(("goes", "latency_s"), [("DELETE", 0), ("silence", 60)])
async def test_1_27_how_long_until_a_task_fails(
    world: World, client: JobManagerClient, goes: str, latency_s: int
) -> None:
    worker_id, task = await held(world, client)
    if goes == "DELETE":
        await world.call("DELETE", f"/workers/{worker_id}")
    await world.pass_time(latency_s)
    assert await status(world, task) == "failed"


async def test_1_29_changes_are_told_after_they_are_made(
    world: World, client: JobManagerClient
) -> None:
    worker_id, task = await held(world, client)
    await world.call("DELETE", f"/workers/{worker_id}")
    assert await world.told(ROOM) == ["job_types.changed"] * 2
    assert (await world.told(task.id))[:3] == ["job.enqueued", "job.started", "job.failed"]
    assert (await world.told(worker_id))[0] == "worker.started"


async def test_1_30_what_a_worker_says_of_itself_goes_with_it(world: World) -> None:
    said = {"metadata": {"providers": ["camera"]}}
    made = await world.call("POST", "/workers/register", said)
    path = f"/workers/{made['worker_id']}"
    assert (await world.call("GET", path))["worker"]["metadata"] == said["metadata"]
    await world.call("DELETE", path)
    await world.call("PATCH", path, {}, status=404)


async def test_1_33_heartbeats_alone_keep_a_task_of_45_minutes(
    world: World, client: JobManagerClient
) -> None:
    worker_id, task = await held(world, client)
    for _ in range(54):
        await world.pass_time(50)
        await world.call("PATCH", f"/workers/{worker_id}")
    assert await status(world, task) == "claimed"


async def test_1_37_killed_before_its_first_heartbeat_it_is_swept(world: World) -> None:
    async with manager(world, heartbeat_interval=600) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        assert not await has_beaten(world, worker.worker_id)
        assert (await world.pass_time(60)).dead == 1


async def test_1_40_a_forgotten_worker_registers_anew(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        first = worker.worker_id
        assert (await world.pass_time(60)).dead == 1
        for path, body in (("/tasks/claim", {"worker_id": first}), (f"/workers/{first}", {})):
            method = "POST" if path == "/tasks/claim" else "PATCH"
            await world.call(method, path, body, status=404)
        assert await aside(worker.claim) is None
        assert worker.worker_id not in (first, None)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await aside(claim_by_hand, worker)).id == task.id
