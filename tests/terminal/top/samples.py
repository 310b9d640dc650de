"""A snapshot with a little of everything."""

from ojs_cli.top.snapshot import Failing, Snapshot

NOW = 1_800_000_000_000


def _queue(name: str, available: int, dead: int = 0, *, paused: bool = False) -> dict[str, object]:
    counts = {"available": available, "active": 1, "retryable": 0, "discarded": dead}
    return {"name": name, "paused": paused, "counts": counts}


SNAPSHOT = Snapshot(
    NOW,
    "prod  http://jobs.example",
    {"jobs": {"available": 9, "active": 4, "discarded": 3}, "throughput": {}},
    (
        _queue("mail", 5, 2),
        _queue("print", 1, paused=True),
        _queue("video", 3, 1),
        _queue("idle", 0),
    ),
    (
        {"id": "w1", "state": "running", "concurrency": 8, "queues": ["mail", "print"]},
        {"id": "w2", "state": "quiet", "concurrency": 8, "queues": ["mail"]},
    ),
    ({"processed": 1}, {"processed": 8, "latency_p50_ms": 12, "latency_p99_ms": 480}),
    (
        Failing("mail.send", "Timeout", 2, 1, "2027-01-15T07:59:00Z", "mail"),
        Failing("video.cut", "NoSpace\x1b[2J", 1, 0, "2027-01-15T07:00:00Z", "video"),
    ),
    ({"type": "video.cut", "started_at": "2027-01-15T07:00:00Z"},),
)
