"""The address of the client of a request, behind the proxies that the settings trust."""

from collections.abc import Sequence
from typing import Final

from starlette.types import Scope

from ojs_server.domain.access.client_address import Network, client_address

STANDARD: Final = b"forwarded"
USUAL: Final = b"x-forwarded-for"


def address_of(scope: Scope, trusted: Sequence[Network]) -> str:
    """Return the address that a request came from; empty where the connection has none."""
    client = scope.get("client")
    peer = client[0] if client else ""
    return client_address(peer, _lines(scope, STANDARD), _lines(scope, USUAL), trusted)


def _lines(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for known, value in scope["headers"] if known == name]
