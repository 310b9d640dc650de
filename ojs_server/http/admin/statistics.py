"""Statistics of the whole server, now and over time."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ojs_server.domain.admin.statistics import (
    ALL,
    DEPTHS,
    HOUR_MS,
    KEPT,
    MINUTE_MS,
    PERIODS,
    Count,
    Period,
    mean,
    per_minute,
    quantile,
    spans,
)
from ojs_server.domain.errors import invalid
from ojs_server.domain.fields import parse_queue
from ojs_server.domain.jobs.job import STATES
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.workers.staleness import is_present
from ojs_server.http import dialects
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import checked_query
from ojs_server.http.route import Route
from ojs_server.http.services import Lifetime
from ojs_server.ops.admin.maintenance import Collect
from ojs_server.ops.engine.engine import Engine
from ojs_server.store.base import Reader
from ojs_server.store.records import QueueCounts, WorkerLoad
from ojs_wire.values import format_timestamp, parse_duration, parse_timestamp

_PERIOD: Final = "5m"
# Most periods in one answer.
_MOST: Final = 1500

Spans = Mapping[str, Sequence[Period]]


async def now(call: Call) -> Answer:
    """Show the numbers of queues, workers and jobs, and the throughput of the last minute; with
    `queue` those of one queue, and all workers."""
    query = checked_query(call, ("queue",))
    engine = call.server.engine
    return Answer(numbers(await look(engine, _queue_in(query)), engine, call.server.lifetime))


class Moment(NamedTuple):
    """The queues, the workers and the last minutes at one moment."""

    at: int
    queues: Sequence[QueueCounts]
    loads: Sequence[WorkerLoad]
    minutes: Sequence[Period]


async def look(engine: Engine, queue: str = ALL) -> Moment:
    """Read what the statistics of one queue, or of all, are made of."""
    await engine.run(Collect())
    minutes, _, moment = await lately(engine, [queue])
    queues, loads = await engine.read(
        lambda reader: (reader.queues(None if queue == ALL else [queue]), reader.workers())
    )
    return Moment(moment, queues, loads, minutes.get(queue, ()))


def numbers(found: Moment, engine: Engine, lifetime: Lifetime) -> dict[str, Any]:
    """Return the statistics of a moment."""
    return {
        "queues": len(found.queues),
        "workers": len(present(found, engine)),
        "jobs": {state: sum(queue.counts[state] for queue in found.queues) for state in STATES},
        "throughput": throughput(found.minutes, found.at),
        "uptime_seconds": lifetime.uptime_s(),
    }


def present(found: Moment, engine: Engine) -> Sequence[WorkerLoad]:
    """Return the workers that are here, and not stale."""
    profile = engine.rules.profile
    return [load for load in found.loads if is_present(load.worker, found.at, profile)]


async def history(call: Call) -> Answer:
    """Return the counts of each period, oldest first."""
    query = checked_query(call, ("period", "since", "until", "queue"))
    period = query.get("period") or _PERIOD
    if period not in PERIODS:
        hint = nearest(period, PERIODS)
        raise invalid("period", f"must be one of {', '.join(PERIODS)}{hint}")
    queue = _queue_in(query)
    period_ms, step = PERIODS[period]
    await call.server.engine.run(Collect())
    moment = await call.server.engine.read(lambda reader: reader.now())
    until = _moment(query, "until", moment, moment)
    since = _moment(query, "since", moment, until - max(HOUR_MS, period_ms))
    # Earlier counts are not kept.
    first = max(since, moment - KEPT[step]) // period_ms * period_ms
    until = min(until, moment + 1)
    if (until - first) / period_ms > _MOST:
        raise invalid("since", f"must be at most {_MOST} periods of {period} before `until`")
    counts = await call.server.engine.read(
        lambda reader: reader.statistics(step, [queue], first, until)
    )
    shown = [_shown(span) for span in spans(counts, period_ms, first, until)]
    return Answer(dialects.statistics(period, shown))


async def lately(engine: Engine, queues: Sequence[str]) -> tuple[Spans, Spans, int]:
    """Return the current and the previous minutes and hours of these queues, and the store's
    time."""

    def look(reader: Reader) -> tuple[Sequence[Count], Sequence[Count], int]:
        moment = reader.now()
        minutes = reader.statistics(MINUTE_MS, queues, moment - 2 * MINUTE_MS, moment + 1)
        hours = reader.statistics(HOUR_MS, queues, moment - 2 * HOUR_MS, moment + 1)
        return minutes, hours, moment

    minutes, hours, moment = await engine.read(look)
    return (
        _by_queue(minutes, MINUTE_MS, moment),
        _by_queue(hours, HOUR_MS, moment),
        moment,
    )


def throughput(minutes: Sequence[Period], moment: int) -> Mapping[str, float]:
    """Return the jobs per minute, by kind of event."""
    return {
        f"{kind}_per_minute": per_minute(minutes, moment, kind)
        for kind in ("processed", "failed", "enqueued")
    }


def _by_queue(counts: Sequence[Count], step: int, moment: int) -> Spans:
    by_queue: dict[str, list[Count]] = {}
    for count in counts:
        by_queue.setdefault(count.queue, []).append(count)
    first = moment // step * step - step
    return {name: spans(part, step, first, moment + 1) for name, part in by_queue.items()}


def _shown(span: Period) -> dict[str, Any]:
    return {
        "timestamp": format_timestamp(span.at),
        "processed": span.processed,
        "completed": span.processed,
        "failed": span.failed,
        "enqueued": span.enqueued,
        **{state: getattr(span, state) for state in DEPTHS},
        **_quantiles("latency", span.runs),
        **_quantiles("wait", span.waits),
        "avg_latency_ms": mean([span.runs]),
    }


def _quantiles(what: str, times: Mapping[int, int]) -> dict[str, int | None]:
    return {f"{what}_p{percent}_ms": quantile(times, percent / 100) for percent in (50, 95, 99)}


def _moment(query: Mapping[str, str], name: str, now: int, default: int) -> int:
    """Read a timestamp, or a duration such as 24h that counts back from now."""
    if not (text := query.get(name)):
        return default
    try:
        return now - parse_duration(text)
    except ValueError:
        pass
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise invalid(name, f"{error}, or a duration such as 24h or PT24H") from None


def _queue_in(query: Mapping[str, str]) -> str:
    return parse_queue("queue", query["queue"]) if query.get("queue") else ALL


ROUTES: Final = (
    Route("GET", "/admin/stats", now, LOOK),
    Route("GET", "/admin/stats/history", history, LOOK),
)
