"""Operators' changes of the limits of tenants."""

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import NotFound
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.ops.operation import Operation, Stage
from ojs_server.ops.unit_of_work import Work


class Saved(msgspec.Struct, frozen=True):
    """The result of a save; `new` if there was none before."""

    new: bool


class _OnTenant(Operation[Saved], frozen=True):
    stage = Stage.SHARING
    settings = True

    name: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("tenant", self.name),)


class SaveTenant(_OnTenant, frozen=True):
    """Store the settings of a tenant, which need not have jobs yet."""

    tenant: Tenant

    def carry_out(self, work: Work) -> Saved:
        new = self.name not in work.tx.sharing.tenants
        work.tx.save_tenant(self.name, self.tenant)
        if new:
            work.note(events.of_tenant("tenant.created", self.name, self.tenant.as_wire()))
        return Saved(new)


class DropTenant(_OnTenant, frozen=True):
    """Delete the settings of a tenant; its jobs stay."""

    def carry_out(self, work: Work) -> Saved:
        if self.name not in work.tx.sharing.tenants:
            raise no_such("tenant", self.name)
        work.tx.delete_tenant(self.name)
        return Saved(new=False)


def no_such(kind: str, name: str) -> NotFound:
    """Return the error for a tenant or pool that does not exist."""
    return NotFound(
        f"there is no {kind} {name[:100]}",
        details={"resource_type": kind, "resource_id": name[:255]},
        hint=f"PUT /ojs/v1/admin/{kind}s/NAME makes one",
    )
