"""Rate limits over time: reopen limits, apply operators' overrides, remove unused rows."""

from typing import Final

import msgspec

from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.limits.rate_limit import OF_QUEUE, Policy
from ojs_server.ops.operation import Operation, Stage
from ojs_server.ops.unit_of_work import Work

STEP: Final = 500
# Wake-ups for all waiting fetches of a queue.
_ALL: Final = 1_000_000


class Reopened(msgspec.Struct, frozen=True):
    """The number of limits that were reopened."""

    limits: int


class Reopen(Operation[Reopened], frozen=True):
    """Reopen the rate limits whose waiting time is over."""

    stage = Stage.LIMITS
    due = True

    @property
    def keys(self) -> tuple[object, ...]:
        return ("reopen",)

    def carry_out(self, work: Work) -> Reopened:
        work.rate_limits.update()
        due = work.rate_limits.open_due(STEP)
        keys = []
        for name in due:
            if name.startswith(OF_QUEUE):
                row = work.rate_limits.row(name)
                work.rate_limits.put(msgspec.structs.replace(row, opens_at=None))
                work.wakes[name.removeprefix(OF_QUEUE)] += _ALL
            else:
                keys.append(name)
        if keys:
            work.rate_limits.refresh(keys)
        return Reopened(len(due))


class Overridden(msgspec.Struct, frozen=True):
    """The time of the change, and the limit after it."""

    now: int
    limit: Limit


class Override(Operation[Overridden], frozen=True):
    """Set an operator's limits for a key, until a moment; without limits, remove the override."""

    stage = Stage.LIMITS

    key: str
    policy: Policy
    until: int | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        return (("limit", self.key),)

    def carry_out(self, work: Work) -> Overridden:
        work.rate_limits.override(self.key, self.policy or None, self.until)
        work.rate_limits.update()
        return Overridden(work.now, work.rate_limits.row(self.key))
