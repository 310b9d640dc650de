"""RPCs as calls of the route table: the same handlers, roles, tenants and limits as over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlencode

import msgspec
from google.protobuf.message import Message
from grpc import aio
from grpc.aio import ServicerContext

from ojs_server.domain.errors import OjsError, Unavailable
from ojs_server.grpc.connections import Connections
from ojs_server.grpc.errors import refusal_of
from ojs_server.grpc.message_intake import MessageIntake
from ojs_server.http.access.client_address import STANDARD, USUAL
from ojs_server.http.access.keys import key_in
from ojs_server.http.admission import prove
from ojs_server.http.call import Answer, Call, RequestIds
from ojs_server.http.dialects import PLAIN_JSON
from ojs_server.http.route import Route
from ojs_server.http.server.body_budget import SMALL
from ojs_server.http.services import Services
from ojs_wire import codes
from ojs_wire.codec import decode, encode

MAX_REQUEST_ID: Final = 128
# Metadata keys, with the HTTP headers that they stand for.
_HEADERS: Final[Mapping[str, bytes]] = {
    "authorization": b"authorization",
    "traceparent": b"traceparent",
    "tracestate": b"tracestate",
    "x-ojs-idempotency-key": b"idempotency-key",
    "x-ojs-tenant": b"x-ojs-tenant",
    "x-ojs-tenant-id": b"x-ojs-tenant-id",
    "forwarded": STANDARD,
    "x-forwarded-for": USUAL,
}
_KEY: Final = "x-ojs-api-key"
REQUEST_ID: Final = "x-ojs-request-id"
# Status under which RPCs are counted whose client has left.
CLIENT_LEFT: Final = 499

Response = TypeVar("Response")
Context = ServicerContext[Any, Any]


class RouteRequest(msgspec.Struct, frozen=True):
    """The request of an RPC to a route: the parameters of its path, its query and its body."""

    params: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    body: object = None


NOTHING: Final = RouteRequest()


class Rpc:
    """One RPC and its call of a route."""

    def __init__(self, state: "RpcState", context: Context) -> None:
        self.server = state.server
        self.context = context
        # Status under which the RPC is counted.
        self.status = 200
        self._state = state
        # Set once the client no longer waits for the answer.
        self.left = asyncio.Event()
        metadata = {
            str(name): value if isinstance(value, str) else value.decode("latin-1")
            for name, value in context.invocation_metadata() or ()
        }
        self._headers = {
            header: metadata[name].encode("utf-8", "replace")
            for name, header in _HEADERS.items()
            if name in metadata
        }
        if _KEY in metadata:
            key = f"Bearer {metadata[_KEY]}".encode("utf-8", "replace")
            self._headers.setdefault(b"authorization", key)
        # The outcome of its work, or the error that ends it earlier; None once it has ended.
        self._outcome: asyncio.Future[Any] | None = None
        self._client = _client_of(context.peer())
        # Bytes of its message or body that count towards the budget.
        self._held = 0
        sent = metadata.get(REQUEST_ID, "")
        usable = 0 < len(sent) <= MAX_REQUEST_ID and sent.isascii() and sent.isprintable()
        self._sent_request_id = sent if usable else None
        self.request_id = self._sent_request_id or state.request_ids()

    def require_key(self) -> None:
        """Raise Denied if the server has keys and the caller has none of them. The routes that the
        RPC calls check roles and tenants."""
        if self.server.settings.keys.needed:
            shown = self._headers.get(b"authorization")
            key = key_in(None if shown is None else shown.decode("latin-1"))
            scope = {"client": self._client, "headers": [*self._headers.items()]}
            self.server.key_check.prove(key, self.server.key_check.origin(scope))
        self._state.connections.prove(self.context.peer())

    async def read(self) -> bytes:
        """Return the message of the request; a large one is counted until `release`."""
        message = await self._state.intake.read(self.context, self._give_up)
        if len(message) > SMALL:
            self._state.bodies.take(len(message))
            self._held = len(message)
        return message

    def release(self) -> None:
        """Give back what the request takes of the budget of bodies."""
        self._state.bodies.give(self._held)
        self._held = 0

    def call(self, method: str, path: str, request: RouteRequest = NOTHING) -> Call:
        """Return the call of a route after the check of its caller; raises Denied."""
        return self._admitted(self._state.routes[method, path], request)

    async def ask(self, method: str, path: str, request: RouteRequest = NOTHING) -> Any:
        """Call a route and return the JSON of its answer."""
        route = self._state.routes[method, path]
        call = self._admitted(route, request)
        try:
            return _json_of(await route.handler(call))
        finally:
            self._held = call.held

    def place(self) -> AbstractContextManager[None]:
        """Take one of the places for waiting RPCs; raises Unavailable if there is none."""
        return self._state.waiting.take()

    def _admitted(self, route: Route, request: RouteRequest) -> Call:
        body = b"" if request.body is None else encode(request.body)
        scope = {
            "type": "http",
            "method": route.method,
            "path": route.path,
            "query_string": urlencode(request.query).encode(),
            "path_params": request.params,
            "client": self._client,
            "headers": [
                (b"content-length", str(len(body)).encode()),
                *self._headers.items(),
            ],
        }
        call = Call(scope, _receiving(body, self.left), self.server)
        # The body replaces the message in the budget.
        call.held = self._held
        call.request_id, call.sent_request_id = self.request_id, self._sent_request_id
        call.media_type = PLAIN_JSON
        prove(call, route)
        return call

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

    def _give_up(self, error: OjsError) -> None:
        """End the RPC with an error before its work has ended."""
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_exception(error)

    def _refuse(self, error: Exception) -> None:
        """Set the status of an error."""
        refusal = refusal_of(error, self.request_id)
        self.status = refusal.code.status
        self.context.set_code(refusal.status)
        self.context.set_details(refusal.message)
        self.context.set_trailing_metadata(refusal.metadata)


def _client_of(peer: str) -> tuple[str, int] | None:
    """Return the address and port of a peer, which gRPC writes as `ipv6:%5B::1%5D:4711`."""
    kind, _, rest = peer.partition(":")
    host, _, port = unquote(rest).rpartition(":")
    return (host.strip("[]"), int(port)) if kind in ("ipv4", "ipv6") else None


def _settle(outcome: "asyncio.Future[Any]", task: "asyncio.Future[Any]") -> None:
    """Pass on the result of the work of an RPC, unless its client has left or it was given up."""
    if task.cancelled():
        outcome.cancel()
    elif (error := task.exception()) is None:
        if not outcome.done():
            outcome.set_result(task.result())
    elif not outcome.done():
        outcome.set_exception(error)


def _receiving(body: bytes, left: asyncio.Event) -> Callable[[], Awaitable[dict[str, Any]]]:
    """Return the ASGI messages of a request: its body, and the end once the client has left."""
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body}
        await left.wait()
        return {"type": "http.disconnect"}

    return receive


def _json_of(answer: Answer) -> Any:
    """Return the JSON of an answer."""
    body = answer.body if isinstance(answer.body, bytes) else encode(answer.body)
    return decode(body) if body else None


class Places:
    """A bound on the number of RPCs that do something at a time."""

    def __init__(self, most: int, doing: str) -> None:
        self._most = most
        self._doing = doing
        self._taken = 0

    @contextmanager
    def take(self) -> Iterator[None]:
        """Take a place; raises Unavailable if there is none."""
        if self._taken >= self._most:
            raise Unavailable(
                f"{self._taken} calls {self._doing} already",
                code=codes.OVERLOADED,
                headers={"Retry-After": "1"},
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class RpcState:
    """State shared by all RPCs of a server: the routes, the request ids, and the bounds."""

    def __init__(self, server: Services, routes: Iterable[Route], connections: Connections) -> None:
        settings = server.settings
        self.bodies = server.bodies.split(settings.grpc_share)
        # Bodies that handlers of routes read come out of the same share.
        self.server = msgspec.structs.replace(server, bodies=self.bodies)
        self.connections = connections
        self.routes = {(route.method, route.path): route for route in routes}
        self.request_ids = RequestIds(server.environment.chance.bits, server.environment.wall_ms)
        self.intake = MessageIntake(self.bodies, settings.max_body_bytes)
        self.calls = Places(settings.max_waiting, "are under way")
        self.waiting = Places(settings.max_streams, "wait here")
