"""The published form of an enqueue, which has the options of a job in `options`."""

from typing import Any, Final

# Calls that take jobs, one or many.
ENQUEUES: Final = frozenset({"jobs", "jobs/batch", "jobs/bulk"})
OPTIONS: Final = frozenset(
    {
        "queue",
        "priority",
        "timeout",
        "timeout_ms",
        "grace_period",
        "scheduled_at",
        "delay_until",
        "expires_at",
        "retry",
        "retry_policy",
        "max_attempts",
        "visibility_timeout",
        "visibility_timeout_ms",
        "enqueue_ttl",
        "enqueue_ttl_ms",
        "total_timeout",
        "total_timeout_ms",
        "heartbeat_timeout",
        "heartbeat_timeout_ms",
        "tags",
        "pending",
        "unique",
        "rate_limit",
        "metadata",
    }
)


def published(body: Any) -> Any:
    """Return the body of an enqueue with each job's options moved into `options`.

    Many servers know no other form. Options that are there already win.
    """
    if not isinstance(body, dict):
        return body
    if isinstance(jobs := body.get("jobs"), list):
        return {**body, "jobs": [published(job) for job in jobs]}
    flat = {name: value for name, value in body.items() if name in OPTIONS}
    nested = body.get("options", {})
    if not flat or not isinstance(nested, dict):
        return body
    rest = {name: value for name, value in body.items() if name not in OPTIONS}
    return {**rest, "options": {**flat, **nested}}
