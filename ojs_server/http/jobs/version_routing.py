"""Routing of versions: the share of a job type's jobs for each version."""

from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_server.domain.fields import job_type
from ojs_server.domain.jobs.version_routing import Routing, parse_routing
from ojs_server.http.access.roles import ADMINISTER, LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.ops.jobs.version_routing import DropRouting, SaveRouting, no_routing


async def detail(call: Call) -> Answer:
    """Show the routing of a type."""
    kind = _kind(call)
    found = await call.server.engine.read(lambda reader: reader.routing(kind))
    if found is None:
        raise no_routing(kind)
    return Answer(_shown(kind, found))


async def save(call: Call) -> Answer:
    """Set or replace the routing of a type."""
    kind, body = _kind(call), await call.json()
    if body.get("type") not in (None, kind):
        raise invalid("type", "differs from the type in the path")
    routing = parse_routing(body)
    saved = await call.server.engine.run(SaveRouting(kind, routing))
    return Answer(_shown(kind, routing), 201 if saved.new else 200)


async def delete(call: Call) -> Answer:
    """Delete the routing of a type; jobs without a version go to every worker again."""
    kind = _kind(call)
    await call.server.engine.run(DropRouting(kind))
    return Answer({"deleted": True, "type": kind})


def _kind(call: Call) -> str:
    return job_type({"type": call.path_params["type"]})


def _shown(kind: str, routing: Routing) -> dict[str, Any]:
    return {"type": kind, "rules": routing.rules}


ROUTES: Final = (
    Route("GET", "/admin/routing/{type}", detail, LOOK),
    Route("PUT", "/admin/routing/{type}", save, ADMINISTER),
    Route("DELETE", "/admin/routing/{type}", delete, ADMINISTER),
)
