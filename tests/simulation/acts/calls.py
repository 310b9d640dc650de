"""Calls by hand, and what acts have in common."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from ojs_worker import RateLimit, RetryPolicy, Unique
from ojs_worker.errors import Unreachable
from ojs_worker.transport import Request
from tests.simulation.acts.caller import Caller

# Limit of one call by hand; a FETCH that waits has its wait on top.
PATIENCE_S = 10.0

POLICIES: Mapping[str, type[msgspec.Struct]] = {
    "retry": RetryPolicy,
    "unique": Unique,
    "rate_limit": RateLimit,
}


def options_of(what: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an enqueue in the form of the SDK; in an act they are plain JSON."""
    return {
        name: POLICIES[name](**value) if isinstance(value, dict) and name in POLICIES else value
        for name, value in what.get("options", {}).items()
    }


async def by_hand(
    caller: Caller, method: str, path: str, body: dict[str, Any] | None = None
) -> tuple[int, Any]:
    """Send one request, once; return status and answer, or 0 if there is no answer."""
    sent = None if body is None else msgspec.json.encode(body)
    wait_s = (body or {}).get("wait_ms", 0) / 1000
    request = Request(method, f"/ojs/v1{path}", sent, timeout_s=PATIENCE_S + wait_s)
    try:
        reply = await caller.transport.send(request)
    except Unreachable:
        return 0, None
    return reply.status, msgspec.json.decode(reply.body) if reply.body else None


async def first_of(items: AsyncIterator[Any], count: int) -> list[Any]:
    """Return the first items of a listing."""
    found: list[Any] = []
    async for item in items:
        found.append(item)
        if len(found) >= count:
            break
    return found
