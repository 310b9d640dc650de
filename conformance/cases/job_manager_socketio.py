"""Cases of Socket.IO for the job manager's clients, by polling: packets of text in HTTP."""

import json
from typing import Any

from conformance.case import case
from conformance.cases.access import key_of
from conformance.cases.job_manager import (
    BASE,
    OWN,
    claimed,
    moved,
    problem,
    registered,
    submitted,
)
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

PATH = "/socket.io/"
TEXT = {"Content-Type": "text/plain"}
MOST = 64 * 1024
# Longer than the grace period of a session, and shorter than the limit of its silence.
SOON_S = 4.0


class Client:
    """A client of Socket.IO that polls."""

    def __init__(self, stage: Stage, sid: str) -> None:
        self._stage = stage
        self._path = f"{PATH}?EIO=4&transport=polling&sid={sid}"
        self._come: list[str] = []

    async def send_message(self, packet: str) -> Reply:
        """Send one packet; any answer is returned."""
        return await self._stage.call("POST", self._path, raw=packet.encode(), headers=TEXT)

    async def packet(self) -> str:
        """The next packet that is no sign of life."""
        while not self._come:
            reply = (await self._stage.get(self._path)).expect(200)
            self._come = [packet for packet in reply.text.split("\x1e") if packet != "2"]
        return self._come.pop(0)

    async def connect(self, auth: object = None) -> str:
        """Join the default namespace; the packet that answers is returned."""
        await self.send_message("40" if auth is None else f"40{json.dumps(auth)}")
        return await self.packet()

    async def call(self, event: str, **data: object) -> Any:
        """Say something, and hear the answer."""
        (await self.send_message(f"420{json.dumps([event, data])}")).expect(200)
        return json.loads((await self.packet()).removeprefix("430"))[0]

    async def event(self) -> list[Any]:
        """The next thing that is told."""
        event: list[Any] = json.loads((await self.packet()).removeprefix("42"))
        return event


async def opened(stage: Stage) -> Client:
    """A client with a session."""
    reply = (await stage.call("GET", PATH, EIO=4, transport="polling")).expect(200)
    return Client(stage, json.loads(reply.text[1:])["sid"])


async def connected(stage: Stage) -> Client:
    """A client in the default namespace."""
    client = await opened(stage)
    stage.check((await client.connect()).startswith("40"), "to be connected", "a refusal")
    return client


@case("OJS-JLB-014", own_server=OWN)
async def tasks_are_announced(stage: Stage) -> None:
    """The workers of a job hear of its new tasks, until they leave its room."""
    made = (await registered(stage, "mine")).expect(201)
    job, worker = made["full_name"], made["worker_id"]
    client = await connected(stage)
    unknown = await client.call("join_job_room", job_name=job, worker_id=stage.new_id())
    why = unknown.get("error", {}).get("type")
    stage.equal(why, "/v1/problems/worker-not-found", "why it is refused")
    joined = await client.call("join_job_room", job_name=job, worker_id=worker)
    stage.equal(joined, {"ok": True}, "the answer to join_job_room")
    for _ in range(2):
        task = (await submitted(stage, "other", job)).expect(202)["id"]
        expected = {"job_name": job, "room_id": "other", "task_id": task}
        stage.equal(await client.event(), ["task_available", expected], "what is told")
    await client.call("leave_job_room", job_name=job, worker_id=worker)
    (await submitted(stage, "other", job)).expect(202)
    await client.call("join_room", room_id="mine")
    (await submitted(stage, "mine", job)).expect(202)
    stage.equal((await client.event())[0], "task_status_event", "what is told after leaving")


@case("OJS-JLB-015", own_server=OWN)
async def rooms_hear_what_happens(stage: Stage) -> None:
    """A client in a room hears each status of its tasks in order, and of changes of its jobs."""
    client = await connected(stage)
    stage.equal(await client.call("join_room", room_id="mine"), {"ok": True}, "the answer")
    made = (await registered(stage, "mine")).expect(201)
    stage.equal(await client.event(), ["jobs_invalidate", {}], "what is told of a registration")
    task = (await submitted(stage, "mine", made["full_name"])).expect(202)["id"]
    worker = made["worker_id"]

    async def announced(status: str, holder: str | None, error: str | None = None) -> None:
        name, data = await client.event()
        seen = [data[member] for member in ("id", "name", "status", "worker_id", "error")]
        expected = [task, made["full_name"], status, holder, error]
        stage.equal([name, *seen], ["task_status_event", *expected], "what is told of a task")
        times = (data["started_at"] is not None, data["completed_at"] is not None)
        began, ended = status in ("running", "failed"), status == "failed"
        stage.equal(times, (began, ended), f"times of a task that is {status}")
        place = 1 if status == "pending" else None
        stage.equal(data["queue_position"], place, f"the position of a task that is {status}")

    # Heard of before it moves on, as only a task that still waits has a position.
    await announced("pending", None)
    await claimed(stage, worker)
    await announced("claimed", worker)
    (await moved(stage, task, "running")).expect(200)
    await announced("running", worker)
    (await moved(stage, task, "failed", error="no")).expect(200)
    await announced("failed", worker, "no")
    (await stage.delete(f"{BASE}/workers/{made['worker_id']}")).expect(204)
    stage.equal(await client.event(), ["jobs_invalidate", {}], "what is told of its worker's end")


async def provided(stage: Stage, room: str, name: str = "disk", **more: Any) -> Reply:
    """Register a provider of a room; any answer is returned."""
    body = {"category": "files", "name": name, "schema": {}, **more}
    return await stage.call("PUT", f"{BASE}/rooms/{room}/providers", body)


@case("OJS-JLB-017", "OJS-JLB-019", own_server=OWN)
async def providers_of_rooms(stage: Stage) -> None:
    """Providers are registered, seen from their room, silent without an answer, and go."""
    first = (await provided(stage, "mine")).expect(201, {"full_name": "mine:files:disk"})
    worker = first["worker_id"]
    (await provided(stage, "mine", worker_id=worker)).expect(200, {"id": first["id"]})
    (await provided(stage, "@global", "cloud")).expect(201)
    problem(await provided(stage, "mine", "x", worker_id=stage.new_id()), 404, "worker-not-found")
    path = f"{BASE}/rooms/mine/providers"
    listed = (await stage.get(path)).expect(200, {"total": 2})["items"]
    stage.equal(listed[1]["id"], first["id"], "the older one")
    (await stage.get(f"{BASE}/rooms/other/providers")).expect(200, {"total": 1})
    (await stage.get(f"{path}/mine:files:disk/info")).expect(200, {"worker_id": worker})
    headers = {"Prefer": "wait=1"}
    silent = await stage.call("GET", f"{path}/mine:files:disk", headers=headers)
    problem(silent, 504, "provider-timeout")
    stage.check("retry-after" in silent.headers, "Retry-After", "none")
    for place in (f"{path}/mine:files:tape", f"{BASE}/rooms/other/providers/mine:files:disk"):
        problem(await stage.get(place), 404, "provider-not-found")
    (await stage.delete(f"{BASE}/workers/{worker}")).expect(204)
    problem(await stage.get(f"{path}/mine:files:disk/info"), 404, "provider-not-found")
    cloud = (await stage.get(f"{path}/@global:files:cloud/info")).expect(200)["id"]
    (await stage.delete(f"{BASE}/providers/{cloud}")).expect(204)
    (await stage.get(path)).expect(200, {"total": 0})


@case("OJS-JLB-018", "OJS-JLB-020", own_server=OWN)
async def providers_answer_reads(stage: Stage) -> None:
    """A worker is asked once, and its answer is that of this read and of later ones."""
    page = await connected(stage)
    await page.call("join_room", room_id="mine")
    made = (await provided(stage, "mine", content_type="text/plain")).expect(201)
    stage.equal(await page.event(), ["providers_invalidate", {}], "what pages hear first")
    name, worker = made["full_name"], await connected(stage)
    order = {"provider_name": name, "worker_id": made["worker_id"]}
    stage.equal(await worker.call("join_provider_room", **order), {"ok": True}, "the answer")
    path = f"{BASE}/rooms/mine/providers/{name}"
    reads = [stage.get(path, b="2", a="1") for _ in range(2)]
    async with stage.waiting(*reads) as held:
        event, request = await worker.event()
        seen = (event, request["provider_name"], json.loads(request["params"]))
        stage.equal(seen, ("provider_request", name, {"a": "1", "b": "2"}), "what is asked")
        headers = {"X-Request-Hash": request["request_id"], "Content-Type": "text/plain"}
        results = f"{BASE}/providers/{made['id']}/results"
        (await stage.call("POST", results, raw=b"bytes", headers=headers)).expect(204)
        for reply in [await reply for reply in held] + [await stage.get(path, a="1", b="2")]:
            stage.equal(reply.expect(200).text, "bytes", "what is read")
            stage.equal(reply.headers.get("content-type"), "text/plain", "its type")
    expected = {"provider_name": name, "request_hash": request["request_id"]}
    stage.equal(await page.event(), ["provider_result_ready", expected], "what pages hear then")


@case("OJS-JLB-013", own_server="jobmanager_keys")
async def keys_and_bounds(stage: Stage) -> None:
    """A client shows a key as it connects, and says no more than it may."""
    for auth, answer in (
        (None, "44"),
        ({"token": "nobody-knows-this-key"}, "44"),
        ({"token": key_of("worker")}, "40"),
    ):
        client = await opened(stage)
        packet = await client.connect(auth)
        stage.check(packet.startswith(answer), f"a packet {answer} for {auth}", packet)
    client = await opened(stage)
    await client.connect({"token": key_of("worker")})
    (await client.send_message("42" + "x" * MOST)).expect(413)
    stage.equal(await client.call("join_room", room_id="mine"), {"ok": True}, "the answer")


@case("OJS-JLB-016", own_server="jobmanager_sessions")
async def connections_are_sessions(stage: Stage) -> None:
    """A worker that joined by a connection is dead soon after that has ended."""
    made = (await registered(stage, "mine")).expect(201)
    task = (await submitted(stage, "mine", made["full_name"])).expect(202)["id"]
    await claimed(stage, made["worker_id"])
    client = await connected(stage)
    order = {"job_name": made["full_name"], "worker_id": made["worker_id"]}
    stage.equal(await client.call("join_job_room", **order), {"ok": True}, "the answer")
    # The packet with which a client closes its connection.
    (await client.send_message("1")).expect((200, 400))

    async def has_failed() -> bool:
        found = (await stage.get(f"{BASE}/tasks/{task}")).expect(200)
        return bool(found["status"] == "failed")

    await stage.until(has_failed, SOON_S, "the task fails with its worker")


@case("OJS-JLB-021", own_server=OWN)
async def the_manifest_names_it(stage: Stage) -> None:
    """Socket.IO that is served is among the protocols of the manifest, and which spelling wins."""
    await opened(stage)
    expected = {"protocols": "contains:socketio", "capabilities.canonical_spelling_wins": True}
    (await stage.get("/ojs/manifest")).expect(200, expected)
