"""Handlers of a service's RPCs.

A caller is known by its metadata. Its message is read only then: until it is, the library keeps no
more of it than a window of flow control. So all requests are read like streams of one message.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

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

Behaviour = Callable[[Rpc, Any], Awaitable[Message | None]]


def handlers(
    state: RpcState,
    service: ServiceDescriptor,
    behaviours: Mapping[str, Behaviour],
    public: frozenset[str],
) -> GenericRpcHandler:
    """Return the handlers of a service; streams are not timed.

    The `public` calls need no key, and their messages, which say nothing, are not read.
    """
    return method_handlers_generic_handler(
        service.full_name,
        {
            method.name: _handler(
                state, method, behaviours[method.name], is_public=method.name in public
            )
            for method in service.methods
        },
    )


def _handler(
    state: RpcState, method: MethodDescriptor, behaviour: Behaviour, *, is_public: bool
) -> "RpcMethodHandler[Any, Any]":
    name = f"/{method.containing_service.full_name}/{method.name}"

    nothing = GetMessageClass(method.input_type)()

    async def act(rpc: Rpc) -> Message | None:
        if is_public:
            return await behaviour(rpc, nothing)
        rpc.require_key()
        with state.calls.take():
            try:
                return await behaviour(rpc, _parsed(await rpc.read(), method))
            finally:
                rpc.release()

    async def handle(_: object, context: Context) -> None:
        monotonic = state.server.environment.monotonic
        started = monotonic()
        rpc = Rpc(state, context)
        await context.send_initial_metadata(
            ((REQUEST_ID, rpc.request_id), ("x-ojs-server-version", __version__))
        )
        try:
            answer = await rpc.finish(act(rpc))
            if answer is not None:
                await context.write(answer)
        finally:
            seconds = None if method.server_streaming else monotonic() - started
            state.server.metrics.observe_request(name, rpc.status, seconds)

    return stream_stream_rpc_method_handler(
        handle,
        response_serializer=GetMessageClass(method.output_type).SerializeToString,
    )


def _parsed(request: bytes, method: MethodDescriptor) -> Message:
    try:
        return GetMessageClass(method.input_type).FromString(request)
    except DecodeError:
        raise MalformedPayload(f"the request is no {method.input_type.full_name}") from None


class NotServed(GenericRpcHandler):
    """Refuses the calls of a service that is not served, with a message."""

    def __init__(self, service: str, sentences: Mapping[str, str]) -> None:
        self._handlers: dict[str, RpcMethodHandler[Any, Any]] = {
            f"/{service}/{name}": stream_unary_rpc_method_handler(_refusing(sentence))
            for name, sentence in sentences.items()
        }

    def service(self, handler_call_details: Any) -> "RpcMethodHandler[Any, Any] | None":
        """Return the handler of a call; None for calls of other services."""
        return self._handlers.get(handler_call_details.method)


def _refusing(sentence: str) -> Callable[[object, Context], Awaitable[None]]:
    async def handle(_: object, context: Context) -> None:
        await context.abort(StatusCode.UNIMPLEMENTED, sentence)

    return handle
