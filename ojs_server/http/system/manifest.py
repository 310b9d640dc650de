"""The manifest: version, capabilities and extensions of this server."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from ojs_server import __version__
from ojs_server.domain.errors import Unavailable
from ojs_server.domain.fairness.pool import STRATEGIES as STRATEGIES_OF_POOLS
from ojs_server.domain.jobs.checkpoint import MAX_STATE
from ojs_server.domain.jobs.progress import MAX_DATA
from ojs_server.domain.limits.rate_limit import ACTIONS
from ojs_server.domain.queues.config import STRATEGIES
from ojs_server.domain.schemas.schema import MAX_SCHEMA, MODES
from ojs_server.domain.webhooks.delivery import MAX_ATTEMPTS
from ojs_server.domain.workers.requirements import RUNTIME
from ojs_server.http.access.authorization import known
from ojs_server.http.access.logins import recognise_in_time
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import ANYONE, Route
from ojs_server.http.system.health import PATIENCE_S
from ojs_wire.calls import MAX_RESULTS
from ojs_wire.tracing import PROPAGATED

NAME: Final = "ojs-server"

# All names that clients look for; true only if implemented and tested on both stores.
CAPABILITIES: Final = {
    "admin_api": True,
    "backpressure": True,
    "batch_enqueue": True,
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
    "schema_validation": True,
    "unique_jobs": True,
    "webhooks": True,
    "websocket": True,
    "worker_directives": True,
    "worker_management": True,
    "worker_registration": True,
    "workflows": True,
}

# The supported extensions, each with details for clients.
EXTENSIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "urn:ojs:ext:admin-api": {"version": "1.0.0", "prefix": "/ojs/v1/admin"},
    "urn:ojs:ext:graceful-shutdown": {"version": "1.0.0"},
    # The server only keeps the data of these; the rest is up to clients and workers.
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
    # Not in any specification.
    "urn:ojs-server:ext:settle": {"path": "/ojs/v1/workers/settle", "max_results": MAX_RESULTS},
    "urn:ojs:ext:dead-letter": {
        "name": "dead-letter",
        "prefixes": ["/ojs/v1/dead-letter", "/ojs/v1/admin/dead-letter"],
    },
    "urn:ojs:ext:webhooks": {"version": "1.0.0", "max_attempts": MAX_ATTEMPTS},
    "urn:ojs:ext:bulk-operations": {
        "name": "bulk-operations",
        "prefixes": ["/ojs/v1/jobs/bulk"],
        "dry_run": True,
    },
}


async def manifest(call: Call) -> Answer:
    """Name the server, its capabilities, extensions and limits."""
    await recognise_in_time(call, PATIENCE_S)
    return Answer(await described(call))


async def described(call: AnyCall) -> dict[str, Any]:
    """Return the manifest for a caller, as JSON."""
    store = call.server.engine.store
    settings = call.server.settings
    return {
        "specversion": "1.0",
        "ojs_version": "1.0",
        "name": NAME,
        "version": __version__,
        "implementation": {
            "name": NAME,
            "version": __version__,
            "language": "python",
            "backend": store.kind,
        },
        "conformance_level": 4,
        "conformance_tier": "runtime",
        "protocols": _protocols(call),
        "backend": store.kind,
        "capabilities": {
            **CAPABILITIES,
            **dict.fromkeys(call.server.capabilities, True),
            "test_hooks": settings.conformance,
            "worker_sessions": settings.profile.session_grace_ms is not None,
        },
        "unique_job_strength": "strong",
        "extensions": [*EXTENSIONS, *call.server.extensions],
        "extensions_detail": {**EXTENSIONS, **call.server.extensions},
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
        **await _inventory(call),
    }


def _protocols(call: AnyCall) -> list[str]:
    """Return the protocols and ports on which this node listens."""
    served = {
        "http": True,
        "grpc": call.server.ports.grpc is not None,
        "socketio": call.server.socketio,
    }
    return [name for name, there in served.items() if there]


async def _inventory(call: AnyCall) -> dict[str, Any]:
    """Return the names of queues and job types for callers who may read them; empty if the store
    does not answer."""
    if not known(call):
        return {}
    try:
        async with asyncio.timeout(PATIENCE_S):
            found = await call.server.inventories.of(call.tenant)
    except (Unavailable, TimeoutError):
        return {}
    return {"queues": found.queues, "job_types": found.job_types}


ROUTES: Final = (Route("GET", "/ojs/manifest", manifest, ANYONE, tenanted=True),)
