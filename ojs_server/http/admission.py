"""Admission of requests by their path and headers, before the body is read.

A client sends the same headers with each request, so results are cached for all connections, by the
values of the headers that decide.
"""

from collections import OrderedDict
from hashlib import sha256
from typing import Final

import msgspec

from ojs_server.domain.errors import Denied
from ojs_server.http import dialects
from ojs_server.http.access.authorization import denied, identify
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Call
from ojs_server.http.route import Route

# The headers that the decision depends on, besides the key, which is kept as a hash.
_DECIDING: Final = (
    b"host",
    b"origin",
    b"sec-fetch-site",
    b"sec-fetch-mode",
    b"ojs-version",
    b"accept",
    b"x-ojs-tenant",
    b"x-ojs-tenant-id",
)
# Most remembered decisions, and the total length of the headers up to which one is remembered.
MOST: Final = 1024
MOST_BYTES: Final = 1024


class _Admitted(msgspec.Struct, frozen=True):
    principal: str
    key_holder: str
    tenant: str | None
    media_type: str
    for_page: str


class Admission:
    """Checks whether a call may use its route, and sets the caller and the form of the answer."""

    def __init__(self) -> None:
        self._remembered: OrderedDict[tuple[object, ...], _Admitted] = OrderedDict()

    def admit(self, call: Call, route: Route) -> None:
        """Check whether a call may use its route; raises the error that it is refused with."""
        if call.login is not None:
            # Not remembered, because a session may end at any time.
            _decide(call, route)
            return
        headers = call.fields
        values = tuple(map(headers.get, _DECIDING))
        key = headers.get(b"authorization")
        shown = None if key is None else sha256(key).digest()
        name = (route, shown, *values)
        admitted = self._remembered.get(name)
        if admitted is None:
            admitted = _decide(call, route)
            if sum(len(value) for value in values if value is not None) > MOST_BYTES:
                return
            self._remembered[name] = admitted
            if len(self._remembered) > MOST:
                self._remembered.popitem(last=False)
            return
        self._remembered.move_to_end(name)
        call.principal = admitted.principal
        call.key_holder = admitted.key_holder
        call.tenant = admitted.tenant
        call.media_type = admitted.media_type
        call.for_page = admitted.for_page


def _decide(call: Call, route: Route) -> _Admitted:
    call.for_page = call.server.origins.admit(call.fields)
    if call.server.settings.ui_read_only and route.changes and call.is_own_page:
        raise Denied(
            "pages of this server are read-only",
            hint="use the command line or another program, or start it without --ui-read-only",
        )
    if route.plain:
        call.media_type = dialects.PLAIN_JSON
    dialects.check_version(call.header(b"ojs-version"))
    prove(call, route)
    call.media_type = call.media_type or dialects.media_type(call)
    return _Admitted(call.principal, call.key_holder, call.tenant, call.media_type, call.for_page)


def prove(call: AnyCall, route: Route) -> None:
    """Set the caller of a call by its key and tenant; raises Denied."""
    named = dialects.tenant_header(call)
    if call.server.settings.keys.needed or named is not None:
        identify(call, route.roles, named)
        if call.tenant is not None and not route.tenanted:
            raise denied("this is not for single tenants")
