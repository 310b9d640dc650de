"""The caller's name and permissions, so that pages can disable what the caller may not do."""

from typing import Any, Final

from ojs_server.http.access.roles import ADMINISTER, ENQUEUE, LOOK, OPERATE, ROLES, WORK, Role
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_wire.values import format_timestamp

# Kinds of calls, and who may make them.
_KINDS: Final = {
    "look": LOOK,
    "enqueue": ENQUEUE,
    "work": WORK,
    "operate": OPERATE,
    "administer": ADMINISTER,
}


async def read(call: Call) -> Answer:
    """Show the caller its name and permissions."""
    return Answer(shown(call))


def shown(call: Call) -> dict[str, Any]:
    """Return the name, role, tenant and permissions of the caller."""
    keys = call.server.settings.keys
    role = keys.role_of(call.key_holder)
    return {
        "name": keys.name_of(call.key_holder),
        "role": role,
        "tenant": call.tenant,
        "can": {kind: role is Role.ADMIN or role in of for kind, of in _KINDS.items()},
        "ui_read_only": call.server.settings.ui_read_only,
        "session_ends_at": None if call.login is None else format_timestamp(call.login.expires_at),
    }


ROUTES: Final = (Route("GET", "/me", read, frozenset(ROLES), tenanted=True),)
