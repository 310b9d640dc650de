"""Faults of tenants."""

from collections.abc import Iterable

import msgspec

from ojs_server.domain.cron import request as cron_request
from ojs_server.domain.errors import TenantFull
from ojs_server.domain.fairness.weighted_fair import FairScheduler
from ojs_server.domain.jobs import build_job
from ojs_server.domain.jobs.validate import Draft, parse_draft
from ojs_server.domain.webhooks.webhook import Webhook
from ojs_server.http.access import authorization
from ojs_server.http.call import Call
from ojs_server.http.cron import entries as cron
from ojs_server.http.jobs import bulk, dead_letters
from ojs_server.http.workers import function_blocks
from ojs_server.ops.engine import event_log_reader
from ojs_server.ops.tenants.quotas import Quotas
from ojs_server.ops.webhooks import deliveries
from ojs_server.ops.workflows import advance as workflow_moves
from ojs_server.store import event_log
from ojs_server.store.records import EventFilter
from ojs_server.systems.blackboard import http as blackboard
from tests.faulty.fault import fault
from tests.faulty.planting import after, put


@fault("OJS-TEN-006")
def strangers_are_let_in() -> None:
    """Any tenant that knows the id of a job may read and settle it."""

    async def nobody(call: Call, job_ids: Iterable[str]) -> set[str]:
        return set()

    put(authorization, "strangers", nobody)


@fault("OJS-TEN-008")
def events_are_everybodys() -> None:
    """A tenant gets the events of all others."""
    put(event_log, "is_of", lambda event, tenant: True)


@fault("OJS-TEN-008")
def dead_letters_are_everybodys() -> None:
    """A tenant lists the dead letters of all others."""
    after(
        dead_letters,
        "parse_filter",
        lambda found, *_, **__: msgspec.structs.replace(found, tenant=None),
    )


@fault("OJS-TEN-029")
def strangers_read_dead_letters() -> None:
    """Any tenant that knows the id of a dead letter may read, retry and delete it."""

    async def nothing(call: Call, job_id: str, kind: str = "job") -> None:
        return None

    put(dead_letters, "require_own", nothing)


@fault("OJS-TEN-029")
def strangers_empty_dead_letters() -> None:
    """A call by filter retries and deletes the dead letters of all tenants."""
    after(bulk, "parse_filter", lambda found, *_, **__: msgspec.structs.replace(found, tenant=None))


@fault("OJS-TEN-008")
def what_is_alike_is_everybodys() -> None:
    """The first of the events of a page that are alike decides to which tenant all of them go."""
    put(event_log_reader, "tenant_of", lambda event: None)


@fault("OJS-TEN-009")
def rate_keys_are_everybodys() -> None:
    """Two tenants share a rate key of the same name."""
    put(build_job, "scoped", lambda name, key: key)


@fault("OJS-TEN-031")
def retry_after_is_in_milliseconds() -> None:
    """A tenant without room is told to wait in milliseconds."""

    def crooked(error: TenantFull, *_: object) -> TenantFull:
        error.headers = {"Retry-After": error.headers["Retry-After"] + "000"}
        return error

    after(Quotas, "_full", crooked)


@fault("OJS-TEN-014")
def turns_follow_the_alphabet() -> None:
    """The tenant that is first by name has every turn."""
    put(FairScheduler, "take", lambda self, names, weights: min(names))


@fault("OJS-TEN-018")
def later_steps_are_nobodys() -> None:
    """Jobs that a tenant's workflow enqueues later belong to no tenant."""

    def without(body: object, **given: object) -> Draft:
        return parse_draft(body)

    put(workflow_moves, "parse_draft", without)


@fault("OJS-TEN-020")
def entries_are_everybodys() -> None:
    """Two tenants share a cron entry of the same name."""
    put(cron, "scoped", lambda tenant, name: name)
    put(cron_request, "scoped", lambda tenant, name: name)


@fault("OJS-TEN-023")
def webhooks_tell_of_everybody() -> None:
    """A tenant's subscription is told of the jobs of all tenants."""
    wanted = deliveries.filter_of

    def of_all(webhook: Webhook) -> EventFilter:
        return msgspec.structs.replace(wanted(webhook), tenant=None)

    put(deliveries, "filter_of", of_all)


@fault("OJS-TEN-025")
def blocks_are_everybodys() -> None:
    """Two tenants share a function block of the same name."""
    put(function_blocks, "scoped", lambda tenant, name: name)
    put(blackboard, "scoped", lambda tenant, name: name)
