"""The servers of the database."""

from typing import Any, Final

from ojs_server.domain.admin.server_node import ServerNode
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import admin_page
from ojs_server.http.route import Route
from ojs_wire.values import format_timestamp


async def listing(call: Call) -> Answer:
    """List the servers that have not been stopped, the newest first."""
    page, _ = admin_page(call)
    engine = call.server.engine
    found = await engine.nodes()
    now = await engine.read(lambda reader: reader.now())
    nodes = sorted(found, key=lambda node: (-node.started_at, node.id))
    part, pagination = page.follow(nodes, lambda node: (node.started_at, node.id))
    own = engine.store.node
    items = [_shown(node, now, own) for node in part]
    return Answer({"items": items, "pagination": pagination})


def _shown(node: ServerNode, now: int, own: str) -> dict[str, Any]:
    announced = node.announcement
    return {
        "id": node.id,
        "state": "unreachable" if node.is_silent(now) else "online",
        "is_this": node.id == own,
        "host": announced.host,
        "pid": announced.process,
        "version": announced.version,
        "started_at": format_timestamp(node.started_at),
        "last_seen_at": format_timestamp(node.seen_at),
        "waiting_fetches": announced.waiting_fetches,
        "event_streams": announced.event_streams,
    }


ROUTES: Final = (Route("GET", "/admin/nodes", listing, LOOK),)
