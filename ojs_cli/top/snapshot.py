"""Snapshots of a server for `ojs top`."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ojs_cli.server import Server
from ojs_worker.errors import NotFound, PermissionDenied

Json = dict[str, Any]
LOOKED_AT: Final = 100


class Failing(msgspec.Struct, frozen=True):
    """Jobs of one type that failed by one error."""

    type: str
    error: str
    dead: int
    waiting: int
    last: str
    queue: str

    @property
    def key(self) -> str:
        """The name of the group."""
        return f"{self.type} {self.error}"


class Snapshot(msgspec.Struct, frozen=True):
    """The state of a server at one moment. What it lacks, or the key may not see, is empty."""

    at_ms: int
    name: str = ""
    statistics: Json = {}
    queues: tuple[Json, ...] = ()
    workers: tuple[Json, ...] = ()
    history: tuple[Json, ...] = ()
    failing: tuple[Failing, ...] = ()
    running: tuple[Json, ...] = ()


def look(server: Server, name: str, at_ms: int) -> Snapshot:
    """Read a snapshot; every list is bounded."""
    failed = [
        *_list(lambda: server.items("/dead-letter", "jobs", most=LOOKED_AT)),
        *_list(lambda: server.items("/jobs", "jobs", most=LOOKED_AT, states="retryable")),
    ]
    running = _list(lambda: server.items("/jobs", "jobs", most=LOOKED_AT, states="active"))
    return Snapshot(
        at_ms,
        name,
        _or_empty(lambda: server.get("/admin/stats")),
        tuple(_list(lambda: _queues(server))),
        tuple(_list(lambda: server.items("/workers", "workers", most=1000))),
        tuple(
            _or_empty(lambda: server.get("/admin/stats/history", period="1m", since="60m")).get(
                "data"
            )
            or ()
        ),
        tuple(grouped(failed)),
        tuple(sorted(running, key=lambda job: str(job.get("started_at") or "~"))),
    )


def _queues(server: Server) -> list[Json]:
    try:
        return server.items("/admin/queues", "items", most=1000)
    except NotFound:
        return server.items("/queues", "queues", most=1000)


def grouped(jobs: list[Json]) -> list[Failing]:
    """Group jobs that failed by their type and error, the latest first."""
    dead: Counter[tuple[str, str]] = Counter()
    waiting: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], tuple[str, str]] = {}
    for job in jobs:
        raw = job.get("error")
        error = raw if isinstance(raw, dict) else {}
        key = (str(job.get("type")), str(error.get("type") or error.get("code") or "?"))
        (dead if job.get("state") == "discarded" else waiting)[key] += 1
        moment = str(error.get("occurred_at") or job.get("discarded_at") or "")
        last[key] = max(last.get(key, ("", "")), (moment, str(job.get("queue"))))
    return sorted(
        (
            Failing(*key, dead[key], waiting[key], moment, queue)
            for key, (moment, queue) in last.items()
        ),
        key=lambda group: group.last,
        reverse=True,
    )


def _or_empty(read: Callable[[], Json]) -> Json:
    try:
        return read()
    except (NotFound, PermissionDenied):
        return {}


def _list(read: Callable[[], list[Json]]) -> list[Json]:
    try:
        return read()
    except (NotFound, PermissionDenied):
        return []
