"""API keys, and the roles that calls require.

Only hashes of keys are kept, and they are compared in constant time.
"""

import hashlib
import hmac
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import Denied
from ojs_server.domain.limits.rate_limit import KEY
from ojs_server.domain.suggestions import nearest
from ojs_wire import codes


class Role(StrEnum):
    """Roles of keys. An admin may call everything; the server's health needs no key."""

    ANYONE = "anyone"
    PRODUCER = "producer"
    WORKER = "worker"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


ROLES: Final = tuple(role for role in Role if role is not Role.ANYONE)
# Who may make the calls of each kind, beside administrators.
WORK: Final = frozenset({Role.WORKER})
ENQUEUE: Final = frozenset({Role.PRODUCER, Role.OPERATOR})
OPERATE: Final = frozenset({Role.OPERATOR})
LOOK: Final = OPERATE | {Role.VIEWER}
READ: Final = LOOK | {Role.PRODUCER, Role.WORKER}
ADMINISTER: Final = frozenset({Role.ADMIN})
LEAST_LENGTH: Final = 16


class Keys(msgspec.Struct, frozen=True):
    """The hashes of the keys with their roles; if there are none, callers need no key."""

    roles: Mapping[bytes, Role] = {}
    # The tenants that keys are bound to, by principal.
    tenants: Mapping[str, str] = {}

    @property
    def needed(self) -> bool:
        """True if the server has keys, so that callers must show one."""
        return bool(self.roles)

    def is_admin(self, principal: str) -> bool:
        """Return True if the caller may do everything; without keys, every caller may."""
        return self.role_of(principal) is Role.ADMIN

    def role_of(self, principal: str) -> Role:
        """Return the role of a caller: ANYONE without a key, and ADMIN for all if the server has no
        keys."""
        if not self.needed:
            return Role.ADMIN
        found = (role for known, role in self.roles.items() if _principal(known) == principal)
        return next(found, Role.ANYONE)

    def admit(self, authorization: str | None, allowed: frozenset[Role]) -> str:
        """Return the caller of a key; raises Denied unless it has one of the allowed roles."""
        if not self.needed or Role.ANYONE in allowed:
            return ""
        return self.permit(self.prove(authorization), allowed)

    def prove(self, authorization: str | None) -> str:
        """Return the holder of a key; raises Denied if there is none, or an unknown one."""
        scheme, _, key = ("" if authorization is None else authorization).partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise unauthenticated("a key is needed: Authorization: Bearer KEY")
        principal = self.principal_of(key)
        if principal is None:
            raise unauthenticated("the key is not known")
        return principal

    def principal_of(self, key: str) -> str | None:
        """Return the holder of a key; None if the key is unknown."""
        given = _hash(key.strip())
        found: bytes | None = None
        for known in self.roles:
            # Every key is compared, so that the time says nothing about which one was near.
            if hmac.compare_digest(known, given):
                found = known
        return None if found is None else _principal(found)

    def permit(self, principal: str, allowed: frozenset[Role]) -> str:
        """Return the caller; raises Denied unless its role is allowed."""
        found = self.role_of(principal)
        if found is not Role.ADMIN and found not in allowed:
            raise Denied(
                f"a key of the role {found} may not do this",
                details={"role": found, "required_roles": sorted({*allowed, Role.ADMIN})},
                hint="use a key with one of the required roles",
            )
        return principal


def parse_keys(text: str, table: Mapping[str, Any]) -> Keys:
    """Read `role:key,role@tenant:key` and the `[keys]` table of a file, `role = ["key", …]`."""
    pairs: list[tuple[str, Any]] = []
    for item in filter(None, map(str.strip, text.split(","))):
        role, _, key = item.partition(":")
        pairs.append((role, key))
    for role, keys in table.items():
        pairs += [(role, key) for key in (keys if isinstance(keys, list) else [keys])]
    roles: dict[bytes, Role] = {}
    tenants: dict[str, str] = {}
    for place, (given, key) in enumerate(pairs, 1):
        name, at, tenant = given.strip().partition("@")
        # A misplaced text may be a key, so that none is repeated in a message.
        if name not in ROLES:
            raise ValueError(
                f"keys: number {place} does not begin with a role; allowed: {', '.join(ROLES)}"
                f"{nearest(name, ROLES)}"
            )
        role = Role(name)
        if at and not KEY.fullmatch(tenant):
            raise ValueError(f"keys: number {place} does not name a tenant behind the @")
        if not isinstance(key, str) or len(key.strip()) < LEAST_LENGTH:
            raise ValueError(
                f"keys: a key of the role {role} is shorter than {LEAST_LENGTH} characters"
            )
        hashed = _hash(key.strip())
        if at and tenants.setdefault(_principal(hashed), tenant) != tenant:
            raise ValueError(f"keys: number {place} is a key that another tenant has as well")
        if roles.setdefault(hashed, role) is not role:
            raise ValueError(
                f"keys: one key has two roles, {roles[hashed]} and {role}; "
                "give each role a key of its own, or use an admin key"
            )
    return Keys(roles, tenants)


def _principal(hashed: bytes) -> str:
    return hashed.hex()[:32]


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def unauthenticated(message: str) -> Denied:
    """Return the error for a call without a valid key."""
    return Denied(
        message,
        code=codes.UNAUTHENTICATED,
        headers={"WWW-Authenticate": 'Bearer realm="ojs"'},
        hint="ask the operator of this server for a key",
    )
