"""The columns of each kind of thing. Their names never change, new ones only join."""

from typing import Any, Final

import msgspec

from ojs_cli.output import Column, column
from ojs_cli.text import age, between, cell, elided, moment_ms, span
from ojs_wire.values import parse_duration

Json = dict[str, Any]


def age_of(member: str, head: str = "AGE", *, wide: bool = False) -> Column:
    """Make a column of how long ago a timestamp was."""
    return Column(
        head,
        lambda item, now: age(item.get(member), now),
        lambda item: item.get(member),
        wide=wide,
        right=True,
    )


def until(member: str, head: str) -> Column:
    """Make a column of how long it is until a timestamp."""

    def show(item: Json, now: int) -> str:
        moment = moment_ms(item.get(member))
        return "" if moment is None else span(max(moment - now, 0))

    return Column(head, show, lambda item: item.get(member), right=True)


def rate_of(head: str, path: str) -> Column:
    """Make a column of a limit for a period, such as `100/1m`."""
    plain = column(head, path)

    def read(item: Json) -> str:
        found = plain.raw(item) if plain.raw is not None else None
        return f"{found['limit']}/{_period(found.get('period'))}" if found else ""

    return Column(head, lambda item, _: cell(read(item)), read, right=True)


def _period(text: Any) -> str:
    try:
        return span(parse_duration(text, 1000))
    except ValueError:
        return str(text)


def listed(head: str, path: str, *, wide: bool = False) -> Column:
    """Make a column of a list of names."""
    plain = column(head, path)

    def read(item: Json) -> str:
        found = plain.raw(item) if plain.raw is not None else None
        return ",".join(map(str, found or ()))

    return Column(head, lambda item, _: cell(read(item)), read, wide=wide, cut=True)


def counted_attempts(item: Json) -> int:
    """Return the attempts of a job that count: all deliveries but those that were given back."""
    return int(item.get("attempt") or 0) - int(item.get("releases") or 0)


def _attempt(item: Json, _: int = 0) -> str:
    most = item.get("max_attempts")
    return f"{counted_attempts(item)}/{most}" if most else cell(item.get("attempt"))


def _run_time(item: Json, now: int) -> str:
    start = item.get("started_at")
    if item.get("state") == "active":
        return age(start, now)
    ends = (item.get(f"{state}_at") for state in ("completed", "discarded", "cancelled"))
    return between(start, next((end for end in ends if end), None)) if start else ""


def _error(item: Json, _: int = 0) -> str:
    error = item.get("error")
    if not isinstance(error, dict):
        return cell(error)
    kind = error.get("type") or error.get("code") or ""
    return cell(f"{kind}: {error.get('message', '')}")


_JOB_ID: Final = msgspec.structs.replace(column("ID", "id"), narrow=elided)
JOBS: Final = (
    _JOB_ID,
    column("TYPE", "type"),
    column("QUEUE", "queue"),
    column("STATE", "state", states=True),
    Column("ATT", _attempt, _attempt, right=True),
    age_of("created_at"),
    Column("RUN", _run_time, right=True),
    column("PRIO", "priority", wide=True, right=True),
    column("WORKER", "worker_id", wide=True),
    column("TAGS", "tags", wide=True),
    Column("ERROR", _error, _error, wide=True, cut=True),
    column("ARGS", "args", wide=True, cut=True),
)
DEAD: Final = (
    _JOB_ID,
    column("TYPE", "type"),
    column("QUEUE", "queue"),
    Column("ATT", _attempt, _attempt, right=True),
    age_of("discarded_at", "DEAD"),
    Column("ERROR", _error, _error, cut=True),
    column("ARGS", "args", wide=True, cut=True),
)


def _state_of_queue(item: Json, _: int = 0) -> str:
    if item.get("paused"):
        return "paused"
    return str(item.get("state") or item.get("status") or "active")


def _rate(member: str) -> Column:
    def read(item: Json) -> Any:
        return (item.get("throughput") or {}).get(member)

    return Column(
        {"enqueued_per_minute": "IN/M", "processed_per_minute": "OUT/M"}[member],
        lambda item, _: "" if read(item) is None else f"{read(item):.0f}",
        read,
        right=True,
    )


def _quantile(name: str) -> Column:
    def read(item: Json) -> Any:
        return (item.get("latency_ms") or {}).get(name)

    return Column(name.upper(), lambda item, _: span(read(item)), read, wide=True, right=True)


QUEUES: Final = (
    column("NAME", "name"),
    Column("STATE", _state_of_queue, _state_of_queue, states=True),
    column("AVAIL", "counts.available", right=True),
    column("ACTIVE", "counts.active", right=True),
    column("RETRY", "counts.retryable", right=True),
    column("DEAD", "counts.discarded", right=True),
    age_of("oldest_available_at", "OLDEST"),
    _rate("enqueued_per_minute"),
    _rate("processed_per_minute"),
    column("SCHED", "counts.scheduled", wide=True, right=True),
    column("PEND", "counts.pending", wide=True, right=True),
    column("DONE", "counts.completed", wide=True, right=True),
    _quantile("p50"),
    _quantile("p95"),
)


def _presence(item: Json, _: int = 0) -> str:
    """Return the presence of a worker if it is gone, else its state."""
    presence = item.get("presence")
    if presence not in (None, "online"):
        return str(presence)
    directive = item.get("directive")
    state = str(item.get("state") or "")
    return f"{state} (asked to {directive})" if directive else state


def _busy(item: Json, _: int = 0) -> str:
    places = item.get("concurrency")
    held = item.get("active_jobs", 0)
    return f"{held}/{places}" if places else cell(held)


WORKERS: Final = (
    column("ID", "id"),
    Column("STATE", _presence, _presence, states=True),
    Column("BUSY", _busy, _busy, right=True),
    age_of("last_seen_at", "SEEN"),
    listed("QUEUES", "queues"),
    column("HOST", "hostname", wide=True),
    column("PID", "pid", wide=True, right=True),
    column("VERSION", "version", wide=True),
    column("LABELS", "labels", wide=True),
    age_of("started_at", "UP", wide=True),
)
NODES: Final = (
    column("ID", "id"),
    column("STATE", "state", states=True),
    age_of("last_seen_at", "SEEN"),
    age_of("started_at", "UP"),
    column("VERSION", "version"),
    column("FETCHES", "waiting_fetches", right=True),
    column("STREAMS", "event_streams", right=True),
    column("HOST", "host"),
    column("PID", "pid", wide=True, right=True),
    column("ANSWERS", "is_this", wide=True),
)
CRON: Final = (
    column("NAME", "name"),
    column("EXPRESSION", "expression"),
    column("TYPE", "type"),
    Column(
        "STATE",
        lambda item, _: "active" if item.get("enabled", True) else "paused",
        lambda item: "active" if item.get("enabled", True) else "paused",
        states=True,
    ),
    until("next_run_at", "NEXT"),
    age_of("last_run_at", "LAST"),
    column("RUNS", "run_count", right=True),
    column("ZONE", "timezone", wide=True),
    column("OVERLAP", "overlap_policy", wide=True),
    column("QUEUE", "queue", wide=True),
)
CRON_RUNS: Final = (
    column("AT", "triggered_at"),
    column("OUTCOME", "outcome"),
    column("REASON", "reason"),
    column("JOB", "job_id"),
)
WORKFLOWS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TYPE", "type"),
    column("STATE", "state", states=True),
    column("STEPS", "steps_total", right=True),
    column("DONE", "steps_completed", right=True),
    column("FAILED", "steps_failed", right=True),
    age_of("created_at"),
)


def _detail(item: Json, _: int = 0) -> str:
    data = item.get("data") or {}
    names = ("job_type", "queue", "worker_id", "attempt", "progress_percent", "next_retry_at")
    parts = [str(data[name]) for name in names if data.get(name) is not None]
    error = data.get("error") or data.get("last_error")
    if isinstance(error, dict):
        parts.append(f"{error.get('type') or error.get('code')}: {error.get('message')}")
    return cell(" ".join(parts))


def _clock(item: Json, _: int) -> str:
    return str(item.get("time", ""))[11:23]


EVENTS: Final = (
    Column("TIME", _clock, lambda item: item.get("time")),
    column("TYPE", "type"),
    column("SUBJECT", "subject"),
    Column("DETAIL", _detail, _detail, cut=True),
)
STATS: Final = (
    Column("TIME", lambda item, _: str(item.get("timestamp", ""))[:16].replace("T", " ")),
    column("IN", "enqueued", right=True),
    column("OUT", "processed", right=True),
    column("FAILED", "failed", right=True),
    Column("P50", lambda item, _: span(item.get("latency_p50_ms")), right=True),
    Column("P99", lambda item, _: span(item.get("latency_p99_ms")), right=True),
)
