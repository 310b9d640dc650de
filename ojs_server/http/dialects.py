"""Dialects of clients: aliases of paths, and answers that depend on the client.

A handler returns one canonical value. This module is the only one that knows other spellings.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ojs_server.domain.cron.entry import queue_of
from ojs_server.domain.errors import Unsupported
from ojs_server.domain.schemas.schema import read_uri
from ojs_server.domain.workflows.plan import WorkflowState
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.views import array
from ojs_wire.codec import encode

OPENJOBSPEC: Final = "application/openjobspec+json"
PLAIN_JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
# A public SDK decodes a body only if its media type contains exactly this text.
WITH_ALTERNATIVE: Final = f'{OPENJOBSPEC}; alt="{PLAIN_JSON}"'

VERSION: Final = "1.0"
ACCEPTED_VERSIONS: Final = frozenset({"1", "1.0", "1.0.0", "1.0.0-rc.1"})

_CHECKPOINT: Final = "/ojs/v1/jobs/{id}/checkpoint"


def _checkpoints(path: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the routes of checkpoints under the path that public SDKs use."""
    return {
        ("POST", path): ("PUT", _CHECKPOINT),
        ("PUT", path): ("PUT", _CHECKPOINT),
        ("GET", path): ("GET", _CHECKPOINT),
        ("DELETE", path): ("DELETE", _CHECKPOINT),
    }


# Alias: (method, path) -> the canonical (method, path) whose handler serves it.
ALIASES: Final[Mapping[tuple[str, str], tuple[str, str]]] = {
    ("POST", "/ojs/v1/jobs/fetch"): ("POST", "/ojs/v1/workers/fetch"),
    ("POST", "/ojs/v1/jobs/{id}/ack"): ("POST", "/ojs/v1/workers/ack"),
    ("POST", "/ojs/v1/jobs/{id}/nack"): ("POST", "/ojs/v1/workers/nack"),
    ("POST", "/ojs/v1/jobs/{id}/fail"): ("POST", "/ojs/v1/workers/nack"),
    ("POST", "/ojs/v1/workers/fail"): ("POST", "/ojs/v1/workers/nack"),
    ("POST", "/ojs/v1/jobs/{id}/cancel"): ("DELETE", "/ojs/v1/jobs/{id}"),
    ("POST", "/ojs/v1/workers/beat"): ("POST", "/ojs/v1/workers/heartbeat"),
    ("PATCH", "/ojs/v1/workers/{id}"): ("POST", "/ojs/v1/workers/{id}/ping"),
    ("GET", "/ojs/v1/workers/{id}/function-blocks"): ("GET", "/ojs/v1/workers/{id}/capabilities"),
    ("PUT", "/ojs/v1/workers/{id}/function-blocks"): ("PUT", "/ojs/v1/workers/{id}/capabilities"),
    ("POST", "/ojs/v1/workers/{id}/unregister"): ("POST", "/ojs/v1/workers/deregister"),
    ("POST", "/ojs/v1/workers/progress"): ("PUT", "/ojs/v1/jobs/{id}/progress"),
    ("POST", _CHECKPOINT): ("PUT", _CHECKPOINT),
    **_checkpoints("/ojs/v1/checkpoints/{id}"),
    # Two SDKs repeat the base path.
    **_checkpoints("/ojs/v1/ojs/v1/checkpoints/{id}"),
    ("GET", "/ojs/v1/ojs/v1/checkpoints/{id}/resume"): ("GET", "/ojs/v1/checkpoints/{id}/resume"),
    ("GET", "/ojs/v1/crons"): ("GET", "/ojs/v1/cron"),
    ("POST", "/ojs/v1/crons"): ("POST", "/ojs/v1/cron"),
    ("GET", "/ojs/v1/crons/{name}"): ("GET", "/ojs/v1/cron/{name}"),
    ("PATCH", "/ojs/v1/crons/{name}"): ("PATCH", "/ojs/v1/cron/{name}"),
    ("DELETE", "/ojs/v1/crons/{name}"): ("DELETE", "/ojs/v1/cron/{name}"),
    ("POST", "/ojs/v1/dead-letter/purge"): ("DELETE", "/ojs/v1/dead-letter"),
    ("DELETE", "/ojs/v1/admin/dead-letter"): ("DELETE", "/ojs/v1/dead-letter"),
    ("GET", "/ojs/v1/admin/dead-letter/stats"): ("GET", "/ojs/v1/dead-letter/stats"),
    ("POST", "/ojs/v1/admin/dead-letter/retry"): ("POST", "/ojs/v1/dead-letter/retry"),
    ("GET", "/ojs/v1/admin/dead-letter/{id}"): ("GET", "/ojs/v1/dead-letter/{id}"),
    ("POST", "/ojs/v1/admin/dead-letter/{id}/retry"): ("POST", "/ojs/v1/dead-letter/{id}/retry"),
    ("POST", "/ojs/v1/admin/jobs/bulk/cancel"): ("POST", "/ojs/v1/jobs/bulk/cancel"),
    ("POST", "/ojs/v1/admin/jobs/bulk/retry"): ("POST", "/ojs/v1/jobs/bulk/retry"),
    ("POST", "/ojs/v1/admin/jobs/bulk/delete"): ("POST", "/ojs/v1/jobs/bulk/delete"),
    ("POST", "/ojs/v1/workflows/{id}/cancel"): ("DELETE", "/ojs/v1/workflows/{id}"),
    ("POST", "/ojs/v1/queues/{name}/purge"): ("DELETE", "/ojs/v1/queues/{name}/jobs"),
    ("GET", "/ojs/v1/admin/queues/{name}/config"): ("GET", "/ojs/v1/queues/{name}/config"),
    ("PUT", "/ojs/v1/admin/queues/{name}/config"): ("PATCH", "/ojs/v1/queues/{name}/config"),
    ("PATCH", "/ojs/v1/admin/queues/{name}/config"): ("PATCH", "/ojs/v1/queues/{name}/config"),
    ("PUT", "/ojs/v1/admin/queues/{name}/rate-limit"): ("PUT", "/ojs/v1/queues/{name}/rate-limit"),
    ("DELETE", "/ojs/v1/admin/queues/{name}/jobs"): ("DELETE", "/ojs/v1/queues/{name}/jobs"),
    ("GET", "/ojs/v1/admin/schemas"): ("GET", "/ojs/v1/schemas"),
    ("GET", "/ojs/v1/admin/schemas/{schema}"): ("GET", "/ojs/v1/schemas/{schema}"),
    ("DELETE", "/ojs/v1/admin/schemas/{schema}"): ("DELETE", "/ojs/v1/schemas/{schema}"),
    ("GET", "/ojs/v1/admin/schemas/{type}/versions"): ("GET", "/ojs/v1/schemas/{type}/versions"),
    ("POST", "/ojs/v1/admin/schemas/{type}/validate"): ("POST", "/ojs/v1/schemas/{type}/validate"),
    ("POST", "/ojs/v1/admin/schemas/{type}/compatibility"): (
        "POST",
        "/ojs/v1/schemas/{type}/compatibility",
    ),
    ("GET", "/ojs/v1/admin/schemas/{type}/{version}"): ("GET", "/ojs/v1/schemas/{type}/{version}"),
    ("PUT", "/ojs/v1/admin/schemas/{type}/{version}"): ("PUT", "/ojs/v1/schemas/{type}/{version}"),
    ("DELETE", "/ojs/v1/admin/schemas/{type}/{version}"): (
        "DELETE",
        "/ojs/v1/schemas/{type}/{version}",
    ),
    ("PUT", "/ojs/v1/webhooks/subscriptions/{id}"): (
        "PATCH",
        "/ojs/v1/webhooks/subscriptions/{id}",
    ),
    ("POST", "/ojs/v1/admin/jobs/{id}/cancel"): ("DELETE", "/ojs/v1/jobs/{id}"),
    ("PATCH", "/ojs/v1/jobs/{id}"): ("PATCH", "/ojs/v1/admin/jobs/{id}"),
    ("GET", "/ojs/v1/events/{id}/history"): ("GET", "/ojs/v1/jobs/{id}/history"),
    ("GET", "/ojs/v1/admin/jobs/{id}/trace"): ("GET", "/ojs/v1/jobs/{id}/history"),
    ("PUT", "/ojs/v1/rate-limits/{key}/override"): ("PUT", "/ojs/v1/rate-limits/{key}"),
    ("DELETE", "/ojs/v1/rate-limits/{key}/override"): ("DELETE", "/ojs/v1/rate-limits/{key}"),
    ("GET", "/ojs/v1/admin/maintenance"): ("GET", "/ojs/v1/admin/system/maintenance"),
    ("POST", "/ojs/v1/admin/maintenance"): ("POST", "/ojs/v1/admin/system/maintenance"),
    ("GET", "/ojs/v1/admin/config"): ("GET", "/ojs/v1/admin/system/config"),
    ("GET", "/ojs/v1/admin/observability/health"): ("GET", "/ojs/v1/health"),
    ("GET", "/ojs/v1/metrics"): ("GET", "/metrics"),
    # Adapters of the JavaScript SDK enqueue at this path.
    ("POST", "/api/v1/jobs"): ("POST", "/ojs/v1/jobs"),
    # The command line's doctor omits the first part of the path.
    ("GET", "/v1/health"): ("GET", "/ojs/v1/health"),
    ("GET", "/v1/queues"): ("GET", "/ojs/v1/queues"),
    ("GET", "/v1/dead-letter"): ("GET", "/ojs/v1/dead-letter"),
    ("GET", "/v1/workers"): ("GET", "/ojs/v1/workers"),
    ("GET", "/health"): ("GET", "/ojs/v1/health"),
    ("GET", "/health/detail"): ("GET", "/ojs/v1/health/detail"),
    ("GET", "/healthz"): ("GET", "/ojs/v1/health"),
    ("GET", "/readyz"): ("GET", "/ready"),
}


def media_type(call: Call) -> str:
    """Return the media type of the answer to this request."""
    accept = call.header(b"accept")
    if accept and PLAIN_JSON in accept and OPENJOBSPEC not in accept:
        return PLAIN_JSON
    return WITH_ALTERNATIVE if names_version(call) else OPENJOBSPEC


def fetch_answer(
    call: Call, jobs: Iterator[bytes], members: Mapping[str, Any], headers: Mapping[str, str] = {}
) -> Answer:
    """Build the answer to a FETCH: one object, or a job per line if the client asks for that."""
    if NDJSON in (call.header(b"accept") or ""):
        # Encoded JSON contains no line breaks.
        lines = (*jobs, encode(members)) if members else jobs
        body = b"".join(line + b"\n" for line in lines)
        return Answer(body, headers=headers, media_type=NDJSON)
    return Answer(array("jobs", jobs, **members), headers=headers)


def names_version(call: Call) -> bool:
    """Tell whether a request has an OJS-Version: SDKs send it, the conformance cases and command
    lines do not."""
    return b"ojs-version" in call.fields


def is_administration(call: Call) -> bool:
    """Tell whether a call was made by its path in the admin API, which is stricter in places."""
    return call.path.startswith("/ojs/v1/admin/")


# The second name is that of one document on HTTP.
_TENANT: Final = (b"x-ojs-tenant", b"x-ojs-tenant-id")


def tenant_header(call: AnyCall) -> str | None:
    """Return the tenant that a request names."""
    found = map(call.header, _TENANT)
    return next((named for named in found if named is not None), None)


def check_version(version: str | None) -> None:
    """Raise for a protocol version that this server does not support."""
    if version is not None and version.strip() not in ACCEPTED_VERSIONS:
        raise Unsupported(
            f"OJS-Version {version[:50]!r} is not supported; this server speaks {VERSION}",
            details={"header": "OJS-Version", "supported": [VERSION]},
        )


def queue_stats(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of a queue. For clients that send OJS-Version `queue` is its name.

    The public Go SDK fails on an object there, the conformance cases fail on a string, and the
    header tells them apart. The counts are nested and at the top level.
    """
    queue: dict[str, Any] = answer["queue"]
    dead = queue["discarded"]
    named = {**answer, "stats": {**answer["stats"], "dead": dead}}
    if not names_version(call):
        return named
    return {**queue, **named, "dead_letter": dead, "queue": queue["name"]}


def queue_detail(answer: dict[str, Any], depth: int) -> dict[str, Any]:
    """Describe one queue, with the members that the command line reads at the top level."""
    queue: dict[str, Any] = answer["queue"]
    running = queue["counts"]["active"]
    return {**answer, "depth": depth, "running": running, "paused": queue["paused"]}


def counted(pagination: dict[str, Any]) -> dict[str, Any]:
    """Return the position of a page in its list, with the total that the command line reads at the
    top level."""
    return {"pagination": pagination, "total": pagination["total"]}


def job_page(name: str, pagination: dict[str, Any]) -> dict[str, Any]:
    """Describe the position of a page of jobs; the total is included for readers of `items`."""
    return counted(pagination) if name == "jobs" else {"pagination": pagination}


def batch_counts(stored: int) -> dict[str, int]:
    """Return the counts of a batch, which is stored whole or not at all, for the command line."""
    return {"enqueued": stored, "failed": 0}


def cancelled_steps(cancelled: int, completed: int) -> dict[str, int]:
    """Return the counts of a cancelled workflow under the names of the binding, the CLI and the
    Rust SDK."""
    return {
        "steps_cancelled": cancelled,
        "cancelled_steps": cancelled,
        "steps_already_completed": completed,
        "steps_already_complete": completed,
    }


def last_heartbeat(moment: str | None) -> dict[str, str | None]:
    """Return a worker's last heartbeat, under its own name and the command line's."""
    return {"last_heartbeat_at": moment, "last_heartbeat": moment}


def failed_attempts(failures: list[dict[str, Any]], policy: dict[str, Any]) -> dict[str, Any]:
    """Return the failed attempts of a job, each with the members that the command line shows."""
    retries = [
        {**failure, "error": failure.get("message"), "failed_at": failure.get("occurred_at")}
        for failure in failures
    ]
    return {"retries": retries, "policy": policy}


def cron_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a cron entry with the members of all clients: the cases', the SDKs' and the admin
    UI's."""
    template: dict[str, Any] = entry["job_template"]
    return {
        **entry,
        "id": entry["name"],
        "cron": entry["expression"],
        "schedule": entry["expression"],
        "status": "active" if entry["enabled"] else "paused",
        "type": template["type"],
        "args": template["args"],
        "meta": template.get("meta") or {},
        "options": template.get("options") or {},
        "queue": queue_of(template),
    }


def cron_named(call: Call, entry: dict[str, Any]) -> dict[str, Any]:
    """Return a cron entry under both its names; `cron` is its expression where SDKs read that."""
    return {"cron": entry["cron"] if names_version(call) else entry, "cron_job": entry}


def cron_answer(call: Call, entry: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the answer about one cron entry, under the names that the cases and the SDKs read,
    with a copy of its members at the top level."""
    return {**entry, **cron_named(call, entry), **more}


def cron_list(entries: list[dict[str, Any]], pagination: dict[str, Any]) -> dict[str, Any]:
    """Return the answer about a page of cron entries, under the names that all clients read."""
    return {
        "crons": entries,
        "entries": entries,
        "cron_jobs": entries,
        "items": entries,
        "count": len(entries),
        "pagination": pagination,
    }


def workflow(shown: dict[str, Any]) -> dict[str, Any]:
    """Return a workflow with the members of all clients.

    The cases count steps or jobs, by type. SDKs that send callbacks as steps read them among the
    steps.
    """
    named = {
        **shown,
        "jobs_total": shown["steps_total"],
        "jobs_completed": shown["steps_completed"],
        "step_count": shown["steps_total"],
    }
    if "steps" not in shown:
        return named
    return {**named, "jobs": shown["steps"], "steps": [*shown["steps"], *shown["callbacks"]]}


def workflow_answer(shown: dict[str, Any]) -> dict[str, Any]:
    """Return the answer about one workflow: wrapped for the cases, and at the top level for other
    clients."""
    named = workflow(shown)
    return {"workflow": named, **named}


# `pending` is a state of the specification in which no workflow is: its first steps are enqueued
# when it is stored. `active` is the admin UI's word for `running`.
WORKFLOW_STATES: Final = (*WorkflowState, "pending", "active")


def workflow_state(word: str | None) -> str | None:
    """Return the state by which a list of workflows is filtered."""
    return WorkflowState.RUNNING if word == "active" else word


def workflow_list(shown: list[dict[str, Any]], pagination: dict[str, Any]) -> dict[str, Any]:
    """Return the answer about a page of workflows, under the names that the SDKs and the admin UI
    read."""
    named = [workflow(flow) for flow in shown]
    return {"workflows": named, "items": named, "count": len(named), **counted(pagination)}


def statistics(period: str, spans: list[dict[str, Any]]) -> dict[str, Any]:
    """Build the history of statistics, under the names that the admin UI and the CLI read."""
    return {"period": period, "data": spans, "data_points": spans}


def rate_limit(shown: dict[str, Any]) -> dict[str, Any]:
    """Return a rate key with the limit and the counts that the admin UI and the command line
    show."""
    override = shown["override"]
    return {
        **shown,
        **_one_limit(shown["rate"] or shown["throttle"] or shown["concurrency"]),
        "active": shown["concurrency"]["active"],
        "available": shown["concurrency"]["available"],
        "waiting": shown["waiting_count"],
        "override": override and {**override, **_one_limit(_outranking(override))},
    }


def _one_limit(limit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one limit that is shown; only a window has a period."""
    return {"limit": limit["limit"], "period": limit.get("period")}


def _outranking(override: Mapping[str, Any]) -> Mapping[str, Any]:
    window: Mapping[str, Any] | None = override.get("rate") or override.get("throttle")
    return window or {"limit": override.get("concurrency")}


def rate_limit_list(shown: list[dict[str, Any]], pagination: dict[str, Any]) -> dict[str, Any]:
    """Return the answer about a page of rate keys. The command line reads them from a list of its
    own, as numbers."""
    items = [rate_limit(limit) for limit in shown]
    numbers = [
        {
            "key": item["key"],
            "concurrency": item["concurrency"]["limit"],
            "active": item["active"],
            "available": item["available"],
        }
        for item in items
    ]
    return {"items": items, "rate_limits": numbers, "pagination": pagination}


def listed_event(event: bytes, time: str) -> bytes:
    """Return an event of a page, with its time under the admin UI's name as well."""
    return event[:-1] + b',"timestamp":' + encode(time) + b"}"


def unique_key(shown: dict[str, Any]) -> dict[str, Any]:
    """Return a unique key under the cases' names and the admin UI's."""
    return {**shown, "key": shown["uniqueness_key"], "locked_until": shown["expires_at"]}


def maintenance(shown: dict[str, Any]) -> dict[str, Any]:
    """Return the maintenance mode under the specification's names and the clients'."""
    return {**shown, "started_at": shown["enabled_at"], "ends_at": shown["estimated_end"]}


def tried_webhook(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a test event, with the status of its answer under the admin UI's name
    as well."""
    return {**outcome, "status": outcome["status_code"]}


def tenant(shown: dict[str, Any]) -> dict[str, Any]:
    """Return a tenant under the specification's name and the admin UI's."""
    return {**shown, "id": shown["tenant_id"], "name": shown["tenant_id"]}


def schema_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the registration of a schema in one spelling; three texts have three."""
    given = dict(body)
    for name, other in (("type", "job_type"), ("schema", "args_schema")):
        if given.get(name) is None:
            given[name] = given.get(other)
    uri = given.get("uri")
    if isinstance(uri, str) and (named := read_uri(uri)):
        for name, value in zip(("type", "version"), named, strict=True):
            if given.get(name) is None:
                given[name] = value
    return given


def schema_answer(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the answer about a schema by its URI: wrapped, as SDKs read it, and flat."""
    return {**schema, "schema": schema}


def webhook_answer(webhook: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the answer about one subscription: wrapped, as the cases read it, and flat, as the
    specification shows it."""
    return {"subscription": webhook, **webhook, **more}


def delivery_answer(delivery: dict[str, Any]) -> dict[str, Any]:
    """Return the answer about one delivery, wrapped and flat like a subscription."""
    return {"delivery": delivery, **delivery}
