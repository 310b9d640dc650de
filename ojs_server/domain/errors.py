"""The errors that a request can end in. `http/errors.py` is the one place that maps them.

OjsError
├── MalformedPayload     the body is not JSON, or not an object             400
├── InvalidRequest       a field is missing, of the wrong kind, or too big  400
├── ValidationError      a well-formed policy that makes no sense           422
├── Unsupported          a version or feature that this server lacks        422
├── TooLarge             a body, envelope, result or batch over its limit   413
├── NotFound             no such job, worker, queue or route                404
├── Conflict             the state does not allow it                        409
│   └── Duplicate        the id, key or unique job exists already           409
├── QueueFull            the queue has no room for the new jobs             429
├── TenantFull           a tenant has reached one of its limits             429
├── NotReady             waited, and it is still not there                  408
├── TooSlow              the rest of the request did not come               408
├── Denied               no key, a wrong key, or too small a role      401, 403
├── MethodNotAllowed     the route exists, the method does not              405
└── Unavailable          the store is away, or the server is overloaded     503
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from ojs_wire import codes
from ojs_wire.codes import Code


class OjsError(Exception):
    """An answer other than success; `details` must be JSON."""

    code: ClassVar[Code] = codes.INTERNAL_ERROR

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
        code: Code | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.hint = hint
        self.headers = headers or {}
        self.answer_code = code or self.code


class MalformedPayload(OjsError):
    """The body is not JSON, or not an object."""

    code = codes.INVALID_PAYLOAD


class InvalidRequest(OjsError):
    """A field is missing, of the wrong kind, or out of range."""

    code = codes.INVALID_REQUEST


class ValidationError(OjsError):
    """A policy that is well formed but makes no sense."""

    code = codes.VALIDATION_ERROR


class Unsupported(OjsError):
    """A protocol version or feature that this server does not have."""

    code = codes.UNSUPPORTED


class TooLarge(OjsError):
    """A body, envelope, result or batch over its limit."""

    code = codes.PAYLOAD_TOO_LARGE


class NotFound(OjsError):
    """No such job, worker, queue or route."""

    code = codes.NOT_FOUND


class Conflict(OjsError):
    """The state of the job or its lease does not allow the call."""

    code = codes.CONFLICT


class Duplicate(Conflict):
    """The id or idempotency key is taken, or a unique job is there already."""

    code = codes.DUPLICATE


class QueueFull(OjsError):
    """A bounded queue has no room; `blocks` says that the producer may wait for some."""

    code = codes.QUEUE_FULL
    blocks: bool = False


class TenantFull(OjsError):
    """A tenant has reached one of its limits."""

    code = codes.TENANT_LIMIT_EXCEEDED


class NotReady(OjsError):
    """The wait is over, and the job has not ended."""

    code = codes.REQUEST_TIMEOUT


class TooSlow(OjsError):
    """The client began a request but did not complete it in time."""

    code = codes.REQUEST_TIMEOUT


class Denied(OjsError):
    """No key, a wrong key, or a role that may not do this."""

    code = codes.PERMISSION_DENIED


class MethodNotAllowed(OjsError):
    """The path exists, the method does not."""

    code = codes.METHOD_NOT_ALLOWED


class Unavailable(OjsError):
    """The store cannot be reached, or the server has more work than it can hold."""

    code = codes.BACKEND_UNAVAILABLE


def invalid(field: str, message: str, **details: Any) -> InvalidRequest:
    """Return an InvalidRequest about one field, in the form that all validators use."""
    return InvalidRequest(f"`{field}` {message}", details={"field": field, **details})


def unconfirmed(why: str) -> InvalidRequest:
    """Return the refusal of a call that has to say `confirm: true`."""
    return invalid("confirm", f'must be true, since {why}: send `"confirm": true` in the body')
