"""The blackboard, row by row of docs/systems/blackboard.md; time is turned by hand."""

import asyncio
from typing import Any

import pytest

from tests.http.conftest import Serve
from tests.systems.blackboard.board import poll, polled, push, put, seen
from tests.systems.conftest import Json, System, system

V1 = "/ojs/v1"


async def test_3_1_the_engine_writes_and_workers_read_execute_and_write_back(
    board: System,
) -> None:
    worker, job = await polled(board)
    await push(board, job, result={"done": 1})
    assert (await seen(board, job))["result"] == {"result": {"done": 1}}
    assert await poll(board, worker, "b") == []


async def test_3_2_the_board_is_part_of_the_engine(board: System) -> None:
    _, job = await polled(board)
    stored = await board.job(job)
    assert (stored["queue"], stored["type"], stored["state"]) == ("blackboard", "b", "active")


async def test_3_3_a_job_is_pending_polled_and_pushed(board: System) -> None:
    worker = await board.arrive("b")
    job = await put(board, "b")
    places = [(await seen(board, job))["blackboard_status"]]
    await poll(board, worker, "b")
    places.append((await seen(board, job))["blackboard_status"])
    places.append((await push(board, job))["blackboard_status"])
    assert places == ["PENDING", "POLLED", "PUSHED"]


async def test_3_4_a_pending_job_waits_for_a_worker_with_its_block(board: System) -> None:
    job = (await polled(board, "a"))[1]
    other = await board.arrive("c")
    waiting = await put(board, "a")
    assert await poll(board, other, "c") == []
    assert (await seen(board, waiting))["blackboard_status"] == "PENDING"
    assert (await seen(board, job))["blackboard_status"] == "POLLED"


async def test_3_5_a_polled_job_is_hidden_from_others(board: System) -> None:
    await polled(board)
    other = await board.arrive("b")
    assert await poll(board, other, "b") == []


async def test_3_6_a_job_without_a_result_fails_after_12_minutes(board: System) -> None:
    worker, job = await polled(board)
    for _ in range(12):
        await board.later(minutes=1)
        await board.call("POST", f"/workers/{worker}/ping")
    shown = await seen(board, job)
    assert (shown["outcome"], shown["failure_reason"]) == ("failure", "stuck")


async def test_3_7_a_push_moves_the_workflow_on_in_its_transaction(board: System) -> None:
    worker = await board.arrive("first", "second")
    steps = [{"type": "first", "args": []}, {"type": "second", "args": []}]
    body = {"type": "chain", "name": "two", "steps": steps}
    await board.call("POST", f"{V1}/workflows", body)
    (first,) = await poll(board, worker, "first", "second", limit=5)
    await push(board, first["jobId"], result=1)
    (second,) = await poll(board, worker, "first", "second", limit=5)
    assert (first["functionBlockId"], second["functionBlockId"]) == ("first", "second")


async def test_3_12_a_poll_has_worker_blocks_and_limit(board: System) -> None:
    worker = await board.arrive("a", "b")
    jobs = [await put(board, block) for block in ("a", "b", "b")]
    assert len(await poll(board, worker, "a", "b")) == 1
    rest = await poll(board, worker, "a", "b", limit=5)
    assert len(rest) == 2
    assert {one["jobId"] for one in rest} < set(jobs)
    wrongs: list[Json] = [{"limit": 0}, {"functionBlockIds": []}, {"workerId": "online"}]
    for wrong in wrongs:
        body: Json = {"workerId": worker, "functionBlockIds": ["a"], **wrong}
        await board.refused(400, "POST", "/blackboard/job", body)
    unknown = {"workerId": "nobody", "functionBlockIds": ["a"]}
    await board.refused(404, "POST", "/blackboard/job", unknown)


async def test_3_13_a_poll_marks_what_it_hands_out(board: System) -> None:
    workers = [await board.arrive("b") for _ in range(4)]
    jobs = [await put(board, "b") for _ in range(4)]
    found = await asyncio.gather(*(poll(board, worker, "b", limit=2) for worker in workers))
    handed = [one["jobId"] for part in found for one in part]
    assert sorted(handed) == sorted(jobs)


async def test_3_14_a_poll_that_finds_nothing_answers_an_empty_list(board: System) -> None:
    worker = await board.arrive("b")
    response = await board.client.post(
        "/blackboard/job", json={"workerId": worker, "functionBlockIds": ["b"]}
    )
    assert (response.text, response.headers["content-type"]) == ("[]", "application/json")


async def test_3_15_a_result_names_job_status_and_result(board: System) -> None:
    for status, outcome in (("success", "success"), ("failed", "failure"), ("SUCCESS", "success")):
        _, job = await polled(board)
        answer = await push(board, job, status, result="text")
        assert (answer["jobId"], answer["outcome"]) == (job, outcome)
    _, job = await polled(board)
    for body in (
        {"status": "done"},
        {"status": "success", "error": "no"},
        {"status": "failure", "result": 1, "error": "no"},
    ):
        await board.refused(400, "POST", "/blackboard/job/result", {"jobId": job, **body})
    assert (await seen(board, job))["blackboard_status"] == "POLLED"


async def test_3_16_a_result_is_held_to_the_schema_of_its_block(board: System) -> None:
    schema = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}
    body = {"functionBlocks": [{"id": "configBackup", "resultDataJsonSchema": schema}]}
    worker = (await board.call("POST", "/workers/register", body))["worker_id"]
    await board.call("POST", f"/workers/{worker}/ping")
    job = await put(board, "configBackup")
    await poll(board, worker, "configBackup")
    pushed = {"jobId": job, "status": "success", "result": {"size": "large"}}
    message = await board.refused(422, "POST", "/blackboard/job/result", pushed)
    assert "result.size" in message
    assert (await seen(board, job))["blackboard_status"] == "POLLED"
    await push(board, job, result={"size": 7})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"pattern": "(a+)+"},
        {"properties": {"a": {"patternProperties": {"(a+)+": {}}}}},
        {"$ref": "#"},
        {"$ref": "http://other.test/schema"},
    ],
)
async def test_3_16_what_cannot_be_judged_by_is_refused(board: System, schema: Json) -> None:
    body = {"functionBlocks": [{"id": "b", "resultDataJsonSchema": schema}]}
    message = await board.refused(400, "POST", "/workers/register", body)
    assert "functionBlocks[0].resultDataJsonSchema" in message


async def test_3_17_acquires_are_kept_and_belong_to_acquire_jobs(board: System) -> None:
    _, job = await polled(board, "b", "ACQUIRE")
    await push(board, job, acquires=[{"id": "switch"}])
    assert (await seen(board, job))["result"]["acquires"] == [{"id": "switch"}]
    _, job = await polled(board, "b", "ACQUIRE")
    await push(board, job, acquires={"id": "router"})
    assert (await seen(board, job))["result"]["acquires"] == {"id": "router"}
    _, job = await polled(board, "b", "ACQUIRE")
    for wrong in ("all", ["x"] * 1001, {str(number): 1 for number in range(1001)}):
        pushed: Json = {"jobId": job, "status": "success", "acquires": wrong}
        await board.refused(400, "POST", "/blackboard/job/result", pushed)
    _, job = await polled(board)
    pushed = {"jobId": job, "status": "success", "acquires": []}
    await board.refused(400, "POST", "/blackboard/job/result", pushed)


async def test_3_18_db_updates_are_kept_and_belong_to_execute_jobs(board: System) -> None:
    _, job = await polled(board)
    updates = {"create": [{"id": 1}], "patch": [], "delete": ["x"]}
    wrongs: list[Any] = [{"drop": []}, {"create": 1}, "all", ["x"], [{}] * 1001]
    for wrong in wrongs:
        pushed: Json = {"jobId": job, "status": "success", "dbUpdates": wrong}
        await board.refused(400, "POST", "/blackboard/job/result", pushed)
    await push(board, job, dbUpdates=updates)
    assert (await seen(board, job))["result"]["db_updates"] == updates
    _, job = await polled(board)
    await push(board, job, dbUpdates=[{"op": "create", "id": 1}])
    assert (await seen(board, job))["result"]["db_updates"] == [{"op": "create", "id": 1}]
    _, job = await polled(board, "b", "ROLLBACK")
    pushed = {"jobId": job, "status": "success", "dbUpdates": updates}
    await board.refused(400, "POST", "/blackboard/job/result", pushed)


async def test_3_19_results_are_events_and_trigger_the_next_step(board: System) -> None:
    _, job = await polled(board)
    await push(board, job, result=1)
    assert (await board.event_types(job))[-1] == "job.completed"


async def test_3_20_many_pollers_get_different_jobs(board: System) -> None:
    workers = [await board.arrive("b") for _ in range(2)]
    await put(board, "b")
    await put(board, "b")
    found = [await poll(board, worker, "b") for worker in workers]
    assert found[0][0]["jobId"] != found[1][0]["jobId"]


async def test_3_21_pollers_are_specialised(board: System) -> None:
    worker = await board.arrive("a")
    await polled(board, "c")
    job = await put(board, "a")
    await put(board, "c")
    assert [one["jobId"] for one in await poll(board, worker, "a", limit=5)] == [job]


async def test_3_22_a_crash_costs_one_job_and_no_other(board: System) -> None:
    _, lost = await polled(board)
    other = await board.arrive("b")
    job = await put(board, "b")
    await poll(board, other, "b")
    for _ in range(6):
        await board.later(minutes=1)
        await board.call("POST", f"/workers/{other}/ping")
    assert (await seen(board, lost))["failure_reason"] == "worker_death"
    assert (await push(board, job))["outcome"] == "success"


async def test_3_23_a_restart_of_the_engine_keeps_everything(serve: Serve) -> None:
    async with system(serve, "blackboard") as before:
        worker, job = await polled(before)
        waiting = await put(before, "b")
    async with system(serve, "blackboard") as after:
        assert (await push(after, job))["outcome"] == "success"
        await after.call("POST", f"/workers/{worker}/ping")
        assert [one["jobId"] for one in await poll(after, worker, "b")] == [waiting]


async def test_3_24_a_refused_push_changes_nothing(board: System) -> None:
    worker, job = await polled(board)
    before = (await board.job(job), await board.event_types(job))
    pushed = {"jobId": job, "status": "success", "acquires": ["x"]}
    await board.refused(400, "POST", "/blackboard/job/result", pushed)
    await board.refused(400, "PUT", f"/workers/{worker}/capabilities", {"functionBlocks": [""]})
    assert (await board.job(job), await board.event_types(job)) == before


async def test_3_25_blocks_have_any_name_and_polls_name_no_queue(board: System) -> None:
    for name in ("configBackup", "9 lives", "Ü/bung", "n" * 255):
        _, job = await polled(board, name)
        assert (await seen(board, job))["functionBlockId"] == name
    body = {"functionBlockId": "n" * 256}
    await board.refused(400, "POST", "/blackboard/jobs", body)


async def test_3_26_a_job_for_an_unknown_block_is_refused(board: System) -> None:
    message = await board.refused(422, "POST", "/blackboard/jobs", {"functionBlockId": "nothing"})
    assert "nothing" in message


async def test_3_27_a_push_is_final(board: System) -> None:
    for status, state in (("success", "completed"), ("failure", "discarded")):
        _, job = await polled(board)
        await push(board, job, status)
        again = {"jobId": job, "status": "success"}
        await board.refused(409, "POST", "/blackboard/job/result", again)
        assert (await board.job(job))["state"] == state


async def test_3_28_every_state_of_ojs_has_a_place_on_the_board(board: System) -> None:
    scheduled = await board.enqueue("b", scheduled_at="+PT1H")
    pending = await board.enqueue("b", pending=True)
    cancelled = await board.enqueue("b")
    await board.call("DELETE", f"{V1}/jobs/{cancelled}")
    for job, place, outcome in (
        (scheduled, "PENDING", None),
        (pending, "PENDING", None),
        (cancelled, "PUSHED", "cancelled"),
    ):
        shown = await seen(board, job)
        assert (shown["blackboard_status"], shown["outcome"]) == (place, outcome)


async def test_3_30_a_delivery_says_which_hook_to_run(board: System) -> None:
    worker = await board.arrive("b")
    for phase in ("ACQUIRE", "EXECUTE", "ROLLBACK"):
        job = await put(board, "b", phase.lower(), host="router")
        (handed,) = await poll(board, worker, "b")
        assert handed == {
            "jobId": job,
            "jobType": phase,
            "functionBlockId": "b",
            "context": {"host": "router"},
        }
    await board.refused(
        400, "POST", "/blackboard/jobs", {"functionBlockId": "b", "jobType": "UNDO"}
    )


async def test_3_31_a_member_that_resembles_a_known_one_is_refused(board: System) -> None:
    worker, job = await polled(board)
    block = {"functionBlockId": "b"}
    for path, body, wanted in (
        ("/blackboard/jobs", {**block, "type": "ROLLBACK"}, "jobType"),
        ("/blackboard/jobs", {**block, "job_type": "ROLLBACK"}, "jobType"),
        ("/blackboard/job", {"workerId": worker, "functionBlockIds": ["b"], "limits": 5}, "limit"),
        (
            "/blackboard/job/result",
            {"jobId": job, "status": "success", "db_updates": {}},
            "dbUpdates",
        ),
        ("/workers/register", {"functionBlockIds": ["b"]}, "functionBlocks"),
    ):
        assert f'did you mean "{wanted}"' in await board.refused(422, "POST", path, body)
    assert (await seen(board, job))["blackboard_status"] == "POLLED"
    await board.call("POST", "/blackboard/jobs", {**block, "origin": "test"})


async def test_3_32_a_poll_that_is_handed_nothing_whatever_there_is_says_why(
    board: System,
) -> None:
    worker = await board.arrive("b", ping=False)
    await put(board, "b")
    body = {"workerId": worker, "functionBlockIds": ["b"]}
    held = await board.client.post("/blackboard/job", json=body)
    assert (held.json(), held.headers["ojs-worker-presence"]) == ([], "unreachable")
    await board.call("POST", f"/workers/{worker}/ping")
    served = await board.client.post("/blackboard/job", json=body)
    assert len(served.json()) == 1
    assert "ojs-worker-presence" not in served.headers
