"""Operators' calls on the routing of versions."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain.errors import Conflict, NotFound, OjsError
from ojs_server.domain.routing import MAX_ROUTINGS, Routing
from ojs_server.ops.work import Work


class _OnRouting(msgspec.Struct, frozen=True):
    job_type: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("routing", self.job_type),)


class SaveRouting(_OnRouting, frozen=True):
    """Set or replace the routing of a type."""

    routing: Routing


class DropRouting(_OnRouting, frozen=True):
    """Forget the routing of a type; jobs keep the versions that they have."""


class Routed(msgspec.Struct, frozen=True):
    """Whether the type had no routing before."""

    new: bool


def run(work: Work, ops: Sequence[SaveRouting | DropRouting]) -> list[Routed | OjsError]:
    """Rare calls, one after the other."""
    return [_carry_out(work, op) for op in ops]


def no_routing(job_type: str) -> NotFound:
    """The answer for a type without routing."""
    return NotFound(
        f"there is no routing of {job_type[:100]}",
        details={"resource_type": "routing", "resource_id": job_type[:255]},
        hint="PUT /ojs/v1/admin/routing/TYPE sets one",
    )


def _carry_out(work: Work, op: SaveRouting | DropRouting) -> Routed | OjsError:
    known = work.tx.routings
    new = op.job_type not in known
    if isinstance(op, DropRouting):
        if new:
            return no_routing(op.job_type)
        work.tx.delete_routing(op.job_type)
    elif new and len(known) >= MAX_ROUTINGS:
        return Conflict(
            f"{MAX_ROUTINGS} types have a routing already, and no more are possible",
            details={"limit": MAX_ROUTINGS},
            hint="remove those that are no longer needed",
        )
    else:
        work.tx.save_routing(op.job_type, op.routing)
    return Routed(new)
