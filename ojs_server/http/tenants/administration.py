"""Tenants: their jobs, use, limits and shares, for operators and for the tenants themselves."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.admin.statistics import DAY_MS, HOUR_MS
from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.job import WAITING, State
from ojs_server.domain.limits import limit_state as limits
from ojs_server.domain.limits.rate_limit import Policy
from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.domain.tenants.tenant import (
    DEFAULT,
    OF_TENANT,
    Tenant,
    parse_limits,
    parse_tenant,
    scoped,
)
from ojs_server.http import dialects
from ojs_server.http.access.roles import ADMINISTER, LOOK
from ojs_server.http.admin.statistics import lately, throughput
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.lists import FILTERS, list_jobs
from ojs_server.http.paging import admin_page
from ojs_server.http.route import Route
from ojs_server.http.tenants.totals import counts_in, counts_of, totals_of
from ojs_server.ops.admin.maintenance import Collect
from ojs_server.ops.tenants.administration import DropTenant, SaveTenant, no_such
from ojs_server.store.base import Reader
from ojs_server.store.records import QueueCounts, Stamped
from ojs_wire.values import timestamp

TenantRow = tuple[str, Tenant | None, Stamped | None]
_PLAIN = Tenant()


async def listing(call: Call) -> Answer:
    """List the tenants that were configured or ever had jobs, by name."""
    page, _ = admin_page(call)
    found = await call.server.engine.read(lambda reader: reader.tenants())
    part, pagination = page.cut(found)
    return Answer({"items": await _shown(call, part), "pagination": pagination})


async def detail(call: Call) -> Answer:
    """Show one tenant."""
    return Answer(await _read(call, _name(call)))


async def replace(call: Call) -> Answer:
    """Configure a tenant; settings that are left out have no limit."""
    name, body = _name(call), await call.json()
    refuse_unknown("", body, ("tenant_id", "limits"))
    if body.get("tenant_id") not in (None, name):
        raise invalid("tenant_id", "differs from the name in the path")
    given = body.get("limits")
    return await _save(call, name, parse_limits({} if given is None else given, "limits"))


async def limit(call: Call) -> Answer:
    """Replace a tenant's limits."""
    return await _save(call, _name(call), parse_limits(await call.json()))


async def delete(call: Call) -> Answer:
    """Remove the settings of a tenant; its jobs stay."""
    name = _name(call)
    await call.server.engine.run(DropTenant(name))
    return Answer({"deleted": True, "tenant_id": name})


async def jobs(call: Call) -> Answer:
    """List a tenant's jobs, newest first, with the filters of other lists."""
    page, query = admin_page(call, FILTERS)
    return await list_jobs(call, "items", page, query, _name(call))


async def stats(call: Call) -> Answer:
    """Show the jobs, throughput, use of limits and share of a tenant."""
    name = _name(call)
    own = scoped(name, "")
    await call.server.engine.run(Collect())
    minutes, _, now = await lately(call.server.engine, [own])

    def read(reader: Reader) -> tuple[dict[str, QueueCounts], dict[str, Tenant], int, int, int]:
        tenants = {found[0]: found[1] or _PLAIN for found in reader.tenants()}
        known = counts_of(reader, {*tenants, name})
        spans = reader.statistics(HOUR_MS, [own], now - DAY_MS, now + 1)
        done, failed = (
            sum(span.times for span in spans if span.kind == kind)
            for kind in ("processed", "failed")
        )
        row = reader.limit(OF_TENANT + name)
        rate = tenants.get(name, _PLAIN).max_enqueue_rate
        begun = (
            limits.started(msgspec.structs.replace(row[0], policy=Policy(rate=rate)), now)
            if row
            else 0
        )
        return known, tenants, done, failed, begun

    known, tenants, done, failed, begun = await call.server.engine.read(read)
    mine = counts_in(known.get(name))
    passed = throughput(minutes.get(own, ()), now)
    return Answer(
        {
            "tenant_id": name,
            "total_jobs": sum(mine.values()),
            "jobs": {
                **{
                    state: mine[state] for state in (State.AVAILABLE, State.ACTIVE, State.SCHEDULED)
                },
                "completed_24h": done,
                "failed_24h": failed,
            },
            "throughput": {
                kind: passed[kind] for kind in ("processed_per_minute", "enqueued_per_minute")
            },
            "limits": _used(tenants.get(name, _PLAIN), mine, begun),
            "fairness": _fairness(name, known, tenants),
        }
    )


def _name(call: Call) -> str:
    """Return the tenant that the path names; a tenant may name only itself."""
    name = call.path_params["id"]
    if call.tenant is not None and name != call.tenant:
        raise no_such("tenant", name)
    return name if name == DEFAULT else parse_tenant("tenant_id", name)


async def _save(call: Call, name: str, tenant: Tenant) -> Answer:
    saved = await call.server.engine.run(SaveTenant(name, tenant))
    return Answer(await _read(call, name), 201 if saved.new else 200)


async def _read(call: Call, name: str) -> dict[str, Any]:
    found = await call.server.engine.read(lambda reader: reader.tenants())
    rows = [row for row in found if row[0] == name]
    if not rows:
        raise no_such("tenant", name)
    (tenant,) = await _shown(call, rows)
    return tenant


async def _shown(call: Call, rows: Sequence[TenantRow]) -> list[dict[str, Any]]:
    """Return tenants with what they have."""
    profile = call.server.engine.rules.profile
    names = [name for name, _, _ in rows]
    totals = await call.server.engine.read(lambda reader: totals_of(reader, names, profile))
    return [
        dialects.tenant(
            {
                "tenant_id": name,
                "configured": tenant is not None,
                "limits": (tenant or _PLAIN).as_wire(),
                "stats": totals[name],
                "created_at": timestamp(stamped.created_at if stamped else None),
                "updated_at": timestamp(stamped.updated_at if stamped else None),
            }
        )
        for name, tenant, stamped in rows
    ]


def _used(tenant: Tenant, mine: Mapping[str, int], begun: int) -> dict[str, Any]:
    """Return every limit that is set, with its use."""
    wire = tenant.as_wire()
    current = {
        "max_concurrency": mine[State.ACTIVE],
        "max_queue_depth": sum(mine[state] for state in WAITING),
        "max_scheduled": mine[State.SCHEDULED],
        "max_enqueue_rate": begun,
    }
    return {
        name: {"limit": wire[name], "current": used}
        for name, used in current.items()
        if wire[name] is not None
    }


def _fairness(
    name: str, known: Mapping[str, QueueCounts], tenants: Mapping[str, Tenant]
) -> dict[str, Any]:
    """Return a tenant's share of the turns among the tenants with jobs, and of the running jobs."""
    # Include a tenant without stored counters, which is not in `known`.
    there = {name}.union(
        tenant
        for tenant, queue in known.items()
        if queue.counts[State.AVAILABLE] or queue.counts[State.ACTIVE]
    )
    weights = {tenant: tenants.get(tenant, _PLAIN).fairness_weight for tenant in there}
    running = sum(queue.counts[State.ACTIVE] for queue in known.values())
    mine = counts_in(known.get(name))[State.ACTIVE]
    return {
        "weight": weights[name],
        "effective_share": round(weights[name] / sum(weights.values()), 3),
        "actual_share": round(mine / running, 3) if running else 0.0,
    }


ROUTES: Final = (
    Route("GET", "/admin/tenants", listing, LOOK),
    Route("GET", "/admin/tenants/{id}", detail, LOOK, tenanted=True),
    Route("PUT", "/admin/tenants/{id}", replace, ADMINISTER),
    Route("DELETE", "/admin/tenants/{id}", delete, ADMINISTER),
    Route("PUT", "/admin/tenants/{id}/limits", limit, ADMINISTER),
    Route("GET", "/admin/tenants/{id}/stats", stats, LOOK, tenanted=True),
    Route("GET", "/admin/tenants/{id}/jobs", jobs, LOOK, tenanted=True),
)
