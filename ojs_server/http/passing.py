"""What a head came to that may pass, and who is let through with it."""

from collections.abc import Mapping

import msgspec

from ojs_server.http.call import Call
from ojs_server.http.routes import TENANTED, Route
from ojs_server.http.tenancy import denied, identify


class Passed(msgspec.Struct, frozen=True):
    """What a head came to that may pass, but for who calls."""

    sent_request_id: str | None
    route: Route
    params: Mapping[str, str]
    authorization: str | None
    tenant: str | None
    media_type: str
    for_page: str


def admit(call: Call, passed: Passed) -> None:
    """Let a call through, and note whose it is; raises Denied."""
    if call.server.settings.keys.needed or passed.tenant is not None:
        identify(call, passed.route.roles, passed.authorization, passed.tenant)
        if call.tenant is not None and passed.route.handler not in TENANTED:
            raise denied("this is not for single tenants")
