"""Workers of a job manager as its users have them, and what the tests of its rows ask for often."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import httpx

from ojs_server.app import Application
from ojs_wire.codec import decode
from ojs_worker.jobmanager import ClaimedTask, Extension, JobManager, JobManagerClient, Task
from ojs_worker.testing.asgi import AsgiTransport
from ojs_worker.transport import Request
from tests.systems.world import World

T = TypeVar("T")
BASE = "/v1/joblib"
ROOM = "Lab 1"
ROTATE = f"{ROOM}:modifiers:Rotate"


class Rotate(Extension):
    category = "modifiers"
    angle: float = 90.0

    def run(self, scene: list[float] | None = None) -> float:
        if scene is not None:
            scene.append(self.angle)
        return self.angle


class Scale(Extension):
    category = "modifiers"
    factor: float

    def run(self) -> float:
        return self.factor


@asynccontextmanager
async def manager(world: World, **options: Any) -> AsyncIterator[JobManager]:
    """A worker in threads of its own, as its users have it; it ends with the block."""
    loop = asyncio.get_running_loop()
    way = AsgiTransport(Application(world.server), loop=loop)
    made = JobManager(way, **{"polling_interval": 0.02, "push": False, **options})
    try:
        yield made
    finally:
        await asyncio.to_thread(made.disconnect)


async def in_thread(call: Callable[..., T], *args: Any, **more: Any) -> T:
    """A blocking call beside the server."""
    return await asyncio.to_thread(call, *args, **more)


async def call(world: World, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    """A call of the job manager, which must be answered with this status; return its JSON."""
    return await world.call(method, f"{BASE}{path}", body, status)


async def put(world: World, name: str = "Rotate", room: str = ROOM, **more: Any) -> Any:
    """Register a job as any client does."""
    body = {"name": name, "category": "modifiers", "schema": {}, "worker_id": None, **more}
    reply = await world.send("PUT", f"{BASE}/rooms/{path_of(room)}/jobs", body)
    assert reply.status in (200, 201), reply.body
    return decode(reply.body)


async def claimed(world: World, worker_id: str) -> Any:
    """Claim a task and return it."""
    return (await call(world, "POST", "/tasks/claim", {"worker_id": worker_id}))["task"]


async def held(world: World, client: JobManagerClient) -> tuple[str, Task]:
    """A worker by its id, and the task that it has claimed."""
    worker_id: str = (await put(world))["worker_id"]
    task = await client.submit(ROOM, "modifiers:Rotate")
    await claimed(world, worker_id)
    return worker_id, task


async def status(world: World, task: Task) -> str:
    """Return the status of a task."""
    found: str = (await call(world, "GET", f"/tasks/{task.id}"))["status"]
    return found


class OwnApi:
    """An API object as a program has it."""

    base_url = "http://localhost"

    def __init__(self, world: World) -> None:
        self.asked = 0
        self._loop = asyncio.get_running_loop()
        self._way = AsgiTransport(Application(world.server), loop=self._loop)
        self.http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    def get_headers(self) -> dict[str, str]:
        self.asked += 1
        return {"Authorization": f"Bearer token-{self.asked}"}

    def raise_for_status(self, response: httpx.Response) -> None:
        response.raise_for_status()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        sent = Request(request.method, path, request.content or None, dict(request.headers))
        reply = await self._way.send(sent)
        return httpx.Response(reply.status, content=reply.body)


def loose(right: int = 0) -> int:
    """A function that fits any room."""
    return right


def claim_by_hand(worker: JobManager) -> ClaimedTask:
    """The next task, which must be there."""
    found = worker.claim()
    assert found is not None
    return found


def noted(asked: list[float]) -> Callable[[float], Any]:
    """Return a wait for announcements that never come, which notes the seconds that it is given."""

    async def news(seconds: float) -> None:
        asked.append(seconds)
        await asyncio.sleep(0.01)

    return news


async def has_beaten(world: World, worker_id: str | None) -> bool:
    """Return True if the worker has sent a heartbeat."""
    worker = (await world.call("GET", f"/ojs/v1/workers/{worker_id}"))["worker"]
    return worker["last_heartbeat_at"] is not None


@contextmanager
def own_signals() -> Iterator[dict[signal.Signals, Any]]:
    """Give the signal handlers of the test, and restore them afterwards."""
    before = {sig: signal.getsignal(sig) for sig in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield before
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def path_of(room: str) -> str:
    """A room in a path."""
    return room.replace(" ", "%20")
