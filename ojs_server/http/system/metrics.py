"""Metrics of this node and of the store."""

import asyncio
from collections import Counter
from typing import Final

from ojs_server.domain.admin.statistics import ALL, per_minute
from ojs_server.domain.errors import Unavailable, invalid
from ojs_server.domain.jobs.job import STATES, State
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.workers.worker import Presence, presence, profile_of
from ojs_server.http.access.roles import READ
from ojs_server.http.admin.statistics import lately
from ojs_server.http.call import Answer, Call
from ojs_server.http.content_negotiation import preferred
from ojs_server.http.dialects import OPENJOBSPEC, PLAIN_JSON
from ojs_server.http.queues.read import pressure_of
from ojs_server.http.route import Route
from ojs_server.http.system.metrics_json import StoredFigures, in_json
from ojs_server.http.tenants.totals import counts_of
from ojs_server.observe.metrics import CONTENT_TYPE
from ojs_server.observe.store_metrics import state_of

# Time limit for reading metrics from the store.
STORED_S: Final = 5.0
TEXT: Final = "text/plain"
_OFFERS: Final = (TEXT, PLAIN_JSON, OPENJOBSPEC)
# A command line names the format in the query, whatever its Accept header says.
_FORMATS: Final = {"prometheus": TEXT, "json": PLAIN_JSON}


async def exposition(call: Call) -> Answer:
    """Answer Prometheus text, or JSON if the request prefers it."""
    accept = call.header(b"accept")
    named = call.query_params.get("format")
    if named and named not in _FORMATS:
        raise invalid("format", f"must be {' or '.join(_FORMATS)}{nearest(named, _FORMATS)}")
    format = _FORMATS[named] if named else preferred(accept, _OFFERS)
    metrics, engine = call.server.metrics, call.server.engine
    stored = StoredFigures()
    try:
        async with asyncio.timeout(STORED_S):
            stored = await _observe_stored(call)
    except (Unavailable, TimeoutError):
        # The other metrics show that the store is unavailable.
        metrics.forget_stored()
    metrics.observe_waiting(len(engine.wakeups))
    metrics.observe_streams(len(engine.log_reader))
    metrics.store.observe(state_of(engine))
    if format != TEXT:
        return Answer(in_json(metrics.families(), stored, call.server.lifetime.uptime_s()))
    plain = (accept or "").strip() == TEXT
    return Answer(metrics.render(), media_type=TEXT if plain else CONTENT_TYPE)


async def _observe_stored(call: Call) -> StoredFigures:
    """Update the metrics that are read from the store."""
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
        {
            name: {state: tenant.counts[state] for state in STATES}
            for name, tenant in tenants.items()
        }
    )
    running = {queue.name: queue.counts[State.ACTIVE] for queue in queues}
    metrics.observe_pools(
        {
            name: (sum(running.get(queue, 0) for queue in pool.queues), pool.concurrency)
            for name, pool, _ in pools
        }
    )
    pressures = {queue.name: pressure_of(queue) for queue in queues}
    metrics.observe_pressure(
        {name: pressure for name, pressure in pressures.items() if pressure is not None}
    )
    seen: dict[str, int] = dict.fromkeys(Presence, 0)
    busy: Counter[str] = Counter()
    for load in loads:
        seen[presence(load.worker, now, call.server.engine.rules.profile.thresholds)] += 1
        if load.job_ids:
            busy.update(profile_of(load.worker).get("queues", ()))
    metrics.observe_workers(seen, busy)
    metrics.observe_webhooks(len(webhooks))
    minutes, _, moment = await lately(call.server.engine, [ALL])
    return StoredFigures(
        jobs_active=sum(running.values()),
        queues_active=len(queues),
        workers_active=seen[Presence.ONLINE],
        throughput_per_second=per_minute(minutes.get(ALL, ()), moment, "processed") / 60,
    )


ROUTES: Final = (Route("GET", "/metrics", exposition, READ),)
