"""Heartbeats, and the tasks and jobs of workers that leave."""

from typing import Any

import pytest

from ojs_server.domain.profile import PROFILES
from ojs_server.http.workers import sessions
from ojs_worker.errors import Unreachable
from ojs_worker.jobmanager import JobManagerClient
from ojs_worker.transport import Request
from tests.systems.jobmanager.workers import (
    ROOM,
    Rotate,
    Scale,
    call,
    claim_by_hand,
    claimed,
    has_beaten,
    held,
    in_thread,
    manager,
    put,
    status,
)
from tests.systems.world import World, until


async def test_1_7_the_heartbeat_is_a_patch(world: World) -> None:
    made = await put(world)
    beaten = await call(world, "PATCH", f"/workers/{made['worker_id']}", {})
    assert beaten["id"] == made["worker_id"]
    assert beaten["last_heartbeat"]
    assert PROFILES["jobmanager"].heartbeat_interval_ms == 30_000


async def test_1_23_deleting_a_worker_fails_its_tasks_and_its_orphans_go(
    world: World, client: JobManagerClient
) -> None:
    made = await put(world)
    other = await put(world, "Scale")
    await put(world, "Scale", worker_id=made["worker_id"])
    task = await client.submit(ROOM, "modifiers:Rotate")
    await claimed(world, made["worker_id"])
    await call(world, "DELETE", f"/workers/{made['worker_id']}", status=204)
    assert await status(world, task) == "failed"
    (left,) = await client.list_jobs(ROOM)
    assert (left.name, left.workers) == ("Scale", [other["worker_id"]])
    assert "job_types.changed" in await world.event_types(ROOM)


@pytest.mark.parametrize("swept", [False, True])
async def test_1_24_the_error_says_that_the_worker_went(
    world: World, client: JobManagerClient, swept: bool
) -> None:
    worker_id, task = await held(world, client)
    if swept:
        await world.pass_time(60)
    else:
        await call(world, "DELETE", f"/workers/{worker_id}", status=204)
    assert (await client.task(task.id)).error == "Worker disconnected"


async def test_1_25_a_silent_worker_is_swept_after_a_minute(
    world: World, client: JobManagerClient
) -> None:
    _, task = await held(world, client)
    assert (await world.pass_time(59)).dead == 0
    assert (await world.pass_time(1)).dead == 1
    assert await status(world, task) == "failed"
    assert await client.list_jobs(ROOM) == []


async def test_1_26_a_dropped_connection_ends_the_worker_within_seconds(watched: World) -> None:
    worker_id, task = await held(watched, JobManagerClient(transport=watched.transport))
    session = watched.transport.stream(Request("GET", f"/ojs/v1/workers/{worker_id}/session"))
    assert b"session.opened" in await anext(session)
    await call(watched, "PATCH", f"/workers/{worker_id}", {})
    await session.aclose()
    await until(lambda: len(watched.server.engine.log_reader) == 0)
    assert (await watched.pass_time(4.9)).dead == 0
    assert (await watched.pass_time(0.1)).dead == 1
    ended = await call(watched, "GET", f"/tasks/{task.id}")
    assert (ended["status"], ended["error"]) == ("failed", "Worker disconnected")
    await call(watched, "PATCH", f"/workers/{worker_id}", {}, status=404)


async def test_1_26_a_worker_holds_a_session_under_whatever_id_it_has(
    watched: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "HEARTBEAT_S", 0.02)
    async with manager(watched) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        first = worker.worker_id
        await until(lambda: is_held(watched, first))
        await call(watched, "DELETE", f"/workers/{first}", status=204)
        assert await in_thread(worker.claim) is None
        assert worker.worker_id not in (first, None)
        await until(lambda: is_held(watched, worker.worker_id))
    await until(lambda: len(watched.server.engine.log_reader) == 0)


async def test_1_26_without_sessions_only_silence_tells(world: World) -> None:
    made = await put(world)
    await world.call("GET", f"/ojs/v1/workers/{made['worker_id']}/session", status=404)
    assert (await world.pass_time(60)).dead == 1
    await call(world, "PATCH", f"/workers/{made['worker_id']}", {}, status=404)


async def is_held(world: World, worker_id: str | None) -> bool:
    """Return True if the worker has opened a session."""
    assert worker_id is not None
    (load,) = await world.server.engine.read(lambda reader: reader.workers([worker_id]))
    return load.worker.session > 0


@pytest.mark.parametrize(("goes", "latency_s"), [("DELETE", 0), ("silence", 60)])
async def test_1_27_how_long_until_a_task_fails(
    world: World, client: JobManagerClient, goes: str, latency_s: int
) -> None:
    worker_id, task = await held(world, client)
    if goes == "DELETE":
        await call(world, "DELETE", f"/workers/{worker_id}", status=204)
    await world.pass_time(latency_s)
    assert await status(world, task) == "failed"


async def test_1_29_changes_are_told_after_they_are_made(
    world: World, client: JobManagerClient
) -> None:
    worker_id, task = await held(world, client)
    await call(world, "DELETE", f"/workers/{worker_id}", status=204)
    assert await world.event_types(ROOM) == ["job_types.changed"] * 2
    assert (await world.event_types(task.id))[:3] == ["job.enqueued", "job.started", "job.failed"]
    assert (await world.event_types(worker_id))[0] == "worker.started"


async def test_1_30_what_a_worker_says_of_itself_goes_with_it(world: World) -> None:
    said = {"metadata": {"providers": ["camera"]}}
    made = await world.call("POST", "/ojs/v1/workers/register", said)
    path = f"/workers/{made['worker_id']}"
    seen = await world.call("GET", f"/ojs/v1{path}")
    assert seen["worker"]["metadata"] == said["metadata"]
    await call(world, "DELETE", path, status=204)
    await call(world, "PATCH", path, {}, status=404)


async def test_1_33_heartbeats_alone_keep_a_task_of_45_minutes(
    world: World, client: JobManagerClient
) -> None:
    worker_id, task = await held(world, client)
    for _ in range(54):
        await world.pass_time(50)
        await call(world, "PATCH", f"/workers/{worker_id}")
    assert await status(world, task) == "claimed"


async def test_1_37_killed_before_its_first_heartbeat_it_is_swept(world: World) -> None:
    async with manager(world, heartbeat_interval=600) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        assert not await has_beaten(world, worker.worker_id)
        assert (await world.pass_time(60)).dead == 1


async def test_1_40_a_forgotten_worker_registers_anew(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        first = worker.worker_id
        assert (await world.pass_time(60)).dead == 1
        for path, body in (("/tasks/claim", {"worker_id": first}), (f"/workers/{first}", {})):
            method = "POST" if path == "/tasks/claim" else "PATCH"
            await call(world, method, path, body, status=404)
        assert await in_thread(worker.claim) is None
        assert worker.worker_id not in (first, None)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await in_thread(claim_by_hand, worker)).id == task.id


async def test_1_40_coming_back_is_tried_until_all_jobs_are_there(
    world: World, client: JobManagerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_job = JobManagerClient.put_job
    failures = [Unreachable("no answer", sent=False)]

    async def failing(self: JobManagerClient, room: str, name: str, *more: Any) -> Any:
        if name == "Scale" and failures:
            raise failures.pop()
        return await put_job(self, room, name, *more)

    async with manager(world) as worker:
        for job in (Rotate, Scale):
            await in_thread(worker.register, job, room=ROOM)
        assert (await world.pass_time(60)).dead == 1
        monkeypatch.setattr(JobManagerClient, "put_job", failing)
        with pytest.raises(Unreachable):
            await in_thread(worker.claim)
        assert await in_thread(worker.claim) is None
        offered = [
            job.name for job in await client.list_jobs(ROOM) if worker.worker_id in job.workers
        ]
    assert sorted(offered) == ["Rotate", "Scale"]
