"""Maintenance mode and the settings of the server."""

from typing import Any, Final

from ojs_server.domain.admin.maintenance import Maintenance, parse_order
from ojs_server.http import dialects
from ojs_server.http.access.roles import ADMINISTER, LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.ops.admin.maintenance import Maintain
from ojs_server.settings import TABLE, value_of
from ojs_wire.calls import MaintenanceRequest
from ojs_wire.values import timestamp

# Settings that may contain passwords.
_SECRET: Final = frozenset({"database", "listen_url"})


async def read(call: Call) -> Answer:
    """Show the maintenance mode."""
    found = await call.server.engine.read(lambda reader: reader.maintenance())
    return Answer(dialects.maintenance(_shown(found)))


async def change(call: Call) -> Answer:
    """Turn maintenance mode on or off: while it is on, no job is delivered or becomes due, but
    enqueueing works."""
    body = await call.json()
    call.check_members(body, MaintenanceRequest)
    done = await call.server.engine.run(Maintain(parse_order(body)))
    if done.maintenance is None:
        # Waiting fetches may find jobs now. Other nodes poll.
        call.server.engine.wakeups.wake_all()
    return Answer(dialects.maintenance(_shown(done.maintenance)))


async def config(call: Call) -> Answer:
    """Show the settings that the server runs with, without secrets."""
    settings = call.server.settings
    shown: dict[str, Any] = {"backend": call.server.engine.store.kind}
    for setting in TABLE:
        if setting.name in _SECRET:
            continue
        unit = "_ms" if setting.kind in ("duration", "retention") else ""
        value = value_of(settings, setting)
        if setting.kind == "networks":
            value = [str(network) for network in value]
        shown[setting.name + unit] = value
    return Answer({"config": {**shown, "keys_needed": settings.keys.needed}})


def _shown(maintenance: Maintenance | None) -> dict[str, Any]:
    on = maintenance is not None
    return {
        "maintenance": on,
        "enabled": on,
        "reason": maintenance.reason if maintenance else None,
        "enabled_at": timestamp(maintenance.since if maintenance else None),
        "estimated_end": timestamp(maintenance.until if maintenance else None),
    }


ROUTES: Final = (
    Route("GET", "/admin/system/maintenance", read, LOOK),
    Route("POST", "/admin/system/maintenance", change, ADMINISTER),
    Route("GET", "/admin/system/config", config, LOOK),
)
