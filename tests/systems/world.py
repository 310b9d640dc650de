"""One of the other systems, as its users find it here: a server under its profile, on turned time,
and the way to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from ojs_server.app import Application, Server
from ojs_server.domain.jobs.job import Job
from ojs_server.domain.profile import PROFILES
from ojs_server.http.access.keys import Keys
from ojs_server.ops.sweep import Sweep, Swept
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from ojs_server.store.records import EventFilter
from ojs_wire.codec import decode, encode
from ojs_worker.testing.asgi import AsgiTransport
from ojs_worker.transport import Reply, Request
from tests.http.conftest import NO_KEYS
from tests.ops.bench import HandClock

LIMIT_S = 20


class World:
    """A server and its clock."""

    def __init__(self, server: Server, clock: HandClock) -> None:
        self.server = server
        self.clock = clock
        self.transport = AsgiTransport(Application(server))

    async def send(self, method: str, path: str, body: Any = None) -> Reply:
        """One request as any client would send it."""
        text = None if body is None else encode(body)
        return await self.transport.send(Request(method, path, text))

    async def call(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Send a request that must be answered with this status, and return the JSON of the
        answer."""
        reply = await self.send(method, path, body)
        assert reply.status == status, reply.body
        return decode(reply.body) if reply.body else None

    async def pass_time(self, seconds: float) -> Swept:
        """Let time pass, and run housekeeping."""
        self.clock.advance(round(seconds * 1000))
        return await self.server.engine.run(Sweep(reachable_since=0, requested_at=self.clock.now))

    async def job(self, job_id: str) -> Job:
        """A job as it is stored."""
        found = await self.server.engine.read(lambda reader: reader.job(job_id))
        assert found is not None, f"there is no job {job_id}"
        return found[0].job

    async def event_types(self, subject: str) -> list[str]:
        """Return the types of the events of a job or worker, in order."""
        wanted = EventFilter(subject=subject)
        page = await self.server.engine.read(lambda reader: reader.events(0, wanted, 1000))
        return [one.event.type for one in page.events]


@asynccontextmanager
async def serving(
    store_url: str, profile: str, *, turned: bool = True, keys: Keys = NO_KEYS, **changed: Any
) -> AsyncIterator[World]:
    """Run a server with the defaults of a profile, changed if given; its clock stands still unless
    it is to be real."""
    clock = HandClock()
    defaults = msgspec.structs.replace(PROFILES[profile], **changed)
    settings = Settings(profile_name=profile, profile=defaults, keys=keys)
    server = Server(settings, open_store(store_url, clock=clock if turned else None))
    async with server.running():
        yield World(server, clock)


async def until(met: Callable[[], bool | Awaitable[bool]]) -> None:
    """Let all tasks run until a condition holds."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            found = met()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.005)
