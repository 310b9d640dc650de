"""Tasks: submission, claims, changes of status, and refusals."""

import asyncio
import threading
from typing import Any, Final

import httpx
import pytest

from ojs_server.app import Application
from ojs_worker.errors import Conflict, Unreachable
from ojs_worker.jobmanager import JobManager, JobManagerClient
from tests.systems.jobmanager.workers import (
    BASE,
    ROOM,
    ROTATE,
    Rotate,
    Scale,
    call,
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
            moved = await call(world, "PATCH", f"/tasks/{task.id}", body)
            assert moved["status"] == word
        for wrong in ({"status": "done"}, {"status": 7}, {"status": None}, {}):
            await call(world, "PATCH", f"/tasks/{task.id}", wrong, status=422)
        for never in ("pending", "claimed"):
            body = {"status": never}
            refused = await call(world, "PATCH", f"/tasks/{task.id}", body, status=409)
            assert refused["type"] == "/v1/problems/invalid-task-transition"


async def test_no_report_makes_a_task_pending_or_claimed(
    world: World, client: JobManagerClient
) -> None:
    worker_id = (await put(world))["worker_id"]
    for state in ("pending", "claimed", "running"):
        task = await client.submit(ROOM, "modifiers:Rotate")
        if state != "pending":
            await claimed(world, worker_id)
        if state == "running":
            await call(world, "PATCH", f"/tasks/{task.id}", {"status": "running"})
        for never in ("pending", "claimed"):
            for body in ({"status": never}, {"status": never, "worker_id": worker_id}):
                refused = await call(world, "PATCH", f"/tasks/{task.id}", body, status=409)
                assert refused["type"] == "/v1/problems/invalid-task-transition"
        assert await status(world, task) == state
        await client.cancel_task(task.id)


async def test_1_10_the_states_of_a_task(world: World, client: JobManagerClient) -> None:
    made = await put(world)
    task = await client.submit(ROOM, "modifiers:Rotate")
    seen = [await status(world, task)]
    await claimed(world, made["worker_id"])
    seen.append(await status(world, task))
    for word in ("running", "failed"):
        await call(world, "PATCH", f"/tasks/{task.id}", {"status": word})
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


async def test_1_13_a_claim_that_comes_after_the_end_ends_the_listening(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, claims, gone = JobManager.claim, threading.Event(), threading.Event()

    def late(self: JobManager) -> Any:
        claims.set()
        gone.wait(20)
        return claim(self)

    monkeypatch.setattr(JobManager, "claim", late)
    async with manager(world) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        waiting = asyncio.create_task(in_thread(next, worker.listen(), None))
        await in_thread(claims.wait, 20)
        await in_thread(worker.disconnect)
        gone.set()
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
        path = f"/rooms/{path_of(ROOM)}/tasks/{path_of(ROOM)}:modifiers:Scale"
        wrong = await call(world, "POST", path, {"payload": {"factor": "wide"}}, status=422)
        assert "factor" in wrong["detail"]
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
    await call(world, "PATCH", f"/tasks/{task.id}", {"status": "failed"})
    await world.pass_time(0)
    assert await claimed(world, worker_id) is None
    for word in ("running", "completed", "failed"):
        await call(world, "PATCH", f"/tasks/{task.id}", {"status": word}, status=409)


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


TURN: Final[dict[str, Any]] = {"category": "modifiers", "name": "Turn"}
BAD: Final[tuple[tuple[str, str, Any, int], ...]] = (
    ("PUT", "/rooms/r/jobs", {}, 422),
    ("PUT", "/rooms/r/jobs", [], 422),
    ("PUT", "/rooms/r/providers", {}, 422),
    ("PUT", "/rooms/r/jobs", {**TURN, "category": "tools"}, 400),
    ("PUT", "/rooms/r/jobs", {**TURN, "name": "a:b"}, 400),
    ("PUT", "/rooms/r/jobs", {**TURN, "name": ""}, 400),
    ("PUT", "/rooms/r/jobs", {**TURN, "name": "x" * 128}, 400),
    ("PUT", "/rooms/r/jobs", {**TURN, "schema": 7}, 422),
    ("PUT", "/rooms/r/jobs", {**TURN, "worker_id": "claim"}, 404),
    ("PUT", "/rooms/r/jobs", {**TURN, "worker_id": "fetch"}, 400),
    ("POST", "/rooms/r/tasks/r:modifiers:nobody", {}, 404),
    ("POST", "/rooms/r/tasks/nobody", {}, 404),
    ("POST", "/rooms/r/tasks/r:modifiers:nobody", {"payload": [1]}, 422),
    ("GET", "/rooms/r/tasks?status=done", None, 422),
    ("GET", "/rooms/r/tasks?limit=501", None, 422),
    ("GET", "/workers?limit=-1", None, 422),
    ("GET", "/workers?limit=ten", None, 422),
    ("GET", "/workers?offset=-1", None, 422),
    ("POST", "/tasks/claim", {}, 422),
    ("POST", "/tasks/claim", {"worker_id": "nobody"}, 404),
    ("POST", "/tasks/claim", {"worker_id": "nobody", "fetch_id": ""}, 422),
    ("PATCH", "/tasks/nothing", {"status": "running"}, 404),
    ("GET", "/tasks/nothing", None, 404),
)


@pytest.mark.parametrize(
    "task_id",
    ["8c6ed3b2-4d0a-4a57-9c4e-5b1f0d7f3a11", "nothing", "01902e5a-0000-7000-8000-000000000000"],
)
async def test_a_task_that_is_not_there_is_named_so(world: World, task_id: str) -> None:
    for method, body in (("GET", None), ("PATCH", {"status": "running"})):
        refused = await call(world, method, f"/tasks/{task_id}", body, status=404)
        assert refused["type"] == "/v1/problems/task-not-found"


async def test_bad_input_is_refused(world: World) -> None:
    for method, path, body, code in BAD:
        assert (await call(world, method, path, body, status=code))["detail"], path
    assert (await call(world, "GET", "/rooms/r/jobs"))["items"] == []


# Named claims, results and ids, which our own clients use.


async def test_a_claim_is_repeated_under_its_name(world: World, client: JobManagerClient) -> None:
    worker_id = (await put(world))["worker_id"]
    first, second = [await client.submit(ROOM, "Rotate") for _ in range(2)]
    for _ in range(2):
        found = await client.claim(worker_id, "a")
        assert found is not None
        assert found.id == first.id
    await client.move(first, "completed", worker_id)
    again = await client.claim(worker_id, "a")
    assert again is not None
    assert again.id == second.id


async def test_a_worker_that_names_itself_must_be_the_tasks(
    world: World, client: JobManagerClient
) -> None:
    worker_id, task = await held(world, client)
    for word in ("running", "completed", "failed"):
        with pytest.raises(Conflict):
            await client.move(task, word, "another")
    moved = await client.move(task, "completed", worker_id, result=[1])
    assert (moved.status, moved.result) == ("completed", [1])
    with pytest.raises(Conflict):
        await client.move(task, "failed", worker_id, error="no")


async def test_a_task_may_be_submitted_again_under_its_id(
    world: World, client: JobManagerClient
) -> None:
    await put(world)
    task = await client.submit(ROOM, "Rotate", {"angle": 1})
    path, body = f"/rooms/{path_of(ROOM)}/tasks/{path_of(ROTATE)}", {"payload": {"angle": 1}}
    again = await call(world, "POST", path, {**body, "id": task.id}, status=202)
    assert again["id"] == task.id
    await call(world, "POST", path, {"payload": {}, "id": task.id}, status=409)


async def test_a_task_is_waited_for_as_preferred(world: World, client: JobManagerClient) -> None:
    worker_id, task = await held(world, client)
    at = f"{BASE}/tasks/{task.id}"
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=Application(world.server)), base_url="http://localhost"
    ) as caller:
        answer = await caller.get(at, headers={"Prefer": "wait=0"})
        assert "Preference-Applied" not in answer.headers
        waiting = asyncio.create_task(caller.get(at, headers={"Prefer": "wait=25"}))
        await until(lambda: len(world.server.engine.endings) == 1)
        await client.move(task, "completed", worker_id)
        answer = await waiting
    assert answer.json()["status"] == "completed"
    assert answer.headers["Preference-Applied"] == "wait=25"
