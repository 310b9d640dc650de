"""The Socket.IO clients of a node: their keys, their rooms, and the workers whose sessions they
hold."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
import socketio
from socketio.exceptions import ConnectionRefusedError as Refused

from ojs_server.domain.errors import Denied, InvalidRequest, NotFound, OjsError, Unavailable
from ojs_server.domain.workers.worker import is_deleted
from ojs_server.http.access.authorization import denied
from ojs_server.http.access.keys import unauthenticated
from ojs_server.http.errors import error_object, problem_of
from ojs_server.http.route import READERS
from ojs_server.http.services import Services
from ojs_server.ops.workers.presence import unknown_worker
from ojs_server.ops.workers.sessions import DropSession, OpenSession
from ojs_server.systems.jobmanager import tables
from ojs_server.systems.jobmanager.domain import names
from ojs_server.systems.jobmanager.domain import provider as providers
from ojs_server.systems.jobmanager.domain.names import FullName
from ojs_server.systems.jobmanager.ops import SendAgain
from ojs_server.systems.jobmanager.socketio.rooms import (
    JobRoom,
    PlainRoom,
    ProviderRoom,
    job_room,
    plain_room,
    provider_room,
)
from ojs_server.systems.jobmanager.socketio.sessions import SESSION, Session, Sessions
from ojs_wire.values import MAX_NAME

# A provider by its full name, and the hash of what it is asked.
Request = tuple[str, str]
Order = TypeVar("Order", bound=msgspec.Struct)
MAX_ROOMS: Final = 1000
MOST_REQUESTS: Final = 100
# Time limit for a new client until the event log is followed.
FOLLOWED_S: Final = 5.0

log = logging.getLogger("ojs.socketio")


class Client:
    """One connection: its principal, its rooms, and the session of each worker that joined."""

    def __init__(self, principal: str, session: Session) -> None:
        self.principal = principal
        self.session = session
        self.rooms: set[str] = set()
        self.sessions: dict[str, int] = {}
        # The last requests to its providers that it was sent.
        self.requests: deque[Request] = deque(maxlen=MOST_REQUESTS)


class Connections:
    """The handlers of the clients' messages."""

    def __init__(self, sio: socketio.AsyncServer, services: Services, sessions: Sessions) -> None:
        self._sio = sio
        self._services = services
        self._sessions = sessions
        self._clients: dict[str, Client] = {}
        # Set while there are clients, and while the log is followed for them.
        self.connected = asyncio.Event()
        self.followed = asyncio.Event()
        sio.on("connect", self._connect)
        sio.on("disconnect", self._disconnect)
        sio.on("join_job_room", self._join_job)
        sio.on("leave_job_room", self._leave_job)
        sio.on("join_provider_room", self._join_provider)
        sio.on("leave_provider_room", self._leave_provider)
        sio.on("join_room", self._join_room)
        sio.on("leave_room", self._leave_room)

    def expects(self, request: Request, sid: str, *, again: bool) -> bool:
        """Note a request to a provider that is sent to a client; False if it is sent only to those
        that may have missed it, and this one was sent it."""
        client = self._clients.get(sid)
        if client is None or (again and request in client.requests):
            return False
        client.requests.append(request)
        return True

    async def _connect(self, sid: str, environ: Mapping[str, Any], auth: object = None) -> None:
        session: Session = environ[SESSION]
        try:
            client = Client(self._principal(session, auth), session)
            if self._services.lifetime.stopping:
                raise Unavailable("the server is stopping", headers={"Retry-After": "1"})
            self._sessions.connect(session)
        except OjsError as error:
            raise _refusal(error) from None
        self._clients[sid] = client
        self.connected.set()
        try:
            async with asyncio.timeout(FOLLOWED_S):
                await self.followed.wait()
        except TimeoutError:
            await self._forget(sid)
            busy = Unavailable("the server is busy; try again", headers={"Retry-After": "1"})
            raise _refusal(busy) from None
        if session.over.is_set():
            # The library does not report the end of a client that is still connecting.
            await self._forget(sid)
            raise Refused("the session has ended")

    def _principal(self, session: Session, auth: object) -> str:
        """Return the holder of the key of the handshake, or else of this message."""
        keys = self._services.settings.keys
        if not keys.needed:
            return ""
        if session.principal is None:
            token = auth.get("token") if isinstance(auth, dict) else None
            if not isinstance(token, str) or not token:
                raise unauthenticated('a key is needed: {"token": KEY}, or Authorization: Bearer')
            session.principal = self._services.key_check.prove(token, session.address)
        principal = keys.permit(session.principal, READERS)
        if principal in keys.tenants:
            raise denied("this is not for single tenants")
        return principal

    async def _disconnect(self, sid: str, reason: str = "") -> None:
        client = await self._forget(sid)
        if client is None or self._services.lifetime.stopping:
            # Workers have not ended if the server stops.
            return
        for worker_id, session in client.sessions.items():
            try:
                await self._services.engine.run(DropSession(worker_id, session))
            except NotFound:
                # The worker has deregistered, or was declared dead.
                pass
            except OjsError as error:
                log.warning("the end of a worker's connection was not stored: %s", error.message)

    async def _forget(self, sid: str) -> Client | None:
        client = self._clients.pop(sid, None)
        if not self._clients:
            self.connected.clear()
        if client is not None:
            await self._sessions.disconnect(client.session)
        return client

    async def _join_job(self, sid: str, data: object = None, *_: object) -> dict[str, Any]:
        async def enter(order: JobRoom, client: Client) -> None:
            name = names.parse_full_name(order.job_name[:MAX_NAME])
            await self._enter_as(sid, client, order.worker_id, job_room(str(name)))

        return await self._obey(sid, data, JobRoom, enter)

    async def _leave_job(self, sid: str, data: object = None, *_: object) -> dict[str, Any]:
        return await self._obey(
            sid, data, JobRoom, lambda order, _: self._leave(sid, job_room(order.job_name))
        )

    async def _join_provider(self, sid: str, data: object = None, *_: object) -> dict[str, Any]:
        async def enter(order: ProviderRoom, client: Client) -> None:
            name = providers.parse_name(order.provider_name[:MAX_NAME])
            await self._require_provider(name, order.worker_id)
            await self._enter_as(sid, client, order.worker_id, provider_room(str(name)))
            await self._services.engine.run(SendAgain(providers.id_of(name)))

        return await self._obey(sid, data, ProviderRoom, enter)

    async def _leave_provider(self, sid: str, data: object = None, *_: object) -> dict[str, Any]:
        return await self._obey(
            sid,
            data,
            ProviderRoom,
            lambda order, _: self._leave(sid, provider_room(order.provider_name)),
        )

    async def _enter_as(self, sid: str, client: Client, worker_id: str, room: str) -> None:
        await self._require_worker(client, worker_id)
        await self._enter(sid, client, room)
        await self._hold(client, worker_id)

    async def _join_room(self, sid: str, data: object = None, *_: object) -> dict[str, Any]:
        async def enter(order: PlainRoom, client: Client) -> None:
            await self._enter(sid, client, plain_room(names.parse_room(order.room_id)))

        return await self._obey(sid, data, PlainRoom, enter)

    async def _leave_room(self, sid: str, data: object = None, *_: object) -> dict[str, Any]:
        return await self._obey(
            sid, data, PlainRoom, lambda order, _: self._leave(sid, plain_room(order.room_id))
        )

    async def _obey(
        self,
        sid: str,
        data: object,
        shape: type[Order],
        do: Callable[[Order, Client], Awaitable[None]],
    ) -> dict[str, Any]:
        """Carry out a message of a client; it is answered if the client asks for an
        acknowledgement."""
        client = self._clients.get(sid)
        try:
            if client is None:
                raise InvalidRequest("the client has not connected")
            try:
                order = msgspec.convert(data, shape)
            except msgspec.ValidationError as error:
                raise InvalidRequest(f"the message is not understood: {error}") from None
            await do(order, client)
        except OjsError as error:
            log.info("an order of a client was refused: %s", error.message)
            return {"error": problem_of(error, sid).body}
        return {"ok": True}

    async def _require_provider(self, name: FullName, worker_id: str) -> None:
        found = await self._services.engine.read(
            lambda reader: tables.provider(reader, providers.id_of(name))
        )
        if found is None or found.worker_id != worker_id:
            raise providers.unknown(str(name))

    async def _require_worker(self, client: Client, worker_id: str) -> None:
        found = await self._services.engine.read(lambda reader: reader.worker(worker_id))
        if found is None or is_deleted(found):
            raise unknown_worker(worker_id)
        is_own = found.principal == (client.principal or None)
        if not is_own and not self._services.settings.keys.is_admin(client.principal):
            raise Denied(f"worker {worker_id} is another principal's")

    async def _hold(self, client: Client, worker_id: str) -> None:
        """Open a session of the worker for this connection, if the profile uses sessions."""
        engine = self._services.engine
        if engine.rules.profile.session_grace_ms is None or worker_id in client.sessions:
            return
        worker = await engine.run(OpenSession(worker_id))
        client.sessions[worker_id] = worker.session

    async def _enter(self, sid: str, client: Client, room: str) -> None:
        if len(client.rooms) >= MAX_ROOMS and room not in client.rooms:
            raise Unavailable(f"a connection may be in {MAX_ROOMS} rooms")
        client.rooms.add(room)
        await self._sio.enter_room(sid, room)

    async def _leave(self, sid: str, room: str) -> None:
        if (client := self._clients.get(sid)) is not None:
            client.rooms.discard(room)
        await self._sio.leave_room(sid, room)


def _refusal(error: OjsError) -> Refused:
    """Return the CONNECT_ERROR of an error."""
    about = {"code": error.answer_code.name, "hint": error_object(error, "socket.io")["hint"]}
    if "Retry-After" in error.headers:
        about["retry_after"] = error.headers["Retry-After"]
    return Refused(error.message, about)
