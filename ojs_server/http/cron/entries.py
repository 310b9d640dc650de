"""Cron entries: register, list, read, change, delete, trigger, history."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.cron.entry import CronEntry, CronRun, definition_of
from ojs_server.domain.cron.ownership import Caller, may_change
from ojs_server.domain.cron.request import NAME, parse_changes, registered
from ojs_server.domain.errors import invalid
from ojs_server.domain.tenants.tenant import scoped, unscoped
from ojs_server.http import dialects
from ojs_server.http.access.roles import ENQUEUE, OPERATE, READ, WORK, may
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.views import job_answer
from ojs_server.http.paging import page_of
from ojs_server.http.route import Route
from ojs_server.ops.cron.entries import AmendEntry, Forget, Kept, RegisterEntry, Trigger, missing
from ojs_wire.calls import CronRequest, EmptyRequest
from ojs_wire.values import format_timestamp, timestamp

_TRUTH = {"true": True, "false": False, "1": True, "0": False}


async def register(call: Call) -> Answer:
    """Store an entry, or replace the one of this name."""
    body = await call.json()
    call.check_members(body, CronRequest)
    kept = await store(call, body)
    entry = _shown(call, kept.entry, _caller(call))
    return Answer(
        dialects.cron_answer(call, entry, created=kept.created),
        201 if kept.created else 200,
        {"Location": f"/ojs/v1/cron/{entry['name']}"},
    )


async def store(call: AnyCall, body: Mapping[str, Any]) -> Kept:
    """Store the entry of a request, or replace the one of its name."""
    changes = parse_changes(body, tenant=call.tenant)
    strict = call.server.settings.strict
    # Refuse an invalid request before it reaches the writer.
    name = registered(changes, None, 0, strict=strict, any_type=call.any_type).name
    return await call.server.engine.run(RegisterEntry(name, changes, strict, caller=_caller(call)))


async def listing(call: Call) -> Answer:
    """List the entries, newest first; `enabled` filters."""
    enabled = call.query_params.get("enabled") or None
    if enabled is not None and enabled not in _TRUTH:
        raise invalid("enabled", f"must be one of {', '.join(_TRUTH)}")
    page = page_of(call)
    entries = await own_entries(call)
    if enabled is not None:
        entries = [entry for entry in entries if entry.enabled is _TRUTH[enabled]]
    part, pagination = page.cut(entries)
    caller = _caller(call)
    return Answer(dialects.cron_list([_shown(call, entry, caller) for entry in part], pagination))


async def own_entries(call: AnyCall) -> Sequence[CronEntry]:
    """Return the entries that the caller may see, newest first."""
    entries = await call.server.engine.read(lambda reader: reader.cron())
    if call.tenant is None:
        return entries
    return [entry for entry in entries if entry.scoped_name[0] == call.tenant]


async def detail(call: Call) -> Answer:
    """Show one entry."""
    return Answer(dialects.cron_answer(call, _shown(call, await _known(call), _caller(call))))


async def amend(call: Call) -> Answer:
    """Change some members; `{"enabled": false}` pauses the entry."""
    caller = _caller(call)
    name = _name(call)
    body = await call.json()
    call.check_members(body, CronRequest)
    kept = await call.server.engine.run(
        AmendEntry(
            name,
            parse_changes(body, tenant=call.tenant),
            call.server.settings.strict,
            caller=caller,
        )
    )
    return Answer(dialects.cron_answer(call, _shown(call, kept.entry, caller)))


async def pause(call: Call) -> Answer:
    """Pause an entry; like `{"enabled": false}`."""
    return await _switch(call, False)


async def resume(call: Call) -> Answer:
    """Resume an entry; like `{"enabled": true}`."""
    return await _switch(call, True)


async def delete(call: Call) -> Answer:
    """Delete an entry; the jobs that it fired stay."""
    kept = await forget(call, call.path_params["name"])
    entry = _shown(call, kept.entry, _caller(call))
    return Answer(dialects.cron_answer(call, entry, deleted=True, name=entry["name"]))


async def forget(call: AnyCall, name: str) -> Kept:
    """Delete the entry of a name."""
    return await call.server.engine.run(Forget(_own_name(call, name), caller=_caller(call)))


async def trigger(call: Call) -> Answer:
    """Run an entry now, in addition to its schedule."""
    await call.read(EmptyRequest, optional=True)
    caller = _caller(call)
    done = await call.server.engine.run(Trigger(_name(call), caller=caller))
    job_id = done.stored.job.id
    entry = dialects.cron_named(call, _shown(call, done.entry, caller))
    body = job_answer(done.stored, **entry, triggered=True, job_id=job_id)
    return Answer(body, 201, {"Location": f"/ojs/v1/jobs/{job_id}"})


async def history(call: Call) -> Answer:
    """List the runs of a cron entry, newest first."""
    entry = await _known(call)
    page = page_of(call)
    runs = await call.server.engine.read(lambda reader: reader.cron_runs(entry.name))
    part, pagination = page.cut(runs)
    shown = [_run(run) for run in part]
    return Answer(
        {
            "name": unscoped(call.tenant, entry.name),
            "history": shown,
            "executions": shown,
            "count": len(shown),
            "pagination": pagination,
        }
    )


async def _switch(call: Call, enabled: bool) -> Answer:
    await call.read(EmptyRequest, optional=True)
    changes = parse_changes({"enabled": enabled})
    caller = _caller(call)
    kept = await call.server.engine.run(AmendEntry(_name(call), changes, caller=caller))
    return Answer(dialects.cron_answer(call, _shown(call, kept.entry, caller)))


def _caller(call: AnyCall) -> Caller:
    """Return the rights of the caller on cron entries."""
    keys = call.server.settings.keys
    roles, holder = keys.roles_of(call.key_holder), keys.lasting(call.key_holder)
    return Caller(
        holder=holder,
        operates=may(roles, OPERATE),
        produces=may(roles, ENQUEUE),
        programs=keys.programs - {holder},
    )


def _name(call: Call) -> str:
    return _own_name(call, call.path_params["name"])


def _own_name(call: AnyCall, name: str) -> str:
    # Not a valid name, so there is no such entry.
    if not NAME.fullmatch(name):
        raise missing(name[:100])
    return scoped(call.tenant, name)


async def _known(call: Call) -> CronEntry:
    name = _name(call)
    found = await call.server.engine.read(lambda reader: reader.cron([name]))
    if not found:
        raise missing(name)
    return found[0]


def _shown(call: Call, entry: CronEntry, caller: Caller) -> dict[str, Any]:
    definition = definition_of(entry)
    return dialects.cron_entry(
        {
            "name": unscoped(call.tenant, entry.name),
            "expression": entry.expression,
            "timezone": entry.timezone,
            "overlap_policy": entry.overlap,
            "enabled": entry.enabled,
            "description": definition.description,
            "job_template": definition.job_template,
            "next_run_at": timestamp(entry.next_run_at),
            "last_run_at": timestamp(entry.last_run_at),
            "last_job_id": entry.last_job_id,
            "run_count": entry.run_count,
            "waiting": entry.held,
            "created_at": format_timestamp(entry.created_at),
            "updated_at": format_timestamp(entry.updated_at),
            "may_change": may_change(entry, caller),
        }
    )


def _run(run: CronRun) -> dict[str, Any]:
    return {
        "scheduled_at": format_timestamp(run.scheduled_at),
        "triggered_at": format_timestamp(run.at),
        "outcome": run.outcome,
        "reason": run.reason,
        "job_id": run.job_id,
        "manual": run.manual,
        "waiting": run.held,
    }


# Workers change the cron entries of their programs (domain/cron/ownership.py).
_CHANGE: Final = ENQUEUE | WORK
ROUTES: Final = (
    Route("POST", "/cron", register, _CHANGE, tenanted=True),
    Route("GET", "/cron", listing, READ, tenanted=True),
    Route("GET", "/cron/{name}", detail, READ, tenanted=True),
    Route("PATCH", "/cron/{name}", amend, _CHANGE, tenanted=True),
    Route("DELETE", "/cron/{name}", delete, _CHANGE, tenanted=True),
    Route("POST", "/cron/{name}/pause", pause, _CHANGE, tenanted=True),
    Route("POST", "/cron/{name}/resume", resume, _CHANGE, tenanted=True),
    Route("POST", "/cron/{name}/trigger", trigger, _CHANGE, tenanted=True),
    Route("GET", "/cron/{name}/history", history, READ, tenanted=True),
)
