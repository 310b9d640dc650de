"""The calls below `/v1/joblib` where the published client is not enough: keys, and plain jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ojs_server.app import Application
from ojs_server.domain.profile import PROFILES
from ojs_server.http.access.keys import parse_keys
from ojs_server.systems.jobmanager.domain.provider import hash_of
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

    async def __call__(
        self,
        status: int,
        method: str,
        path: str,
        body: object = None,
        more: dict[str, str] | None = None,
    ) -> Any:
        """Send a call that must be answered with this status; return its JSON."""
        address = path if path.startswith("/ojs") else f"/v1/joblib{path}"
        headers = {**self._headers, **(more or {})}
        response = await self._client.request(method, address, json=body, headers=headers)
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    async def applied(self, path: str) -> str | None:
        """Send a read that prefers to wait a second; return the preference that was applied."""
        headers = {**self._headers, "Prefer": "wait=1"}
        response = await self._client.get(f"/v1/joblib{path}", headers=headers)
        assert response.status_code == 200, response.text
        applied: str | None = response.headers.get("preference-applied")
        return applied

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
    # An administrator does not work in another's name, but may end its worker.
    await admin(403, "POST", "/tasks/claim", {"worker_id": worker})
    await admin(403, "PATCH", f"/workers/{worker}")
    await admin(204, "DELETE", f"/workers/{worker}")


async def test_one_key_registers_submits_and_works_for_an_ordinary_user(serve: Serve) -> None:
    key = "the-key-of-an-ordinary-user"
    async with manager(serve, keys=parse_keys(f"scene=worker+producer:{key}", {})) as client:
        user = Caller(client, {"Authorization": f"Bearer {key}"})
        made = await user.register("room")
        task = await user(202, "POST", f"/rooms/room/tasks/{made['full_name']}", {"payload": {}})
        body = {"worker_id": made["worker_id"]}
        assert (await user(200, "POST", "/tasks/claim", body))["task"]["id"] == task["id"]
        for status in ("running", "completed"):
            await user(200, "PATCH", f"/tasks/{task['id']}", {"status": status})
        for kind in ("jobs", "providers"):
            offered = {"category": "modifiers", "name": "Turn", "schema": {}}
            for room in ("@global", "@internal") if kind == "jobs" else ("@global",):
                await user(403, "PUT", f"/rooms/{room}/{kind}", offered)


async def test_of_two_spellings_the_canonical_one_counts(open_to_all: Caller) -> None:
    first, second = {"type": "object"}, {"type": "array"}
    made = await open_to_all.register("room", schema=first, schema_=second)
    assert made["schema"] == first
    alone = {"category": "modifiers", "name": "Bend", "schema_": second}
    assert (await open_to_all(201, "PUT", "/rooms/room/jobs", alone))["schema"] == second
    offered = {"category": "files", "name": "disk", "schema": first, "schema_": second}
    made = await open_to_all(201, "PUT", "/rooms/room/providers", offered)
    assert made["schema"] == first
    manifest = await open_to_all(200, "GET", "/ojs/manifest")
    assert manifest["capabilities"]["canonical_spelling_wins"] is True


async def test_a_wait_is_named_where_there_was_one(open_to_all: Caller) -> None:
    made = await open_to_all.register("room")
    path = f"/rooms/room/tasks/{made['full_name']}"
    task = (await open_to_all(202, "POST", path, {"payload": {}}))["id"]
    assert await open_to_all.applied(f"/tasks/{task}") == "wait=1"
    await open_to_all(200, "PATCH", f"/tasks/{task}", {"status": "cancelled"})
    assert await open_to_all.applied(f"/tasks/{task}") is None


async def test_the_kept_answer_of_a_provider_names_no_wait(open_to_all: Caller) -> None:
    offered = {"category": "files", "name": "disk", "schema": {}}
    made = await open_to_all(201, "PUT", "/rooms/room/providers", offered)
    path = f"/rooms/room/providers/{made['full_name']}"
    answered = {"X-Request-Hash": hash_of(b'{"path":"a"}')}
    await open_to_all(204, "POST", f"/providers/{made['id']}/results", [1], answered)
    assert await open_to_all.applied(f"{path}?path=a") is None


async def test_a_job_without_workers_goes_with_its_last_task(open_to_all: Caller) -> None:
    for way in ("PATCH", "DELETE"):
        made = await open_to_all.register("room")
        job = f"/rooms/room/jobs/{made['full_name']}"
        task = await open_to_all(
            202, "POST", f"/rooms/room/tasks/{made['full_name']}", {"payload": {}}
        )
        await open_to_all(204, "DELETE", f"/workers/{made['worker_id']}")
        await open_to_all(200, "GET", job)
        if way == "PATCH":
            await open_to_all(200, "PATCH", f"/tasks/{task['id']}", {"status": "cancelled"})
        else:
            await open_to_all(200, "DELETE", f"/ojs/v1/jobs/{task['id']}")
        await open_to_all(404, "GET", job)
        assert (await open_to_all(200, "GET", "/rooms/room/jobs"))["items"] == []
        kept = await open_to_all(200, "GET", f"/tasks/{task['id']}")
        assert kept["job_name"] == made["full_name"]
    # Nothing is left that another schema could contradict.
    assert (await open_to_all.register("room", schema={"type": "object"}))["workers"]


async def test_shared_rooms_are_for_administrators(keyed: dict[str, Caller]) -> None:
    for room in ("@global", "@internal"):
        await keyed["worker"].register(room, 403)
        await keyed["admin"].register(room)


async def test_without_a_key_nothing_is_answered(keyed: dict[str, Caller]) -> None:
    refusal = await keyed["nobody"](401, "POST", "/workers")
    assert refusal["type"] == "/v1/problems/unauthenticated"


async def test_a_plain_job_is_claimed_by_the_name_of_its_kind(open_to_all: Caller) -> None:
    made = await open_to_all.register("Room 1")
    body = {"type": made["job_type"], "queue": made["queue"], "args": [1, 2]}
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


async def test_the_calls_are_only_there_under_the_profile(serve: Serve) -> None:
    async with serve() as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.post("/v1/joblib/workers")).status_code == 404
