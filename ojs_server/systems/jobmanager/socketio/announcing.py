"""Announcements of events to the clients of the job manager.

    commit ──▶ event log ──▶ EventLogReader ──▶ Announcer ──▶ the clients of this node, by rooms

Each node tells its own clients, so that nothing has to travel between nodes but the notice that
the log has grown.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import socketio

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.jobs.job import Event
from ojs_server.http.services import Services
from ojs_server.ops.engine.event_log_reader import Follower
from ojs_server.store.base import Reader
from ojs_server.store.records import EventFilter
from ojs_server.systems.jobmanager.domain import provider as providers
from ojs_server.systems.jobmanager.domain.task import (
    ANNOUNCED_STATUS,
    JOBS_CHANGED,
    announced_task,
)
from ojs_server.systems.jobmanager.http.tasks import Shown, task_of
from ojs_server.systems.jobmanager.socketio.connections import Connections
from ojs_server.systems.jobmanager.socketio.rooms import job_room, plain_room, provider_room
from ojs_server.systems.jobmanager.socketio.sessions import Sessions
from ojs_wire.codec import decode

NAMESPACE: Final = "/"
# Events on which clients reload a list of their room.
_INVALID: Final = {
    JOBS_CHANGED: "jobs_invalidate",
    providers.CHANGED: "providers_invalidate",
}
# Events of providers, with the clients' names for them and the room that gets them.
_OF_PROVIDERS: Final = {
    providers.REQUESTED: ("provider_request", provider_room),
    providers.ANSWERED: ("provider_result_ready", plain_room),
}
ANNOUNCED: Final = (*ANNOUNCED_STATUS, *_INVALID, *_OF_PROVIDERS)
# Interval at which a node without clients checks whether to stop following the log.
IDLE_S: Final = 1.0

log = logging.getLogger("ojs.socketio")


class Announcer:
    """Sends events to the Socket.IO clients of a node."""

    def __init__(
        self,
        sio: socketio.AsyncServer,
        services: Services,
        connections: Connections,
        sessions: Sessions,
    ) -> None:
        self._sio = sio
        self._services = services
        self._connections = connections
        self._sessions = sessions

    async def run(self) -> None:
        """Follow the log while there are clients to tell."""
        log_reader = self._services.engine.log_reader
        while not log_reader.closed:
            await self._connections.connected.wait()
            try:
                follower = log_reader.admit(EventFilter(types=ANNOUNCED))
            except Unavailable as error:
                log.warning("clients of Socket.IO are turned away: %s", error.message)
                self._connections.connected.clear()
                continue
            try:
                await log_reader.follow(follower)
                self._connections.followed.set()
                await self._announce_new(follower)
            finally:
                self._connections.followed.clear()
                log_reader.leave(follower)

    async def _announce_new(self, follower: Follower) -> None:
        while self._connections.connected.is_set() and not follower.closed:
            if not await follower.wait(IDLE_S):
                continue
            lost, entries = follower.take()
            if lost is not None:
                log.warning("%d events were not announced: there are too many", lost.count)
            await self._announce([entry.placed.event for entry in entries])

    async def _announce(self, events: Sequence[Event]) -> None:
        tasks = await self._services.engine.read(lambda reader: _tasks(reader, events))
        for event in events:
            if event.type in _INVALID:
                await self._emit(_INVALID[event.type], {}, plain_room(event.subject))
            elif event.type in _OF_PROVIDERS:
                await self._announce_provider(event)
            elif (task := tasks.get(event.subject)) is not None:
                await self._announce_task(task, ANNOUNCED_STATUS[event.type])

    async def _announce_provider(self, event: Event) -> None:
        name, place = _OF_PROVIDERS[event.type]
        data = decode(event.own)
        again = data.pop("again", False)
        room = place(data.pop("room", None) or data["provider_name"])
        if event.type == providers.REQUESTED:
            request = data["provider_name"], data["request_id"]
            await self._emit(
                name, data, room, partial(self._connections.expects, request, again=again)
            )
        else:
            await self._emit(name, data, room)

    async def _announce_task(self, task: Shown, status: str) -> None:
        if status == "pending":
            about = {name: task[name] for name in ("job_name", "room_id")}
            available = {**about, "task_id": task["id"]}
            await self._emit("task_available", available, job_room(task["job_name"]))
        status_event = announced_task(task, status)
        await self._emit("task_status_event", status_event, plain_room(task["room_id"]))

    async def _emit(
        self,
        event: str,
        data: dict[str, Any],
        room: str,
        expects: Callable[[str], bool] = lambda sid: True,
    ) -> None:
        most = self._services.settings.stream_buffer
        for sid, connection in list(self._sio.manager.get_participants(NAMESPACE, room)):
            socket = self._sio.eio.sockets.get(connection)
            if socket is not None and socket.queue.qsize() >= most:
                log.warning("a client of Socket.IO that does not read is disconnected")
                await self._sessions.close(connection, "unread")
            elif expects(sid):
                await self._sio.emit(event, data, to=sid)


def _tasks(reader: Reader, events: Iterable[Event]) -> dict[str, Shown]:
    ids = {event.subject for event in events if event.type in ANNOUNCED_STATUS}
    found = {job_id: task_of(reader, job_id) for job_id in sorted(ids)}
    return {job_id: task for job_id, task in found.items() if task is not None}
