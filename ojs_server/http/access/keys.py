"""API keys: who may make a call.

Only hashes of keys are kept, and they are compared in constant time.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import Denied
from ojs_server.domain.limits.rate_limit import KEY
from ojs_server.domain.suggestions import nearest
from ojs_server.http.access.roles import (
    ADMINISTER,
    PROGRAM,
    ROLES,
    Role,
    Roles,
    in_order,
    joined,
    may,
    parse_roles,
    written,
)
from ojs_wire import codes

LEAST_LENGTH: Final = 16
# The name of every caller of a server without keys.
LOCAL: Final = "local"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_SHOWN: Final = 8
_MEMBERS: Final = ("roles", "key", "tenant")


class Keys(msgspec.Struct, frozen=True):
    """The hashes of the keys with their roles; if there are none, callers need no key."""

    roles: Mapping[bytes, Roles] = {}
    # The tenants that keys are restricted to, by principal.
    tenants: Mapping[str, str] = {}
    # The names of keys, by principal.
    names: Mapping[str, str] = {}

    @property
    def needed(self) -> bool:
        """True if the server has keys, so that callers must show one."""
        return bool(self.roles)

    def is_admin(self, principal: str) -> bool:
        """Return True if the caller may do everything; without keys, every caller may."""
        return Role.ADMIN in self.roles_of(principal)

    def roles_of(self, principal: str) -> Roles:
        """Return the roles of a caller: none without a key, and ADMIN for all if the server has no
        keys."""
        if not self.needed:
            return ADMINISTER
        found = (roles for known, roles in self._by_principal() if known == principal)
        return next(found, frozenset())

    def name_of(self, principal: str) -> str:
        """Return the name of a caller: that of its key, or else the roles and the beginning of the
        hash of the key, which tells keys of a role apart and gives none away."""
        if not self.needed:
            return LOCAL
        named = self.names.get(principal)
        return named or f"{written(self.roles_of(principal))}-{principal[:_SHOWN]}"

    def lasting(self, principal: str) -> str | None:
        """Return what is kept of a key with the objects that it owns: its name, which a new key can
        have as well, or else its hash; None without keys."""
        return self.names.get(principal, principal) if self.needed else None

    @property
    def programs(self) -> frozenset[str]:
        """The keys of programs, as objects keep them."""
        return frozenset(
            self.names.get(principal, principal)
            for principal, roles in self._by_principal()
            if not roles.isdisjoint(PROGRAM)
        )

    def _by_principal(self) -> Iterator[tuple[str, Roles]]:
        return ((_principal(hashed), roles) for hashed, roles in self.roles.items())

    def principal_of(self, key: str) -> str | None:
        """Return the holder of a key; None if the key is unknown."""
        given = _hash(key.strip())
        found: bytes | None = None
        for known in self.roles:
            # Compare every key, so that the time taken reveals nothing about the match.
            if hmac.compare_digest(known, given):
                found = known
        return None if found is None else _principal(found)

    def permit(self, principal: str, allowed: Roles) -> str:
        """Return the caller; raises Denied unless one of its roles is allowed."""
        roles = self.roles_of(principal)
        if not may(roles, allowed):
            raise not_allowed(roles, allowed)
        return principal


class _Given(msgspec.Struct, frozen=True):
    """A key as it is written in the settings. A file may have anything but texts as members."""

    roles: Sequence[str]
    tenant: Any
    key: Any
    name: Any = None


def parse_keys(text: str, table: Mapping[str, Any]) -> Keys:
    """Read `role:key,name=role+role@tenant:key` and the `[keys]` table of a file.

    There a role, or `role+role@tenant`, has keys or tables of a `name` and a `key`, and the name of
    a key has a table of its `roles`, `key` and `tenant`.
    """
    roles: dict[bytes, Roles] = {}
    tenants: dict[str, str] = {}
    names: dict[str, str] = {}
    for place, given in enumerate([*_in_text(text), *_in_table(table)], 1):
        has = _check(place, given)
        hashed = _hash(given.key.strip())
        principal = _principal(hashed)
        if given.tenant is not None and tenants.setdefault(principal, given.tenant) != given.tenant:
            raise ValueError(f"keys: number {place} is a key that another tenant has as well")
        if given.name is not None and names.setdefault(principal, given.name) != given.name:
            raise ValueError(f"keys: number {place} is a key that has another name as well")
        if (known := roles.setdefault(hashed, has)) != has:
            raise ValueError(
                f"keys: number {place} has the role {written(has)}, and the same key stands there "
                f"as {written(known)}, too; write it once, as {written(joined(known, has))}, or "
                "give each role a key of its own"
            )
    return Keys(roles, tenants, names)


def _check(place: int, given: _Given) -> Roles:
    """Return the roles of a key; refuses one that is none. A misplaced text may be a key, so that
    none is repeated in a message."""
    try:
        roles = parse_roles(given.roles)
    except ValueError as error:
        raise ValueError(f"keys: number {place} {error}") from None
    if given.tenant is not None and not (
        isinstance(given.tenant, str) and KEY.fullmatch(given.tenant)
    ):
        raise ValueError(f"keys: number {place} does not name a tenant behind the @")
    if given.name is not None and not (isinstance(given.name, str) and _NAME.fullmatch(given.name)):
        raise ValueError(
            f"keys: the name of number {place} must be 1 to 64 letters, digits, '.', '_' or '-', "
            "and begin with a letter or digit"
        )
    if not isinstance(given.key, str) or len(given.key.strip()) < LEAST_LENGTH:
        raise ValueError(
            f"keys: a key of the role {written(roles)} is shorter than {LEAST_LENGTH} characters"
        )
    return roles


def _in_text(text: str) -> Iterator[_Given]:
    for item in filter(None, map(str.strip, text.split(","))):
        before_key, _, key = item.partition(":")
        name, is_named, roles = before_key.rpartition("=")
        yield _given(roles, key, name.strip() if is_named else None)


def _in_table(table: Mapping[str, Any]) -> Iterator[_Given]:
    for member, value in table.items():
        if isinstance(value, dict) and ("roles" in value or not _is_role(member)):
            yield from _named(member, value)
            continue
        for key in value if isinstance(value, list) else [value]:
            if isinstance(key, dict):
                yield _given(member, key.get("key"), key.get("name"))
            else:
                yield _given(member, key, None)


def _is_role(member: str) -> bool:
    return member.partition("@")[0].partition("+")[0].strip() in ROLES


def _named(name: str, table: Mapping[str, Any]) -> Iterator[_Given]:
    """Read the table of one key, or of the old and the new one while it is changed."""
    for member in table:
        if member not in _MEMBERS:
            raise ValueError(
                f"keys: the table of a key has an unknown member; allowed: {', '.join(_MEMBERS)}"
                f"{nearest(member, _MEMBERS)}"
            )
    roles, key = table.get("roles"), table.get("key")
    if not (isinstance(roles, list) and roles and all(isinstance(role, str) for role in roles)):
        raise ValueError(
            'keys: the table of a key needs roles, a list such as ["worker", "producer"]; '
            f"allowed: {', '.join(ROLES)}"
        )
    for item in key if isinstance(key, list) else [key]:
        yield _Given(roles, table.get("tenant"), item, name)


def _given(spelling: str, key: Any, name: Any) -> _Given:
    roles, is_bound, tenant = spelling.partition("@")
    words = [role.strip() for role in roles.split("+")]
    return _Given(words, tenant.strip() if is_bound else None, key, name)


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


def not_allowed(roles: Roles, allowed: Roles, why: str = "may not do this") -> Denied:
    """Return the error for a call that the roles of a key may not make."""
    required = sorted({*allowed, Role.ADMIN})
    return Denied(
        f"a key of the role {written(roles)} {why}, which takes one of {', '.join(required)}",
        details={
            "role": written(roles),
            "roles": in_order(roles),
            "required_roles": required,
        },
        hint="use a key with one of the required roles",
    )


def unauthenticated(message: str) -> Denied:
    """Return the error for a call without a valid key."""
    return Denied(
        message,
        code=codes.UNAUTHENTICATED,
        headers={"WWW-Authenticate": 'Bearer realm="ojs"'},
        hint="ask the operator of this server for a key",
    )
