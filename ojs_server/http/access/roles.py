"""The roles of keys, and the roles that calls of each kind need."""

from enum import StrEnum
from typing import Final


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
