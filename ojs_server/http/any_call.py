"""A call over any binding, as rules and shared parts of handlers see it."""

from collections.abc import Mapping
from typing import Final

from ojs_server.domain.access.login import Login
from ojs_server.http.services import Services

ANONYMOUS: Final = ""


class AnyCall:
    """A call with the services of the node, the headers or metadata by which its caller is known,
    and what its admission found."""

    server: Services
    principal = ANONYMOUS
    # The principal of the key itself, without the prefix of a tenant.
    key_holder = ANONYMOUS
    # The session that identified the caller.
    login: Login | None = None
    # The only tenant whose data the caller may see and change; None for all.
    tenant: str | None = None
    request_id = ""
    # The request id that the client sent, if it is valid.
    sent_request_id: str | None = None

    @property
    def path_id(self) -> str | None:
        """The id in the path of a request; None where the call has none."""
        return None

    def header(self, name: bytes) -> str | None:
        """Return a header's value as text, or that of the metadata which stand for it; names are in
        lower case."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        """The address that the call came from; empty where the connection has none."""
        raise NotImplementedError

    @property
    def target(self) -> str:
        """The ids and names of what the call is about."""
        raise NotImplementedError

    @property
    def is_own_page(self) -> bool:
        """True if a page of this server sent the request."""
        return False

    @property
    def any_type(self) -> bool:
        """True if the type of a job may be any printable text."""
        return self.server.settings.profile.any_type

    @property
    def trace_context(self) -> Mapping[str, str]:
        """The span of the caller, as W3C's headers have it."""
        shown = {name: self.header(name.encode()) for name in ("traceparent", "tracestate")}
        return {name: value for name, value in shown.items() if value is not None}

    async def disconnected(self) -> None:
        """Wait until the client has disconnected."""
        raise NotImplementedError
