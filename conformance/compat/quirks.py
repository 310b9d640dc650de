"""Peculiarities of the published runner: named rules, each of which can be switched off."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec


class Quirk(StrEnum):
    """A way of the published runner that can fail a case which holds."""

    NAMES = "shared-names"
    CAPTURES = "no-captures"
    FILLING = "filling-text"
    REPEAT = "no-repeat"
    RAW_BODY = "no-raw-body"
    WAIT = "double-wait"
    STATUS_LIST = "status-list"
    OPERATORS = "unknown-operators"
    NULL_INSIDE = "null-inside"
    DOTTED_KEYS = "dotted-keys"
    QUOTED_KEYS = "quoted-keys"
    DEAD_END = "dead-end"


RULES: Final[dict[Quirk, str]] = {
    Quirk.NAMES: "a case keeps the names that are written in it, and meets what others left there",
    Quirk.CAPTURES: "captured variables are not known: `{{name}}` and `${name}` stay as written",
    Quirk.FILLING: "an earlier value is inserted as text: a number in quotes becomes a string, "
    "and an object in quotes is no JSON",
    Quirk.REPEAT: "`repeat` is not known: the step is played once",
    Quirk.RAW_BODY: "`raw_body` is not known: the request has no body",
    Quirk.WAIT: "a WAIT without `duration_ms` sleeps its `delay_ms` twice",
    Quirk.STATUS_LIST: "a `status` that is a list is met by no answer",
    Quirk.OPERATORS: "`$type` alone, `$gte`, `$eq` and others are taken for names of members",
    Quirk.NULL_INSIDE: "inside of an object a member that is null counts as there",
    Quirk.DOTTED_KEYS: "a dot in a path ends a key: a key that has dots is not found",
    Quirk.QUOTED_KEYS: "a key in brackets and quotes is read as an index",
    Quirk.DEAD_END: "a path that leads nowhere is an error, also where nothing is wanted",
}

InForce = Callable[[Quirk], bool]


class Bite(msgspec.Struct, frozen=True):
    """A place where a quirk made a difference."""

    quirk: Quirk
    place: str


class Quirks:
    """The quirks of one play, with the places where each made a difference."""

    def __init__(self, mended: frozenset[Quirk] = frozenset()) -> None:
        self.bites: list[Bite] = []
        self._mended = mended

    def is_mended(self, quirk: Quirk) -> bool:
        """True if a quirk is switched off in this play."""
        return quirk in self._mended

    def bite(self, quirk: Quirk, place: str) -> bool:
        """Return True if a quirk is in force, and note the place where it made a difference."""
        if self.is_mended(quirk):
            return False
        self.bites.append(Bite(quirk, place))
        return True
