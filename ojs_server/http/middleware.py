"""What a job passes in this server before it is stored."""

from ojs_server.domain.middleware import AUTHENTICATION, CHAIN, TRACING
from ojs_server.http.admin_lists import admin_page
from ojs_server.http.call import Answer, Call


async def listing(call: Call) -> Answer:
    """Every step in its order, and whether the server takes it."""
    page, _ = admin_page(call)
    off = _switched_off(call)
    steps = [
        {
            "name": step.name,
            "chain": "enqueue",
            "order": order,
            "enabled": step.name not in off,
            "description": step.description,
        }
        for order, step in enumerate(CHAIN, 1)
    ]
    part, pagination = page.cut(steps)
    return Answer({"items": part, "pagination": pagination})


def _switched_off(call: Call) -> set[str]:
    server = call.server
    off = set() if server.settings.keys.needed else {AUTHENTICATION}
    return off if server.tracing is not None else {TRACING, *off}
