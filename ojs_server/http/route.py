"""A route of the path table, as each module declares those of its handlers."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from ojs_server.http.access.roles import READ, Role
from ojs_server.http.call import Answer, Call

Handler = Callable[[Call], Awaitable[Answer]]

# Prefixes of the protocol's calls, the job manager's, and Camunda's.
V1: Final = "/ojs/v1"
JOBLIB_BASE: Final = "/v1/joblib"
CAMUNDA_BASE: Final = "/v2"
SOCKET: Final = f"{V1}/ws"
# The default path of Socket.IO clients.
SOCKETIO: Final = "/socket.io/"

ANYONE: Final = frozenset({Role.ANYONE})
# The roles that may read events, and so open a WebSocket.
READERS: Final = READ


class Route(msgspec.Struct, frozen=True, eq=False):
    """A method of a path, its handler, and the roles that may call it.

    `waits` marks calls whose duration says nothing about the server, `plain` those of systems that
    know no media type of OJS, `tenanted` those that show and change nothing but the caller's own
    where that is a tenant: all others are about everybody, and refused to tenants. `produces` marks
    those by which programs make jobs, and those of the worker protocol: they are as frequent as
    jobs are.
    """

    method: str
    path: str
    handler: Handler
    roles: frozenset[Role]
    alias_of: tuple[str, str] | None = None
    waits: bool = False
    plain: bool = False
    tenanted: bool = False
    produces: bool = False

    @property
    def changes(self) -> bool:
        """True if the call changes something; calls of viewers only read or check their input."""
        return self.method != "GET" and self.roles.isdisjoint({Role.ANYONE, Role.VIEWER})


def under(prefix: str, *routes: Route, **marks: bool) -> tuple[Route, ...]:
    """Return routes with a prefix before their paths, and with the same marks."""
    return tuple(
        msgspec.structs.replace(route, path=prefix + route.path, **marks) for route in routes
    )
