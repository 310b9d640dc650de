"""Queues: their list, counts and priorities."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.admin.statistics import HOUR_MS, MINUTE_MS, Count, Recent, recent, spans
from ojs_server.domain.errors import NotFound
from ojs_server.domain.jobs.job import WAITING, State
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.http import dialects
from ojs_server.http.access.roles import READ
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import page_in
from ojs_server.http.queues.config import shown
from ojs_server.http.route import Route
from ojs_server.ops.admin.maintenance import Collect
from ojs_server.ops.engine.engine import Engine
from ojs_server.store.base import Reader
from ojs_server.store.records import QueueCounts
from ojs_wire.values import QUEUE, format_timestamp

# Jobs of each priority are counted up to this number.
MAX_COUNTED: Final = 1000


async def listing(call: Call) -> Answer:
    """Every queue, newest first."""
    queues, pagination = await page_of_queues(call, call.query_params)
    return Answer({"queues": [_shown(queue) for queue in queues], "pagination": pagination})


async def page_of_queues(
    call: AnyCall, query: Mapping[str, str]
) -> tuple[Sequence[QueueCounts], dict[str, Any]]:
    """Return the queues of the page that a query asks for, and its `pagination`."""
    page, tenant = page_in(query), call.tenant
    found = await call.server.engine.read(
        lambda reader: reader.queues() if tenant is None else reader.queues_of_tenant(tenant)
    )
    queues = sorted(found, key=lambda queue: (-queue.created_at, queue.name))
    return page.follow(queues, lambda queue: (queue.created_at, queue.name))


async def detail(call: Call) -> Answer:
    """One queue."""
    queue, _ = await _known(call)
    answer = {"queue": {**_shown(queue), "configuration": shown(queue.config)}}
    return Answer(dialects.queue_detail(answer, _depth(queue)))


async def stats(call: Call) -> Answer:
    """Show the number of jobs in each state, and the counts of the last hour."""
    queue, now = await _known(call)
    counts: dict[str, Any] = dict(queue.counts)
    depth = _depth(queue)
    lately = await last_hour(call.server.engine, scoped(call.tenant, queue.name))
    answer = {
        "queue": {"name": queue.name, **counts, "depth": depth, "paused": queue.paused},
        "stats": {
            "queue": queue.name,
            **counts,
            "depth": depth,
            **_bounds(queue),
            **msgspec.structs.asdict(lately),
        },
        "status": _status(queue),
        "computed_at": format_timestamp(now),
    }
    return Answer(dialects.queue_stats(call, answer))


async def priorities(call: Call) -> Answer:
    """Count the jobs that can be handed out by priority, as far as that is cheap."""
    queue, now = await _known(call)
    counts = await call.server.engine.read(
        lambda reader: reader.priorities(queue.name, MAX_COUNTED)
    )
    answer = {
        "queue": queue.name,
        "counts_by_priority": {str(priority): count for priority, count in counts.items()},
        "distribution": [
            {"priority": priority, "count": count} for priority, count in counts.items()
        ],
        "counts_are_exact": all(count < MAX_COUNTED for count in counts.values()),
        "total": queue.counts[State.AVAILABLE],
        "computed_at": format_timestamp(now),
    }
    return Answer(answer)


async def _known(call: Call) -> tuple[QueueCounts, int]:
    return await known_queue(call, call.path_params["name"])


async def known_queue(call: AnyCall, name: str) -> tuple[QueueCounts, int]:
    """Return a queue and the store's time; raises if there is no such queue for the tenant."""
    # Not a valid name, so there is no such queue.
    if not QUEUE.fullmatch(name):
        raise _missing(name)
    own = scoped(call.tenant, name)
    found, now = await call.server.engine.read(lambda reader: (reader.queues([own]), reader.now()))
    if not found:
        raise _missing(name)
    return msgspec.structs.replace(found[0], name=name), now


def pressure_of(queue: QueueCounts) -> float | None:
    """Return the fill of a queue, as a share of the bound that is nearer; None without bounds."""
    bounds = queue.config.bounds if queue.config else None
    if bounds is None:
        return None
    measures = ((_depth(queue), bounds.depth), (queue.bytes, bounds.bytes))
    return max(used / bound for used, bound in measures if bound is not None)


def _depth(queue: QueueCounts) -> int:
    return sum(queue.counts[state] for state in WAITING)


def _bounds(queue: QueueCounts) -> dict[str, Any]:
    """Return the bounds of a queue and its fill; empty without bounds."""
    bounds = queue.config.bounds if queue.config else None
    pressure = pressure_of(queue)
    if bounds is None or pressure is None:
        return {}
    return {
        "max_depth": bounds.depth,
        "bound": bounds.depth,
        "bytes": queue.bytes,
        "max_size_bytes": bounds.bytes,
        "pressure": round(pressure, 3),
        "strategy": bounds.strategy,
    }


def _missing(name: str) -> NotFound:
    return NotFound(
        f"there is no queue {name[:100]}",
        details={"resource_type": "queue", "resource_id": name[:255]},
        hint="a queue appears with its first job, or when it is paused",
    )


def _status(queue: QueueCounts) -> str:
    return "paused" if queue.paused else "active"


def _shown(queue: QueueCounts) -> dict[str, Any]:
    return {
        "name": queue.name,
        "status": _status(queue),
        "paused": queue.paused,
        "created_at": format_timestamp(queue.created_at),
        "counts": dict(queue.counts),
    }


ROUTES: Final = (
    Route("GET", "/queues", listing, READ, tenanted=True),
    Route("GET", "/queues/{name}", detail, READ, tenanted=True),
    Route("GET", "/queues/{name}/stats", stats, READ, tenanted=True),
    Route("GET", "/queues/{name}/priority-stats", priorities, READ),
)


async def last_hour(engine: Engine, queue: str) -> Recent:
    """Return the figures of a queue for the last hour."""
    await engine.run(Collect())

    def look(reader: Reader) -> tuple[Sequence[Count], int]:
        moment = reader.now()
        since = moment - HOUR_MS - MINUTE_MS
        return reader.statistics(MINUTE_MS, [queue], since, moment + 1), moment

    counts, moment = await engine.read(look)
    return recent(spans(counts, MINUTE_MS, moment - HOUR_MS, moment + 1), moment)
