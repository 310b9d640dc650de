"""Workflows over HTTP: start, hand on results, read, list, cancel, progress."""

from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import JOBS, V1, WORKERS, Json
from tests.users_stores import on_one_store

FLOWS = f"{V1}/workflows"
ID = "01a1f0c0-0000-7000-8000-00000000000a"


def job(kind: str = "t", **given: Any) -> Json:
    return {"type": kind, "args": [], "options": {"queue": "q"}, **given}


def chain(*kinds: str, **given: Any) -> Json:
    return {"type": "chain", "steps": [job(kind) for kind in kinds], **given}


async def start(client: httpx.AsyncClient, body: Json) -> Json:
    response = await client.post(FLOWS, json=body)
    assert response.status_code == 201, response.text
    started: Json = response.json()["workflow"]
    assert response.headers["location"] == f"{FLOWS}/{started['id']}"
    return started


async def read(client: httpx.AsyncClient, workflow: Json) -> Json:
    found: Json = (await client.get(f"{FLOWS}/{workflow['id']}")).json()["workflow"]
    return found


async def take(client: httpx.AsyncClient, count: int = 1) -> list[Json]:
    body = {"queues": ["q"], "worker_id": "w", "count": count}
    jobs: list[Json] = (await client.post(f"{WORKERS}/fetch", json=body)).json()["jobs"]
    return jobs


async def ack(client: httpx.AsyncClient, fetched: Json, result: object = None) -> None:
    body = {"job_id": fetched["id"], "worker_id": "w", "result": result}
    assert (await client.post(f"{WORKERS}/ack", json=body)).status_code == 200


async def discard(client: httpx.AsyncClient, fetched: Json) -> None:
    error = {"code": "broken", "message": "no", "retryable": False}
    body = {"job_id": fetched["id"], "worker_id": "w", "error": error}
    assert (await client.post(f"{WORKERS}/nack", json=body)).json()["state"] == "discarded"


async def test_a_chain_is_shown_as_it_goes(client: httpx.AsyncClient) -> None:
    flow = await start(client, chain("a", "b", name="nightly"))
    assert (flow["type"], flow["name"], flow["state"]) == ("chain", "nightly", "running")
    assert (flow["steps_total"], flow["steps_completed"]) == (2, 0)
    first, second = flow["steps"]
    assert (first["state"], first["job_state"], first["depends_on"]) == ("pending", "available", [])
    assert (second["state"], second["job_id"], second["depends_on"]) == ("waiting", None, ["0"])
    (fetched,) = await take(client)
    assert (fetched["workflow_id"], fetched["parent_results"]) == (flow["id"], [])
    assert (await read(client, flow))["steps"][0]["state"] == "active"
    await ack(client, fetched, {"report_id": 7})
    (fetched,) = await take(client)
    assert fetched["parent_results"] == [{"report_id": 7}]
    await ack(client, fetched)
    flow = await read(client, flow)
    assert (flow["state"], flow["steps_completed"], flow["jobs_completed"]) == ("completed", 2, 2)
    assert flow["completed_at"] == flow["metadata"]["completed_at"] is not None
    assert all(step["completed_at"] for step in flow["steps"])


async def test_the_fields_stand_wrapped_and_at_the_top(client: httpx.AsyncClient) -> None:
    await start(client, chain("a", id=ID))
    answer = (await client.get(f"{FLOWS}/{ID}")).json()
    wrapped = answer.pop("workflow")
    assert answer == wrapped


async def test_a_job_shows_what_it_was_given(client: httpx.AsyncClient) -> None:
    flow = await start(client, chain("a", "b"))
    (fetched,) = await take(client)
    await ack(client, fetched, [1])
    (fetched,) = await take(client)
    shown = (await client.get(f"{JOBS}/{fetched['id']}")).json()["job"]
    assert (shown["workflow_id"], shown["parent_results"]) == (flow["id"], [[1]])
    plain = (await client.post(JOBS, json={**job(), "workflow_id": "mine"})).json()["job"]
    assert not plain.keys() & {"workflow_id", "parent_results"}


async def test_a_failure_is_told(client: httpx.AsyncClient) -> None:
    flow = await start(client, chain("a", "b", "c"))
    await ack(client, (await take(client))[0])
    (fetched,) = await take(client)
    await discard(client, fetched)
    flow = await read(client, flow)
    assert (flow["state"], flow["steps_completed"], flow["steps_failed"]) == ("failed", 1, 1)
    assert (flow["failed_step_index"], flow["failed_step_id"]) == (1, "1")
    assert flow["failed_job_ids"] == [fetched["id"]]
    (error,) = flow["errors"]
    assert (error["job_id"], error["code"], error["attempt"]) == (fetched["id"], "broken", 1)
    assert [step["state"] for step in flow["steps"]] == ["completed", "failed", "cancelled"]
    assert flow["metadata"]["failed_count"] == 1


async def test_a_batch_shows_its_callbacks(client: httpx.AsyncClient) -> None:
    callbacks = {"on_complete": job("done"), "on_failure": job("sorry")}
    body = {"type": "batch", "jobs": [job("a"), job("b")], "callbacks": callbacks}
    flow = await start(client, body)
    assert (flow["jobs_total"], flow["jobs_completed"]) == (2, 0)
    assert [step["id"] for step in flow["jobs"]] == ["0", "1"]
    assert [step["callback"] for step in flow["callbacks"]] == ["on_complete", "on_failure"]
    assert flow["steps"] == flow["jobs"] + flow["callbacks"]
    first, second = await take(client, 2)
    await ack(client, first, 1)
    await discard(client, second)
    fetched = await take(client, 9)
    assert [one["type"] for one in fetched] == ["done", "sorry"]
    result, error = fetched[0]["parent_results"]
    assert (result, error["error"]["code"]) == (1, "broken")
    await discard(client, fetched[1])
    await ack(client, fetched[0])
    flow = await read(client, flow)
    assert (flow["state"], flow["failed_step_id"]) == ("failed", "on_failure")
    assert flow["failed_step_index"] == 3


async def test_a_graph_as_the_sdks_send_it(client: httpx.AsyncClient) -> None:
    steps = [
        job("load", id="load"),
        job("cut", id="cut", depends_on=["load"]),
        job("join", id="join", depends_on=["load", "cut"]),
    ]
    flow = await start(client, {"name": "video", "steps": steps})
    assert flow["type"] == "dag"
    assert [step["id"] for step in flow["steps"]] == ["load", "cut", "join"]
    assert [step["depends_on"] for step in flow["steps"]] == [[], ["load"], ["load", "cut"]]
    for result in ("loaded", "cut"):
        await ack(client, (await take(client))[0], result)
    (fetched,) = await take(client)
    assert fetched["parent_results"] == ["loaded", "cut"]


async def test_nested_workflows_are_shown_inside(client: httpx.AsyncClient) -> None:
    inner = {"type": "group", "jobs": [job("b"), job("c")]}
    flow = await start(client, {"type": "chain", "steps": [job("a"), inner]})
    await ack(client, (await take(client))[0])
    await ack(client, (await take(client))[0])
    flow = await read(client, flow)
    group = flow["steps"][1]
    assert (group["type"], group["state"], group["job_id"]) == ("group", "active", None)
    assert [(step["id"], step["state"]) for step in group["steps"]] == [
        ("1.0", "completed"),
        ("1.1", "pending"),
    ]
    progress = (await client.get(f"{FLOWS}/{flow['id']}/progress")).json()
    assert progress["progress"] == 0.75
    assert [step["progress"] for step in progress["steps"]] == [1.0, 0.5]


@pytest.mark.parametrize(
    ("form", "shares", "whole"),
    [
        ({"type": "chain", "steps": [job("a"), job("b")]}, [0.5, 0.0], 0.25),
        ({"type": "group", "jobs": [job("a"), job("b")]}, [0.5, 0.0], 0.25),
        (
            {"type": "batch", "jobs": [job("a")], "callbacks": {"on_complete": job("c")}},
            [0.5, 0.0],
            0.0,
        ),
    ],
)
async def test_what_running_jobs_report_is_part_of_the_progress(
    client: httpx.AsyncClient, form: dict[str, Any], shares: list[float], whole: float
) -> None:
    flow = await start(client, form)
    (running,) = await take(client)
    report = {"progress": 0.5, "data": {"row": 7}}
    assert (
        await client.put(f"/ojs/v1/jobs/{running['id']}/progress", json=report)
    ).status_code == 200
    progress = (await client.get(f"{FLOWS}/{flow['id']}/progress")).json()
    assert progress["progress"] == whole
    assert [step["progress"] for step in progress["steps"]] == shares
    assert [step.get("data") for step in progress["steps"]] == [{"row": 7}, None]


async def test_a_cancel_says_what_it_came_to(client: httpx.AsyncClient) -> None:
    flow = await start(client, chain("a", "b", "c"))
    await ack(client, (await take(client))[0])
    response = await client.delete(f"{FLOWS}/{flow['id']}")
    cancelled = response.json()["workflow"]
    assert (response.status_code, cancelled["state"]) == (200, "cancelled")
    assert cancelled["cancelled_at"] == cancelled["metadata"]["cancelled_at"] is not None
    assert cancelled["completed_at"] is None
    assert (cancelled["steps_cancelled"], cancelled["steps_already_completed"]) == (2, 1)
    assert await take(client) == []
    again = await client.delete(f"{FLOWS}/{flow['id']}")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


async def test_a_failed_workflow_is_tried_again(client: httpx.AsyncClient) -> None:
    flow = await start(client, chain("a", "b"))
    path = f"{FLOWS}/{flow['id']}/retry"
    assert (await client.post(path)).status_code == 409
    await discard(client, (await take(client))[0])
    response = await client.post(path, json={})
    retried = response.json()["workflow"]
    assert (response.status_code, retried["state"]) == (200, "running")
    assert [step["state"] for step in retried["steps"]] == ["pending", "waiting"]
    assert retried["completed_at"] is None
    assert "errors" not in retried
    await ack(client, (await take(client))[0], "found")
    (last,) = await take(client)
    assert last["parent_results"] == ["found"]
    await ack(client, last)
    assert (await read(client, flow))["state"] == "completed"


async def test_a_cancel_by_post_needs_no_body(client: httpx.AsyncClient) -> None:
    flow = await start(client, chain("a"))
    response = await client.post(f"{FLOWS}/{flow['id']}/cancel")
    assert response.json()["state"] == "cancelled"


@pytest.mark.parametrize("workflow_id", [ID, "nowhere"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/progress"), ("DELETE", ""), ("POST", "/cancel"), ("POST", "/retry")],
)
async def test_an_unknown_workflow_is_not_found(
    client: httpx.AsyncClient, method: str, path: str, workflow_id: str
) -> None:
    response = await client.request(method, f"{FLOWS}/{workflow_id}{path}")
    assert response.status_code == 404
    assert response.json()["error"]["details"]["resource_type"] == "workflow"


async def test_the_same_request_again(client: httpx.AsyncClient) -> None:
    body = chain("a", id=ID)
    await start(client, body)
    again = await client.post(FLOWS, json=body)
    assert (again.status_code, again.json()["workflow"]["id"]) == (200, ID)
    other = await client.post(FLOWS, json=chain("b", id=ID))
    assert (other.status_code, other.json()["error"]["code"]) == (409, "duplicate")
    assert len(await take(client, 9)) == 1


async def test_an_idempotency_key(client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k"}
    first = await client.post(FLOWS, json=chain("a"), headers=headers)
    again = await client.post(FLOWS, json=chain("a"), headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    other = await client.post(FLOWS, json=chain("b"), headers=headers)
    assert other.status_code == 409
    # Keys of different operations are independent.
    assert (await client.post(JOBS, json=job(), headers=headers)).status_code == 201


async def test_lists_filter_and_page(serve: Serve) -> None:
    clock = Hands()
    async with serve(clock=clock) as running, connect(running) as client:
        ids: list[str] = []
        for number in range(5):
            flow = await start(client, chain("a", name=f"n{number % 2}"))
            ids.insert(0, flow["id"])
            clock.turn(seconds=1)
        await client.delete(f"{FLOWS}/{ids[0]}")
        listed = (await client.get(FLOWS)).json()
        assert [one["id"] for one in listed["workflows"]] == ids
        assert listed["items"] == listed["workflows"]
        assert "steps" not in listed["items"][0]
        assert await _ids(client, state="running") == ids[1:]
        assert await _ids(client, state="active") == ids[1:]
        # The first steps are enqueued when a workflow is stored.
        assert await _ids(client, state="pending") == []
        assert await _ids(client, name="n1") == [ids[1], ids[3]]
        assert await _ids(client, type="group") == []
        assert await _ids(client, type="chain", limit="2", offset="1") == ids[1:3]
        page = (await client.get(FLOWS, params={"limit": "2"})).json()
        assert page["pagination"]["total"] == 5
        await start(client, chain("a"))
        cursor = page["pagination"]["next_cursor"]
        assert await _ids(client, limit="2", cursor=cursor) == ids[2:4]


async def _ids(client: httpx.AsyncClient, **query: str) -> list[str]:
    found = (await client.get(FLOWS, params=query)).json()
    return [one["id"] for one in found["workflows"]]


@on_one_store
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"state": "runing"}, "state"),
        ({"type": "tree"}, "type"),
        ({"cursor": "x"}, "cursor"),
        ({"limit": "0"}, "limit"),
        ({"name": "x" * 256}, "name"),
    ],
)
async def test_a_wrong_list_is_refused(
    client: httpx.AsyncClient, query: dict[str, str], field: str
) -> None:
    response = await client.get(FLOWS, params=query)
    assert response.status_code == 400
    assert response.json()["error"]["details"]["field"] == field


async def test_a_name_no_database_can_hold_finds_nothing(client: httpx.AsyncClient) -> None:
    assert await _ids(client, name="a\0b") == []


async def test_events_name_the_workflow(client: httpx.AsyncClient) -> None:
    flow = await start(client, chain("a", name="nightly"))
    await ack(client, (await take(client))[0])
    found = (await client.get(f"{V1}/events", params={"types": "workflow.*"})).json()["events"]
    assert [event["type"] for event in found] == [
        "workflow.created",
        "workflow.started",
        "workflow.step_completed",
        "workflow.completed",
    ]
    assert {event["subject"] for event in found} == {flow["id"]}
    assert all(event["data"]["workflow_name"] == "nightly" for event in found)


# Bad input, with nothing half-stored.


def graph(*steps: tuple[str, list[str]]) -> Json:
    return {"steps": [job("a", id=name, depends_on=needs) for name, needs in steps]}


def deep(levels: int) -> Json:
    inner = chain("a")
    for _ in range(levels - 1):
        inner = {"type": "chain", "steps": [inner]}
    return inner


REFUSED: list[tuple[Any, str]] = [
    ({}, "steps"),
    ({"type": "tree", "steps": [job()]}, "type"),
    ({"type": "chain"}, "steps"),
    ({"type": "chain", "steps": []}, "steps"),
    ({"type": "chain", "steps": {}}, "steps"),
    ({"type": "chain", "steps": [job()], "jobs": [job()]}, "jobs"),
    ({"type": "chain", "steps": [job(), 7]}, "steps[1]"),
    ({"type": "chain", "steps": [job(), {"type": "B", "args": []}]}, "steps[1].type"),
    ({"type": "chain", "steps": [job(), {"type": "b"}]}, "steps[1].args"),
    ({"type": "chain", "steps": [job(id="x"), job(id="x")]}, "steps[1].id"),
    ({"type": "chain", "steps": [job(depends_on=["x"])]}, "steps[0].depends_on"),
    ({"type": "group", "jobs": [job(queue="Q")]}, "jobs[0].queue"),
    ({"type": "batch", "jobs": [job()]}, "callbacks"),
    ({"type": "batch", "jobs": [job()], "callbacks": {"on_sucess": job()}}, "callbacks.on_sucess"),
    (graph(("a", ["b"]), ("b", ["c"]), ("c", ["a"])), "steps"),
    (graph(("a", ["a"])), "steps"),
    (graph(("a", []), ("b", ["nobody"])), "steps[1].depends_on"),
    (graph(("a", []), ("a", [])), "steps[1].id"),
    ({"steps": [job()], "jobs": [job()]}, "jobs"),
    (deep(6), "steps[0].steps[0].steps[0].steps[0].steps[0]"),
    ({"type": "group", "jobs": [job()] * 1001}, "jobs"),
    (chain("a", id="mine"), "id"),
    (chain("a", name="x" * 256), "name"),
    (chain("a", name="a\0b"), "name"),
    (chain("a", options=7), "options"),
    (chain("a", options={"queue": "Q"}), "options.queue"),
]


@on_one_store
@pytest.mark.parametrize(("body", "path"), REFUSED)
async def test_a_wrong_workflow_is_refused_where_it_is_wrong(
    client: httpx.AsyncClient, body: Json, path: str
) -> None:
    response = await client.post(FLOWS, json=body)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "invalid_workflow"), response.text
    assert error["details"]["validation_errors"][0]["path"] == path
    assert (await client.get(FLOWS)).json()["workflows"] == []
    assert await take(client, 9) == []


async def test_a_circle_is_shown_as_a_path(client: httpx.AsyncClient) -> None:
    body = graph(("a", ["c"]), ("b", ["a"]), ("c", ["b"]), ("d", []))
    message = (await client.post(FLOWS, json=body)).json()["error"]["message"]
    circle = message.partition(": ")[2].split(" → ")
    assert circle[0] == circle[-1]
    assert sorted(circle[1:]) == ["a", "b", "c"]


async def test_the_nearest_name_is_told(client: httpx.AsyncClient) -> None:
    body = graph(("prepare", []), ("b", ["prepaer"]))
    assert "prepare" in (await client.post(FLOWS, json=body)).json()["error"]["message"]


@on_one_store
@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"type":1e999}'])
async def test_what_is_no_object_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    response = await client.post(FLOWS, content=body)
    assert response.json()["error"]["code"] == "invalid_payload"


async def test_unknown_members_are_ignored(client: httpx.AsyncClient) -> None:
    await start(client, chain("a", colour="red"))


async def test_unknown_members_are_refused_when_strict(strict_client: httpx.AsyncClient) -> None:
    response = await strict_client.post(FLOWS, json=chain("a", nmae="x"))
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (422, "validation_error")
    assert "`name`" in error["message"] or "name" in error["message"]
    assert (await strict_client.get(FLOWS)).json()["workflows"] == []


async def test_any_text_may_stand_in_a_workflow(client: httpx.AsyncClient) -> None:
    odd = "\0☃\U0001f600\u202e"
    flow = await start(client, {"steps": [job("a", id=odd, args=[odd])], "name": odd[1:]})
    assert (flow["name"], flow["steps"][0]["id"]) == (odd[1:], odd)
    (fetched,) = await take(client)
    assert fetched["args"] == [odd]


async def test_the_largest_workflow_is_taken(client: httpx.AsyncClient) -> None:
    flow = await start(client, {"type": "group", "jobs": [job()] * 1000})
    assert flow["jobs_total"] == 1000
    assert len(await take(client, 100)) == 100


async def test_deepest_nesting_runs(client: httpx.AsyncClient) -> None:
    flow = await start(client, deep(5))
    await ack(client, (await take(client))[0])
    assert (await read(client, flow))["state"] == "completed"


async def test_a_manifest_with_workflows(client: httpx.AsyncClient, server: Server) -> None:
    manifest = (await client.get("/ojs/manifest")).json()
    assert manifest["capabilities"]["workflows"] is True


async def test_steps_show_results_as_far_as_there_is_room(client: httpx.AsyncClient) -> None:
    workflow = await start(client, chain("a", "b", "c", "d"))
    large = "x" * 200_000
    for result in ({"n": 1.0}, large, large, None):
        (taken,) = await take(client)
        await ack(client, taken, result)
    steps = (await read(client, workflow))["steps"]
    assert steps[0]["result"] == {"n": 1.0}
    assert steps[1]["result"] == large
    where = f"{JOBS}/{steps[2]['job_id']}/result"
    assert steps[2]["result"] == {"$ref": where, "size_bytes": 200_002}
    assert (await client.get(where)).json()["result"] == large
    waiting = await start(client, chain("a"))
    assert "result" not in (await read(client, waiting))["steps"][0]
