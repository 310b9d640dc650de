"""RPCs as calls of the route table: the same handlers, roles, tenants and limits as over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlencode

import msgspec
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc import (
    GenericRpcHandler,
    RpcMethodHandler,
    StatusCode,
    aio,
    method_handlers_generic_handler,
    unary_stream_rpc_method_handler,
    unary_unary_rpc_method_handler,
)
from grpc.aio import ServicerContext

from ojs_server import __version__
from ojs_server.domain.errors import MalformedPayload, Unavailable
from ojs_server.grpc.errors import refusal_of
from ojs_server.http.access.client_address import STANDARD, USUAL
from ojs_server.http.admission import prove
from ojs_server.http.call import Answer, Call, RequestIds
from ojs_server.http.dialects import PLAIN_JSON
from ojs_server.http.route import Route
from ojs_server.http.services import Services
from ojs_wire import codes
from ojs_wire.codec import decode, encode

MAX_REQUEST_ID: Final = 128
# Metadata that have another name than the header that says the same.
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
_REQUEST_ID: Final = "x-ojs-request-id"
# What RPCs whose client has left are counted as.
CLIENT_LEFT: Final = 499

Told = TypeVar("Told")
Context = ServicerContext[Any, Any]


class RouteRequest(msgspec.Struct, frozen=True):
    """The request of an RPC to a route: the parameters of its path, its query and its body."""

    params: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    body: object = None


NOTHING: Final = RouteRequest()


class Rpc:
    """One RPC and its call of a route."""

    def __init__(self, desk: "Desk", context: Context) -> None:
        self.server = desk.server
        self.context = context
        # What it is counted as.
        self.status = 200
        self._desk = desk
        # Once nobody waits for the answer any more.
        self.left = asyncio.Event()
        self._metadata = {
            str(name): value if isinstance(value, str) else value.decode("latin-1")
            for name, value in context.invocation_metadata() or ()
        }
        sent = self._metadata.get(_REQUEST_ID, "")
        usable = 0 < len(sent) <= MAX_REQUEST_ID and sent.isascii() and sent.isprintable()
        self._sent_request_id = sent if usable else None
        self.request_id = self._sent_request_id or desk.request_ids()

    def call(self, method: str, path: str, asked: RouteRequest = NOTHING) -> Call:
        """Return the call of a route after the check of its caller; raises Denied."""
        return self._admitted(self._desk.routes[method, path], asked)

    async def ask(self, method: str, path: str, asked: RouteRequest = NOTHING) -> Any:
        """Call a route and return the JSON of its answer."""
        route = self._desk.routes[method, path]
        return _json_of(await route.handler(self._admitted(route, asked)))

    def place(self) -> AbstractContextManager[None]:
        """Take one of the places for waiting RPCs; raises Unavailable if there is none."""
        return self._desk.place()

    def _admitted(self, route: Route, asked: RouteRequest) -> Call:
        body = b"" if asked.body is None else encode(asked.body)
        headers = {
            _HEADERS[name]: text for name, text in self._metadata.items() if name in _HEADERS
        }
        if _KEY in self._metadata:
            headers.setdefault(b"authorization", f"Bearer {self._metadata[_KEY]}")
        scope = {
            "type": "http",
            "method": route.method,
            "path": route.path,
            "query_string": urlencode(asked.query).encode(),
            "path_params": asked.params,
            "client": _client_of(self.context.peer()),
            "headers": [
                (b"content-length", str(len(body)).encode()),
                *((name, text.encode("utf-8", "replace")) for name, text in headers.items()),
            ],
        }
        call = Call(scope, _receiving(body, self.left), self.server)
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

    async def finish(self, work: Awaitable[Told]) -> Told:
        """Return the outcome of work that continues when the client leaves; it can learn of that by
        `left`.

        An error ends the RPC with its status.
        """
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self.left.set()
            self.status = CLIENT_LEFT
            task.add_done_callback(_forget)
            raise
        except Exception as error:
            await self.refuse(error)
            raise AssertionError("an aborted RPC goes no further") from error

    async def refuse(self, error: Exception) -> None:
        """End the RPC with the status of an error."""
        refusal = refusal_of(error, self.request_id)
        self.status = refusal.code.status
        await self.context.abort(refusal.status, refusal.message, refusal.metadata)


def _client_of(peer: str) -> tuple[str, int] | None:
    """Return the address and port of a peer, which gRPC writes as `ipv6:%5B::1%5D:4711`."""
    kind, _, rest = peer.partition(":")
    host, _, port = unquote(rest).rpartition(":")
    return (host.strip("[]"), int(port)) if kind in ("ipv4", "ipv6") else None


def _forget(task: "asyncio.Future[Any]") -> None:
    """Drop the error of a call whose client has disconnected."""
    if not task.cancelled():
        task.exception()


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


class Desk:
    """State shared by all RPCs of a server: the routes, the request ids, and the number of calls
    that wait."""

    def __init__(self, server: Services, routes: Iterable[Route]) -> None:
        self.server = server
        self.routes = {(route.method, route.path): route for route in routes}
        self.request_ids = RequestIds(server.environment.chance.bits, server.environment.wall_ms)
        self._waiting = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take a place among the RPCs that wait."""
        if self._waiting >= self.server.settings.max_streams:
            raise Unavailable(
                f"{self._waiting} calls wait here already",
                code=codes.OVERLOADED,
                headers={"Retry-After": "1"},
            )
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


Behaviour = Callable[[Rpc, Any], Awaitable[Message | None]]


def handlers(
    desk: Desk, service: ServiceDescriptor, behaviours: Mapping[str, Behaviour]
) -> GenericRpcHandler:
    """Return the handlers of a service; streams are not timed."""
    return method_handlers_generic_handler(
        service.full_name,
        {
            method.name: _handler(desk, method, behaviours[method.name])
            for method in service.methods
        },
    )


def _handler(
    desk: Desk, method: MethodDescriptor, behaviour: Behaviour
) -> "RpcMethodHandler[Any, Any]":
    name = f"/{method.containing_service.full_name}/{method.name}"
    asked = GetMessageClass(method.input_type)

    async def act(rpc: Rpc, request: bytes) -> Message | None:
        try:
            message = asked.FromString(request)
        except DecodeError:
            raise MalformedPayload(f"the request is no {method.input_type.full_name}") from None
        return await behaviour(rpc, message)

    async def handle(request: bytes, context: Context) -> Message | None:
        monotonic = desk.server.environment.monotonic
        started = monotonic()
        rpc = Rpc(desk, context)
        await context.send_initial_metadata(
            ((_REQUEST_ID, rpc.request_id), ("x-ojs-server-version", __version__))
        )
        try:
            return await rpc.finish(act(rpc, request))
        finally:
            seconds = None if method.server_streaming else monotonic() - started
            desk.server.metrics.observe_request(name, rpc.status, seconds)

    make = (
        unary_stream_rpc_method_handler
        if method.server_streaming
        else unary_unary_rpc_method_handler
    )
    return make(
        handle,
        response_serializer=GetMessageClass(method.output_type).SerializeToString,
    )


class Unserved(GenericRpcHandler):
    """Refuses the calls of a service that is not served, with a message."""

    def __init__(self, service: str, sentences: Mapping[str, str]) -> None:
        self._handlers: dict[str, RpcMethodHandler[Any, Any]] = {
            f"/{service}/{name}": unary_unary_rpc_method_handler(_refusing(sentence))
            for name, sentence in sentences.items()
        }

    def service(self, handler_call_details: Any) -> "RpcMethodHandler[Any, Any] | None":
        """Return the handler of a call; None for calls of other services."""
        return self._handlers.get(handler_call_details.method)


def _refusing(sentence: str) -> Callable[[bytes, Context], Awaitable[None]]:
    async def handle(request: bytes, context: Context) -> None:
        await context.abort(StatusCode.UNIMPLEMENTED, sentence)

    return handle
