"""Workers of a job manager: one test for each row of what they count on."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from ojs_server.app import Application
from ojs_worker.errors import Conflict
from ojs_worker.jobmanager import ClaimedTask, JobManager, JobManagerClient
from ojs_worker.testing.asgi import AsgiTransport
from tests.http.listening import on_a_socket
from tests.systems.jobmanagers import (
    ROOM,
    ROTATE,
    OwnApi,
    Rotate,
    Scale,
    aside,
    claim_by_hand,
    claimed,
    has_beaten,
    held,
    loose,
    manager,
    noted,
    own_signals,
    path_of,
    put,
    status,
)
from tests.systems.world import World, serving, until


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    """A server with the profile of this system."""
    async with serving(store_url, "jobmanager") as made:
        yield made


@pytest.fixture
def client(world: World) -> JobManagerClient:
    """Whoever submits tasks."""
    return JobManagerClient(transport=world.transport)


async def test_1_1_an_external_worker_over_rest(world: World, client: JobManagerClient) -> None:
    async with manager(world, execute=lambda task: task.extension.run()) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await client.wait_for(task, timeout_s=20)).result == 90


async def test_1_2_classes_are_registered_as_jobs(world: World, client: JobManagerClient) -> None:
    async with manager(world) as worker:
        made = await aside(worker.register(room=ROOM), Rotate)
        assert made is Rotate
        (job,) = await client.list_jobs(ROOM)
    assert (job.category, job.name) == ("modifiers", "Rotate")
    assert job.schema is not None
    assert job.schema["properties"] == {"angle": {"type": "number", "default": 90.0}}


async def test_1_3_without_an_id_the_server_makes_the_worker(world: World) -> None:
    made = await put(world)
    assert made["worker_id"]
    assert made["workers"] == [made["worker_id"]]


async def test_1_4_the_id_is_used_again(world: World) -> None:
    async with manager(world) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        first = worker.worker_id
        await aside(worker.register, Scale, room=ROOM)
        assert worker.worker_id == first is not None


async def test_1_5_a_worker_can_be_made_by_itself(world: World) -> None:
    made = await world.call("POST", "/workers/register", {})
    joined = await put(world, worker_id=made["worker_id"])
    assert joined["worker_id"] == made["worker_id"]


async def test_1_6_many_jobs_per_worker_are_linked_to_it(world: World) -> None:
    first = await put(world)
    await put(world, "Scale", worker_id=first["worker_id"])
    jobs = (await world.call("GET", f"/rooms/{path_of(ROOM)}/jobs"))["jobs"]
    assert [(job["name"], job["workers"]) for job in jobs] == [
        ("Rotate", [first["worker_id"]]),
        ("Scale", [first["worker_id"]]),
    ]


async def test_1_7_the_heartbeat_is_a_patch(world: World) -> None:
    made = await put(world)
    assert made["heartbeat_interval"] == 30
    beaten = await world.call("PATCH", f"/workers/{made['worker_id']}", {})
    assert beaten["last_heartbeat_at"]


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


async def test_1_11_serving_starts_with_the_first_register(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, execute=lambda task: task.id) as worker:
        assert worker.worker_id is None
        await aside(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await client.wait_for(task, timeout_s=20)).result == task.id


async def test_1_12_by_hand_only_the_heartbeat_goes_by_itself(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, heartbeat_interval=0.02) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        await until(lambda: has_beaten(world, worker.worker_id))
        assert await status(world, task) == "pending"
        found = await aside(worker.claim)
        assert found is not None
        assert found.id == task.id


async def test_1_13_listening_goes_from_task_to_task(
    world: World, client: JobManagerClient
) -> None:
    tasks = []
    async with manager(world) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        listening = worker.listen(polling_interval=0.02)
        waiting = asyncio.create_task(aside(next, listening))
        for _ in range(2):
            tasks.append(await client.submit(ROOM, "modifiers:Rotate"))
            assert (await waiting).id == tasks[-1].id
            waiting = asyncio.create_task(aside(next, listening, None))
        await aside(worker.disconnect)
        assert await waiting is None


async def test_1_14_start_complete_and_fail(world: World, client: JobManagerClient) -> None:
    async with manager(world) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        done, failed = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(2)]
        first = await aside(claim_by_hand, worker)
        await aside(worker.start, first)
        assert await status(world, done) == "running"
        await aside(worker.complete, first, {"n": 1})
        await aside(worker.fail, await aside(claim_by_hand, worker), "no")
        assert (await client.task(done.id)).result == {"n": 1}
        assert (await client.task(failed.id)).error == "no"
        with pytest.raises(Conflict):
            await aside(worker.complete, first)


async def test_1_15_an_exception_fails_the_task(world: World, client: JobManagerClient) -> None:
    def execute(_: ClaimedTask) -> None:
        raise ValueError("too wide")

    async with manager(world, execute=execute) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        ended = await client.wait_for(task, timeout_s=20)
    assert (ended.status, ended.error) == ("failed", "too wide")


async def test_1_16_no_thread_keeps_the_program_alive(world: World, client: Any) -> None:
    kinds: list[bool] = []

    def execute(_: ClaimedTask) -> None:
        kinds.append(threading.current_thread().daemon)

    async with manager(world, execute=execute) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        await client.wait_for(await client.submit(ROOM, "modifiers:Rotate"), timeout_s=20)
        loops = [one.daemon for one in threading.enumerate() if one.name == "ojs-loop"]
    assert kinds == [True]
    assert loops
    assert all(loops)


async def test_1_17_a_room_is_followed_by_its_events(world: World, client: Any) -> None:
    made = await put(world)
    other = await put(world, "Scale", "elsewhere", worker_id=made["worker_id"])
    task = await client.submit(ROOM, "modifiers:Rotate")
    page = await world.call("GET", f"/ojs/v1/events?types=job.enqueued&queues={made['queue']}")
    assert [event["subject"] for event in page["events"]] == [task.id]
    assert made["queue"] != other["queue"]


async def test_1_18_an_announced_task_wakes_the_claim_at_once(
    world: World, client: JobManagerClient
) -> None:
    async with on_a_socket(world.server) as url:
        done = threading.Event()
        with JobManager(url, execute=lambda _: done.set(), polling_interval=600) as worker:
            await aside(worker.register, Rotate, room=ROOM)
            await until(lambda: len(world.server.engine.tail) == 1)
            await client.submit(ROOM, "modifiers:Rotate")
            assert await aside(done.wait, 20)
            await aside(worker.disconnect)


async def test_1_19_a_lost_event_costs_time_only(world: World, client: JobManagerClient) -> None:
    async with manager(world, execute=lambda _: None, push=False) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await client.wait_for(task, timeout_s=20)).status == "completed"


async def test_1_20_one_task_follows_the_other_without_a_pause(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, execute=lambda _: None, polling_interval=0.05) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        await client.wait_for(await client.submit(ROOM, "modifiers:Rotate"), timeout_s=20)
        asked: list[float] = []
        worker._service.news = noted(asked)  # type: ignore[method-assign,assignment]
        await until(lambda: bool(asked))
        asked.clear()
        tasks = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(5)]
        await client.wait_for(tasks[-1], timeout_s=20)
        assert [await status(world, task) for task in tasks] == ["completed"] * 5


async def test_1_21_waiting_obeys_signals_and_puts_old_handlers_back(store_url: str) -> None:
    async with serving(store_url, "jobmanager") as world:
        way = AsgiTransport(Application(world.server), loop=asyncio.get_running_loop())
        before = signal.getsignal(signal.SIGTERM)
        worker = JobManager(way, push=False)
        await aside(worker.register, Rotate, room=ROOM)
        waiting = asyncio.create_task(aside(worker.wait))
        await asyncio.sleep(0)
        assert not waiting.done()
        await aside(worker.disconnect)
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
        await aside(worker.register, Rotate, room=ROOM)
        first, second = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(2)]
        await aside(begun.wait, 20)
        worker_id = worker.worker_id
        leaving = asyncio.create_task(aside(worker.disconnect))
        await asyncio.sleep(0.02)
        assert not leaving.done()
        free.set()
        await leaving
    assert [await status(world, one) for one in (first, second)] == ["completed", "pending"]
    await world.call("PATCH", f"/workers/{worker_id}", {}, status=404)


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


async def test_1_28_an_api_object_of_the_program_works_as_it_is(
    world: World, client: JobManagerClient
) -> None:
    api = OwnApi(world)
    with JobManager(api, polling_interval=0.02) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        await client.submit(ROOM, "modifiers:Rotate", {"angle": 5})
        found = await aside(claim_by_hand, worker)
        assert found.extension.angle == 5
        await aside(worker.disconnect)
    assert api.asked > 3


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


async def test_1_31_tasks_are_done_one_by_one(world: World, client: JobManagerClient) -> None:
    running: list[int] = []
    most: list[int] = []

    def execute(_: ClaimedTask) -> None:
        running.append(1)
        most.append(len(running))
        running.pop()

    async with manager(world, execute=execute) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        tasks = [await client.submit(ROOM, "modifiers:Rotate") for _ in range(4)]
        for task in tasks:
            await client.wait_for(task, timeout_s=20)
    assert most == [1] * 4


async def test_1_32_the_extension_is_a_ready_object(world: World, client: JobManagerClient) -> None:
    async with manager(world) as worker:
        await aside(worker.register, Scale, room=ROOM)
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
        await aside(worker.register, loose, room=ROOM, category="modifiers")
        bad = await client.submit(ROOM, "modifiers:loose", {"wrong": 1})
        good = await client.submit(ROOM, Scale(factor=2))
        found = await aside(claim_by_hand, worker)
        assert (found.id, found.extension.run()) == (good.id, 2)
        failed = await client.task(bad.id)
        assert failed.status == "failed"
        assert "wrong" in str(failed.error)


async def test_1_33_heartbeats_alone_keep_a_task_of_45_minutes(
    world: World, client: JobManagerClient
) -> None:
    worker_id, task = await held(world, client)
    for _ in range(54):
        await world.pass_time(50)
        await world.call("PATCH", f"/workers/{worker_id}")
    assert await status(world, task) == "claimed"


async def test_1_34_failed_is_final(world: World, client: JobManagerClient) -> None:
    worker_id, task = await held(world, client)
    await world.call("PATCH", f"/tasks/{task.id}", {"status": "failed"})
    await world.pass_time(0)
    assert await claimed(world, worker_id) is None
    for word in ("running", "completed", "failed"):
        await world.call("PATCH", f"/tasks/{task.id}", {"status": word}, status=409)


async def test_1_35_a_job_is_a_record_that_workers_share(
    world: World, client: JobManagerClient
) -> None:
    first, second = await put(world), await put(world)
    again = await put(world, worker_id=first["worker_id"])
    assert sorted(again["workers"]) == sorted([first["worker_id"], second["worker_id"]])
    assert again["full_name"] == ROTATE
    for one in (first, second):
        await world.call("DELETE", f"/workers/{one['worker_id']}")
    assert await client.list_jobs(ROOM) == []
    assert (await put(world))["full_name"] == ROTATE


async def test_1_36_a_claim_takes_exact_pairs_whatever_their_priority(
    world: World, client: JobManagerClient
) -> None:
    mine = await put(world, "Rotate", "a")
    await put(world, "Scale", "b", worker_id=mine["worker_id"])
    for room, name in (("a", "Scale"), ("b", "Rotate")):
        await put(world, name, room)
        await client.submit(room, f"modifiers:{name}")
    old = await client.submit("b", "modifiers:Scale")
    kind = (mine["queue"], mine["job_type"])
    new = await client.enqueue(kind[1], [{}], queue=kind[0], priority=9)
    brought = [await claimed(world, mine["worker_id"]) for _ in range(3)]
    assert [one and one["id"] for one in brought] == [old.id, new.id, None]


async def test_1_37_killed_before_its_first_heartbeat_it_is_swept(world: World) -> None:
    async with manager(world, heartbeat_interval=600) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        assert not await has_beaten(world, worker.worker_id)
        assert (await world.pass_time(60)).dead == 1


async def test_1_38_later_registrations_grow_the_worker(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, execute=lambda task: task.job) as worker:
        await aside(worker.register, Rotate, room=ROOM)
        for room in (ROOM, "b"):
            await aside(worker.register, Scale, room=room)
            task = await client.submit(room, Scale(factor=1))
            ended = await client.wait_for(task, timeout_s=20)
            assert ended.result == f"{room}:modifiers:Scale"


async def test_1_39_only_who_does_the_job_is_told(world: World, client: JobManagerClient) -> None:
    made = await put(world)
    await put(world, "Scale", worker_id=made["worker_id"])
    task = await client.submit(ROOM, "modifiers:Rotate")
    await client.submit(ROOM, "modifiers:Scale")
    query = f"types=job.enqueued&queues={made['queue']}&job_types={made['job_type']}"
    page = await world.call("GET", f"/ojs/v1/events?{query}")
    assert [event["subject"] for event in page["events"]] == [task.id]


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


# What users of this system expect beyond the rows.


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
    ("GET", "/rooms/%00/jobs", None, 400),
)


async def test_bad_input_is_refused(world: World) -> None:
    for method, path, body, code in BAD:
        error = (await world.call(method, path, body, status=code))["error"]
        assert error["message"], path
    assert (await world.call("GET", "/rooms/r/jobs"))["jobs"] == []
