"""The metrics of this node, and of what stands in the store."""

import asyncio
from collections import Counter
from typing import Final

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.job import STATES, State
from ojs_server.domain.workers import Presence, presence, profile_of
from ojs_server.http.call import Answer, Call
from ojs_server.http.queues import pressure_of
from ojs_server.http.tenants import counts_of
from ojs_server.metrics import CONTENT_TYPE
from ojs_server.store_metrics import StoreState

# What stands in the store is waited for by whoever reads metrics.
STORED_S: Final = 5.0


async def exposition(call: Call) -> Answer:
    """Prometheus text; a plain `Accept: text/plain` gets exactly that type."""
    metrics, engine = call.server.metrics, call.server.engine
    try:
        async with asyncio.timeout(STORED_S):
            await _observe_stored(call)
    except (Unavailable, TimeoutError):
        # Whoever wants to know that the store is away is told by the rest.
        metrics.forget_stored()
    metrics.observe_waiting(len(engine.wakeups))
    metrics.observe_streams(len(engine.tail))
    metrics.store.observe(
        StoreState(
            writable=engine.writable,
            waiting_writes=engine.depth,
            lost_connections=engine.store.lost_connections,
            unknown_outcomes=engine.availability.unknown,
        )
    )
    plain = (call.header(b"accept") or "").strip() == "text/plain"
    return Answer(
        metrics.render(),
        media_type="text/plain" if plain else CONTENT_TYPE,
    )


async def _observe_stored(call: Call) -> None:
    """Read what stands in the store."""
    queues = await call.server.engine.read(lambda reader: reader.queues())
    loads, now = await call.server.engine.read(lambda reader: (reader.workers(), reader.now()))
    webhooks = await call.server.engine.read(lambda reader: reader.webhooks())
    pools = await call.server.engine.read(lambda reader: reader.pools())
    tenants = await call.server.engine.read(
        lambda reader: counts_of(reader, [name for name, *_ in reader.tenants()])
    )
    metrics = call.server.metrics
    metrics.observe_queues(
        {(queue.name, state): queue.counts[state] for queue in queues for state in STATES}
    )
    metrics.observe_tenants(
        {name: {state: one.counts[state] for state in STATES} for name, one in tenants.items()}
    )
    running = {queue.name: queue.counts[State.ACTIVE] for queue in queues}
    metrics.observe_pools(
        {
            name: (sum(running.get(queue, 0) for queue in pool.queues), pool.concurrency)
            for name, pool, _ in pools
        }
    )
    pressures = {queue.name: pressure_of(queue) for queue in queues}
    metrics.observe_pressure({name: one for name, one in pressures.items() if one is not None})
    seen: dict[str, int] = dict.fromkeys(Presence, 0)
    busy: Counter[str] = Counter()
    for load in loads:
        seen[presence(load.worker, now, call.server.engine.rules.profile.thresholds)] += 1
        if load.job_ids:
            busy.update(profile_of(load.worker).get("queues", ()))
    metrics.observe_workers(seen, busy)
    metrics.observe_webhooks(len(webhooks))
