"""The roles of keys, and the roles that calls of each kind need."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from ojs_server.domain.suggestions import nearest


class Role(StrEnum):
    """Roles of keys. An admin may call everything; the server's health needs no key."""

    ANYONE = "anyone"
    WORKER = "worker"
    PRODUCER = "producer"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


Roles = frozenset[Role]
ROLES: Final = tuple(role for role in Role if role is not Role.ANYONE)
# The roles that may make the calls of each kind, besides admin.
WORK: Final = frozenset({Role.WORKER})
ENQUEUE: Final = frozenset({Role.PRODUCER, Role.OPERATOR})
OPERATE: Final = frozenset({Role.OPERATOR})
LOOK: Final = OPERATE | {Role.VIEWER}
READ: Final = LOOK | {Role.PRODUCER, Role.WORKER}
ADMINISTER: Final = frozenset({Role.ADMIN})
# The roles of programs; the others are for people and monitoring.
PROGRAM: Final = frozenset({Role.WORKER, Role.PRODUCER})
KINDS: Final[Mapping[str, Roles]] = {
    "look": LOOK,
    "enqueue": ENQUEUE,
    "work": WORK,
    "operate": OPERATE,
    "administer": ADMINISTER,
}


def may(roles: Roles, allowed: Roles) -> bool:
    """Return True if a key with these roles may make a call that is allowed to some."""
    return Role.ADMIN in roles or not roles.isdisjoint(allowed)


def written(roles: Iterable[Role]) -> str:
    """Return roles as the settings have them, such as `worker+producer`."""
    return "+".join(in_order(roles))


def in_order(roles: Iterable[Role]) -> list[Role]:
    """Return roles in the order in which they are always shown."""
    return sorted(roles, key=ROLES.index)


def parse_roles(words: Sequence[str]) -> Roles:
    """Check the roles of a key. Raises ValueError, without the words that are no roles: they may be
    a misplaced key."""
    for word in words:
        if word not in ROLES:
            raise ValueError(
                f"does not begin with a role; allowed: {', '.join(ROLES)}, or several as "
                f"worker+producer{nearest(word, ROLES)}"
            )
    roles = [Role(word) for word in words]
    for place, role in enumerate(roles):
        if role in roles[:place]:
            raise ValueError(f"has the role {role} twice; allowed is each role once")
        for other in roles:
            if other is not role and _includes(role, other):
                raise ValueError(
                    f"has the roles {role} and {other}, but {role} may do all that {other} may; "
                    f"allowed are {role} alone, {other} alone, or a key for each"
                )
    return frozenset(roles)


def joined(first: Roles, second: Roles) -> Roles:
    """Return the roles by which one key may do what each of two may."""
    roles = first | second
    return frozenset(
        role
        for role in roles
        if not any(other is not role and _includes(other, role) for other in roles)
    )


def _includes(wide: Role, narrow: Role) -> bool:
    kinds = (*KINDS.values(), READ)
    return wide is Role.ADMIN or all(wide in kind for kind in kinds if narrow in kind)
