"""The one path table, of the rows that modules declare beside their handlers."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ojs_server.domain.profile import Profile
from ojs_server.http.access import logins, me
from ojs_server.http.admin import (
    action_log,
    directives,
    maintenance,
    middleware,
    nodes,
    statistics,
)
from ojs_server.http.admin import jobs as admin_jobs
from ojs_server.http.admin import queues as admin_queues
from ojs_server.http.admin import workers as admin_workers
from ojs_server.http.cron import entries as cron
from ojs_server.http.dialects import ALIASES
from ojs_server.http.fairness import pools
from ojs_server.http.jobs import (
    bulk,
    bulk_enqueue,
    checkpoints,
    dead_letters,
    enqueue,
    history,
    progress,
    read,
    result,
    transitions,
    unique_keys,
    version_routing,
)
from ojs_server.http.jobs import lists as job_lists
from ojs_server.http.limits import rate_limits
from ojs_server.http.queues import config as queue_config
from ojs_server.http.queues import control as queue_control
from ojs_server.http.queues import read as queues
from ojs_server.http.queues import removal as queue_removal
from ojs_server.http.route import V1, Route, under
from ojs_server.http.schemas import registry as schemas
from ojs_server.http.schemas import trials as schema_trials
from ojs_server.http.streams import event_log, event_stream
from ojs_server.http.system import dashboard, manifest, metrics
from ojs_server.http.system import health as system
from ojs_server.http.tenants import administration as tenants
from ojs_server.http.webhooks import deliveries, subscriptions
from ojs_server.http.workers import (
    ack,
    fetch,
    heartbeat,
    management,
    registry,
    sessions,
    settle_many,
)
from ojs_server.http.workflows import operations as workflows

CANONICAL: Final[tuple[Route, ...]] = (
    *under(
        V1,
        *enqueue.ROUTES,
        *read.ROUTES,
        *transitions.ROUTES,
        *result.ROUTES,
        *fetch.ROUTES,
        *ack.ROUTES,
        *heartbeat.ROUTES,
        *registry.ROUTES,
        *settle_many.ROUTES,
        *job_lists.ROUTES,
        *bulk_enqueue.ROUTES,
        *bulk.ROUTES,
        *progress.ROUTES,
        *checkpoints.ROUTES,
        *management.ROUTES,
        *sessions.ROUTES,
        *queues.ROUTES,
        *queue_control.ROUTES,
        *queue_config.ROUTES,
        *queue_removal.ROUTES,
        *rate_limits.ROUTES,
        *unique_keys.ROUTES,
        *middleware.ROUTES,
        *dead_letters.ROUTES,
        *cron.ROUTES,
        *workflows.ROUTES,
        *event_log.ROUTES,
        *event_stream.ROUTES,
        *schemas.ROUTES,
        *schema_trials.ROUTES,
        *subscriptions.ROUTES,
        *deliveries.ROUTES,
        *directives.ROUTES,
        *statistics.ROUTES,
        *admin_queues.ROUTES,
        *admin_jobs.ROUTES,
        *admin_workers.ROUTES,
        *maintenance.ROUTES,
        *nodes.ROUTES,
        *history.ROUTES,
        *tenants.ROUTES,
        *pools.ROUTES,
        *version_routing.ROUTES,
        *action_log.ROUTES,
        *logins.ROUTES,
        *me.ROUTES,
        *system.ROUTES,
    ),
    *manifest.ROUTES,
    *system.AT_ROOT,
    *metrics.ROUTES,
)


def _with_aliases(canonical: tuple[Route, ...]) -> tuple[Route, ...]:
    by_key = {(route.method, route.path): route for route in canonical}
    return canonical + tuple(
        msgspec.structs.replace(by_key[target], method=method, path=path, alias_of=target)
        for (method, path), target in ALIASES.items()
    )


ROUTES: Final = _with_aliases(CANONICAL)


def at_root(routes: Iterable[Route], parts: Sequence[str]) -> tuple[Route, ...]:
    """Return the routes of these parts of the API without its prefix, for a profile."""
    return tuple(
        msgspec.structs.replace(route, path=route.path.removeprefix(V1), plain=True)
        for route in routes
        for part in parts
        if route.path == f"{V1}/{part}" or route.path.startswith(f"{V1}/{part}/")
    )


# For browsers. Names are in the query of a page, since they may contain a slash.
DASHBOARD: Final[tuple[Route, ...]] = dashboard.ROUTES


def routes_of(profile: Profile, more: tuple[Route, ...] = ()) -> tuple[Route, ...]:
    """Return the routes that a profile serves, with those that another system adds."""
    return ROUTES + more + DASHBOARD + at_root(ROUTES + more, profile.at_root)
