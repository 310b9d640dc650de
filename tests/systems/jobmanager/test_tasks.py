"""Tasks: submission, claims, changes of status, and refusals."""

import asyncio
from typing import Any, Final

import pytest

from ojs_worker.errors import Conflict, Unreachable
from ojs_worker.jobmanager import JobManagerClient
from tests.systems.jobmanager.workers import (
    ROOM,
    ROTATE,
    Rotate,
    Scale,
    claim_by_hand,
    claimed,
    has_beaten,
    held,
    in_thread,
    loose,
    manager,
    path_of,
    put,
    status,
)
from tests.systems.world import World, until


async def test_1_8_a_claim_brings_the_oldest_task_of_all_jobs(
    world: World, client: JobManagerClient
) -> None:
    made = await put(world)
    assert await claimed(world, made["worker_id"]) is None
    await put(world, "Scale", worker_id=made["worker_id"])
    tasks = [
        await client.submit(ROOM, f"modifiers:{name}") for name in ("Scale", "Rotate", "Scale")
    ]
    brought = [await claimed(world, made["worker_id"]) for _ in tasks]
    assert [one["id"] for one in brought] == [task.id for task in tasks]


async def test_1_8_a_claim_whose_answer_was_lost_takes_no_other_task(
    world: World, client: JobManagerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, lost = JobManagerClient.claim, [Unreachable("no answer", sent=True)]

    async def losing(self: JobManagerClient, worker_id: str, fetch_id: str | None = None) -> Any:
        task = await claim(self, worker_id, fetch_id)
        if lost:
            raise lost.pop()
        return task

    monkeypatch.setattr(JobManagerClient, "claim", losing)
    async with manager(world) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        tasks = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(2)]
        with pytest.raises(Unreachable):
            await in_thread(worker.claim)
        found = [await in_thread(claim_by_hand, worker) for _ in tasks]
    assert [one.id for one in found] == [task.id for task in tasks]


async def test_1_9_a_task_is_moved_on_by_a_patch(world: World, client: JobManagerClient) -> None:
    made = await put(world)
    for last in ("completed", "failed"):
        task = await client.submit(ROOM, "modifiers:Rotate")
        await claimed(world, made["worker_id"])
        for word in ("running", last):
            body = {"status": word, **({"error": "no"} if word == "failed" else {})}
            moved = await world.call("PATCH", f"/tasks/{task.id}", body)
            assert moved["status"] == word
        for wrong in ({"status": "done"}, {"status": "running", "error": "x"}, {}):
            await world.call("PATCH", f"/tasks/{task.id}", wrong, status=400)


async def test_1_10_the_states_of_a_task(world: World, client: JobManagerClient) -> None:
    made = await put(world)
    task = await client.submit(ROOM, "modifiers:Rotate")
    seen = [await status(world, task)]
    await claimed(world, made["worker_id"])
    seen.append(await status(world, task))
    for word in ("running", "failed"):
        await world.call("PATCH", f"/tasks/{task.id}", {"status": word})
        seen.append(await status(world, task))
    assert seen == ["pending", "claimed", "running", "failed"]
    for word in ("pending", "claimed", "running", "failed"):
        found = await client.list_tasks(ROOM, word)
        assert [one.id for one in found] == ([task.id] if word == "failed" else [])


async def test_1_12_by_hand_only_the_heartbeat_goes_by_itself(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, heartbeat_interval=0.02) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        await until(lambda: has_beaten(world, worker.worker_id))
        assert await status(world, task) == "pending"
        found = await in_thread(worker.claim)
        assert found is not None
        assert found.id == task.id


async def test_1_13_listening_goes_from_task_to_task(
    world: World, client: JobManagerClient
) -> None:
    tasks = []
    async with manager(world) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        listening = worker.listen(polling_interval=0.02)
        waiting = asyncio.create_task(in_thread(next, listening))
        for _ in range(2):
            tasks.append(await client.submit(ROOM, "modifiers:Rotate"))
            assert (await waiting).id == tasks[-1].id
            waiting = asyncio.create_task(in_thread(next, listening, None))
        await in_thread(worker.disconnect)
        assert await waiting is None


async def test_1_14_start_complete_and_fail(world: World, client: JobManagerClient) -> None:
    async with manager(world) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        done, failed = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(2)]
        first = await in_thread(claim_by_hand, worker)
        await in_thread(worker.start, first)
        assert await status(world, done) == "running"
        await in_thread(worker.complete, first, {"n": 1})
        await in_thread(worker.fail, await in_thread(claim_by_hand, worker), "no")
        assert (await client.task(done.id)).result == {"n": 1}
        assert (await client.task(failed.id)).error == "no"
        with pytest.raises(Conflict):
            await in_thread(worker.complete, first)


async def test_1_32_the_extension_is_a_ready_object(world: World, client: JobManagerClient) -> None:
    async with manager(world) as worker:
        await in_thread(worker.register, Scale, room=ROOM)
        made = await put(world, "Scale", schema=None)
        assert made["schema"]
        await world.call("PATCH", f"/workers/{made['worker_id']}", {})
        wrong = await world.call(
            "POST",
            f"/rooms/{path_of(ROOM)}/tasks",
            {"job": "modifiers:Scale", "payload": {"factor": "wide"}},
            status=422,
        )
        assert "factor" in wrong["error"]["message"]
        await in_thread(worker.register, loose, room=ROOM, category="modifiers")
        bad = await client.submit(ROOM, "modifiers:loose", {"wrong": 1})
        good = await client.submit(ROOM, Scale(factor=2))
        found = await in_thread(claim_by_hand, worker)
        assert (found.id, found.extension.run()) == (good.id, 2)
        failed = await client.task(bad.id)
        assert failed.status == "failed"
        assert "wrong" in str(failed.error)


async def test_1_34_failed_is_final(world: World, client: JobManagerClient) -> None:
    worker_id, task = await held(world, client)
    await world.call("PATCH", f"/tasks/{task.id}", {"status": "failed"})
    await world.pass_time(0)
    assert await claimed(world, worker_id) is None
    for word in ("running", "completed", "failed"):
        await world.call("PATCH", f"/tasks/{task.id}", {"status": word}, status=409)


# Expectations of the system's users beyond the rows.


async def test_tasks_are_submitted_listed_cancelled_and_waited_for(
    world: World, client: JobManagerClient
) -> None:
    await put(world)
    tasks = [await client.submit(ROOM, ROTATE, {"angle": n}) for n in range(3)]
    assert [one.id for one in await client.list_tasks(ROOM)] == [one.id for one in tasks[::-1]]
    assert (await client.cancel_task(tasks[0].id)).status == "cancelled"
    assert [one.id for one in await client.list_tasks(ROOM, "cancelled")] == [tasks[0].id]
    waiting = asyncio.create_task(client.wait_for(tasks[1], timeout_s=20))
    await asyncio.sleep(0)
    await client.cancel_task(tasks[1].id)
    assert (await waiting).status == "cancelled"
    with pytest.raises(Conflict):
        await client.cancel_task(tasks[1].id)


BAD: Final[tuple[tuple[str, str, Any, int], ...]] = (
    ("PUT", "/rooms/r/jobs", {}, 400),
    ("PUT", "/rooms/r/jobs", {"name": "a:b"}, 400),
    ("PUT", "/rooms/r/jobs", {"name": ""}, 400),
    ("PUT", "/rooms/r/jobs", {"name": "x", "schema": 7}, 400),
    ("PUT", "/rooms/r/jobs", {"name": "x", "worker_id": "claim"}, 404),
    ("PUT", "/rooms/r/jobs", {"name": "x", "worker_id": "fetch"}, 400),
    ("POST", "/rooms/r/tasks", {"job": "nobody"}, 404),
    ("POST", "/rooms/r/tasks", {"job": "nobody", "payload": [1]}, 400),
    ("GET", "/rooms/r/tasks?status=done", None, 400),
    ("POST", "/tasks/claim", {}, 400),
    ("POST", "/tasks/claim", {"worker_id": "nobody"}, 404),
    ("PATCH", "/tasks/nothing", {"status": "running"}, 404),
    ("GET", "/tasks/nothing", None, 404),
    ("GET", "/rooms/%00/jobs", None, 404),
)


async def test_bad_input_is_refused(world: World) -> None:
    for method, path, body, code in BAD:
        error = (await world.call(method, path, body, status=code))["error"]
        assert error["message"], path
    assert (await world.call("GET", "/rooms/r/jobs"))["jobs"] == []
