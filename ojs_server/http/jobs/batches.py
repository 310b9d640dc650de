"""Checks shared by calls with many jobs: size, atomicity and idempotency key."""

from collections.abc import Mapping
from typing import Any, Final

from ojs_server.domain.errors import InvalidRequest, TooLarge, invalid
from ojs_server.domain.suggestions import nearest
from ojs_server.http.any_call import AnyCall
from ojs_server.ops.jobs.enqueue import ReceiptKey
from ojs_wire import codes
from ojs_wire.values import kind_of

MAX_BATCH: Final = 1000
MAX_KEY: Final = 256
_ATOMICITY: Final = ("partial", "atomic")


def checked_batch(jobs: object) -> list[Any]:
    """Return the jobs of a batch, which must hold at least one, and no more than are allowed."""
    if not isinstance(jobs, list) or not jobs:
        given = "" if jobs == [] else f", not {kind_of(jobs)}"
        raise invalid("jobs", f"must be an array of at least one job{given}")
    check_size("jobs", len(jobs), "jobs")
    return jobs


def check_size(field: str, size: int, what: str) -> None:
    """Raise if there are more than one call may name."""
    if size > MAX_BATCH:
        raise TooLarge(
            f"`{field}` holds {size} {what}; at most {MAX_BATCH} are allowed",
            code=codes.BATCH_SIZE_EXCEEDED,
            details={"field": field, "size": size, "max_batch_size": MAX_BATCH},
            headers={"X-OJS-Max-Batch-Size": str(MAX_BATCH)},
        )


def is_atomic(body: Mapping[str, Any]) -> bool:
    """True if the batch is all or nothing; the default is `partial`."""
    value = body.get("atomicity")
    if value is None:
        return False
    if value not in _ATOMICITY:
        raise invalid(
            "atomicity",
            f"must be one of {', '.join(_ATOMICITY)}{nearest(value, _ATOMICITY)}",
            allowed=list(_ATOMICITY),
        )
    return bool(value == "atomic")


def receipt_for(call: AnyCall, operation: str, in_body: object = None) -> ReceiptKey | None:
    """Return the idempotency key of a call; the header takes precedence over the body."""
    key = call.header(b"idempotency-key")
    if key is None:
        return None if in_body is None else (call.principal, operation, _checked(in_body))
    if not _is_key(key):
        raise InvalidRequest(
            f"Idempotency-Key must be 1 to {MAX_KEY} printable ASCII characters",
            details={"header": "Idempotency-Key"},
        )
    return (call.principal, operation, key)


def _checked(key: object) -> str:
    if not isinstance(key, str) or not _is_key(key):
        raise invalid("idempotency_key", f"must be 1 to {MAX_KEY} printable ASCII characters")
    return key


def _is_key(key: str) -> bool:
    return 0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()
