"""Limits over time: opening those whose moment has come, an operator's override, tidying up."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ojs_server.domain.errors import OjsError
from ojs_server.domain.limit import Limit
from ojs_server.domain.rate_limit import OF_QUEUE, Policy
from ojs_server.ops.work import Work

STEP: Final = 500
# Everybody who waits for a queue may find something now.
_ALL: Final = 1_000_000


class Open(msgspec.Struct, frozen=True):
    """Open what time has opened."""

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return ("open",)


class Opened(msgspec.Struct, frozen=True):
    """How many limits were looked at."""

    limits: int


class Override(msgspec.Struct, frozen=True):
    """An operator's limits for a key, until a moment; none at all take an earlier word back."""

    key: str
    policy: Policy
    until: int | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("limit", self.key),)


class Overridden(msgspec.Struct, frozen=True):
    """When it was done, and the limit as it is then."""

    now: int
    limit: Limit


def run(work: Work, ops: Sequence[Open | Override]) -> list[Opened | Overridden | OjsError]:
    """The last in a transaction: limits are locked after everything else."""
    outcomes: list[Opened | Overridden | OjsError] = []
    for op in ops:
        if isinstance(op, Override):
            work.gates.override(op.key, op.policy or None, op.until)
            work.gates.settle()
            outcomes.append(Overridden(work.now, work.gates.row(op.key)))
        else:
            outcomes.append(_open(work))
    return outcomes


def _open(work: Work) -> Opened:
    work.gates.settle()
    due = work.gates.open_due(STEP)
    keys = []
    for name in due:
        if name.startswith(OF_QUEUE):
            row = work.gates.row(name)
            work.gates.put(msgspec.structs.replace(row, opens_at=None))
            work.wakes[name.removeprefix(OF_QUEUE)] += _ALL
        else:
            keys.append(name)
    if keys:
        work.gates.refresh(keys)
    return Opened(len(due))
