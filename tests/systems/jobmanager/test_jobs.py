"""Jobs of rooms: registered, shared, described and followed."""

from typing import Any

from ojs_worker.jobmanager import JobManagerClient
from tests.systems.jobmanager.workers import (
    ROOM,
    ROTATE,
    Rotate,
    Scale,
    call,
    claimed,
    in_thread,
    manager,
    path_of,
    put,
)
from tests.systems.world import World


async def test_1_1_an_external_worker_over_rest(world: World, client: JobManagerClient) -> None:
    async with manager(world, execute=lambda task: task.extension.run()) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        task = await client.submit(ROOM, "modifiers:Rotate")
        assert (await client.wait_for(task, timeout_s=20)).result == 90


async def test_1_2_classes_are_registered_as_jobs(world: World, client: JobManagerClient) -> None:
    async with manager(world) as worker:
        made = await in_thread(worker.register(room=ROOM), Rotate)
        assert made is Rotate
        (job,) = await client.list_jobs(ROOM)
        shown = await call(world, "GET", f"/rooms/{path_of(ROOM)}/jobs/{path_of(job.full_name)}")
    assert (job.room_id, job.category, job.name) == (ROOM, "modifiers", "Rotate")
    assert shown["schema"]["properties"] == {"angle": {"type": "number", "default": 90.0}}


async def test_1_3_without_an_id_the_server_makes_the_worker(world: World) -> None:
    made = await put(world)
    assert made["worker_id"]
    assert made["workers"] == [made["worker_id"]]


async def test_1_4_the_id_is_used_again(world: World) -> None:
    async with manager(world) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        first = worker.worker_id
        await in_thread(worker.register, Scale, room=ROOM)
        assert worker.worker_id == first is not None


async def test_1_5_a_worker_can_be_made_by_itself(world: World) -> None:
    made = await call(world, "POST", "/workers", status=201)
    joined = await put(world, worker_id=made["id"])
    assert joined["worker_id"] == made["id"]


async def test_1_6_many_jobs_per_worker_are_linked_to_it(world: World) -> None:
    first = await put(world)
    await put(world, "Scale", worker_id=first["worker_id"])
    jobs = (await call(world, "GET", f"/rooms/{path_of(ROOM)}/jobs"))["items"]
    assert sorted((job["name"], job["workers"]) for job in jobs) == [
        ("Rotate", [first["worker_id"]]),
        ("Scale", [first["worker_id"]]),
    ]


async def test_1_17_a_room_is_followed_by_its_events(world: World, client: Any) -> None:
    made = await put(world)
    other = await put(world, "Scale", "elsewhere", worker_id=made["worker_id"])
    task = await client.submit(ROOM, "modifiers:Rotate")
    page = await world.call("GET", f"/ojs/v1/events?types=job.enqueued&queues={made['queue']}")
    assert [event["subject"] for event in page["events"]] == [task.id]
    assert made["queue"] != other["queue"]


async def test_1_35_a_job_is_a_record_that_workers_share(
    world: World, client: JobManagerClient
) -> None:
    first, second = await put(world), await put(world)
    again = await put(world, worker_id=first["worker_id"])
    assert sorted(again["workers"]) == sorted([first["worker_id"], second["worker_id"]])
    assert again["full_name"] == ROTATE
    for one in (first, second):
        await call(world, "DELETE", f"/workers/{one['worker_id']}", status=204)
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


async def test_1_38_later_registrations_grow_the_worker(
    world: World, client: JobManagerClient
) -> None:
    async with manager(world, execute=lambda task: task.job) as worker:
        await in_thread(worker.register, Rotate, room=ROOM)
        for room in (ROOM, "b"):
            await in_thread(worker.register, Scale, room=room)
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
