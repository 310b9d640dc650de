"""Statistics of queues: counts by minute and hour, and the rates and percentiles made of them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
# Retention by step.
KEPT: Final[Mapping[int, int]] = {MINUTE_MS: DAY_MS, HOUR_MS: 30 * DAY_MS}
# Each period with the step whose counts make it up.
PERIODS: Final[Mapping[str, tuple[int, int]]] = {
    "1m": (MINUTE_MS, MINUTE_MS),
    "5m": (5 * MINUTE_MS, MINUTE_MS),
    "1h": (HOUR_MS, HOUR_MS),
    "1d": (DAY_MS, HOUR_MS),
}
# Name for the counts of all queues together, which no queue has.
ALL: Final = ""
KINDS: Final[Mapping[str, str]] = {
    "job.enqueued": "enqueued",
    "job.started": "started",
    "job.completed": "processed",
    "job.failed": "failed",
}
# Sampled, not counted: the number of jobs in these states.
DEPTHS: Final = ("available", "active", "retryable")
# Upper bounds of the buckets of run times and waiting times, in milliseconds. The SQL of the stores
# repeats them.
BOUNDS: Final = (
    *(5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000),
    *(60_000, 300_000, 1_800_000),
)
_EDGES: Final = tuple(pairwise((0, *BOUNDS, 2 * BOUNDS[-1])))


class Count(NamedTuple):
    """The number of events of a kind in one span and one bucket of durations; of the kinds in
    `DEPTHS` the most jobs at a time."""

    queue: str
    at: int
    kind: str
    bucket: int
    times: int


class Period(msgspec.Struct, frozen=True):
    """The counts of one minute or hour."""

    at: int
    enqueued: int = 0
    started: int = 0
    processed: int = 0
    failed: int = 0
    # Completed jobs by bucket of their run times, started jobs by bucket of their waiting times.
    runs: Mapping[int, int] = {}
    waits: Mapping[int, int] = {}
    # The highest sampled number of jobs in each state; None without a sample.
    available: int | None = None
    active: int | None = None
    retryable: int | None = None


class Recent(msgspec.Struct, frozen=True):
    """Figures of a queue for about the last hour, as the HTTP binding has them."""

    completed_last_hour: int
    failed_last_hour: int
    avg_duration_ms: float
    avg_wait_ms: float
    throughput_per_second: float


def by_steps(
    counts: Iterable[Count], *, totals: bool = True
) -> dict[tuple[int, str, int, str, int], int]:
    """Sum counts by minute and by hour, for each queue and, with `totals`, for all queues."""
    sums: dict[tuple[int, str, int, str, int], int] = {}
    for count in counts:
        for step in KEPT:
            for queue in (count.queue, ALL) if totals else (count.queue,):
                key = (step, queue, count.at // step * step, count.kind, count.bucket)
                sums[key] = sums.get(key, 0) + count.times
    return sums


def spans(counts: Iterable[Count], period_ms: int, since: int, until: int) -> list[Period]:
    """Return all spans between two moments, empty ones too, oldest first."""
    found: dict[int, dict[str, int]] = {}
    times: dict[str, dict[int, dict[int, int]]] = {"processed": {}, "started": {}}
    for count in counts:
        at = count.at // period_ms * period_ms
        kinds = found.setdefault(at, {})
        known = kinds.get(count.kind, 0)
        kinds[count.kind] = max(known, count.times) if count.kind in DEPTHS else known + count.times
        if count.kind in times:
            buckets = times[count.kind].setdefault(at, {})
            buckets[count.bucket] = buckets.get(count.bucket, 0) + count.times
    first = since // period_ms * period_ms
    runs, waits = times["processed"], times["started"]
    return [
        Period(at, **found.get(at, {}), runs=runs.get(at, {}), waits=waits.get(at, {}))
        for at in range(first, until, period_ms)
    ]


def recent(minutes: Sequence[Period], now: int) -> Recent:
    """Sum the minutes of the last hour up."""
    hour = [minute for minute in minutes if now - HOUR_MS < minute.at <= now]
    return Recent(
        completed_last_hour=sum(minute.processed for minute in hour),
        failed_last_hour=sum(minute.failed for minute in hour),
        avg_duration_ms=mean([minute.runs for minute in hour]),
        avg_wait_ms=mean([minute.waits for minute in hour]),
        throughput_per_second=per_minute(hour, now, "processed") / 60,
    )


def mean(times: Iterable[Mapping[int, int]]) -> float:
    """Return the mean of durations, taken as evenly spread within their buckets; 0 without any."""
    total, number = 0.0, 0
    for buckets in times:
        for bucket, count in buckets.items():
            low, high = _EDGES[bucket]
            total += (low + high) / 2 * count
            number += count
    return round(total / number, 1) if number else 0.0


def quantile(runs: Mapping[int, int], part: float) -> int | None:
    """Return an estimate of a quantile of the run times in milliseconds; None without a run."""
    total = sum(runs.values())
    if not total:
        return None
    rank = part * total
    for bucket in sorted(runs):
        if rank <= runs[bucket]:
            low, high = _EDGES[bucket]
            # Run times are assumed to be evenly distributed within a bucket.
            return round(low + (high - low) * rank / runs[bucket])
        rank -= runs[bucket]
    return _EDGES[max(runs)][1]


def error_percentage(minutes: Sequence[Period], now: int) -> float:
    """Return the share of attempts that failed among those that ended within the last minute, in
    percent; 0 where none did."""
    failed = per_minute(minutes, now, "failed")
    ended = failed + per_minute(minutes, now, "processed")
    return round(100 * failed / ended, 1) if ended else 0.0


def per_minute(minutes: Sequence[Period], now: int, kind: str) -> float:
    """Return an estimate of the number of events within the last minute.

    The minute before the present one counts by the share of it that is less than a minute old.
    """
    present = now // MINUTE_MS * MINUTE_MS
    share = 1 - (now - present) / MINUTE_MS
    parts = {present: 1.0, present - MINUTE_MS: share}
    counted = sum(float(getattr(minute, kind)) * parts.get(minute.at, 0.0) for minute in minutes)
    return round(counted, 1)
