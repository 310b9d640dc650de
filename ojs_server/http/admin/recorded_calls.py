"""The calls that are recorded in the action log: those that a person makes."""

from typing import Final

from ojs_server.domain.admin.action import Actor
from ojs_server.http.access.roles import Role, written
from ojs_server.http.any_call import AnyCall
from ojs_server.http.route import Route

_PEOPLE: Final = frozenset({Role.OPERATOR, Role.ADMIN})
_LONGEST: Final = 255


def actor_of(call: AnyCall, route: Route) -> Actor | None:
    """Return the person who makes a change; None for programs.

    Persons are those with a session, the keys of operators and admins, and without keys pages, and
    calls that only operators and admins may make.
    """
    if not route.changes:
        return None
    keys = call.server.settings.keys
    if call.login is not None:
        via = "session"
    elif keys.needed:
        via = "key"
        # Calls of programs are not recorded, even if they use an operator's key.
        if route.produces or _PEOPLE.isdisjoint(keys.roles_of(call.key_holder)):
            return None
    else:
        via = "none"
        if not (call.is_own_page or route.roles <= _PEOPLE):
            return None
    return Actor(
        name=keys.name_of(call.key_holder),
        role=written(keys.roles_of(call.key_holder)),
        via=via,
        tenant=call.tenant,
        address=call.address,
        call=f"{route.method} {route.path}",
        target=call.target[:_LONGEST],
        request_id=call.request_id,
    )
