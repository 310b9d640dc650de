"""Calls by hand, for what the client has no method for."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from ojs_worker.errors import Unreachable, refusal
from ojs_worker.transport import Request
from tests.simulation.acts.caller import Caller

# Statuses after which a call is sent again.
_AGAIN = (429, 502, 503, 504)
_TRIES = 6


async def send(
    caller: Caller,
    method: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    *,
    tries: int = _TRIES,
) -> Any:
    """Send a call, again if there is no answer; return the answer, or raise what it was."""
    sent = None if body is None else msgspec.json.encode(body)
    for number in range(tries):
        if number:
            await asyncio.sleep(0.3 * 2**number)
        last = number == tries - 1
        try:
            reply = await caller.transport.send(Request(method, path, sent, headers, 10.0))
        except Unreachable:
            if last:
                raise
            continue
        if reply.status in _AGAIN and not last:
            continue
        if not reply.well:
            raise refusal(reply.status, reply.body, reply.retry_after_s)
        return msgspec.json.decode(reply.body) if reply.body else None
    raise AssertionError("every try ends above")
