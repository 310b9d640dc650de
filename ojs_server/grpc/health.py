"""`grpc.health.v1.Health/Check`: the readiness of the server, as over HTTP."""

from typing import Any, Final

from grpc import GenericRpcHandler, RpcMethodHandler, stream_unary_rpc_method_handler
from grpc.aio import ServicerContext

from ojs_server.grpc.calls import NOTHING, Rpc, RpcState

# Encoded messages with one enum field. No module is generated for them: another library for the
# same service may have registered one of this name already.
SERVING: Final = b"\x08\x01"
NOT_SERVING: Final = b"\x08\x02"


class Health(GenericRpcHandler):
    """Reports the health of the whole server, whatever service is named."""

    def __init__(self, state: RpcState) -> None:
        self._state = state

    def service(self, handler_call_details: Any) -> "RpcMethodHandler[Any, Any] | None":
        """The handler of the one call."""
        if handler_call_details.method != "/grpc.health.v1.Health/Check":
            return None
        return stream_unary_rpc_method_handler(self._check)

    async def _check(self, _: object, context: ServicerContext[bytes, bytes]) -> bytes | None:
        rpc = Rpc(self._state, context)
        shown = await rpc.finish(rpc.ask("GET", "/ready", NOTHING))
        if shown is None:
            return None
        return SERVING if shown["status"] == "ok" else NOT_SERVING
