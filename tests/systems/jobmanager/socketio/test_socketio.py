"""Socket.IO by its own messages: who is let in, what is bounded, and how it ends."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.e2e.node import Node, running

PROFILE = ("--profile", "jobmanager")
KEY = "worker-key-000001"
ADMIN = "admin-key-0000001"


class Polling:
    """A client that asks and asks again, as one without WebSockets does."""

    def __init__(self, client: httpx.AsyncClient, sid: str) -> None:
        self.client = client
        self._query = {"EIO": "4", "transport": "polling", "sid": sid}

    async def say(self, packet: str) -> httpx.Response:
        """Send one packet."""
        return await self.client.post("/socket.io/", params=self._query, content=packet)

    async def hear(self) -> httpx.Response:
        """Wait for packets, and return the answer that holds them."""
        return await self.client.get("/socket.io/", params=self._query)

    async def packets(self) -> list[str]:
        """The packets of the next answer, but for signs of life."""
        while True:
            answer = await self.hear()
            assert answer.status_code == 200, answer.text
            found = [one for one in answer.text.split("\x1e") if one not in ("2", "6")]
            if found:
                return found

    async def connect(self, auth: object = None) -> str:
        """Join the default namespace; answers what the server says to that."""
        await self.say("40" if auth is None else "40" + json.dumps(auth))
        return (await self.packets())[0]

    async def call(self, event: str, data: object) -> Any:
        """Say something and hear the answer, which comes first."""
        await self.say("420" + json.dumps([event, data]))
        (answer,) = await self.packets()
        assert answer.startswith("430"), answer
        return json.loads(answer[3:])[0]

    async def call_without_answer(self, event: str, data: object) -> bool:
        """Say something; whether it was taken."""
        return (await self.say("420" + json.dumps([event, data]))).status_code == 200

    async def event(self) -> list[Any]:
        """The next thing that the server tells."""
        told: list[Any] = json.loads((await self.packets())[0][2:])
        return told


async def opened(client: httpx.AsyncClient) -> httpx.Response:
    """The answer to a client that opens a session."""
    return await client.get("/socket.io/", params={"EIO": "4", "transport": "polling"})


async def polling(client: httpx.AsyncClient) -> Polling:
    """A client with a session."""
    answer = await opened(client)
    assert answer.status_code == 200, answer.text
    return Polling(client, json.loads(answer.text[1:])["sid"])


@asynccontextmanager
async def serving(database: str, *options: str) -> AsyncIterator[tuple[Node, httpx.AsyncClient]]:
    """A server of the profile, and a client of its HTTP."""
    async with (
        running(database, *PROFILE, *options) as node,
        httpx.AsyncClient(base_url=node.url, timeout=60, trust_env=False) as client,
    ):
        yield node, client


async def registered(client: httpx.AsyncClient, room: str) -> dict[str, Any]:
    """A job of a room, and its worker."""
    body = {"category": "modifiers", "name": "Turn", "schema": {}}
    answer = await client.put(f"/v1/joblib/rooms/{room}/jobs", json=body)
    made: dict[str, Any] = answer.raise_for_status().json()
    return made


async def submit(client: httpx.AsyncClient, room: str, job: str) -> str:
    """A task; answers its id."""
    answer = await client.post(f"/v1/joblib/rooms/{room}/tasks/{job}", json={"payload": {}})
    task_id: str = answer.raise_for_status().json()["id"]
    return task_id


async def test_a_client_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OJS_KEYS", f"worker:{KEY},admin:{ADMIN},worker@acme:tenant-key-000001")
    async with serving(":memory:") as (_, client):
        for auth in (None, {}, {"token": 7}, {"token": "wrong"}, ["token"]):
            assert (await (await polling(client)).connect(auth)).startswith("44")
        assert "tenant" in await (await polling(client)).connect({"token": "tenant-key-000001"})
        assert (await (await polling(client)).connect({"token": KEY})).startswith("40")
        client.headers["Authorization"] = f"Bearer {KEY}"
        assert (await (await polling(client)).connect()).startswith("40")


async def test_a_key_with_two_roles_hears_of_the_task_that_it_submits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OJS_KEYS", f"scene=worker+producer:{KEY},admin:{ADMIN}")
    async with serving(":memory:") as (_, client):
        client.headers["Authorization"] = f"Bearer {KEY}"
        made = await registered(client, "mine")
        mine = await polling(client)
        await mine.connect()
        order = {"job_name": made["full_name"], "worker_id": made["worker_id"]}
        assert await mine.call("join_job_room", order) == {"ok": True}
        task_id = await submit(client, "mine", made["full_name"])
        name, told = await mine.event()
        assert (name, told["task_id"]) == ("task_available", task_id)


async def test_another_principals_worker_joins_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OJS_KEYS", f"worker:{KEY},admin:{ADMIN}")
    async with serving(":memory:") as (_, client):
        client.headers["Authorization"] = f"Bearer {ADMIN}"
        made = await registered(client, "mine")
        order = {"job_name": made["full_name"], "worker_id": made["worker_id"]}
        for key, answer in ((ADMIN, {"ok": True}), (KEY, None)):
            client.headers["Authorization"] = f"Bearer {key}"
            mine = await polling(client)
            await mine.connect()
            told = await mine.call("join_job_room", order)
            assert told == answer or told["error"]["type"] == "/v1/problems/forbidden"


async def test_pages_of_other_origins_are_refused() -> None:
    async with serving(":memory:", "--cors-origin", "https://scene.example") as (_, client):
        for origin, status in (("https://scene.example", 200), ("https://evil.example", 403)):
            client.headers["Origin"] = origin
            assert (await opened(client)).status_code == status


async def test_what_a_client_says_is_bounded_before_it_is_read() -> None:
    async with serving(":memory:") as (_, client):
        mine = await polling(client)
        await mine.connect()
        assert (await mine.say("42" + "x" * 64 * 1024)).status_code == 413

        async def chunks() -> AsyncIterator[bytes]:
            yield b"42[]"

        answer = await client.post("/socket.io/", params=mine._query, content=chunks())
        assert answer.status_code == 400
        assert await mine.call("join_room", {"room_id": "mine"}) == {"ok": True}


async def test_clients_are_bounded() -> None:
    async with serving(":memory:", "--max-streams", "2") as (_, client):
        first, second, third = [await polling(client) for _ in range(3)]
        for one in (first, second):
            await one.connect()
        assert "here already" in await third.connect()
        refused = await opened(client)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert await first.call("join_room", {"room_id": "mine"}) == {"ok": True}


async def test_a_client_that_does_not_read_is_disconnected() -> None:
    async with serving(":memory:", "--stream-buffer", "3") as (node, client):
        made = await registered(client, "mine")
        deaf, page = await polling(client), await polling(client)
        for one in (deaf, page):
            await one.connect()
            await one.call("join_room", {"room_id": "mine"})
        for _ in range(12):
            await submit(client, "mine", made["full_name"])
            await page.event()
        assert (await deaf.hear()).status_code == 400
        assert any("does not read" in line for line in node.output)


async def test_every_node_tells_its_own_clients(postgres_url: str) -> None:
    async with serving(postgres_url) as (_, here), serving(postgres_url) as (_, there):
        made = await registered(here, "mine")
        worker = await polling(there)
        await worker.connect()
        order = {"job_name": made["full_name"], "worker_id": made["worker_id"]}
        assert await worker.call("join_job_room", order) == {"ok": True}
        task_id = await submit(here, "mine", made["full_name"])
        told = {"job_name": made["full_name"], "room_id": "mine", "task_id": task_id}
        assert await worker.event() == ["task_available", told]


async def test_a_stop_ends_the_polls_of_clients() -> None:
    async with serving(":memory:") as (node, client):
        mine = await polling(client)
        await mine.connect()
        held = asyncio.create_task(mine.hear())
        assert await mine.call_without_answer("join_room", {"room_id": "mine"})
        assert (await held).text.startswith("430")
        held = asyncio.create_task(mine.hear())
        assert await node.stop() == 0
        await asyncio.gather(held, return_exceptions=True)


async def test_other_profiles_have_no_socketio() -> None:
    async with running(":memory:") as node, httpx.AsyncClient(base_url=node.url) as client:
        assert (await opened(client)).status_code == 404


async def test_a_provider_that_connects_again_is_sent_requests_that_wait(store_url: str) -> None:
    async with serving(store_url) as (_, client):
        body = {"category": "files", "name": "disk", "schema": {}}
        answer = await client.put("/v1/joblib/rooms/mine/providers", json=body)
        made = answer.raise_for_status().json()
        order = {"provider_name": made["full_name"], "worker_id": made["worker_id"]}
        lost, again = await polling(client), await polling(client)
        for connection in (lost, again):
            assert (await connection.connect()).startswith("40")
        assert await lost.call("join_provider_room", order) == {"ok": True}
        path = f"/v1/joblib/rooms/mine/providers/{made['full_name']}?path=a"
        reading = asyncio.create_task(client.get(path, headers={"Prefer": "wait=30"}))
        request = await lost.event()
        assert request[0] == "provider_request"
        # It joins once more, and is sent nothing twice.
        assert await lost.call("join_provider_room", order) == {"ok": True}
        assert await again.call_without_answer("join_provider_room", order)
        found = [json.loads(packet[2:]) for packet in await again.packets() if packet[1] == "2"]
        assert (found or [await again.event()])[0] == request
        answering = {"X-Request-Hash": request[1]["request_id"]}
        results = f"/v1/joblib/providers/{made['id']}/results"
        (await client.post(results, content=b"[1]", headers=answering)).raise_for_status()
        assert (await reading).json() == [1]
        # The next event at the first connection is a request for something else.
        other = asyncio.create_task(client.get(path.replace("=a", "=b")))
        assert (await lost.event())[1]["request_id"] != request[1]["request_id"]
        other.cancel()
