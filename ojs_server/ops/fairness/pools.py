"""Operators' changes of pools of queues."""

from ojs_server.domain.fairness.pool import Pool
from ojs_server.ops.operation import Operation, Stage
from ojs_server.ops.tenants.administration import Saved, no_such
from ojs_server.ops.unit_of_work import Work


class _OnPool(Operation[Saved], frozen=True):
    stage = Stage.SHARING
    settings = True

    name: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("pool", self.name),)


class SavePool(_OnPool, frozen=True):
    """Create or change a pool."""

    pool: Pool

    def carry_out(self, work: Work) -> Saved:
        new = self.name not in work.tx.sharing.pools
        work.tx.save_pool(self.name, self.pool)
        return Saved(new)


class DropPool(_OnPool, frozen=True):
    """Delete a pool; its queues stay."""

    def carry_out(self, work: Work) -> Saved:
        if self.name not in work.tx.sharing.pools:
            raise no_such("pool", self.name)
        work.tx.delete_pool(self.name)
        return Saved(new=False)
