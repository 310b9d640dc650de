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
    """A change and its outcome: `done`, or the code of the error."""

    position: int
    at: int
    actor: Actor
    outcome: str


class ActionFilter(msgspec.Struct, frozen=True):
    """A filter of actions; None where any value matches."""

    name: str | None = None
    call: str | None = None
    target: str | None = None
    since: int | None = None
    until: int | None = None
