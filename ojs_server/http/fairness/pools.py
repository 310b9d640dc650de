"""Pools of queues, and the shares of queues in fair scheduling."""

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from ojs_server.domain.admin.statistics import per_minute
from ojs_server.domain.errors import invalid
from ojs_server.domain.fairness.pool import DEFAULT_STRATEGY, Pool, declared, parse_pool
from ojs_server.domain.jobs.job import State
from ojs_server.domain.limits.rate_limit import parse_key
from ojs_server.domain.workers.worker import profile_of
from ojs_server.http.access.roles import ADMINISTER, LOOK
from ojs_server.http.admin.statistics import lately
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import admin_page, checked_query
from ojs_server.http.route import Route
from ojs_server.ops.admin.maintenance import Collect
from ojs_server.ops.fairness.pools import DropPool, SavePool
from ojs_server.ops.tenants.administration import no_such
from ojs_server.store.base import Reader
from ojs_server.store.records import QueueCounts

# The period over which dispatches are counted.
WINDOW: Final = "PT1M"


async def listing(call: Call) -> Answer:
    """List the pools by name."""
    page, _ = admin_page(call)
    part, pagination = page.cut(await _all(call))
    return Answer({"items": part, "pools": part, "pagination": pagination})


async def detail(call: Call) -> Answer:
    """Show one pool, with its workers and its jobs."""
    return Answer(await _one(call, _name(call)))


async def save(call: Call) -> Answer:
    """Create a pool, or replace it."""
    name, body = _name(call), await call.json()
    if body.get("name") not in (None, name):
        raise invalid("name", "differs from the name in the path")
    saved = await call.server.engine.run(SavePool(name, parse_pool(body)))
    return Answer(await _one(call, name), 201 if saved.new else 200)


async def delete(call: Call) -> Answer:
    """Delete a pool; its queues stay."""
    name = _name(call)
    await call.server.engine.run(DropPool(name))
    return Answer({"deleted": True, "name": name})


async def stats(call: Call) -> Answer:
    """Show, for each queue, the jobs delivered in the last minute and their average wait."""
    checked_query(call, ())
    await call.server.engine.run(Collect())
    queues, waits = await call.server.engine.read(lambda reader: (reader.queues(), reader.waits()))
    minutes, _, now = await lately(call.server.engine, [queue.name for queue in queues])
    counts = {
        queue.name: per_minute(minutes.get(queue.name, ()), now, "started") for queue in queues
    }
    total = sum(counts.values())
    shown = [
        {
            "name": queue.name,
            "dispatch_count_1m": ceil(counts[queue.name]),
            "dispatch_ratio_1m": round(counts[queue.name] / total, 3) if total else 0.0,
            "avg_wait_ms": waits.get(queue.name),
            "active_jobs": queue.counts[State.ACTIVE],
            "dispatched": ceil(counts[queue.name]),
            "starved": _is_starved(queue, counts[queue.name]),
        }
        for queue in queues
    ]
    found = {"queues": shown, "window": WINDOW}
    return Answer({"stats": found, "strategy": DEFAULT_STRATEGY, **found})


def _is_starved(queue: QueueCounts, dispatched: float) -> bool:
    """Return True if jobs of a queue wait and none was handed out within the window."""
    return bool(queue.counts[State.AVAILABLE]) and not queue.paused and not dispatched


def _name(call: Call) -> str:
    return parse_key("name", call.path_params["name"])


async def _one(call: Call, name: str) -> dict[str, Any]:
    found = [pool for pool in await _all(call) if pool["name"] == name]
    if not found:
        raise no_such("pool", name)
    return {"pool": found[0], **found[0]}


async def _all(call: Call) -> Sequence[dict[str, Any]]:
    def read(reader: Reader) -> list[dict[str, Any]]:
        pools = [(name, pool) for name, pool, _ in reader.pools()]
        members = [
            declared(profile_of(load.worker))
            for load in reader.workers()
            if load.worker.gone_at is None
        ]
        names = {queue for _, pool in pools for queue in pool.queues}
        running = {queue.name: queue.counts[State.ACTIVE] for queue in reader.queues(sorted(names))}
        return [_shown(name, pool, members.count(name), running) for name, pool in pools]

    return await call.server.engine.read(read)


def _shown(name: str, pool: Pool, workers: int, running: dict[str, int]) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        **pool.as_wire(),
        "active_workers": workers,
        "workers": workers,
        "active_jobs": sum(running.get(queue, 0) for queue in pool.queues),
    }


ROUTES: Final = (
    Route("GET", "/admin/pools", listing, LOOK),
    Route("GET", "/admin/pools/{name}", detail, LOOK),
    Route("PUT", "/admin/pools/{name}", save, ADMINISTER),
    Route("DELETE", "/admin/pools/{name}", delete, ADMINISTER),
    Route("GET", "/admin/scheduling/stats", stats, LOOK),
)
