"""The server about itself: manifest, health, readiness, metrics."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ojs_server import __version__
from ojs_server.domain.checkpoint import MAX_STATE
from ojs_server.domain.delivery import MAX_ATTEMPTS
from ojs_server.domain.demand import RUNTIME
from ojs_server.domain.errors import Unavailable
from ojs_server.domain.job import STATES, State
from ojs_server.domain.pool import STRATEGIES as STRATEGIES_OF_POOLS
from ojs_server.domain.progress import MAX_DATA
from ojs_server.domain.queue_config import STRATEGIES
from ojs_server.domain.rate_limit import ACTIONS
from ojs_server.domain.schema import MAX_SCHEMA, MODES
from ojs_server.domain.workers import Presence, presence, profile_of
from ojs_server.http.call import Answer, Call
from ojs_server.http.queues import pressure_of
from ojs_server.http.tenants import counts_of
from ojs_server.metrics import CONTENT_TYPE
from ojs_server.store_metrics import StoreState
from ojs_wire.calls import MAX_RESULTS
from ojs_wire.tracing import PROPAGATED

# Every name that clients look for; true only where it is built and tested on both stores.
CAPABILITIES: Final = {
    "admin_api": True,
    "backpressure": True,
    "batch_enqueue": True,
    "blackboard": True,
    "bulk_operations": True,
    "bulk_settle": True,
    "checkpoints": True,
    "cron": True,
    "cron_jobs": True,
    "dead_letter": True,
    "delayed_jobs": True,
    "event_streams": True,
    "events": True,
    "fair_scheduling": True,
    "fetch_lines": True,
    "idempotency_keys": True,
    "job_result": True,
    "job_ttl": True,
    "job_versioning": True,
    "late_completion": True,
    "long_poll": True,
    "multi_tenancy": True,
    "observability": True,
    "pause_resume": True,
    "priority_queues": True,
    "progress": True,
    "queue_config": True,
    "rate_limiting": True,
    "rooms": True,
    "schema_validation": True,
    "unique_jobs": True,
    "webhooks": True,
    "websocket": True,
    "worker_directives": True,
    "worker_management": True,
    "worker_registration": True,
    "workflows": True,
}

# The extensions that are there, each with what a client may want to know of it.
EXTENSIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "urn:ojs:ext:admin-api": {"version": "1.0.0", "prefix": "/ojs/v1/admin"},
    "urn:ojs:ext:graceful-shutdown": {"version": "1.0.0"},
    # What these send stays with the job as it is; the rest of them is up to clients and workers.
    "urn:ojs:ext:encryption": {"args_and_meta": "kept"},
    "urn:ojs:ext:experimental:federation": {"meta": "kept"},
    "urn:ojs:ext:experimental:ai-agents": {"ext_agent_*": "kept"},
    "urn:ojs:ext:experimental:ml-resources": {"ext_ml_*": "kept"},
    "urn:ojs:ext:experimental:serverless": {"meta": "kept", "push": False},
    "urn:ojs:ext:experimental:runtime": {"meta": RUNTIME, "tags": True},
    "urn:ojs:ext:experimental:job-versioning": {"version": "0.1.0", "routing": True},
    "urn:ojs:ext:backpressure": {"strategies": list(STRATEGIES)},
    "urn:ojs:ext:durable-execution": {"version": "1.0.0", "max_state_bytes": MAX_STATE},
    "urn:ojs:ext:fair-scheduling": {"version": "1.0.0", "strategies": list(STRATEGIES_OF_POOLS)},
    "urn:ojs:ext:distributed-tracing": {"version": "1.0.0", "propagation": list(PROPAGATED)},
    "urn:ojs:ext:middleware": {"version": "1.0.0", "chain": "/ojs/v1/middleware"},
    "urn:ojs:ext:observability": {"version": "1.0.0", "metrics": "/metrics"},
    "urn:ojs:ext:multi-tenancy": {
        "version": "1.0.0",
        "header": "X-OJS-Tenant",
        "isolation": "shared",
        "fairness": "weighted",
    },
    "urn:ojs:ext:progress": {"version": "1.0.0", "max_data_bytes": MAX_DATA, "streams": True},
    "urn:ojs:ext:rate-limiting": {"on_limit": list(ACTIONS), "window": "sliding"},
    "urn:ojs:ext:schema-registry": {"modes": list(MODES), "max_schema_bytes": MAX_SCHEMA},
    "urn:ojs:ext:timeouts": {"version": "1.0.0"},
    # No specification knows this one.
    "urn:ojs-server:ext:settle": {"path": "/ojs/v1/workers/settle", "max_results": MAX_RESULTS},
    "urn:ojs:ext:dead-letter": {
        "name": "dead-letter",
        "prefixes": ["/ojs/v1/dead-letter", "/ojs/v1/admin/dead-letter"],
    },
    "urn:ojs:ext:webhooks": {"version": "1.0.0", "max_attempts": MAX_ATTEMPTS},
    "urn:ojs:ext:bulk-operations": {"name": "bulk-operations", "prefixes": ["/ojs/v1/jobs/bulk"]},
}


# Whoever asks is answered within two seconds.
PATIENCE_S: Final = 1.8
# What stands in the store is waited for by whoever reads metrics.
STORED_S: Final = 5.0
_SOON: Final = {"Retry-After": "1"}


async def manifest(call: Call) -> Answer:
    """What this server is and can do."""
    store = call.server.engine.store
    settings = call.server.settings
    return Answer(
        {
            "specversion": "1.0",
            "ojs_version": "1.0",
            "implementation": {
                "name": "ojs-server",
                "version": __version__,
                "language": "python",
                "backend": store.kind,
            },
            "conformance_level": 4,
            "conformance_tier": "runtime",
            "protocols": ["http"],
            "backend": store.kind,
            "capabilities": {
                **CAPABILITIES,
                "test_hooks": settings.conformance,
                "worker_sessions": settings.profile.session_grace_ms is not None,
            },
            "unique_job_strength": "strong",
            "extensions": list(EXTENSIONS),
            "extensions_detail": EXTENSIONS,
            "endpoints": {
                "base_url": "/ojs/v1",
                "manifest": "/ojs/manifest",
                "health": "/ojs/v1/health",
            },
            "limits": {
                "max_body_bytes": settings.max_body_bytes,
                "max_result_bytes": settings.max_result_bytes,
                "max_batch_size": 1000,
                "max_wait_ms": settings.profile.max_wait_ms,
            },
        }
    )


async def health(call: Call) -> Answer:
    """200 while the store answers, 503 when it does not.

    A store that is read but takes no changes, as with a full disk, is degraded.
    """
    body = await _examined(call)
    return Answer(body) if body["status"] != "unhealthy" else Answer(body, 503, _SOON)


async def ready(call: Call) -> Answer:
    """200 when the server takes work: the store takes changes and it is not stopping."""
    if call.server.stopping:
        return Answer({"status": "stopping"}, 503, {"Retry-After": "5"})
    body = await _examined(call)
    return Answer(body) if body["status"] == "ok" else Answer(body, 503, _SOON)


async def _examined(call: Call) -> dict[str, Any]:
    """The state of the store, found in time whatever hangs."""
    engine = call.server.engine
    started = time.monotonic()
    store: dict[str, Any] = {"type": engine.store.kind}
    if not await engine.pulse.beats(PATIENCE_S):
        status = "unhealthy"
        store.update(connection="disconnected", error="the store does not answer")
    else:
        latency = round((time.monotonic() - started) * 1000)
        status = "ok" if engine.writable else "degraded"
        store.update(connection="connected", latency_ms=latency)
        if status == "degraded":
            store["error"] = "the store takes no changes"
    store["status"] = status
    return {
        "status": status,
        "version": "1.0",
        "uptime_seconds": call.server.uptime_s(),
        "backend": store,
    }


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
