"""The one path table: every method and path, its handler, and the role that may call it."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from ojs_server.domain.profile import Profile
from ojs_server.http import (
    actions,
    admin,
    admin_jobs,
    admin_queues,
    admin_workers,
    blackboard,
    bulk,
    bulk_enqueue,
    camunda,
    checkpoints,
    cron,
    dashboard,
    dead_letter,
    events,
    history,
    job_lists,
    joblib,
    joblib_workers,
    jobs,
    logins,
    maintenance,
    manifest,
    me,
    metrics,
    middleware,
    pools,
    progress,
    providers,
    queue_config,
    queues,
    rate_limits,
    rooms,
    routing,
    schema_trials,
    schemas,
    sessions,
    settle,
    statistics,
    streams,
    system,
    tenants,
    unique_keys,
    webhooks,
    worker_management,
    workers,
    workflows,
)
from ojs_server.http.answers import NO_CONTENT
from ojs_server.http.auth import ADMINISTER, ENQUEUE, LOOK, OPERATE, READ, ROLES, WORK, Role
from ojs_server.http.call import Answer, Call
from ojs_server.http.dialects import ALIASES
from ojs_server.http.origins import PREFLIGHT_HEADERS

Handler = Callable[[Call], Awaitable[Answer]]


class Route(msgspec.Struct, frozen=True, eq=False):
    """One row of the table. `waits` marks calls whose duration says nothing about the server,
    `plain` those of systems that know no media type of OJS, `problems` those whose errors are
    problem details, `tenanted` those that show and change nothing but the caller's own where that
    is a tenant; all others are about everybody, and refused to tenants; `produces` those by which
    programs make jobs."""

    method: str
    path: str
    handler: Handler
    roles: frozenset[Role]
    alias_of: tuple[str, str] | None = None
    waits: bool = False
    plain: bool = False
    problems: bool = False
    tenanted: bool = False
    produces: bool = False

    @property
    def changes(self) -> bool:
        """Whether a call changes something; what viewers may send is only judged."""
        return self.method != "GET" and self.roles.isdisjoint({Role.ANYONE, Role.VIEWER})


_ANYONE: Final = frozenset({Role.ANYONE})
_SEE: Final = LOOK | WORK

V1: Final = "/ojs/v1"
SOCKET: Final = f"{V1}/ws"
# Where clients of Socket.IO look for it.
SOCKETIO: Final = "/socket.io/"
# Who may read events, and so open a WebSocket.
READERS: Final = READ


def _route(
    method: str,
    path: str,
    handler: Handler,
    roles: frozenset[Role],
    *,
    waits: bool = False,
) -> Route:
    return Route(method, path, handler, roles, waits=waits)


async def _preflight(call: Call) -> Answer:
    """The answer to a browser that asks whether a page of a listed origin may call; it may."""
    return Answer(b"", NO_CONTENT, PREFLIGHT_HEADERS)


# Of every path, whether or not it is there: the request itself is told.
PREFLIGHT: Final = Route("OPTIONS", "preflight", _preflight, _ANYONE)

# The hot calls first.
CANONICAL: Final[tuple[Route, ...]] = (
    _route("POST", f"{V1}/jobs", jobs.enqueue, ENQUEUE),
    _route("POST", f"{V1}/workers/fetch", workers.fetch, WORK, waits=True),
    _route("POST", f"{V1}/workers/settle", settle.settle, WORK, waits=True),
    _route("POST", f"{V1}/workers/ack", workers.ack, WORK),
    _route("POST", f"{V1}/workers/nack", workers.nack, WORK),
    _route("POST", f"{V1}/workers/heartbeat", workers.beat, WORK),
    _route("POST", f"{V1}/jobs/batch", jobs.enqueue_batch, ENQUEUE),
    _route("GET", f"{V1}/jobs", job_lists.listing, LOOK),
    _route("POST", f"{V1}/jobs/bulk", bulk_enqueue.enqueue, ENQUEUE),
    _route("POST", f"{V1}/jobs/bulk/cancel", bulk.cancel, OPERATE),
    _route("POST", f"{V1}/jobs/bulk/retry", bulk.retry, OPERATE),
    _route("POST", f"{V1}/jobs/bulk/delete", bulk.delete, OPERATE),
    _route("GET", f"{V1}/jobs/{{id}}", jobs.read, READ),
    _route("DELETE", f"{V1}/jobs/{{id}}", jobs.cancel, ENQUEUE),
    _route("POST", f"{V1}/jobs/{{id}}/activate", jobs.activate, ENQUEUE),
    _route("GET", f"{V1}/jobs/{{id}}/result", jobs.result, READ, waits=True),
    _route("PUT", f"{V1}/jobs/{{id}}/progress", progress.report, WORK),
    _route("GET", f"{V1}/jobs/{{id}}/progress", progress.read, READ),
    _route("PUT", f"{V1}/jobs/{{id}}/checkpoint", checkpoints.save, WORK),
    _route("GET", f"{V1}/jobs/{{id}}/checkpoint", checkpoints.read, READ),
    _route("DELETE", f"{V1}/jobs/{{id}}/checkpoint", checkpoints.clear, WORK | OPERATE),
    _route("GET", f"{V1}/checkpoints/{{id}}/resume", checkpoints.resume, READ),
    _route("POST", f"{V1}/workers/register", workers.register, WORK),
    _route("POST", f"{V1}/workers/deregister", workers.deregister, WORK),
    _route("GET", f"{V1}/workers", workers.listing, LOOK),
    _route("GET", f"{V1}/workers/online", worker_management.online, LOOK),
    _route("POST", f"{V1}/workers/cleanup", worker_management.cleanup, ADMINISTER),
    _route("POST", f"{V1}/workers/cleanup-offline", worker_management.cleanup_offline, ADMINISTER),
    _route("GET", f"{V1}/workers/{{id}}", workers.detail, _SEE),
    _route("DELETE", f"{V1}/workers/{{id}}", worker_management.delete, OPERATE | WORK),
    _route("GET", f"{V1}/workers/{{id}}/capabilities", worker_management.capabilities, _SEE),
    _route("PUT", f"{V1}/workers/{{id}}/capabilities", worker_management.describe, WORK),
    _route("GET", f"{V1}/workers/{{id}}/jobs", worker_management.jobs, _SEE),
    _route("GET", f"{V1}/workers/{{id}}/health", workers.health, _SEE),
    _route("POST", f"{V1}/workers/{{id}}/ping", workers.ping, WORK),
    _route("GET", f"{V1}/workers/{{id}}/session", sessions.hold, WORK, waits=True),
    _route("POST", f"{V1}/tasks/claim", rooms.claim, WORK),
    _route("GET", f"{V1}/tasks/{{id}}", rooms.read_task, READ, waits=True),
    _route("PATCH", f"{V1}/tasks/{{id}}", rooms.move_task, WORK),
    _route("DELETE", f"{V1}/tasks/{{id}}", rooms.cancel_task, ENQUEUE),
    _route("PUT", f"{V1}/rooms/{{room}}/jobs", rooms.put_job, WORK),
    _route("GET", f"{V1}/rooms/{{room}}/jobs", rooms.list_jobs, READ),
    _route("POST", f"{V1}/rooms/{{room}}/tasks", rooms.submit, ENQUEUE),
    _route("GET", f"{V1}/rooms/{{room}}/tasks", rooms.list_tasks, READ),
    _route("POST", f"{V1}/blackboard/jobs", blackboard.put, ENQUEUE),
    _route("POST", f"{V1}/blackboard/job", blackboard.poll, WORK),
    _route("POST", f"{V1}/blackboard/job/result", blackboard.result, WORK),
    _route("GET", f"{V1}/blackboard/job/{{id}}", blackboard.read, READ),
    _route("GET", f"{V1}/queues", queues.listing, READ),
    _route("POST", f"{V1}/queues", queue_config.create, ADMINISTER),
    _route("GET", f"{V1}/queues/{{name}}", queues.detail, READ),
    _route("GET", f"{V1}/queues/{{name}}/stats", queues.stats, READ),
    _route("GET", f"{V1}/queues/{{name}}/priority-stats", queues.priorities, READ),
    _route("POST", f"{V1}/queues/{{name}}/pause", queues.pause, OPERATE),
    _route("POST", f"{V1}/queues/{{name}}/resume", queues.resume, OPERATE),
    _route("DELETE", f"{V1}/queues/{{name}}", queue_config.delete, ADMINISTER),
    _route("GET", f"{V1}/queues/{{name}}/config", queue_config.read, READ),
    _route("PUT", f"{V1}/queues/{{name}}/config", queue_config.replace, ADMINISTER),
    _route("PATCH", f"{V1}/queues/{{name}}/config", queue_config.amend, ADMINISTER),
    _route("PUT", f"{V1}/queues/{{name}}/rate-limit", queue_config.limit, ADMINISTER),
    _route("DELETE", f"{V1}/queues/{{name}}/jobs", queue_config.purge, ADMINISTER),
    _route("GET", f"{V1}/rate-limits", rate_limits.listing, READ),
    _route("GET", f"{V1}/rate-limits/{{key}}", rate_limits.detail, READ),
    _route("PUT", f"{V1}/rate-limits/{{key}}", rate_limits.override, OPERATE),
    _route("DELETE", f"{V1}/rate-limits/{{key}}", rate_limits.restore, OPERATE),
    _route("GET", f"{V1}/unique-jobs", unique_keys.listing, LOOK),
    _route("GET", f"{V1}/middleware", middleware.listing, LOOK),
    _route("GET", f"{V1}/dead-letter", dead_letter.listing, LOOK),
    _route("DELETE", f"{V1}/dead-letter", dead_letter.purge, OPERATE),
    _route("GET", f"{V1}/dead-letter/stats", dead_letter.stats, LOOK),
    _route("POST", f"{V1}/dead-letter/retry", dead_letter.retry_many, OPERATE),
    _route("GET", f"{V1}/dead-letter/{{id}}", dead_letter.detail, LOOK),
    _route("POST", f"{V1}/dead-letter/{{id}}/retry", dead_letter.retry, OPERATE),
    _route("DELETE", f"{V1}/dead-letter/{{id}}", dead_letter.delete, OPERATE),
    _route("POST", f"{V1}/cron", cron.register, ENQUEUE),
    _route("GET", f"{V1}/cron", cron.listing, READ),
    _route("GET", f"{V1}/cron/{{name}}", cron.detail, READ),
    _route("PATCH", f"{V1}/cron/{{name}}", cron.amend, ENQUEUE),
    _route("DELETE", f"{V1}/cron/{{name}}", cron.delete, ENQUEUE),
    _route("POST", f"{V1}/cron/{{name}}/pause", cron.pause, ENQUEUE),
    _route("POST", f"{V1}/cron/{{name}}/resume", cron.resume, ENQUEUE),
    _route("POST", f"{V1}/cron/{{name}}/trigger", cron.trigger, ENQUEUE),
    _route("GET", f"{V1}/cron/{{name}}/history", cron.history, READ),
    _route("POST", f"{V1}/workflows", workflows.create, ENQUEUE),
    _route("GET", f"{V1}/workflows", workflows.listing, READ),
    _route("GET", f"{V1}/workflows/{{id}}", workflows.detail, READ),
    _route("DELETE", f"{V1}/workflows/{{id}}", workflows.cancel, ENQUEUE),
    _route("POST", f"{V1}/workflows/{{id}}/retry", workflows.retry, ENQUEUE),
    _route("GET", f"{V1}/workflows/{{id}}/progress", workflows.progress, READ),
    _route("GET", f"{V1}/events", events.poll, READ),
    _route("GET", f"{V1}/events/stream", streams.everything, READ, waits=True),
    _route("GET", f"{V1}/queues/{{name}}/events", streams.of_queue, READ, waits=True),
    _route("GET", f"{V1}/jobs/{{id}}/events", streams.of_job, READ, waits=True),
    _route("GET", f"{V1}/jobs/{{id}}/progress/stream", streams.of_progress, READ, waits=True),
    _route("GET", SOCKET, streams.not_upgraded, READ),
    _route("POST", f"{V1}/schemas", schemas.register, OPERATE),
    _route("GET", f"{V1}/schemas", schemas.listing, READ),
    _route("GET", f"{V1}/schemas/{{schema}}", schemas.named, READ),
    _route("DELETE", f"{V1}/schemas/{{schema}}", schemas.remove_named, OPERATE),
    _route("GET", f"{V1}/schemas/{{type}}/versions", schemas.versions, READ),
    _route("POST", f"{V1}/schemas/{{type}}/validate", schema_trials.validate, READ),
    _route("POST", f"{V1}/schemas/{{type}}/compatibility", schema_trials.compatibility, READ),
    _route("PUT", f"{V1}/schemas/{{type}}/{{version}}", schemas.put, OPERATE),
    _route("GET", f"{V1}/schemas/{{type}}/{{version}}", schemas.detail, READ),
    _route("DELETE", f"{V1}/schemas/{{type}}/{{version}}", schemas.remove, OPERATE),
    _route("POST", f"{V1}/webhooks/subscriptions", webhooks.subscribe, OPERATE),
    _route("GET", f"{V1}/webhooks/subscriptions", webhooks.listing, LOOK),
    _route("GET", f"{V1}/webhooks/subscriptions/{{id}}", webhooks.detail, LOOK),
    _route("PATCH", f"{V1}/webhooks/subscriptions/{{id}}", webhooks.amend, OPERATE),
    _route("DELETE", f"{V1}/webhooks/subscriptions/{{id}}", webhooks.delete, OPERATE),
    _route("POST", f"{V1}/webhooks/subscriptions/{{id}}/rotate-secret", webhooks.rotate, OPERATE),
    _route("POST", f"{V1}/webhooks/subscriptions/{{id}}/test", webhooks.test, OPERATE, waits=True),
    _route("GET", f"{V1}/webhooks/deliveries", webhooks.deliveries, LOOK),
    _route("GET", f"{V1}/webhooks/deliveries/{{id}}", webhooks.delivery, LOOK),
    _route("POST", f"{V1}/webhooks/deliveries/{{id}}/retry", webhooks.replay, OPERATE),
    _route("POST", f"{V1}/admin/workers/directive", admin.direct_all, ADMINISTER),
    _route("POST", f"{V1}/admin/workers/{{id}}/quiet", admin.quiet, ADMINISTER),
    _route("POST", f"{V1}/admin/workers/{{id}}/resume", admin.resume, ADMINISTER),
    _route("POST", f"{V1}/admin/workers/{{id}}/terminate", admin.terminate, ADMINISTER),
    _route("POST", f"{V1}/admin/queues/{{name}}/pause", queue_config.pause, OPERATE),
    _route("POST", f"{V1}/admin/queues/{{name}}/resume", queue_config.resume, OPERATE),
    _route("GET", f"{V1}/admin/stats", statistics.now, LOOK),
    _route("GET", f"{V1}/admin/stats/history", statistics.history, LOOK),
    _route("GET", f"{V1}/admin/stats/stream", streams.of_statistics, LOOK, waits=True),
    _route("GET", f"{V1}/admin/queues", admin_queues.listing, LOOK),
    _route("GET", f"{V1}/admin/queues/{{name}}", admin_queues.detail, LOOK),
    _route("GET", f"{V1}/admin/jobs", admin_jobs.listing, LOOK),
    _route("GET", f"{V1}/admin/jobs/{{id}}", admin_jobs.detail, LOOK),
    _route("PATCH", f"{V1}/admin/jobs/{{id}}", admin_jobs.amend, OPERATE),
    _route("POST", f"{V1}/admin/jobs/{{id}}/retry", admin_jobs.retry, OPERATE),
    _route("GET", f"{V1}/admin/workers", admin_workers.listing, LOOK),
    _route("GET", f"{V1}/admin/workers/{{id}}", admin_workers.detail, LOOK),
    _route("DELETE", f"{V1}/admin/workers/{{id}}", admin_workers.remove, ADMINISTER),
    _route("GET", f"{V1}/admin/system/maintenance", maintenance.read, LOOK),
    _route("POST", f"{V1}/admin/system/maintenance", maintenance.change, ADMINISTER),
    _route("GET", f"{V1}/admin/system/config", maintenance.config, LOOK),
    _route("GET", f"{V1}/jobs/{{id}}/retries", jobs.retries, READ),
    _route("GET", f"{V1}/jobs/{{id}}/history", history.read, READ),
    _route("GET", f"{V1}/admin/dead-letter", dead_letter.admin_listing, LOOK),
    _route("DELETE", f"{V1}/admin/dead-letter/{{id}}", dead_letter.admin_delete, OPERATE),
    _route("GET", f"{V1}/admin/tenants", tenants.listing, LOOK),
    _route("GET", f"{V1}/admin/tenants/{{id}}", tenants.detail, LOOK),
    _route("PUT", f"{V1}/admin/tenants/{{id}}", tenants.replace, ADMINISTER),
    _route("DELETE", f"{V1}/admin/tenants/{{id}}", tenants.delete, ADMINISTER),
    _route("PUT", f"{V1}/admin/tenants/{{id}}/limits", tenants.limit, ADMINISTER),
    _route("GET", f"{V1}/admin/tenants/{{id}}/stats", tenants.stats, LOOK),
    _route("GET", f"{V1}/admin/tenants/{{id}}/jobs", tenants.jobs, LOOK),
    _route("GET", f"{V1}/admin/pools", pools.listing, LOOK),
    _route("GET", f"{V1}/admin/pools/{{name}}", pools.detail, LOOK),
    _route("PUT", f"{V1}/admin/pools/{{name}}", pools.save, ADMINISTER),
    _route("DELETE", f"{V1}/admin/pools/{{name}}", pools.delete, ADMINISTER),
    _route("GET", f"{V1}/admin/routing/{{type}}", routing.detail, LOOK),
    _route("PUT", f"{V1}/admin/routing/{{type}}", routing.save, ADMINISTER),
    _route("DELETE", f"{V1}/admin/routing/{{type}}", routing.delete, ADMINISTER),
    _route("GET", f"{V1}/admin/scheduling/stats", pools.stats, LOOK),
    _route("GET", f"{V1}/admin/actions", actions.listing, LOOK),
    _route("POST", f"{V1}/admin/reset", admin.reset, ADMINISTER),
    _route("GET", "/ojs/manifest", manifest.manifest, _ANYONE),
    _route("POST", f"{V1}/login", logins.log_in, _ANYONE),
    _route("POST", f"{V1}/logout", logins.log_out, _ANYONE),
    _route("GET", f"{V1}/me", me.read, frozenset(ROLES)),
    _route("GET", f"{V1}/health", system.health, _ANYONE),
    _route("GET", f"{V1}/health/detail", system.health_in_detail, LOOK),
    _route("GET", "/ready", system.ready, _ANYONE),
    _route("GET", "/metrics", metrics.exposition, READ),
)


# The handlers of routes that are for tenants.
_TENANTED: Final[frozenset[Handler]] = frozenset(
    {
        *(jobs.enqueue, jobs.enqueue_batch, jobs.read, jobs.cancel, jobs.activate),
        *(jobs.result, jobs.retries, history.read, job_lists.listing, bulk_enqueue.enqueue),
        *(bulk.cancel, bulk.retry, bulk.delete),
        *(workers.fetch, workers.ack, workers.nack, workers.beat, workers.register),
        *(workers.deregister, workers.ping, workers.listing, workers.detail, workers.health),
        *(worker_management.delete, sessions.hold),
        *(settle.settle, progress.report, progress.read),
        *(checkpoints.save, checkpoints.read, checkpoints.resume, checkpoints.clear),
        *(queues.listing, queues.detail, queues.stats),
        *(rate_limits.listing, rate_limits.detail),
        *(rate_limits.override, rate_limits.restore),
        *(dead_letter.listing, dead_letter.detail, dead_letter.retry, dead_letter.delete),
        *(dead_letter.retry_many, dead_letter.purge),
        *(dead_letter.admin_listing, dead_letter.admin_delete),
        *(events.poll, streams.everything, streams.of_queue, streams.of_job),
        *(
            unique_keys.listing,
            admin_jobs.listing,
            admin_jobs.detail,
            admin_jobs.amend,
            admin_jobs.retry,
        ),
        *(admin.quiet, admin.resume, admin.terminate, admin_workers.remove),
        *(cron.register, cron.listing, cron.detail, cron.amend, cron.delete),
        *(cron.pause, cron.resume, cron.trigger, cron.history),
        *(blackboard.put, blackboard.poll, blackboard.result, blackboard.read),
        *(rooms.put_job, rooms.list_jobs, rooms.submit, rooms.list_tasks),
        *(rooms.claim, rooms.read_task, rooms.move_task, rooms.cancel_task),
        *(webhooks.subscribe, webhooks.listing, webhooks.detail, webhooks.amend),
        *(webhooks.delete, webhooks.rotate, webhooks.test),
        *(webhooks.deliveries, webhooks.delivery, webhooks.replay),
        *(workflows.create, workflows.listing, workflows.detail, workflows.cancel),
        *(workflows.retry, workflows.progress),
        *(camunda.activate, camunda.complete, camunda.fail, camunda.throw, camunda.update),
        *(camunda.resolve, camunda.create, camunda.cancel, camunda.set_variables),
        camunda.topology,
        *(schemas.named, schemas.versions, schemas.detail),
        *(schema_trials.validate, schema_trials.compatibility),
        *(tenants.detail, tenants.stats, tenants.jobs),
        *(manifest.manifest, system.health, system.ready, me.read, logins.log_in, logins.log_out),
    }
)


# What makes jobs for programs, or is of the worker protocol: as frequent as jobs are.
_PRODUCING: Final[frozenset[Handler]] = frozenset(
    {
        *(jobs.enqueue, jobs.enqueue_batch, bulk_enqueue.enqueue, workflows.create),
        *(blackboard.put, rooms.submit, joblib.submit, camunda.create),
        *(route.handler for route in CANONICAL if route.roles == WORK),
    }
)


def _with_aliases(canonical: tuple[Route, ...]) -> tuple[Route, ...]:
    by_key = {(route.method, route.path): route for route in canonical}
    return canonical + tuple(
        msgspec.structs.replace(by_key[target], method=method, path=path, alias_of=target)
        for (method, path), target in ALIASES.items()
    )


ROUTES: Final = _with_aliases(CANONICAL)


def at_root(parts: Sequence[str]) -> tuple[Route, ...]:
    """The routes of these parts of the API once more, without its prefix, for a profile."""
    return tuple(
        msgspec.structs.replace(route, path=route.path.removeprefix(V1), plain=True)
        for route in ROUTES
        for part in parts
        if route.path == f"{V1}/{part}" or route.path.startswith(f"{V1}/{part}/")
    )


JOBLIB_BASE: Final = "/v1/joblib"


def _joblib(method: str, path: str, handler: Handler, roles: frozenset[Role]) -> Route:
    return Route(method, JOBLIB_BASE + path, handler, roles, plain=True, problems=True)


# The calls of the job manager's own clients, which know this prefix.
JOBLIB: Final[tuple[Route, ...]] = (
    _joblib("POST", "/tasks/claim", joblib.claim, WORK),
    msgspec.structs.replace(_joblib("GET", "/tasks/{id}", joblib.read_task, READ), waits=True),
    _joblib("PATCH", "/tasks/{id}", joblib.move_task, WORK),
    _joblib("POST", "/workers", joblib_workers.create, WORK),
    _joblib("GET", "/workers", joblib_workers.listing, READ),
    _joblib("PATCH", "/workers/{id}", joblib_workers.beat, WORK),
    _joblib("DELETE", "/workers/{id}", joblib_workers.delete, WORK),
    _joblib("PUT", "/rooms/{room}/jobs", joblib.put_job, WORK),
    _joblib("GET", "/rooms/{room}/jobs", joblib.list_jobs, READ),
    _joblib("GET", "/rooms/{room}/jobs/{name}", joblib.read_job, READ),
    _joblib("GET", "/rooms/{room}/jobs/{name}/tasks", joblib.list_job_tasks, READ),
    _joblib("GET", "/rooms/{room}/workers", joblib_workers.of_room, READ),
    _joblib("GET", "/rooms/{room}/tasks", joblib.list_tasks, READ),
    _joblib("POST", "/rooms/{room}/tasks/{name}", joblib.submit, ENQUEUE),
    _joblib("PUT", "/rooms/{room}/providers", providers.put, WORK),
    _joblib("GET", "/rooms/{room}/providers", providers.listing, READ),
    _joblib("GET", "/rooms/{room}/providers/{name}/info", providers.info, READ),
    msgspec.structs.replace(
        _joblib("GET", "/rooms/{room}/providers/{name}", providers.read, READ), waits=True
    ),
    _joblib("POST", "/providers/{id}/results", providers.answer, WORK),
    _joblib("DELETE", "/providers/{id}", providers.delete, WORK),
)


def _camunda(
    method: str, path: str, handler: Handler, roles: frozenset[Role], *, waits: bool = False
) -> Route:
    return Route(method, f"/v2{path}", handler, roles, plain=True, problems=True, waits=waits)


# The calls of Camunda's REST API for jobs.
CAMUNDA: Final[tuple[Route, ...]] = (
    _camunda("POST", "/jobs/activation", camunda.activate, WORK, waits=True),
    _camunda("POST", "/jobs/{key}/completion", camunda.complete, WORK),
    _camunda("POST", "/jobs/{key}/failure", camunda.fail, WORK),
    _camunda("POST", "/jobs/{key}/error", camunda.throw, WORK),
    _camunda("PATCH", "/jobs/{key}", camunda.update, WORK),
    _camunda("POST", "/incidents/{key}/resolution", camunda.resolve, OPERATE),
    _camunda("POST", "/process-instances", camunda.create, ENQUEUE, waits=True),
    _camunda("POST", "/process-instances/{key}/cancellation", camunda.cancel, ENQUEUE),
    _camunda("PUT", "/element-instances/{key}/variables", camunda.set_variables, WORK),
    _camunda("GET", "/topology", camunda.topology, _ANYONE),
)

# For browsers: a page takes what it shows from its query, since names may hold a slash.
DASHBOARD: Final[tuple[Route, ...]] = (
    _route("GET", "/", dashboard.root, _ANYONE),
    _route("GET", "/ui", dashboard.entrance, _ANYONE),
    # Where the protocol's own tools look for one.
    _route("GET", "/ojs/admin/", dashboard.entrance, _ANYONE),
    _route("GET", "/ui/", dashboard.page, _ANYONE),
    _route("GET", "/ui/{page}", dashboard.page, _ANYONE),
    _route("GET", "/ui/assets/{file}", dashboard.asset, _ANYONE),
)


def routes_of(profile: Profile) -> tuple[Route, ...]:
    """The routes that are served under a profile."""
    routes = ROUTES + DASHBOARD + at_root(profile.at_root)
    routes += JOBLIB if profile.serves_joblib else ()
    routes += CAMUNDA if profile.serves_camunda else ()
    return tuple(
        msgspec.structs.replace(
            route, tenanted=route.handler in _TENANTED, produces=route.handler in _PRODUCING
        )
        for route in routes
    )


class Router:
    """Finds the route of a request: fixed paths in one look-up, the others by pattern."""

    def __init__(self, routes: Iterable[Route] = ROUTES) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        patterns: dict[str, dict[str, Route]] = {}
        for route in routes:
            table = patterns if "{" in route.path else self._fixed
            table.setdefault(route.path, {})[route.method] = route
        self._patterns = [(_pattern(path), methods) for path, methods in patterns.items()]

    def find(self, path: str) -> tuple[Mapping[str, Route], Mapping[str, str]] | None:
        """The methods of a path, and its parameters."""
        if "\0" in path:
            # Not every store can look for it, and none holds it.
            return None
        if (methods := self._fixed.get(path)) is not None:
            return methods, {}
        for pattern, methods in self._patterns:
            if match := pattern.fullmatch(path):
                return methods, match.groupdict()
        return None


# A schema is named by its type or by its URI, whose slashes reach us decoded.
_PARAMETERS: Final = {"schema": r"[^/:]+|[A-Za-z][A-Za-z0-9+.-]*:.+"}


@cache
def _pattern(path: str) -> re.Pattern[str]:
    def one(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{_PARAMETERS.get(found[1], '[^/]+')})"

    return re.compile(re.sub(r"\{(\w+)\}", one, path))
