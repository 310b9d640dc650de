"""Error codes with their HTTP status and whether the same request may succeed later."""

from typing import Final, NamedTuple


class Code(NamedTuple):
    """One error code as it travels on the wire."""

    name: str
    status: int
    retryable: bool
    type: str


def _code(name: str, status: int, *, retryable: bool = False, type: str | None = None) -> Code:
    return Code(name, status, retryable, type or name)


INVALID_PAYLOAD: Final = _code("invalid_payload", 400)
INVALID_REQUEST: Final = _code("invalid_request", 400)
INVALID_WORKFLOW: Final = _code("invalid_workflow", 400)
UNAUTHENTICATED: Final = _code("unauthenticated", 401)
PERMISSION_DENIED: Final = _code("permission_denied", 403)
TENANT_ACCESS_DENIED: Final = _code("tenant_access_denied", 403)
NOT_FOUND: Final = _code("not_found", 404)
METHOD_NOT_ALLOWED: Final = _code("method_not_allowed", 405)
REQUEST_TIMEOUT: Final = _code("request_timeout", 408, retryable=True)
CONFLICT: Final = _code("conflict", 409)
DUPLICATE: Final = _code("duplicate", 409)
PAYLOAD_TOO_LARGE: Final = _code("payload_too_large", 413)
RESULT_TOO_LARGE: Final = _code("RESULT_TOO_LARGE", 413)
BATCH_SIZE_EXCEEDED: Final = _code("BATCH_SIZE_EXCEEDED", 413)
QUEUE_FULL: Final = _code("QUEUE_FULL", 429, retryable=True)
TENANT_LIMIT_EXCEEDED: Final = _code("TENANT_LIMIT_EXCEEDED", 429, retryable=True)
RATE_LIMITED: Final = _code("rate_limited", 429, retryable=True)
VALIDATION_ERROR: Final = _code("validation_error", 422)
UNSUPPORTED: Final = _code("unsupported", 422)
INTERNAL_ERROR: Final = _code("internal_error", 500, retryable=True)
BACKEND_UNAVAILABLE: Final = _code("backend_unavailable", 503, retryable=True)
OVERLOADED: Final = _code("overloaded", 503, retryable=True)

ALL: Final[tuple[Code, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Code)
)
