"""Rate limits that handlers name, compared with each other and with those of the server."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from ojs_wire.values import parse_duration
from ojs_worker.client.asynchronous import Client
from ojs_worker.client.options import RateLimit
from ojs_worker.durations import milliseconds
from ojs_worker.errors import NotFound, Refused, Unreachable
from ojs_worker.patience import Patience
from ojs_worker.registry import Handler

log = logging.getLogger("ojs.worker")

Limits = Mapping[str, RateLimit]


def limits_of(handlers: Iterable[Handler[..., Any, Any]]) -> Limits:
    """Return the limits of handlers by key, but for keys that arguments fill in. Of two handlers
    with different limits for a key the first one's are returned, and a warning is logged."""
    found: dict[str, tuple[str, RateLimit]] = {}
    for handler in handlers:
        limit = handler.defaults.get("rate_limit")
        if limit is None or limit.has_names:
            continue
        first, known = found.setdefault(limit.key, (handler.type, limit))
        if known != limit:
            log.warning(
                "%s and %s have different limits for the key %s; those of the newest job count",
                first,
                handler.type,
                limit.key,
            )
    return {key: limit for key, (_, limit) in found.items()}


async def compare(limits: Limits, client: Client, patience: Patience) -> None:
    """Log where the server has other limits for a key than the code: older ones until the next job
    of the key comes, or those of an operator."""
    for limit in limits.values():
        shown: dict[str, Any] = {}

        async def read(key: str = limit.key, shown: dict[str, Any] = shown) -> None:
            shown |= await client.rate_limits.get(key)

        try:
            await patience.keep_on(read, (Unreachable,))
        except NotFound:
            continue
        except Refused as refused:
            log.debug("the limits of %s cannot be compared: %s", limit.key, refused)
            continue
        if differences := list(_differences(limit, shown)):
            why = (
                "by an override" if shown.get("override") else "until the next job of the key comes"
            )
            log.warning("the key %s has %s, %s", limit.key, ", ".join(differences), why)


def _differences(limit: RateLimit, shown: Mapping[str, Any]) -> Iterable[str]:
    period_ms = None if limit.period is None else milliseconds(limit.period, "period")
    for name in ("concurrency", "rate", "throttle"):
        there = shown.get(name) or {}
        found, wanted = there.get("limit"), getattr(limit, name)
        if found != wanted:
            yield f"{name} {_words(found)}, not {_words(wanted)}"
        elif (
            "period" in there
            and period_ms is not None
            and parse_duration(there["period"], 1000) != period_ms
        ):
            yield f"the period {there['period']} of {name}, not {period_ms / 1000:g} s"


def _words(limit: int | None) -> str:
    return "without a limit" if limit is None else str(limit)
