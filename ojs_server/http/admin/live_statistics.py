"""Statistics for their stream: in numbers, and in lists as the public admin UI reads them."""

from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import Any, Final

from ojs_server.domain.admin.statistics import error_percentage
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.http.admin.statistics import look, numbers, present
from ojs_server.http.services import Lifetime
from ojs_server.http.shared_read import Statistics
from ojs_server.ops.engine.engine import Engine
from ojs_server.store.records import QueueCounts, WorkerLoad
from ojs_wire.codec import encode
from ojs_wire.values import timestamp

# Most queues, and most workers, in one frame.
MOST: Final = 1000
_DEPTHS: Final = ("available", "active", "scheduled", "retryable")


async def read(engine: Engine, lifetime: Lifetime) -> Statistics:
    """Read the statistics of all queues."""
    found = await look(engine)
    shown = numbers(found, engine, lifetime)
    workers = present(found, engine)
    lists = {
        **shown,
        "queues": _queues(found.queues),
        "workers": {"total": len(workers), "active": _workers(workers)},
        "throughput": {**shown["throughput"], **_per_second(shown["throughput"])},
        "error_rate": error_percentage(found.minutes, found.at),
    }
    return Statistics(encode(shown), encode(lists))


def _queues(queues: Sequence[QueueCounts]) -> list[dict[str, Any]]:
    fullest = nlargest(MOST, queues, key=lambda queue: sum(map(queue.counts.__getitem__, _DEPTHS)))
    return [
        {"queue": queue.name, **{state: queue.counts[state] for state in _DEPTHS}}
        for queue in sorted(fullest, key=lambda queue: queue.name)
    ]


def _workers(loads: Sequence[WorkerLoad]) -> list[dict[str, Any]]:
    busiest = nlargest(MOST, loads, key=lambda load: len(load.job_ids))
    return [
        {
            "id": load.worker.id,
            "state": "running" if load.worker.state == WorkerState.RUNNING else "quiet",
            "activeJobs": len(load.job_ids),
            "lastHeartbeatAt": timestamp(load.worker.beat_at),
        }
        for load in sorted(busiest, key=lambda load: load.worker.id)
    ]


def _per_second(per_minute: Mapping[str, float]) -> dict[str, float]:
    return {
        name.replace("_minute", "_second"): round(rate / 60, 3) for name, rate in per_minute.items()
    }
