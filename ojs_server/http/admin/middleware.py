"""The steps that a job passes in this server before it is stored."""

from typing import Final

from ojs_server.domain.jobs.middleware import AUTHENTICATION, CHAIN, TRACING
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import admin_page
from ojs_server.http.route import Route


async def listing(call: Call) -> Answer:
    """List the steps in order, with whether each is enabled."""
    page, _ = admin_page(call)
    server = call.server
    switches = {AUTHENTICATION: server.settings.keys.needed, TRACING: server.tracer is not None}
    steps = [
        {
            "name": step.name,
            "chain": "enqueue",
            "phase": "enqueue",
            "order": order,
            "enabled": switches.get(step.name, True),
            "description": step.description,
        }
        for order, step in enumerate(CHAIN, 1)
    ]
    part, pagination = page.cut(steps)
    # Empty: the middleware of handlers is set up in workers, which the server cannot see.
    return Answer({"items": part, "enqueue": part, "execution": [], "pagination": pagination})


ROUTES: Final = (Route("GET", "/middleware", listing, LOOK),)
