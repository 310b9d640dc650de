"""One RPC: its caller, the message that it reads, what it writes, and its end."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from google.protobuf.message import Message
from grpc import aio
from grpc.aio import ServicerContext

from ojs_server.connection.body_budget import SMALL
from ojs_server.domain.access.client_address import client_address
from ojs_server.domain.errors import OjsError, TooSlow
from ojs_server.grpc.connections import Connections
from ojs_server.grpc.errors import refusal_of
from ojs_server.grpc.message_intake import MessageIntake
from ojs_server.http.access.client_address import STANDARD, USUAL
from ojs_server.http.admission import prove
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import RequestIds, sent_request_id
from ojs_server.http.places import Places
from ojs_server.http.route import Route
from ojs_server.http.services import Services

REQUEST_ID: Final = "x-ojs-request-id"
# Headers of HTTP, with the metadata keys that stand for them.
_METADATA: Final[Mapping[bytes, str]] = {
    b"authorization": "authorization",
    b"idempotency-key": "x-ojs-idempotency-key",
    b"x-ojs-tenant": "x-ojs-tenant",
    b"x-ojs-tenant-id": "x-ojs-tenant-id",
    b"x-request-id": REQUEST_ID,
    b"traceparent": "traceparent",
    b"tracestate": "tracestate",
    STANDARD: "forwarded",
    USUAL: "x-forwarded-for",
}
_KEY: Final = "x-ojs-api-key"
# Time for the next message of a request that has several.
IDLE_S: Final = 10.0
# Status under which RPCs are counted whose client has left.
CLIENT_LEFT: Final = 499

Response = TypeVar("Response")
Context = ServicerContext[Any, Any]


class Rpc(AnyCall):
    """One RPC."""

    # Set once its message is known.
    target = ""

    def __init__(self, state: "RpcState", context: Context) -> None:
        self.server = state.server
        self.context = context
        # Status under which the RPC is counted.
        self.status = 200
        self._state = state
        # Set once the client no longer waits for the answer.
        self.left = asyncio.Event()
        self._metadata = {
            str(name): value if isinstance(value, str) else value.decode("latin-1")
            for name, value in context.invocation_metadata() or ()
        }
        if _KEY in self._metadata:
            self._metadata.setdefault("authorization", f"Bearer {self._metadata[_KEY]}")
        # The outcome of its work, or the error that ends it earlier; None once it has ended.
        self._outcome: asyncio.Future[Any] | None = None
        # Bytes of its message that count towards the budget.
        self._held = 0
        self.sent_request_id = sent_request_id(self)
        self.request_id = self.sent_request_id or state.request_ids()

    def header(self, name: bytes) -> str | None:
        """Return the value of the metadata that stand for a header."""
        key = _METADATA.get(name)
        return None if key is None else self._metadata.get(key)

    @property
    def address(self) -> str:
        """The address that the call came from, behind proxies that are trusted."""
        peer = _address_of(self.context.peer())
        trusted = self.server.settings.trusted_proxy
        return client_address(peer, self._lines(STANDARD), self._lines(USUAL), trusted)

    def _lines(self, name: bytes) -> list[str]:
        line = self.header(name)
        return [] if line is None else [line]

    async def disconnected(self) -> None:
        """Wait until the client no longer waits for the answer."""
        await self.left.wait()

    def admit(self, route: Route) -> None:
        """Set the caller, and keep its connection if it shows a valid key; raises Denied if it may
        not make the call of HTTP that does the same."""
        try:
            prove(self, route)
        finally:
            if self.key_holder or not self.server.settings.keys.needed:
                self._state.connections.prove(self.context.peer())

    async def read(self) -> bytes:
        """Return the message of the request; a large one is counted until `release`."""
        return self._count(await self._state.intake.read(self.context, self.give_up))

    async def read_next(self) -> bytes | None:
        """Return the next message of a request that has several; None if there is no other, or
        none has come for a while."""
        self.release()
        message = await self._state.intake.read_next(self.context, self._end_if_idle, IDLE_S)
        return None if message is None else self._count(message)

    def _count(self, message: bytes) -> bytes:
        if len(message) > SMALL:
            self._state.bodies.take(len(message))
            self._held = len(message)
        return message

    def release(self) -> None:
        """Give back what the request takes of the budget of bodies."""
        self._state.bodies.give(self._held)
        self._held = 0

    def place(self) -> AbstractContextManager[None]:
        """Take one of the places for waiting RPCs; raises Unavailable if there is none."""
        return self.server.waiting.take()

    async def write(self, message: Message) -> bool:
        """Send a message of a stream; returns False if the client has gone."""
        if self.left.is_set():
            return False
        try:
            await self.context.write(message)
        except (asyncio.CancelledError, aio.BaseError, RuntimeError):
            return False
        return not self.left.is_set()

    async def finish(self, work: Awaitable[Response]) -> Response | None:
        """Return the outcome of work that continues when the client leaves; it can learn of that by
        `left`.

        An error sets the status of the RPC, which has to return then; it is not raised, as
        `context.abort` would do, since what an exception refers to stays in memory for a while.
        """
        outcome = self._outcome = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(work)
        task.add_done_callback(partial(_settle, outcome))
        try:
            result: Response = await outcome
            return result
        except asyncio.CancelledError:
            self.left.set()
            self.status = CLIENT_LEFT
            raise
        except Exception as error:
            self._refuse(error)
            return None
        finally:
            # Break the cycle of future, error, traceback and this frame.
            del outcome, task
            self._outcome = None

    def give_up(self, error: OjsError) -> None:
        """End the RPC with an error before its work has ended."""
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_exception(error)

    def _end_if_idle(self, error: OjsError) -> None:
        """End the RPC without an error if no further message comes."""
        if not isinstance(error, TooSlow):
            self.give_up(error)
        elif self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(None)

    def _refuse(self, error: Exception) -> None:
        """Set the status of an error."""
        refusal = refusal_of(error, self.request_id)
        self.status = refusal.code.status
        self.context.set_code(refusal.status)
        self.context.set_details(refusal.message)
        self.context.set_trailing_metadata(refusal.metadata)


def _address_of(peer: str) -> str:
    """Return the address of a peer, which gRPC writes as `ipv6:%5B::1%5D:4711`; empty where it has
    none."""
    kind, _, rest = peer.partition(":")
    host, _, _ = unquote(rest).rpartition(":")
    return host.strip("[]") if kind in ("ipv4", "ipv6") else ""


def _settle(outcome: "asyncio.Future[Any]", task: "asyncio.Future[Any]") -> None:
    """Pass on the result of the work of an RPC, unless its client has left or it was given up."""
    if task.cancelled():
        outcome.cancel()
    elif (error := task.exception()) is None:
        if not outcome.done():
            outcome.set_result(task.result())
    elif not outcome.done():
        outcome.set_exception(error)


class RpcState:
    """State shared by all RPCs of a server: the routes, the request ids, and the bounds."""

    def __init__(self, server: Services, routes: Iterable[Route], connections: Connections) -> None:
        settings = server.settings
        self.bodies = server.bodies.split(settings.grpc_share)
        self.server = server
        self.connections = connections
        self.routes = {(route.method, route.path): route for route in routes}
        self.request_ids = RequestIds(server.environment.chance.bits, server.environment.wall_ms)
        self.intake = MessageIntake(self.bodies, settings.max_body_bytes)
        self.calls = Places(settings.max_waiting, "are under way")
