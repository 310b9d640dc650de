"""The one place that turns errors into the status of a gRPC call."""

from collections.abc import Mapping
from typing import Final

import msgspec
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode

from ojs_server.domain.errors import OjsError, Unavailable
from ojs_server.http.errors import error_object
from ojs_wire import codes

DOMAIN: Final = "openjobspec.org"
# gRPC statuses by HTTP status; codes that need another one are listed below.
_BY_STATUS: Final[Mapping[int, StatusCode]] = {
    400: StatusCode.INVALID_ARGUMENT,
    401: StatusCode.UNAUTHENTICATED,
    403: StatusCode.PERMISSION_DENIED,
    404: StatusCode.NOT_FOUND,
    405: StatusCode.UNIMPLEMENTED,
    408: StatusCode.DEADLINE_EXCEEDED,
    409: StatusCode.FAILED_PRECONDITION,
    413: StatusCode.RESOURCE_EXHAUSTED,
    422: StatusCode.INVALID_ARGUMENT,
    429: StatusCode.RESOURCE_EXHAUSTED,
    500: StatusCode.INTERNAL,
    503: StatusCode.UNAVAILABLE,
}
_BY_CODE: Final[Mapping[codes.Code, StatusCode]] = {
    codes.DUPLICATE: StatusCode.ALREADY_EXISTS,
    codes.UNSUPPORTED: StatusCode.FAILED_PRECONDITION,
    codes.OVERLOADED: StatusCode.RESOURCE_EXHAUSTED,
}


class Refusal(msgspec.Struct, frozen=True):
    """The status, message and metadata of a refused RPC."""

    code: codes.Code
    status: StatusCode
    message: str
    metadata: tuple[tuple[str, str | bytes], ...]


def refusal_of(error: Exception, request_id: str) -> Refusal:
    """Return the status, the message and the trailing metadata of an error.

    The metadata hold an `ErrorInfo` with the error code of OJS, and when to try again.
    """
    shown = error_object(error, request_id)
    code = error.answer_code if isinstance(error, OjsError) else codes.INTERNAL_ERROR
    status = _BY_CODE.get(code) or _BY_STATUS[code.status]
    info = error_details_pb2.ErrorInfo(
        reason=code.name,
        domain=DOMAIN,
        metadata={"retryable": str(code.retryable).lower(), "request_id": request_id},
    )
    detail = any_pb2.Any()
    detail.Pack(info)
    number: int = status.value[0]
    wire_status = status_pb2.Status(code=number, message=shown["message"], details=[detail])
    metadata: list[tuple[str, str | bytes]] = [
        ("grpc-status-details-bin", wire_status.SerializeToString()),
    ]
    after = error.headers.get("Retry-After") if isinstance(error, OjsError) else None
    if after is not None:
        metadata.append(("retry-after", after))
    return Refusal(code, status, shown["message"], tuple(metadata))


def stopping() -> Unavailable:
    """Return the error that ends the streams of a server that stops."""
    return Unavailable("the server is stopping", headers={"Retry-After": "1"})
