"""The suites of cases about the clauses of each subject of the domain."""

from collections.abc import Sequence
from typing import Final

from conformance.case import ServerCase, server_cases

_JOBS: Final = ("enqueue", "envelope", "lifecycle", "jobs", "fetch", "settle")
# By the longest beginning of a module's name.
SUITES: Final[dict[str, tuple[str, ...]]] = {
    "access": ("access",),
    "admin": ("administration",),
    "admin.statistics": ("administration", "queues"),
    "cron": ("cron",),
    "cron.ownership": ("cron", "access"),
    "errors": ("errors", "enqueue"),
    "event_buffer": ("events",),
    "events": ("events", "cron", "workflows", "workers", "progress", "deliveries", "tenants"),
    "fairness": ("pools", "tenants"),
    "fields": (*_JOBS, "queue_config"),
    "fingerprint": ("idempotency", "unique"),
    "jobs": _JOBS,
    "jobs.checkpoint": ("checkpoints",),
    "jobs.dead_letter": ("dead_letter",),
    "jobs.deadlines": ("visibility", "job_limits", "lifecycle"),
    "jobs.filter": ("bulk", "administration", "jobs"),
    "jobs.history": ("jobs",),
    "jobs.poll_state": ("presence", "blackboard"),
    "jobs.job": (*_JOBS, "streams"),
    "jobs.late_ack": ("late_completion",),
    "jobs.lifecycle": (*_JOBS, "retry", "visibility", "deliveries", "dead_letter"),
    "jobs.middleware": ("administration", "enqueue"),
    "jobs.options": (*_JOBS, "retry"),
    "jobs.progress": ("progress",),
    "jobs.repeated_settlement": ("settle", "settle_many"),
    "jobs.reported_error": ("settle", "retry"),
    "jobs.request_shape": (*_JOBS, "versioning", "zeebe"),
    "jobs.retry": ("retry",),
    "jobs.uniform_jobs": (*_JOBS, "backpressure"),
    "jobs.unique": ("unique",),
    "jobs.version_routing": ("versioning",),
    "limits": ("rate_limits",),
    "profile": ("profiles", "presence", "blackboard"),
    "queues": ("queue_config", "queues", "backpressure"),
    "regex": ("retry",),
    "retention": ("durability", "dead_letter"),
    "schemas": ("schemas",),
    "streams": ("streams", "websocket", "events"),
    "suggestions": ("errors", "http"),
    "systems.blackboard": ("blackboard", "presence"),
    "systems.jobmanager": ("job_manager", "job_manager_socketio"),
    "systems.zeebe": ("zeebe",),
    "tenants": ("tenants",),
    "version": ("versioning",),
    "webhooks": ("webhooks", "deliveries"),
    "workers": ("workers", "presence", "versioning", "fetch", "administration"),
    "workers.kind": ("blackboard", "job_manager"),
    "workers.fetch_policy": ("workers", "presence", "fetch", "profiles"),
    "workflows": ("workflows",),
    "workflows.lifecycle": ("workflows", "bulk"),
}


def suites_of(subject: str) -> tuple[str, ...]:
    """Return the suites about a module of the domain."""
    parts = subject.split(".")
    for length in range(len(parts), 0, -1):
        if (name := ".".join(parts[:length])) in SUITES:
            return SUITES[name]
    raise LookupError(f"no suites are named for {subject}")


def cases_of(subject: str) -> Sequence[ServerCase]:
    """Return the cases about a module of the domain."""
    suites = suites_of(subject)
    return [case for case in server_cases() if case.suite in suites]
