"""Operators' calls on those who share: what a tenant is limited to, and pools of queues."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import NotFound, OjsError
from ojs_server.domain.pool import Pool
from ojs_server.domain.tenant import Tenant
from ojs_server.ops.work import Work


class SaveTenant(msgspec.Struct, frozen=True):
    """Configure a tenant, seen or not."""

    name: str
    tenant: Tenant

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("tenant", self.name),)


class DropTenant(msgspec.Struct, frozen=True):
    """Forget what was set for a tenant; its jobs stay."""

    name: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("tenant", self.name),)


class SavePool(msgspec.Struct, frozen=True):
    """Make or change a pool."""

    name: str
    pool: Pool

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("pool", self.name),)


class DropPool(msgspec.Struct, frozen=True):
    """Forget a pool; its queues stay."""

    name: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("pool", self.name),)


class Saved(msgspec.Struct, frozen=True):
    """Whether it was not there before."""

    new: bool


Operation = SaveTenant | DropTenant | SavePool | DropPool


def run(work: Work, ops: Sequence[Operation]) -> list[Saved | OjsError]:
    """Rare calls, one after the other."""
    return [_carry_out(work, op) for op in ops]


def _carry_out(work: Work, op: Operation) -> Saved | OjsError:
    tx = work.tx
    known = tx.sharing.tenants if isinstance(op, SaveTenant | DropTenant) else tx.sharing.pools
    new = op.name not in known
    match op:
        case SaveTenant(name, tenant):
            tx.save_tenant(name, tenant)
            if new:
                work.note(events.of_tenant("tenant.created", name, tenant.as_wire()))
        case SavePool(name, pool):
            tx.save_pool(name, pool)
        case DropTenant(name) | DropPool(name):
            if new:
                kind = "tenant" if isinstance(op, DropTenant) else "pool"
                return no_such(kind, name)
            if isinstance(op, DropTenant):
                tx.delete_tenant(name)
            else:
                tx.delete_pool(name)
    return Saved(new)


def no_such(kind: str, name: str) -> NotFound:
    """The answer for a tenant or pool that is not there."""
    return NotFound(
        f"there is no {kind} {name[:100]}",
        details={"resource_type": kind, "resource_id": name[:255]},
        hint=f"PUT /ojs/v1/admin/{kind}s/NAME makes one",
    )
