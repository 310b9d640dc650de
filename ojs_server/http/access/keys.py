"""API keys: who may make a call.

Only hashes of keys are kept, and they are compared in constant time.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import Denied
from ojs_server.domain.limits.rate_limit import KEY
from ojs_server.domain.suggestions import nearest
from ojs_server.http.access.roles import ROLES, Role
from ojs_wire import codes

LEAST_LENGTH: Final = 16
# The name of every caller where there are no keys.
LOCAL: Final = "local"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_SHOWN: Final = 8


class Keys(msgspec.Struct, frozen=True):
    """The hashes of the keys with their roles; if there are none, callers need no key."""

    roles: Mapping[bytes, Role] = {}
    # The tenants that keys are bound to, by principal.
    tenants: Mapping[str, str] = {}
    # The names that were given to keys, by principal.
    names: Mapping[str, str] = {}

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

    def name_of(self, principal: str) -> str:
        """Return the name of a caller: that of its key, or else the role and the beginning of the
        hash of the key, which tells keys of a role apart and gives none away."""
        if not self.needed:
            return LOCAL
        named = self.names.get(principal)
        return named or f"{self.role_of(principal)}-{principal[:_SHOWN]}"

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


class _Given(msgspec.Struct, frozen=True):
    """A key as it is written in the settings; only `role` and `tenant` are sure to be texts."""

    role: str
    tenant: str | None
    key: Any
    name: Any = None


def parse_keys(text: str, table: Mapping[str, Any]) -> Keys:
    """Read `role:key,name=role@tenant:key` and the `[keys]` table of a file, where a role has keys
    or tables of a `name` and a `key`."""
    roles: dict[bytes, Role] = {}
    tenants: dict[str, str] = {}
    names: dict[str, str] = {}
    for place, given in enumerate([*_in_text(text), *_in_table(table)], 1):
        _check(place, given)
        role, hashed = Role(given.role), _hash(given.key.strip())
        principal = _principal(hashed)
        if given.tenant is not None and tenants.setdefault(principal, given.tenant) != given.tenant:
            raise ValueError(f"keys: number {place} is a key that another tenant has as well")
        if given.name is not None and names.setdefault(principal, given.name) != given.name:
            raise ValueError(f"keys: number {place} is a key that has another name as well")
        if roles.setdefault(hashed, role) is not role:
            raise ValueError(
                f"keys: one key has two roles, {roles[hashed]} and {role}; "
                "give each role a key of its own, or use an admin key"
            )
    return Keys(roles, tenants, names)


def _check(place: int, given: _Given) -> None:
    """Refuse what is no key. A misplaced text may be one, so that none is repeated in a message."""
    if given.role not in ROLES:
        raise ValueError(
            f"keys: number {place} does not begin with a role; allowed: {', '.join(ROLES)}"
            f"{nearest(given.role, ROLES)}"
        )
    if given.tenant is not None and not KEY.fullmatch(given.tenant):
        raise ValueError(f"keys: number {place} does not name a tenant behind the @")
    if given.name is not None and not (isinstance(given.name, str) and _NAME.fullmatch(given.name)):
        raise ValueError(
            f"keys: the name of number {place} must be 1 to 64 letters, digits, '.', '_' or '-', "
            "and begin with a letter or digit"
        )
    if not isinstance(given.key, str) or len(given.key.strip()) < LEAST_LENGTH:
        raise ValueError(
            f"keys: a key of the role {given.role} is shorter than {LEAST_LENGTH} characters"
        )


def _in_text(text: str) -> Iterator[_Given]:
    for item in filter(None, map(str.strip, text.split(","))):
        said, _, key = item.partition(":")
        name, is_named, role = said.rpartition("=")
        yield _given(role, key, name.strip() if is_named else None)


def _in_table(table: Mapping[str, Any]) -> Iterator[_Given]:
    for role, keys in table.items():
        for key in keys if isinstance(keys, list) else [keys]:
            if isinstance(key, dict):
                yield _given(role, key.get("key"), key.get("name"))
            else:
                yield _given(role, key, None)


def _given(said: str, key: Any, name: Any) -> _Given:
    role, is_bound, tenant = said.strip().partition("@")
    return _Given(role, tenant if is_bound else None, key, name)


def key_in(authorization: str | None) -> str:
    """Return the key of a header; raises Denied if there is none."""
    scheme, _, key = ("" if authorization is None else authorization).partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise unauthenticated("a key is needed: Authorization: Bearer KEY")
    return key


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
