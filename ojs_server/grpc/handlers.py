"""Handlers of a service's RPCs.

RPC ──▶ admission by its metadata ──▶ message ──▶ behaviour: operation or read ──▶ message

A caller is known by its metadata. Its message is read only then: until it is, the library keeps no
more of it than a window of flow control. So all requests are read like streams of one message.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc import (
    GenericRpcHandler,
    RpcMethodHandler,
    StatusCode,
    method_handlers_generic_handler,
    stream_stream_rpc_method_handler,
    stream_unary_rpc_method_handler,
)

from ojs_server import __version__
from ojs_server.domain.errors import MalformedPayload
from ojs_server.grpc.calls import REQUEST_ID, Context, Rpc, RpcState
from ojs_server.http.access.roles import Role
from ojs_server.http.admin.recorded_calls import actor_of
from ojs_server.http.admission import prove
from ojs_server.ops.engine.acting import acting


class Behaviour(msgspec.Struct, frozen=True):
    """One RPC of a service: the method and path of the call of HTTP as which it is admitted, what
    it does with its message, and the field that names what it is about.

    Where anyone may make that call, it needs no key, and its message, which says nothing, is not
    read. An answer is returned; those of a stream are written.
    """

    route: tuple[str, str]
    act: Callable[[Rpc, Any], Awaitable[Message | None]]
    target: str = ""


class Service(msgspec.Struct, frozen=True):
    """A service with the behaviours of all its RPCs, by name, and a sentence for each RPC of its
    clients that is refused."""

    descriptor: ServiceDescriptor
    behaviours: Mapping[str, Behaviour]
    refused: Mapping[str, str] = {}


def handlers(state: RpcState, service: Service) -> GenericRpcHandler:
    """Return the handlers of a service; streams are not timed."""
    served = {
        method.name: _handler(state, method, service.behaviours[method.name])
        for method in service.descriptor.methods
    }
    refused: dict[str, RpcMethodHandler[Any, Any]] = {
        name: stream_unary_rpc_method_handler(_refusing(sentence))
        for name, sentence in service.refused.items()
    }
    return method_handlers_generic_handler(service.descriptor.full_name, {**served, **refused})


def _handler(
    state: RpcState, method: MethodDescriptor, behaviour: Behaviour
) -> "RpcMethodHandler[Any, Any]":
    name = f"/{method.containing_service.full_name}/{method.name}"
    route, tracer = state.routes[behaviour.route], state.server.tracer
    request_type: type[Message] = GetMessageClass(method.input_type)

    async def act(rpc: Rpc) -> Message | None:
        if Role.ANYONE in route.roles:
            prove(rpc, route)
            return await behaviour.act(rpc, request_type())
        rpc.admit(route)
        with state.calls.take():
            try:
                message = parsed(await rpc.read(), request_type)
                if behaviour.target:
                    rpc.target = str(getattr(message, behaviour.target))
                with acting(actor_of(rpc, route)):
                    return await behaviour.act(rpc, message)
            finally:
                rpc.release()

    async def traced(rpc: Rpc) -> Message | None:
        # A stream says nothing of how long a call takes.
        if tracer is None or method.server_streaming:
            return await act(rpc)
        with tracer.span(route.method, route.path, rpc.trace_context) as answered:
            answer = await act(rpc)
            answered(rpc.status)
            return answer

    async def handle(_: object, context: Context) -> None:
        monotonic = state.server.environment.monotonic
        started = monotonic()
        rpc = Rpc(state, context)
        await context.send_initial_metadata(
            ((REQUEST_ID, rpc.request_id), ("x-ojs-server-version", __version__))
        )
        try:
            answer = await rpc.finish(traced(rpc))
            if answer is not None:
                await context.write(answer)
        finally:
            seconds = None if method.server_streaming else monotonic() - started
            state.server.metrics.observe_request(name, rpc.status, seconds)

    return stream_stream_rpc_method_handler(
        handle,
        response_serializer=GetMessageClass(method.output_type).SerializeToString,
    )


def parsed(request: bytes, request_type: type[Message]) -> Message:
    """Return the message of a request."""
    try:
        return request_type.FromString(request)
    except DecodeError:
        raise MalformedPayload(f"the request is no {request_type.DESCRIPTOR.full_name}") from None


def _refusing(sentence: str) -> Callable[[object, Context], Awaitable[None]]:
    async def handle(_: object, context: Context) -> None:
        await context.abort(StatusCode.UNIMPLEMENTED, sentence)

    return handle
