"""A relay as a program: ended by signals, with probes and metrics."""

import asyncio
from datetime import datetime

from ojs_worker.outbox.relay import Counts, Relay
from ojs_worker.running.health import HealthServer, Probed
from ojs_worker.running.metrics import exposition
from ojs_worker.running.signals import on_ending


async def serve(relay: Relay, *, health_host: str, health_port: int | None) -> None:
    """Run a relay until SIGTERM or SIGINT; only in the main thread."""
    loop = asyncio.get_running_loop()

    def measured() -> str:
        return text_of(relay.counts, relay.environment.now())

    health = HealthServer(lambda: _probed(relay.counts), measured)
    with on_ending(lambda: loop.call_soon_threadsafe(relay.request_stop)):
        if health_port is not None:
            await health.start(health_host, health_port)
        try:
            await relay.run()
        finally:
            await health.close()


def text_of(counts: Counts, now: datetime) -> str:
    """Write the counts of a relay in the text format of Prometheus."""
    figures = counts.figures
    values = (
        ("pending", "gauge", "Rows that wait.", figures.pending),
        ("oldest_seconds", "gauge", "Age of the oldest row that waits.", figures.lag_s(now)),
        ("failed", "gauge", "Rows whose jobs were refused.", figures.failed),
        ("sent_total", "counter", "Rows that this relay sent.", counts.sent),
        ("refused_total", "counter", "Rows that this relay saw refused.", counts.refused),
        ("sending", "gauge", "1 if this relay is the one that sends.", int(counts.sending)),
    )
    return exposition(
        "ojs_outbox", ((name, kind, help, [("", "", value)]) for name, kind, help, value in values)
    )


def _probed(counts: Counts) -> Probed:
    return Probed(live=True, ready=counts.well, details={"sending": counts.sending})
