"""Who calls, and what they may do: for pages that show what they cannot do as disabled."""

from ojs_server.http.auth import ADMINISTER, ENQUEUE, LOOK, OPERATE, WORK, Role
from ojs_server.http.call import Answer, Call

_LOCAL = "local"
# Kinds of calls, and who may make them.
_KINDS = {
    "look": LOOK,
    "enqueue": ENQUEUE,
    "work": WORK,
    "operate": OPERATE,
    "administer": ADMINISTER,
}
_KEY_LENGTH = 8


async def read(call: Call) -> Answer:
    """Tell callers who they are to this server."""
    role = call.server.settings.keys.role_of(call.key_holder)
    return Answer(
        {
            "name": name_of(call),
            "role": role,
            "tenant": call.tenant,
            "can": {kind: role is Role.ADMIN or role in of for kind, of in _KINDS.items()},
        }
    )


def name_of(call: Call) -> str:
    """Return the name of a caller: `local` without keys, else the role and the beginning of the
    hash of the key, which tells keys of a role apart and gives none away."""
    keys = call.server.settings.keys
    if not keys.needed:
        return _LOCAL
    return f"{keys.role_of(call.key_holder)}-{call.key_holder[:_KEY_LENGTH]}"
