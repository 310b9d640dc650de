"""Rate limits: list, inspect, override; and the headers of an enqueue."""

from collections.abc import Mapping
from typing import Any, Final

from ojs_server.domain.errors import NotFound, invalid
from ojs_server.domain.fields import parse_queue
from ojs_server.domain.jobs.build_job import rate_key_of
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.limits import limit_state as limits
from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.limits.rate_limit import (
    LIMITS,
    NO_LIMITS,
    OF_KEYLESS,
    parse_key,
    parse_policy,
)
from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.domain.tenants.tenant import scoped, unscoped
from ojs_server.http import dialects
from ojs_server.http.access.roles import OPERATE, READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import page_of
from ojs_server.http.route import Route
from ojs_server.ops.limits.reopening import Override
from ojs_wire.values import format_duration, format_timestamp, parse_moment, timestamp

_OVERRIDE = LIMITS | {"expires_at"}


async def listing(call: Call) -> Answer:
    """List the rate keys by name."""
    page = page_of(call)
    page.refuse_cursor()
    own = scoped(call.tenant, "")
    found, now = await call.server.engine.read(
        lambda reader: (reader.limits(page.limit, page.offset, own), reader.now())
    )
    end = page.offset + len(found.limits)
    pagination = page.describe(found.total, f"{end}" if end < found.total else None)
    items = [_shown(call, limit, waiting, now) for limit, waiting in found.limits]
    return Answer(dialects.rate_limit_list(items, pagination))


async def detail(call: Call) -> Answer:
    """Show one key: its limits, their use, and the number of jobs that wait."""
    key = _key(call)
    found, now = await call.server.engine.read(lambda reader: (reader.limit(key), reader.now()))
    if found is None:
        raise NotFound(
            f"there is no rate limit {call.path_params['key']}",
            details={"resource_type": "rate_limit", "resource_id": call.path_params["key"]},
            hint="a key appears with its first job, or with PUT",
        )
    return Answer(dialects.rate_limit(_shown(call, *found, now)))


async def override(call: Call) -> Answer:
    """Override the limits of a key, until a moment or until the override is removed."""
    key = _key(call)
    body = await call.json()
    if call.server.settings.strict:
        refuse_unknown("", body, _OVERRIDE)
    policy = parse_policy("", body)
    return await _overridden(call, Override(key, policy, await _until(call, body)))


async def restore(call: Call) -> Answer:
    """Remove an override, so that the limits of the jobs apply again."""
    return await _overridden(call, Override(_key(call), NO_LIMITS, None))


async def _overridden(call: Call, op: Override) -> Answer:
    done = await call.server.engine.run(op)
    found = await call.server.engine.read(lambda reader: reader.limit(op.key))
    return Answer(dialects.rate_limit(_shown(call, *(found or (done.limit, 0)), done.now)))


async def headers(call: Call, draft: Draft) -> Mapping[str, str]:
    """Return headers with the rest of the rate limit after an enqueue; empty for a job without
    one."""
    key = rate_key_of(draft)
    if key is None:
        return {}
    found, now = await call.server.engine.read(lambda reader: (reader.limit(key), reader.now()))
    if found is None:
        return {}
    limit = found[0]
    policy = limits.in_force(limit, now)
    window = policy.rate or policy.throttle
    most = policy.concurrency if window is None else window.limit
    if most is None:
        return {}
    capacity = limits.capacity(limit, now)
    resets = limits.resets_at(limit, now) or capacity.opens_at or now
    return {
        "X-RateLimit-Limit": str(most),
        "X-RateLimit-Remaining": str(most if capacity.count is None else min(most, capacity.count)),
        "X-RateLimit-Reset": str(-(-resets // 1000)),
    }


def _key(call: Call) -> str:
    key = call.path_params["key"]
    if key.startswith(OF_KEYLESS):
        key = OF_KEYLESS + parse_queue("key", key.removeprefix(OF_KEYLESS))
    else:
        parse_key("key", key)
    return scoped(call.tenant, key)


async def _until(call: Call, body: Mapping[str, Any]) -> int | None:
    value = body.get("expires_at")
    if value is None:
        return None
    now = await call.server.engine.read(lambda reader: reader.now())
    try:
        moment = parse_moment(value, now)
    except ValueError as error:
        raise invalid("expires_at", str(error)) from None
    if moment <= now:
        raise invalid("expires_at", "must lie in the future")
    return moment


def _shown(call: Call, limit: Limit, waiting: int, now: int) -> dict[str, Any]:
    policy = limits.in_force(limit, now)
    concurrency = policy.concurrency
    overridden = limit.override is not None and policy is limit.override
    capacity = limits.capacity(limit, now)
    return {
        "key": unscoped(call.tenant, limit.name),
        "concurrency": {
            "limit": concurrency,
            "active": limit.active,
            "available": None if concurrency is None else max(0, concurrency - limit.active),
        },
        "rate": None
        if policy.rate is None
        else {
            "limit": policy.rate.limit,
            "period": format_duration(policy.rate.period_ms),
            "current_count": limits.started(limit, now),
            "window_resets_at": timestamp(limits.resets_at(limit, now)),
        },
        "throttle": None
        if policy.throttle is None
        else {
            "limit": policy.throttle.limit,
            "period": format_duration(policy.throttle.period_ms),
            "next_allowed_at": format_timestamp(max(now, limit.next_us // 1000)),
        },
        "waiting_count": waiting,
        "open": capacity.count != 0,
        "held_until": timestamp(_future(limit.held_until, now)),
        "override": None
        if not overridden
        else {**policy.as_wire(), "expires_at": timestamp(limit.override_until)},
    }


def _future(moment: int | None, now: int) -> int | None:
    return moment if moment is not None and moment > now else None


ROUTES: Final = (
    Route("GET", "/rate-limits", listing, READ, tenanted=True),
    Route("GET", "/rate-limits/{key}", detail, READ, tenanted=True),
    Route("PUT", "/rate-limits/{key}", override, OPERATE, tenanted=True),
    Route("DELETE", "/rate-limits/{key}", restore, OPERATE, tenanted=True),
)
