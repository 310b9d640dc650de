"""Operators' calls on the canary routing of versions."""

import msgspec

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.jobs.version_routing import MAX_ROUTINGS, Routing
from ojs_server.ops.operation import Operation, Stage
from ojs_server.ops.unit_of_work import Work


class Routed(msgspec.Struct, frozen=True):
    """The result of a change of routing; `new` if the type had none before."""

    new: bool


class _OnRouting(Operation[Routed], frozen=True):
    stage = Stage.ROUTING
    settings = True

    job_type: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("routing", self.job_type),)


class SaveRouting(_OnRouting, frozen=True):
    """Set or replace the routing of a type."""

    routing: Routing

    def carry_out(self, work: Work) -> Routed:
        known = work.tx.routings
        new = self.job_type not in known
        if new and len(known) >= MAX_ROUTINGS:
            raise Conflict(
                f"{MAX_ROUTINGS} types have a routing already, and no more are possible",
                details={"limit": MAX_ROUTINGS},
                hint="remove those that are no longer needed",
            )
        work.tx.save_routing(self.job_type, self.routing)
        return Routed(new)


class DropRouting(_OnRouting, frozen=True):
    """Forget the routing of a type; jobs keep the versions that they have."""

    def carry_out(self, work: Work) -> Routed:
        if self.job_type not in work.tx.routings:
            raise no_routing(self.job_type)
        work.tx.delete_routing(self.job_type)
        return Routed(new=False)


def no_routing(job_type: str) -> NotFound:
    """The answer for a type without routing."""
    return NotFound(
        f"there is no routing of {job_type[:100]}",
        details={"resource_type": "routing", "resource_id": job_type[:255]},
        hint="PUT /ojs/v1/admin/routing/TYPE sets one",
    )
