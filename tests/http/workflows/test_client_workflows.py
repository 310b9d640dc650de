"""Workflows as the public SDKs, the admin UI and the command line send and read them."""

import asyncio
from typing import Any

import httpx

from tests.http.steps import V1, WORKERS, Json, body

FLOWS = f"{V1}/workflows"
STATES = {"waiting", "pending", "active", "completed", "failed", "cancelled"}


async def start(client: httpx.AsyncClient, request: Json) -> Json:
    response = await client.post(FLOWS, json=request)
    assert response.status_code == 201, response.text
    return body(response)


async def work(client: httpx.AsyncClient, **more: Any) -> Json | None:
    """Fetch one job and complete it; answers it."""
    fetching = {"queues": ["default"], "worker_id": "w", **more}
    jobs = body(await client.post(f"{WORKERS}/fetch", json=fetching))["jobs"]
    for one in jobs:
        done = {"job_id": one["id"], "worker_id": "w", "result": {"of": one["type"]}}
        assert (await client.post(f"{WORKERS}/ack", json=done)).status_code == 200
    return jobs[0] if jobs else None


async def test_python_marks_callbacks_in_their_options(client: httpx.AsyncClient) -> None:
    client.headers["OJS-Version"] = "1.0"
    jobs = ["job_0", "job_1"]
    request = {
        "name": "import",
        "steps": [
            {"id": "job_0", "type": "row.load", "args": [0], "depends_on": []},
            {"id": "job_1", "type": "row.load", "args": [1], "depends_on": []},
            {
                "id": "on_failure",
                "type": "import.undo",
                "args": [],
                "depends_on": jobs,
                "options": {"callback_type": "on_failure"},
            },
            {
                "id": "on_success",
                "type": "import.done",
                "args": [],
                "depends_on": jobs,
                "options": {"callback_type": "on_success"},
            },
        ],
    }
    flow = (await start(client, request))["workflow"]
    # It reads these members, and needs all of its steps.
    assert {"id", "name", "state"} <= flow.keys()
    assert [step["id"] for step in flow["steps"]] == [*jobs, "on_failure", "on_success"]
    assert all(step["type"] and step["state"] in STATES for step in flow["steps"])
    kinds = []
    while fetched := await work(client):
        kinds.append(fetched["type"])
    assert kinds == ["row.load", "row.load", "import.done"]
    found = body(await client.get(f"{FLOWS}/{flow['id']}"))["workflow"]
    assert found["state"] == "completed"


async def test_go_names_callbacks_only(client: httpx.AsyncClient) -> None:
    client.headers["OJS-Version"] = "1.0.0-rc.1"
    jobs = ["job-0", "job-1"]
    request = {
        "steps": [
            {"id": "job-0", "type": "row.load", "args": [{"row": 0}]},
            {"id": "job-1", "type": "row.load", "args": [{"row": 1}]},
            {"id": "on-complete", "type": "import.done", "args": [{}], "depends_on": jobs},
            {"id": "on-failure", "type": "import.undo", "args": [{}], "depends_on": jobs},
        ],
        "options": {"timeout_ms": 30_000},
    }
    flow = (await start(client, request))["workflow"]
    assert flow["type"] == "batch"
    kinds = []
    while fetched := await work(client):
        assert fetched["timeout_ms"] == 30_000
        kinds.append(fetched["type"])
    assert kinds == ["row.load", "row.load", "import.done"]


async def test_go_writes_a_chain_as_a_graph(client: httpx.AsyncClient) -> None:
    steps = [
        {"id": "step-0", "type": "a", "args": [{}]},
        {"id": "step-1", "type": "b", "args": [{}], "depends_on": ["step-0"]},
    ]
    await start(client, {"steps": steps})
    assert (await work(client) or {})["type"] == "a"
    assert (await work(client) or {})["parent_results"] == [{"of": "a"}]


async def test_js_nests_and_reads_the_top(client: httpx.AsyncClient) -> None:
    request = {
        "type": "chain",
        "name": "video",
        "steps": [
            {"type": "video.load", "args": ["x"]},
            {
                "type": "group",
                "jobs": [{"type": "video.cut", "args": [1]}, {"type": "video.cut", "args": [2]}],
            },
            {"type": "video.join", "args": []},
        ],
    }
    flow = await start(client, request)
    assert (flow["state"], flow["metadata"]["job_count"]) == ("running", 3)
    kinds = []
    while fetched := await work(client):
        kinds.append(fetched["type"])
    assert kinds == ["video.load", "video.cut", "video.cut", "video.join"]
    assert body(await client.get(f"{FLOWS}/{flow['id']}"))["state"] == "completed"


async def test_the_admin_ui_lists_reads_and_cancels(client: httpx.AsyncClient) -> None:
    client.headers["Content-Type"] = client.headers["Accept"] = "application/json"
    flow = await start(client, {"type": "chain", "steps": [{"type": "a", "args": []}]})
    listed = body(await client.get(f"{FLOWS}?page=1&per_page=20"))
    assert [one["id"] for one in listed["items"]] == [flow["id"]]
    assert {"total", "page", "per_page"} <= listed["pagination"].keys()
    progress = body(await client.get(f"{FLOWS}/{flow['id']}/progress"))
    assert (progress["workflow_id"], progress["progress"]) == (flow["id"], 0)
    cancelled = body(await client.post(f"{FLOWS}/{flow['id']}/cancel"))
    assert cancelled["state"] == "cancelled"


async def test_a_worker_that_waits_gets_the_next_step(client: httpx.AsyncClient) -> None:
    """Woken by the end of the step before, long before its wait is over."""
    later = {"type": "b", "args": [], "options": {"queue": "later"}}
    await start(client, {"type": "chain", "steps": [{"type": "a", "args": []}, later]})
    waiting = asyncio.create_task(work(client, queues=["later"], wait_ms=20_000))
    async with asyncio.timeout(10):
        await work(client)
        assert (await waiting or {})["type"] == "b"
