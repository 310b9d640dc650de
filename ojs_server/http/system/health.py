"""Health and readiness of the server."""

import asyncio
from email.utils import formatdate
from typing import Any, Final

import msgspec

from ojs_server import __version__
from ojs_server.domain.errors import Unavailable
from ojs_server.domain.jobs.job import STATES
from ojs_server.domain.workers.staleness import STALE, standings
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import ANYONE, Route
from ojs_server.http.services import Services
from ojs_server.observe.store_metrics import state_of
from ojs_server.store.base import Reader

# Callers get an answer within two seconds.
PATIENCE_S: Final = 1.8
_SOON: Final = {"Retry-After": "1"}


async def health(call: Call) -> Answer:
    """Answer 200 while the store answers, else 503.

    A store that can be read but takes no changes, as with a full disk, is degraded. The Date lets
    operators compare clocks.
    """
    body = await examined(call.server)
    date = {"Date": formatdate(call.server.environment.wall_ms() / 1000, usegmt=True)}
    if body["status"] == "unhealthy":
        return Answer(body, 503, date | _SOON)
    return Answer(body, headers=date)


async def ready(call: Call) -> Answer:
    """Answer 200 while the server accepts work: the store takes changes, and it is not stopping."""
    body = await readiness(call.server)
    if body["status"] == "ok":
        return Answer(body)
    return Answer(body, 503, {"Retry-After": "5"} if body["status"] == "stopping" else _SOON)


async def readiness(server: Services) -> dict[str, Any]:
    """Return the state of the server; it accepts work while its `status` is `ok`."""
    return {"status": "stopping"} if server.lifetime.stopping else await examined(server)


async def health_in_detail(call: Call) -> Answer:
    """Show health with the main figures; null for those that the store does not give."""
    found, figures = await asyncio.gather(examined(call.server), _figures(call))
    engine = call.server.engine
    body = {
        **found,
        "server": {
            "version": __version__,
            "stopping": call.server.lifetime.stopping,
            "waiting_fetches": len(engine.wakeups),
            "event_streams": len(engine.log_reader),
        },
        "store": msgspec.structs.asdict(state_of(engine)),
        **figures,
    }
    return Answer(body) if body["status"] != "unhealthy" else Answer(body, 503, _SOON)


async def _figures(call: Call) -> dict[str, Any]:
    """Return the numbers of queues, workers and jobs, read within a time limit."""
    engine = call.server.engine

    def look(reader: Reader) -> dict[str, Any]:
        queues, loads, now = reader.queues(), reader.workers(), reader.now()
        workers = standings((load.worker for load in loads), now, engine.rules.profile)
        total, stale = workers.total(), workers[STALE]
        return {
            "queues": {"total": len(queues), "paused": sum(queue.paused for queue in queues)},
            "workers": {"total": total, "active": total - stale, "stale": stale},
            "jobs": {state: sum(queue.counts[state] for queue in queues) for state in STATES},
            "maintenance": reader.maintenance() is not None,
        }

    try:
        async with asyncio.timeout(PATIENCE_S):
            return await engine.read(look)
    except (Unavailable, TimeoutError):
        return dict.fromkeys(("queues", "workers", "jobs", "maintenance"))


async def examined(server: Services) -> dict[str, Any]:
    """Return the state of the store within a time limit."""
    engine = server.engine
    started = server.environment.monotonic()
    store: dict[str, Any] = {"type": engine.store.kind}
    if not await engine.pulse.beats(PATIENCE_S):
        status = "unhealthy"
        store.update(connection="disconnected", error="the store does not answer")
    else:
        latency = round((server.environment.monotonic() - started) * 1000)
        status = "ok" if engine.writable else "degraded"
        store.update(connection="connected", latency_ms=latency)
        if held := engine.vacuum_holders:
            # Their names are only in the detailed health, which needs a key.
            store["vacuum_held_s"] = max(holder.held_s for holder in held)
        if status == "degraded":
            store["error"] = "the store takes no changes"
    store["status"] = status
    return {
        "status": status,
        "version": "1.0",
        "uptime_seconds": server.lifetime.uptime_s(),
        "backend": store,
    }


ROUTES: Final = (
    Route("GET", "/health", health, ANYONE, tenanted=True),
    Route("GET", "/health/detail", health_in_detail, LOOK),
)
AT_ROOT: Final = (Route("GET", "/ready", ready, ANYONE, tenanted=True),)
