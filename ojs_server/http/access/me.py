"""The caller's name and permissions, so that pages can disable what the caller may not do."""

from typing import Any, Final

from ojs_server.http.access.roles import KINDS, ROLES, in_order, may, written
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_wire.values import format_timestamp


async def read(call: Call) -> Answer:
    """Show the caller its name and permissions."""
    return Answer(shown(call))


def shown(call: Call) -> dict[str, Any]:
    """Return the name, roles, tenant and permissions of the caller."""
    keys = call.server.settings.keys
    roles = keys.roles_of(call.key_holder)
    return {
        "name": keys.name_of(call.key_holder),
        "role": written(roles),
        "roles": in_order(roles),
        "tenant": call.tenant,
        "can": {kind: may(roles, allowed) for kind, allowed in KINDS.items()},
        "ui_read_only": call.server.settings.ui_read_only,
        "session_ends_at": None if call.login is None else format_timestamp(call.login.expires_at),
    }


ROUTES: Final = (Route("GET", "/me", read, frozenset(ROLES), tenanted=True),)
