"""The caller's name and permissions, so that pages can disable what the caller may not do."""

from typing import Any, Final

from ojs_server.http.access.auth import ADMINISTER, ENQUEUE, LOOK, OPERATE, ROLES, WORK, Role
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_wire.values import format_timestamp

_LOCAL: Final = "local"
# Kinds of calls, and who may make them.
_KINDS: Final = {
    "look": LOOK,
    "enqueue": ENQUEUE,
    "work": WORK,
    "operate": OPERATE,
    "administer": ADMINISTER,
}
_KEY_LENGTH: Final = 8


async def read(call: Call) -> Answer:
    """Show the caller its name and permissions."""
    return Answer(shown(call))


def shown(call: Call) -> dict[str, Any]:
    """Return the name, role, tenant and permissions of the caller."""
    role = call.server.settings.keys.role_of(call.key_holder)
    return {
        "name": name_of(call),
        "role": role,
        "tenant": call.tenant,
        "ui_read_only": call.server.settings.ui_read_only,
        "can": {kind: role is Role.ADMIN or role in of for kind, of in _KINDS.items()},
        "session_ends_at": None if call.login is None else format_timestamp(call.login.expires_at),
    }


def name_of(call: Call) -> str:
    """Return the name of a caller: `local` without keys, else the role and the beginning of the
    key's hash, which tells keys apart without revealing them."""
    keys = call.server.settings.keys
    if not keys.needed:
        return _LOCAL
    return f"{keys.role_of(call.key_holder)}-{call.key_holder[:_KEY_LENGTH]}"


ROUTES: Final = (Route("GET", "/me", read, frozenset(ROLES), tenanted=True),)
