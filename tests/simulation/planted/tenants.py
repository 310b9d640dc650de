"""Tenants that see each other, or have more than their share."""

from collections.abc import Iterable

from ojs_server.http.access import authorization
from ojs_server.http.call import Call
from ojs_server.ops.limits import claim_limits
from ojs_server.store import event_log
from tests.faulty.planting import put
from tests.simulation.planted.registry import planted


@planted(sees="tenants", needs="a tenant that asks for the job of another one")
def jobs_are_everybodys() -> None:
    """A tenant may read and cancel the jobs of all others."""

    async def nobody(call: Call, job_ids: Iterable[str]) -> set[str]:
        return set()

    put(authorization, "strangers", nobody)


@planted(sees="tenants", needs="a tenant that reads events")
def events_are_everybodys() -> None:
    """A tenant reads the events of all others."""
    put(event_log, "is_of", lambda event, tenant: True)


@planted(sees="tenants", needs="a tenant with a limit that has many jobs")
def tenants_run_what_they_like() -> None:
    """A claim does not ask how many jobs of a tenant run."""
    put(claim_limits, "startable_tenants", lambda claims, sharing: {})
