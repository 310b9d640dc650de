"""The action log: changes that people have made."""

import msgspec

DONE = "done"


class Actor(msgspec.Struct, frozen=True):
    """The caller that makes a change: its name, its role, and the call."""

    name: str
    role: str
    # How they are known: by a session, a key, or not at all.
    via: str
    tenant: str | None
    address: str
    # The call as its route is written, and what it names.
    call: str
    target: str
    request_id: str


class Action(msgspec.Struct, frozen=True):
    """A change, and what became of it: `done`, or the code of the refusal."""

    position: int
    at: int
    name: str
    role: str
    via: str
    tenant: str | None
    address: str
    call: str
    target: str
    request_id: str
    outcome: str


class ActionFilter(msgspec.Struct, frozen=True):
    """Which actions are wanted; None where anything will do."""

    name: str | None = None
    call: str | None = None
    target: str | None = None
    since: int | None = None
    until: int | None = None
