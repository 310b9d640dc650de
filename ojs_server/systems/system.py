"""The interface of a system: its additions to the server."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from starlette.types import Receive, Scope, Send

from ojs_server.http.path_forms import PathForm
from ojs_server.http.route import Route
from ojs_server.http.services import Services

if TYPE_CHECKING:
    # Optional dependencies.
    from ojs_server.grpc.handlers import Service


class SocketServer(Protocol):
    """A server of Socket.IO: an application of ASGI, and two loops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or connection."""

    async def run(self) -> None:
        """Send events to the clients until the server stops."""

    async def watch(self) -> None:
        """End the sessions that are over."""


class System(msgspec.Struct, frozen=True):
    """The additions of a system to the server."""

    routes: tuple[Route, ...] = ()
    # Names in the manifest, beside those of all servers.
    capabilities: tuple[str, ...] = ()
    # Extensions in the manifest, each with its details.
    extensions: Mapping[str, Mapping[str, Any]] = {}
    # The paths below which it answers in its own form.
    path_forms: tuple[PathForm, ...] = ()
    # Returns the services of gRPC.
    services: "Callable[[], Sequence[Service]]" = tuple
    # Makes the server of Socket.IO.
    socketio: Callable[[Services], SocketServer] | None = None


NONE: Final = System()


def load(name: str | None) -> System:
    """Load the package of a system, and return what it adds; nothing for None."""
    if name is None:
        return NONE
    system: System = import_module(f"{__package__}.{name}").system()
    return system
