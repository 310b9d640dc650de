"""Queues in the admin form: counts, throughput and run times."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.admin.statistics import Period, quantile
from ojs_server.domain.jobs.job import STATES, State
from ojs_server.http.access.roles import LOOK
from ojs_server.http.admin.statistics import lately, throughput
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import admin_page
from ojs_server.http.queues.config import shown
from ojs_server.http.queues.read import known_queue
from ojs_server.http.route import Route
from ojs_server.ops.admin.maintenance import Collect
from ojs_server.store.records import QueueCounts
from ojs_wire.values import format_timestamp, timestamp

_QUANTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


async def listing(call: Call) -> Answer:
    """List every queue, newest first."""
    page, _ = admin_page(call)
    await call.server.engine.run(Collect())
    queues = await call.server.engine.read(
        lambda reader: sorted(reader.queues(), key=lambda queue: (-queue.created_at, queue.name))
    )
    part, pagination = page.follow(queues, lambda queue: (queue.created_at, queue.name))
    return Answer({"items": await _shown(call, part), "pagination": pagination})


async def detail(call: Call) -> Answer:
    """Show one queue with its settings."""
    queue, _ = await known_queue(call, call.path_params["name"])
    await call.server.engine.run(Collect())
    (item,) = await _shown(call, [queue])
    return Answer({**item, "configuration": shown(queue.config)})


async def _shown(call: Call, queues: Sequence[QueueCounts]) -> list[dict[str, Any]]:
    minutes, hours, now = await lately(call.server.engine, [queue.name for queue in queues])
    waiting = [queue.name for queue in queues if queue.counts[State.AVAILABLE]]
    oldest = await call.server.engine.read(lambda reader: reader.oldest_available(waiting))
    return [
        {
            "name": queue.name,
            "state": "paused" if queue.paused else "active",
            "paused": queue.paused,
            "counts": {state: queue.counts[state] for state in STATES},
            "throughput": throughput(minutes.get(queue.name, ()), now),
            "latency_ms": _run_times(hours.get(queue.name, ())),
            "created_at": format_timestamp(queue.created_at),
            "oldest_available_at": timestamp(oldest.get(queue.name)),
        }
        for queue in queues
    ]


def _run_times(hours: Sequence[Period]) -> Mapping[str, int | None]:
    """Return quantiles of the run times of the jobs of this hour and the one before it."""
    runs: dict[int, int] = {}
    for span in hours:
        for bucket, count in span.runs.items():
            runs[bucket] = runs.get(bucket, 0) + count
    return {name: quantile(runs, part) for name, part in _QUANTILES.items()}


ROUTES: Final = (
    Route("GET", "/admin/queues", listing, LOOK),
    Route("GET", "/admin/queues/{name}", detail, LOOK),
)
