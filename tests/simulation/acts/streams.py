"""Acts about streams: readers that follow events, progress and statistics beside everything else.

A reader is begun by an act and goes on to the end of the simulation, or of its job.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any

import msgspec

from ojs_wire.values import position_uuid
from ojs_worker import Client
from ojs_worker.errors import OjsError, Refused
from ojs_worker.transport import Reply, Request, StreamingTransport
from tests.simulation.acts import by_hand
from tests.simulation.acts.caller import Acts, Caller
from tests.simulation.ledger import Followed, Frame

BEGINNING = "evt_" + position_uuid(0, 0)
# Interval in which a reader of pages looks for more.
PAGES_S = 4.0


class Frames:
    """Cuts a stream into its frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes, at: float) -> list[Frame]:
        """Return the frames that are whole now."""
        *whole, self._rest = (self._rest + piece).split(b"\n\n")
        frames = []
        for text in whole:
            found = {}
            for line in text.split(b"\n"):
                name, _, value = line.partition(b": ")
                found[name] = value
            place = found.get(b"id")
            frames.append(
                Frame(
                    at,
                    None if place is None else place.decode(),
                    found.get(b"event", b"").decode(),
                    found.get(b"data", b""),
                )
            )
        return frames


class Heard:
    """A transport that notes the frames of its streams."""

    def __init__(self, inner: StreamingTransport, caller: Caller, followed: Followed) -> None:
        self._inner = inner
        self._caller = caller
        self._followed = followed
        # True once the reader knows a place from which it can go on.
        self._placed = False

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        return await self._inner.send(request)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of a stream."""
        followed, frames = self._followed, Frames()
        headers = dict(request.headers or {})
        if "tenant" in followed.what:
            headers["X-OJS-Tenant"] = followed.what["tenant"]
        request = msgspec.structs.replace(request, headers=headers)
        opened = "Last-Event-ID" in headers or self._placed
        async with aclosing(self._inner.stream(request)) as pieces:
            async for piece in pieces:
                if not opened:
                    # Open, and from now on without a gap.
                    followed.floor, opened = self._caller.ledger.head(), True
                for frame in frames.feed(piece, self._caller.loop.now):
                    self._placed = self._placed or frame.id is not None
                    if frame.event:
                        followed.frames.append(frame)
                yield piece

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()


async def _follow(caller: Caller, what: dict[str, Any]) -> Any:
    followed = _new(caller, "stream", what)
    after = BEGINNING if what["start"] == "beginning" else None
    if after is not None:
        followed.floor = 0
    client = _client(caller, followed)
    filters = {name: what[name] for name in ("types", "queues", "job_types") if name in what}
    _beside(_noted(followed, client.events(**filters, after=after)))


async def _follow_job(caller: Caller, what: dict[str, Any]) -> Any:
    job_id = job_of(caller, what["key"])
    if job_id is None:
        return
    followed = _new(caller, "job", what, job_id)
    client = _client(caller, followed)
    followed.floor = 0
    _beside(_noted(followed, client.events(job=job_id, after=BEGINNING)))


async def _follow_pages(caller: Caller, what: dict[str, Any]) -> Any:
    followed = _new(caller, "pages", what)
    followed.floor = 0
    _beside(_pages(caller, followed))


async def _follow_progress(caller: Caller, what: dict[str, Any]) -> Any:
    job_id = job_of(caller, what["key"])
    if job_id is not None:
        followed = _new(caller, "progress", what, job_id)
        path = f"/ojs/v1/jobs/{job_id}/progress/stream"
        _beside(_frames_of(caller, followed, path, once=True))


async def _follow_statistics(caller: Caller, what: dict[str, Any]) -> Any:
    followed = _new(caller, "statistics", what)
    _beside(_frames_of(caller, followed, "/ojs/v1/admin/stats/stream", once=False))


async def _progress(caller: Caller, what: dict[str, Any]) -> Any:
    job_id = job_of(caller, what["key"])
    if job_id is None:
        return None
    answer = await by_hand.send(caller, "GET", f"/ojs/v1/jobs/{job_id}/progress")
    return {"id": job_id, "state": answer["state"], "progress": answer["progress"]}


async def _noted(followed: Followed, events: AsyncGenerator[Any, None]) -> None:
    try:
        async for event in events:
            followed.ids.append(event.id)
        followed.over = True
    except Refused as refused:
        followed.refusal = refused.code


async def _pages(caller: Caller, followed: Followed) -> None:
    last = BEGINNING
    filters = {n: followed.what[n] for n in ("types", "queues", "job_types") if n in followed.what}
    while True:
        try:
            async for event in caller.client.event_log.list(after=last, **filters):
                followed.ids.append(event.id)
                last = event.id
        except OjsError:
            pass
        await asyncio.sleep(PAGES_S)


async def _frames_of(caller: Caller, followed: Followed, path: str, *, once: bool) -> None:
    while True:
        frames = Frames()
        try:
            request = Request("GET", path, headers={"Accept": "text/event-stream"}, timeout_s=40.0)
            transport: Any = caller.transport
            async with aclosing(transport.stream(request)) as pieces:
                async for piece in pieces:
                    for frame in frames.feed(piece, caller.loop.now):
                        if frame.event:
                            followed.frames.append(frame)
            followed.over = True
        except OjsError as error:
            followed.refusal = str(error)
        if once:
            return
        await asyncio.sleep(3)


def job_of(caller: Caller, key: str) -> str | None:
    """Return the id of a job by its first argument, if its enqueue was answered."""
    for told in caller.ledger.told:
        if told.outcome == "ok" and told.kind in ("enqueue", "tenant enqueue"):
            args = told.what.get("args")
            if args and args[0] == key:
                found: str = told.answer["id"]
                return found
    return None


def _new(caller: Caller, kind: str, what: dict[str, Any], subject: str | None = None) -> Followed:
    followed = Followed(caller.name, kind, what, subject=subject)
    caller.ledger.followed.append(followed)
    return followed


def _client(caller: Caller, followed: Followed) -> Client:
    transport: Any = caller.transport
    return Client(transport=Heard(transport, caller, followed), environment=caller.environment)


def _beside(coroutine: Coroutine[Any, Any, None]) -> None:
    """Go on in a task of the client's process, after the act."""
    asyncio.create_task(coroutine)  # noqa: RUF006 - its lane keeps it


ACTS: Acts = {
    "follow": _follow,
    "follow job": _follow_job,
    "follow pages": _follow_pages,
    "follow progress": _follow_progress,
    "follow statistics": _follow_statistics,
    "progress": _progress,
}
