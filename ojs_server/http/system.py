"""The health of the server, and whether it takes work."""

import time
from typing import Any, Final

from ojs_server.http.call import Answer, Call

# Whoever asks is answered within two seconds.
PATIENCE_S: Final = 1.8
_SOON: Final = {"Retry-After": "1"}


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
