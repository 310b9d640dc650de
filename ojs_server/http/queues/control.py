"""Pause and resume queues, with the answers of the public and of the admin call."""

from typing import Any, Final

from ojs_server.domain.fields import parse_queue
from ojs_server.http.access.roles import OPERATE
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.ops.queues.control import SetPaused
from ojs_wire.calls import EmptyRequest
from ojs_wire.values import format_timestamp


async def pause(call: Call) -> Answer:
    """Pause a queue: none of its jobs is handed out until it is resumed."""
    queue, moment = await _set_paused(call, True)
    return Answer({"queue": queue, "status": "paused", **moment})


async def resume(call: Call) -> Answer:
    """Resume a queue."""
    queue, moment = await _set_paused(call, False)
    return Answer({"queue": queue, "status": "active", **moment})


async def admin_pause(call: Call) -> Answer:
    """Pause a queue, answered in the flat form of the admin API."""
    queue, moment = await _set_paused(call, True)
    return Answer(queue | moment)


async def admin_resume(call: Call) -> Answer:
    """Resume a queue, answered in the flat form of the admin API."""
    queue, moment = await _set_paused(call, False)
    return Answer(queue | moment)


async def _set_paused(call: Call, paused: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    await call.read(EmptyRequest, optional=True)
    name = parse_queue("queue", call.path_params["name"])
    done = await call.server.engine.run(SetPaused(name, paused))
    moment = {"paused_at" if paused else "resumed_at": format_timestamp(done.now)}
    return {"name": name, "paused": paused}, moment


ROUTES: Final = (
    Route("POST", "/queues/{name}/pause", pause, OPERATE),
    Route("POST", "/queues/{name}/resume", resume, OPERATE),
    Route("POST", "/admin/queues/{name}/pause", admin_pause, OPERATE),
    Route("POST", "/admin/queues/{name}/resume", admin_resume, OPERATE),
)
