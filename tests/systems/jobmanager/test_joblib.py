"""The calls below `/v1/joblib` where the published client is not enough: keys, and plain jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ojs_server.app import Application
from ojs_server.domain.profile import PROFILES
from ojs_server.http.access.keys import parse_keys
from tests.http.clock import Hands
from tests.http.conftest import Serve, serve
from tests.http.keys import KEYS, bearer

__all__ = ["serve"]

OTHER_WORKER = "worker-key-000002"
Json = dict[str, Any]


class Caller:
    """One client of the server's own calls, and perhaps a key."""

    def __init__(self, client: httpx.AsyncClient, headers: dict[str, str]) -> None:
        self._client = client
        self._headers = headers

    async def __call__(self, status: int, method: str, path: str, body: object = None) -> Any:
        """Send a call that must be answered with this status; return its JSON."""
        address = path if path.startswith("/ojs") else f"/v1/joblib{path}"
        response = await self._client.request(method, address, json=body, headers=self._headers)
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    async def register(self, room: str, status: int = 201, **more: Any) -> Json:
        """Register the job `Turn` of a room."""
        body = {"category": "modifiers", "name": "Turn", "schema": {}, **more}
        made: Json = await self(status, "PUT", f"/rooms/{room}/jobs", body)
        return made


@asynccontextmanager
async def manager(serve: Serve, **more: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A server of the profile, and a client."""
    async with serve(profile=PROFILES["jobmanager"], **more) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


@pytest.fixture
async def open_to_all(serve: Serve) -> AsyncIterator[Caller]:
    """A server without keys."""
    async with manager(serve) as client:
        yield Caller(client, {})


@pytest.fixture
async def keyed(serve: Serve) -> AsyncIterator[dict[str, Caller]]:
    """Callers of a server with keys: by role, a second worker, and one without a key."""
    keys = parse_keys("", {**KEYS, "worker": [KEYS["worker"], OTHER_WORKER]})
    async with manager(serve, keys=keys) as client:
        callers = {role: Caller(client, bearer(role)) for role in KEYS}
        callers["other"] = Caller(client, {"Authorization": f"Bearer {OTHER_WORKER}"})
        yield {**callers, "nobody": Caller(client, {})}


async def test_a_worker_and_its_tasks_belong_to_their_principal(keyed: dict[str, Caller]) -> None:
    mine, other, admin = keyed["worker"], keyed["other"], keyed["admin"]
    made = await mine.register("room")
    worker, full_name = made["worker_id"], made["full_name"]
    task = await keyed["producer"](202, "POST", f"/rooms/room/tasks/{full_name}", {"payload": {}})
    running = {"status": "running"}
    for caller in (other,):
        refusal = await caller(403, "PATCH", f"/workers/{worker}")
        assert refusal["type"] == "/v1/problems/forbidden"
        await caller(403, "POST", "/tasks/claim", {"worker_id": worker})
        await caller(403, "DELETE", f"/workers/{worker}")
        await caller.register("room", 403, worker_id=worker)
        await caller(403, "PATCH", f"/tasks/{task['id']}", {"status": "cancelled"})
    claimed = (await mine(200, "POST", "/tasks/claim", {"worker_id": worker}))["task"]
    assert claimed["id"] == task["id"]
    await other(403, "PATCH", f"/tasks/{task['id']}", running)
    assert (await mine(200, "PATCH", f"/tasks/{task['id']}", running))["status"] == "running"
    assert (await admin(200, "PATCH", f"/tasks/{task['id']}", {"status": "failed"}))["error"]
    await mine(409, "PATCH", f"/tasks/{task['id']}", running)
    await other(403, "PATCH", f"/tasks/{task['id']}", running)
    await admin(204, "DELETE", f"/workers/{worker}")


async def test_shared_rooms_are_for_administrators(keyed: dict[str, Caller]) -> None:
    for room in ("@global", "@internal"):
        await keyed["worker"].register(room, 403)
        await keyed["admin"].register(room)


async def test_without_a_key_nothing_is_answered(keyed: dict[str, Caller]) -> None:
    refusal = await keyed["nobody"](401, "POST", "/workers")
    assert refusal["type"] == "/v1/problems/unauthenticated"


async def test_a_plain_job_is_claimed_by_the_name_of_its_kind(open_to_all: Caller) -> None:
    made = await open_to_all.register("Room 1")
    (listed,) = (await open_to_all(200, "GET", "/ojs/v1/rooms/Room%201/jobs"))["jobs"]
    body = {"type": listed["job_type"], "queue": listed["queue"], "args": [1, 2]}
    job = await open_to_all(201, "POST", "/ojs/v1/jobs", body)
    task = (await open_to_all(200, "POST", "/tasks/claim", {"worker_id": made["worker_id"]}))[
        "task"
    ]
    assert (task["id"], task["job_name"], task["room_id"]) == (
        job["id"],
        "Room 1:modifiers:Turn",
        "Room 1",
    )
    assert task["payload"] == {"args": [1, 2]}


async def test_a_claim_is_repeated_once_its_answer_may_be_taken_for_lost(serve: Serve) -> None:
    hands = Hands()
    async with manager(serve, clock=hands) as client:
        call = Caller(client, {})
        made = await call.register("room")
        path = f"/rooms/room/tasks/{made['full_name']}"
        first, second = [(await call(202, "POST", path, {"payload": {}}))["id"] for _ in range(2)]

        async def claim() -> str:
            body = {"worker_id": made["worker_id"]}
            task_id: str = (await call(200, "POST", "/tasks/claim", body))["task"]["id"]
            return task_id

        assert [await claim(), await claim()] == [first, second]
        hands.turn(seconds=5)
        assert [await claim(), await claim()] == [first, first]
        await call(200, "PATCH", f"/tasks/{first}", {"status": "running"})
        assert await claim() == second


async def test_tasks_of_other_rooms_are_tasks_of_the_plain_calls_too(open_to_all: Caller) -> None:
    made = await open_to_all.register("@global")
    task = await open_to_all(202, "POST", f"/rooms/mine/tasks/{made['full_name']}", {})
    shown = await open_to_all(200, "GET", f"/ojs/v1/tasks/{task['id']}")
    assert (shown["room_id"], shown["job"]) == ("mine", "@global:modifiers:Turn")


async def test_the_calls_are_only_there_under_the_profile(serve: Serve) -> None:
    async with serve() as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.post("/v1/joblib/workers")).status_code == 404
