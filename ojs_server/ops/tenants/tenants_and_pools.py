"""Operators' calls on tenants' limits and on pools of queues."""

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import NotFound
from ojs_server.domain.fairness.pool import Pool
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.ops.operation import Operation, Stage
from ojs_server.ops.unit_of_work import Work


class Saved(msgspec.Struct, frozen=True):
    """The result of a save; `new` if there was none before."""

    new: bool


class _OnSharer(Operation[Saved], frozen=True):
    stage = Stage.SHARERS
    settings = True

    name: str


class _OnTenant(_OnSharer, frozen=True):
    @property
    def keys(self) -> tuple[object, ...]:
        return (("tenant", self.name),)


class _OnPool(_OnSharer, frozen=True):
    @property
    def keys(self) -> tuple[object, ...]:
        return (("pool", self.name),)


class SaveTenant(_OnTenant, frozen=True):
    """Configure a tenant, seen or not."""

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


class SavePool(_OnPool, frozen=True):
    """Make or change a pool."""

    pool: Pool

    def carry_out(self, work: Work) -> Saved:
        new = self.name not in work.tx.sharing.pools
        work.tx.save_pool(self.name, self.pool)
        return Saved(new)


class DropPool(_OnPool, frozen=True):
    """Forget a pool; its queues stay."""

    def carry_out(self, work: Work) -> Saved:
        if self.name not in work.tx.sharing.pools:
            raise no_such("pool", self.name)
        work.tx.delete_pool(self.name)
        return Saved(new=False)


def no_such(kind: str, name: str) -> NotFound:
    """The answer for a tenant or pool that is not there."""
    return NotFound(
        f"there is no {kind} {name[:100]}",
        details={"resource_type": kind, "resource_id": name[:255]},
        hint=f"PUT /ojs/v1/admin/{kind}s/NAME makes one",
    )
