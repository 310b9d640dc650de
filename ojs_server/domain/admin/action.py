"""The action log: changes that people have made."""

import msgspec

DONE = "done"


class Actor(msgspec.Struct, frozen=True):
    """The caller that makes a change: its name, its role, and the call."""

    name: str
    role: str
    # Identification of the caller: session, key, or none.
    via: str
    tenant: str | None
    address: str
    # The route as it is written in the path table, and the id or name in its path.
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
