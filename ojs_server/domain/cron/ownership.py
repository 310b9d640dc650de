"""Ownership of cron entries: which key may change an entry, and use the name of an owner.

An entry keeps the key that registered it (`holder`) and the owner that its program names
(`meta.cron_owner`). An entry with an owner is changed by the key that registered it, one without
by producers as well; operators change all. The name of an owner is used by one key at a time.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from ojs_server.domain.cron.entry import CronEntry, definition_of
from ojs_server.domain.errors import Denied
from ojs_server.domain.tenants.tenant import scoped, unscoped
from ojs_wire.values import MAX_NAME

# The member of an entry's `meta` that names its owner.
OWNER: Final = "cron_owner"
_ALWAYS: Final = ("admin", "operator")


class Caller(msgspec.Struct, frozen=True):
    """The rights of a caller on cron entries; by default those of one that may change all."""

    # The name of the key, or else its hash; None if the server has no keys.
    holder: str | None = None
    operates: bool = True
    produces: bool = True
    # The other keys for programs, in the same form.
    programs: frozenset[str] = frozenset()


def owner_of(entry: CronEntry) -> str | None:
    """Return the owner that an entry names, with the tenant of the entry before it. A value that
    workers do not give is no owner."""
    tenant, _ = entry.scoped_name
    named = (definition_of(entry).job_template.get("meta") or {}).get(OWNER)
    if not isinstance(named, str) or not 0 < len(named) <= MAX_NAME or not named.isprintable():
        return None
    return scoped(tenant, named)


def may_change(entry: CronEntry, caller: Caller) -> bool:
    """Return True if the caller may change or remove an entry."""
    if caller.operates or (entry.holder is not None and entry.holder == caller.holder):
        return True
    # If the registering key was removed from the settings, another program may take over its
    # entries.
    return caller.produces if owner_of(entry) is None else entry.holder not in caller.programs


def require_right(entry: CronEntry, caller: Caller) -> None:
    """Raise Denied unless the caller may change an entry."""
    if may_change(entry, caller):
        return
    _, name = entry.scoped_name
    others = ("producer",) if owner_of(entry) is None else ()
    raise Denied(
        f"the cron entry {name} is another key's: allowed are the key that registered it, and keys "
        f"of the roles {', '.join((*_ALWAYS, *others))}",
        details={
            "resource_type": "cron",
            "resource_id": name,
            "required_roles": [*_ALWAYS, *others],
        },
        hint="register it under another name, or with the key that it belongs to",
    )


def require_owner(entry: CronEntry, holders: Iterable[str | None], caller: Caller) -> None:
    """Raise Denied if another key has entries of the owner that an entry names; `holders` are the
    keys that registered entries of that owner. Operators need no such check."""
    if entry.owner is None or caller.programs.isdisjoint(holders):
        return
    owner = unscoped(entry.scoped_name[0], entry.owner)
    raise Denied(
        f"the cron owner {owner} is another key's: allowed are an owner that no other key uses, "
        f"and keys of the roles {', '.join(_ALWAYS)}",
        details={OWNER: owner, "required_roles": list(_ALWAYS)},
        hint=f"give each program a {OWNER} of its own, or both keys the same name",
    )


def held_by(
    entry: CronEntry, known: CronEntry | None, caller: Caller, *, registers: bool
) -> CronEntry:
    """Return the entry with its owner and the key that it belongs to from now on.

    An operator's change leaves it with its program, as long as its owner is the same.
    """
    owner = owner_of(entry)
    keeps = known is not None and known.owner == owner and (caller.operates or not registers)
    holder = known.holder if known is not None and keeps else caller.holder
    return msgspec.structs.replace(entry, owner=owner, holder=holder)
