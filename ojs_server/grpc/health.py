"""`grpc.health.v1.Health/Check`: the readiness of the server, as over HTTP."""

from typing import Any, Final

from grpc import GenericRpcHandler, RpcMethodHandler, stream_unary_rpc_method_handler
from grpc.aio import ServicerContext

from ojs_server.grpc.calls import Rpc, RpcState
from ojs_server.http.admission import prove
from ojs_server.http.system.health import readiness

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
        return await rpc.finish(self._found(rpc))

    async def _found(self, rpc: Rpc) -> bytes:
        prove(rpc, self._state.routes["GET", "/ready"])
        found = await readiness(rpc.server)
        return SERVING if found["status"] == "ok" else NOT_SERVING
