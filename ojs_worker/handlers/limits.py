"""Rate limits that handlers name, compared with each other and with those of the server."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from ojs_wire.values import parse_duration
from ojs_worker.client.asynchronous import Client
from ojs_worker.client.options import RateLimit
from ojs_worker.durations import milliseconds
from ojs_worker.errors import NotFound, Refused, Unreachable
from ojs_worker.handlers.registry import Handler
from ojs_worker.transport.backoff import Backoff

log = logging.getLogger("ojs.worker")

Limits = Mapping[str, RateLimit]


def limits_of(handlers: Iterable[Handler[..., Any, Any]]) -> Limits:
    """Return the limits of handlers by key, but for keys that arguments fill in. Of two handlers
    with different limits for a key the first one's are returned, and a warning is logged."""
    first_by_key: dict[str, tuple[str, RateLimit]] = {}
    for handler in handlers:
        limit = handler.defaults.get("rate_limit")
        if limit is None or limit.has_names:
            continue
        first, known = first_by_key.setdefault(limit.key, (handler.type, limit))
        if known != limit:
            log.warning(
                "%s and %s have different limits for the key %s; those of the newest job count",
                first,
                handler.type,
                limit.key,
            )
    return {key: limit for key, (_, limit) in first_by_key.items()}


async def compare(limits: Limits, client: Client, backoff: Backoff) -> None:
    """Log where the server has other limits for a key than the code: older ones until the next job
    of the key comes, or those of an operator."""
    for limit in limits.values():
        stored: dict[str, Any] = {}

        async def read(key: str = limit.key, into: dict[str, Any] = stored) -> None:
            into |= await client.rate_limits.get(key)

        try:
            await backoff.retry(read, (Unreachable,))
        except NotFound:
            continue
        except Refused as refused:
            log.debug("the limits of %s cannot be compared: %s", limit.key, refused)
            continue
        if differences := list(_differences(limit, stored)):
            why = (
                "by an override"
                if stored.get("override")
                else "until the next job of the key comes"
            )
            log.warning("the key %s has %s, %s", limit.key, ", ".join(differences), why)


def _differences(limit: RateLimit, stored: Mapping[str, Any]) -> Iterable[str]:
    period_ms = None if limit.period is None else milliseconds(limit.period, "period")
    for name in ("concurrency", "rate", "throttle"):
        there = stored.get(name) or {}
        actual, expected = there.get("limit"), getattr(limit, name)
        if actual != expected:
            yield f"{name} {_words(actual)}, not {_words(expected)}"
        elif (
            "period" in there
            and period_ms is not None
            and parse_duration(there["period"], 1000) != period_ms
        ):
            yield f"the period {there['period']} of {name}, not {period_ms / 1000:g} s"


def _words(limit: int | None) -> str:
    return "without a limit" if limit is None else str(limit)
