"""Authorisation of a call: the role of its key, and the tenant that it is limited to.

The tenant of an object never changes, so handlers check it before the operation. ACK and FAIL,
which read their job anyway, check it in the transaction.
"""

from collections.abc import Iterable
from typing import Final

from ojs_server.domain.errors import Denied
from ojs_server.domain.tenants.tenant import parse_tenant, scoped
from ojs_server.http import dialects
from ojs_server.http.access.keys import key_in
from ojs_server.http.access.roles import ROLES, Role
from ojs_server.http.any_call import AnyCall
from ojs_server.ops.jobs.settle import missing
from ojs_wire import codes

_FIELD: Final = "X-OJS-Tenant"


def identify(call: AnyCall, roles: frozenset[Role], named: str | None) -> None:
    """Set the caller of a call by its key and its tenant, if any; raises Denied unless the caller
    has one of the roles."""
    keys = call.server.settings.keys
    if Role.ANYONE not in roles:
        if call.login is not None:
            call.key_holder = call.login.principal
        elif keys.needed:
            key = key_in(call.header(b"authorization"))
            call.key_holder = call.server.key_check.prove(key, call.address)
        keys.permit(call.key_holder, roles)
    call.principal = call.key_holder
    bound = keys.tenants.get(call.principal)
    if named is None and bound is None:
        return
    if named is not None:
        parse_tenant(_FIELD, named)
    if bound is not None and named not in (None, bound):
        raise denied("this key is another tenant's")
    call.tenant = bound or named
    # Keys of remembered requests are separate for each tenant that a principal names.
    call.principal = scoped(call.tenant, call.principal)


def known(call: AnyCall) -> bool:
    """Identify the caller of a public call, if it has a key; returns True if it may read more than
    the public part."""
    if not call.server.settings.keys.needed:
        return True
    try:
        identify(call, frozenset(ROLES), dialects.tenant_header(call))
    except Denied:
        return False
    return True


def denied(message: str) -> Denied:
    """Return the error for a call that no tenant may make, only a key without one."""
    return Denied(
        message,
        code=codes.TENANT_ACCESS_DENIED,
        hint="call without a tenant, with a key that is bound to none",
    )


async def strangers(call: AnyCall, job_ids: Iterable[str]) -> set[str]:
    """Return those of these jobs that are missing or belong to another tenant."""
    if call.tenant is None:
        return set()
    ids = set(job_ids)
    tenants = await call.server.engine.read(lambda reader: reader.tenants_of(ids))
    return {job_id for job_id in ids if tenants.get(job_id) != call.tenant}


async def require_own(call: AnyCall, job_id: str, kind: str = "job") -> None:
    """Raise as for a missing job if the job is another tenant's. The tenant of a job never
    changes."""
    if call.tenant is not None and await strangers(call, [job_id]):
        raise missing(job_id, kind)
