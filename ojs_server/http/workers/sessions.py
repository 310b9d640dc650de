"""Worker sessions: a stream that a worker holds open, so that the end of its process is noticed."""

import logging
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Final

from ojs_server.domain.errors import NotFound, OjsError
from ojs_server.domain.tenants.tenant import unscoped
from ojs_server.domain.workers.worker import Worker
from ojs_server.http.access.roles import WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import known_as
from ojs_server.http.route import Route
from ojs_server.http.services import Services
from ojs_server.http.streams.event_feed import HEARTBEAT_S
from ojs_server.http.streams.sse import EVENT_STREAM, HEADERS, OPENING, SHUTDOWN, comment, frame
from ojs_server.http.streams.stream_slot import HeldStream
from ojs_server.http.workers.registry import known_worker
from ojs_server.ops.engine.event_log_reader import Follower
from ojs_server.ops.workers.sessions import DropSession, OpenSession
from ojs_server.store.records import EventFilter
from ojs_wire.codec import encode
from ojs_wire.values import in_seconds

log = logging.getLogger("ojs.sessions")


async def hold(call: Call) -> Answer:
    """Hold the session of a worker, until one side ends it."""
    engine = call.server.engine
    grace_ms = engine.rules.profile.session_grace_ms
    if grace_ms is None:
        raise NotFound(
            "this server has no sessions of workers",
            hint="session_grace turns them on; without it heartbeats are all it goes by",
        )
    if call.scope["method"] == "HEAD":
        # HEAD opens no session.
        await known_worker(call)
        return Answer(b"", headers=HEADERS, media_type=EVENT_STREAM)
    worker_id = known_as(call, call.path_params["id"])
    # Takes one of the bounded places of event streams and ends with them, but follows no events.
    follower = engine.log_reader.admit(EventFilter(subject=worker_id))
    try:
        worker = await engine.run(OpenSession(worker_id))
    except BaseException:
        engine.log_reader.leave(follower)
        raise
    opened = {"worker_id": unscoped(call.tenant, worker.id), "session_grace": in_seconds(grace_ms)}
    stream = Session(call.server, worker, follower, call.disconnected(), encode(opened))
    return Answer(stream, headers=HEADERS, media_type=EVENT_STREAM)


class Session(HeldStream):
    """The session stream of one worker. Its end counts as the end of the worker, unless the server
    has ended it."""

    def __init__(
        self,
        server: Services,
        worker: Worker,
        follower: Follower,
        left: Coroutine[Any, Any, None],
        opened: bytes,
    ) -> None:
        """Set up the stream; `opened` is the data of its first event."""
        super().__init__(server.engine, follower, left)
        self._worker = worker
        self._opened = opened

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield a first event, and then heartbeats."""
        try:
            yield OPENING + frame("session.opened", self._opened)
            while not await self._follower.wait(HEARTBEAT_S):
                yield comment("heartbeat")
            if self._engine.log_reader.closed:
                yield SHUTDOWN
        finally:
            # Only a disconnect by the client says something about the worker.
            if self._left.done() and not self._engine.log_reader.closed:
                await self._drop()

    async def _drop(self) -> None:
        try:
            await self._engine.run(DropSession(self._worker.id, self._worker.session))
        except NotFound:
            # The worker has deregistered, or was declared dead.
            pass
        except OjsError as error:
            log.warning("the end of a worker's session was not stored: %s", error.message)


ROUTES: Final = (
    Route("GET", "/workers/{id}/session", hold, WORK, waits=True, tenanted=True, produces=True),
)
