"""The one path table, of the rows that modules declare beside their handlers."""

import re
from collections.abc import Iterable, Mapping, Sequence
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
from ojs_server.http.call import Answer, Call
from ojs_server.http.dialects import ALIASES
from ojs_server.http.origins import PREFLIGHT_HEADERS
from ojs_server.http.route import ANYONE, V1, Route


async def _preflight(call: Call) -> Answer:
    """Answer a preflight of CORS: the page of a listed origin may call."""
    return Answer(b"", NO_CONTENT, PREFLIGHT_HEADERS)


# Of every path, whether or not it is there: the request itself is told.
PREFLIGHT: Final = Route("OPTIONS", "preflight", _preflight, ANYONE)

CANONICAL: Final[tuple[Route, ...]] = (
    *jobs.ROUTES,
    *workers.ROUTES,
    *settle.ROUTES,
    *job_lists.ROUTES,
    *bulk_enqueue.ROUTES,
    *bulk.ROUTES,
    *progress.ROUTES,
    *checkpoints.ROUTES,
    *worker_management.ROUTES,
    *sessions.ROUTES,
    *rooms.ROUTES,
    *blackboard.ROUTES,
    *queues.ROUTES,
    *queue_config.ROUTES,
    *rate_limits.ROUTES,
    *unique_keys.ROUTES,
    *middleware.ROUTES,
    *dead_letter.ROUTES,
    *cron.ROUTES,
    *workflows.ROUTES,
    *events.ROUTES,
    *streams.ROUTES,
    *schemas.ROUTES,
    *schema_trials.ROUTES,
    *webhooks.ROUTES,
    *admin.ROUTES,
    *statistics.ROUTES,
    *admin_queues.ROUTES,
    *admin_jobs.ROUTES,
    *admin_workers.ROUTES,
    *maintenance.ROUTES,
    *history.ROUTES,
    *tenants.ROUTES,
    *pools.ROUTES,
    *routing.ROUTES,
    *actions.ROUTES,
    *manifest.ROUTES,
    *logins.ROUTES,
    *me.ROUTES,
    *system.ROUTES,
    *metrics.ROUTES,
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


# The calls of the job manager's own clients, which know their prefix.
JOBLIB: Final[tuple[Route, ...]] = (
    *joblib.ROUTES,
    *joblib_workers.ROUTES,
    *providers.ROUTES,
)

# The calls of Camunda's REST API for jobs.
CAMUNDA: Final[tuple[Route, ...]] = camunda.ROUTES

# For browsers: a page takes what it shows from its query, since names may hold a slash.
DASHBOARD: Final[tuple[Route, ...]] = dashboard.ROUTES


def routes_of(profile: Profile) -> tuple[Route, ...]:
    """The routes that are served under a profile."""
    routes = ROUTES + DASHBOARD + at_root(profile.at_root)
    routes += JOBLIB if profile.serves_joblib else ()
    return routes + (CAMUNDA if profile.serves_camunda else ())


class Router:
    """Finds the route of a request: fixed paths in one look-up, the others by pattern."""

    def __init__(self, routes: Iterable[Route] = ROUTES) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        patterns: dict[str, dict[str, Route]] = {}
        for route in routes:
            table = patterns if "{" in route.path else self._fixed
            table.setdefault(route.path, {})[route.method] = route
        # What has fewer parameters says more.
        by_parameters = sorted(patterns.items(), key=lambda row: row[0].count("{"))
        self._patterns = [(_pattern(path), methods) for path, methods in by_parameters]

    def find(self, path: str) -> tuple[Mapping[str, Route], Mapping[str, str]] | None:
        """Return the methods of a path, and its parameters."""
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
