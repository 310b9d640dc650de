"""Outcomes of handlers, and what the server answers to them."""

from enum import StrEnum
from typing import Any

import msgspec

from ojs_worker.faults import BadResult, Fault
from ojs_worker.forms import encode
from ojs_worker.forms import written as plain_form


class Done(msgspec.Struct, frozen=True):
    """The handler returned; `result` is JSON."""

    result: bytes


class Failed(msgspec.Struct, frozen=True):
    """The handler failed."""

    fault: Fault


class Released(msgspec.Struct, frozen=True):
    """The job is given back, as if it had not been fetched."""

    reason: str


Outcome = Done | Failed | Released


class Verdict(StrEnum):
    """The server's response to an outcome."""

    SETTLED = "settled"
    GONE = "gone"  # the job is not this worker's any more
    REFUSED = "refused"  # the server refuses the outcome; the lease expires


def done(value: Any) -> Done:
    """Encode the return value of a handler as JSON; raises `BadResult` if JSON cannot hold it."""
    if value is None:
        return Done(b"null")
    try:
        result = encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadResult(f"the handler's result cannot be written as JSON: {error}") from error
    # The encoder writes NaN as null, so only search a result that contains null.
    if b"null" in result and _has_nan(value):
        raise BadResult("the handler's result cannot be written as JSON: it holds NaN or infinity")
    return Done(result)


def _has_nan(value: Any) -> bool:
    plain = msgspec.to_builtins(value, enc_hook=plain_form)
    stack = [plain]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list | tuple):
            stack.extend(node)
        elif isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
            return True
    return False
