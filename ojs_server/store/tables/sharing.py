"""Tenants and pools: their settings, and the tenants of jobs."""

from collections.abc import Iterable
from typing import Final

import msgspec

from ojs_server.domain.fairness.pool import Pool
from ojs_server.domain.fairness.sharing import ALONE, Sharing
from ojs_server.domain.tenants.tenant import Tenant, unscoped
from ojs_server.store.records import Lane, QueueCounts, QueueSums, Stamped
from ojs_server.store.tables.queues import queue_of
from ojs_server.store.tables.statements import Statements, Writing, by_name
from ojs_wire.codec import encode

_tenant: Final = msgspec.json.Decoder(Tenant)
_pool: Final = msgspec.json.Decoder(Pool)


def waiting_in(lane: Lane) -> str:
    """Return the statement that searches a lane."""
    if lane.tenant is None:
        return "waiting" if lane.type is None else "waiting_of_type"
    return "waiting_of_tenant" if lane.type is None else "waiting_of_tenant_and_type"


class SharingWrites(Writing):
    """Tenants and pools in a write transaction."""

    # The tenants and pools at the start of the transaction.
    sharing: Sharing = ALONE

    def begin_tenancy(self) -> None:
        """Note that tenants are in use, for all later transactions."""
        self._known(msgspec.structs.replace(self.sharing, tenancy=True))

    def save_tenant(self, name: str, tenant: Tenant) -> None:
        """Configure a tenant."""
        self.run("save_tenant", name=name, config=encode(tenant), now=self.now)
        tenants = {**self.sharing.tenants, name: tenant}
        self._known(msgspec.structs.replace(self.sharing, tenants=tenants, tenancy=True))

    def delete_tenant(self, name: str) -> None:
        """Delete the settings of a tenant."""
        self.run("delete_tenant", name=name)
        tenants = {other: tenant for other, tenant in self.sharing.tenants.items() if other != name}
        self._known(msgspec.structs.replace(self.sharing, tenants=tenants))

    def save_pool(self, name: str, pool: Pool) -> None:
        """Create or change a pool."""
        self.run("save_pool", name=name, config=encode(pool), now=self.now)
        pools = {**self.sharing.pools, name: pool}
        self._known(msgspec.structs.replace(self.sharing, pools=pools))

    def delete_pool(self, name: str) -> None:
        """Delete a pool; its queues stay."""
        self.run("delete_pool", name=name)
        pools = {other: pool for other, pool in self.sharing.pools.items() if other != name}
        self._known(msgspec.structs.replace(self.sharing, pools=pools))

    def stored_sharing(self) -> Sharing:
        """The tenants and pools as they are stored."""
        return Sharing(
            bool(self.all("tenancy")[0][0]),
            {row[0]: _tenant.decode(row[1]) for row in self.all("tenant_configs")},
            {row[0]: _pool.decode(row[1]) for row in self.all("pool_configs")},
        )

    def _known(self, sharing: Sharing) -> None:
        self.sharing = sharing
        self.configs_changed()


class SharingReads(Statements):
    """Tenants and pools outside of a transaction."""

    def tenants_of(self, ids: Iterable[str]) -> dict[str, str | None]:
        """Return the tenants of those of these jobs that exist."""
        return dict(self.all_ids("tenants_of", ids))

    def tenants(self) -> list[tuple[str, Tenant | None, Stamped | None]]:
        """Every tenant that was configured or ever had jobs, by name."""
        configured = {row[0]: row for row in self.all("tenant_configs")}
        seen = {row[0] for row in self.all("tenants_seen")}
        return [
            (name, _tenant.decode(row[1]), Stamped(*row[2:])) if row else (name, None, None)
            for name in sorted(seen | configured.keys())
            for row in [configured.get(name)]
        ]

    def count_queues(self, tenants: Iterable[str]) -> dict[str, int]:
        """Return the number of the queues in which each of these tenants ever had jobs."""
        return dict(self.all_ids("count_queues", tenants))

    def waits(self) -> dict[str, int]:
        """Return the average waiting time of each queue's running jobs, in milliseconds."""
        return {row[0]: max(0, row[1]) for row in self.all("waits")}

    def pools(self) -> list[tuple[str, Pool, Stamped]]:
        """Every pool, by name."""
        rows = self.all("pool_configs")
        return [(row[0], _pool.decode(row[1]), Stamped(*row[2:])) for row in rows]

    def available_types(self, queues: Iterable[str], tenant: str | None) -> list[str]:
        """The types of the jobs in queues that can be handed out, or of a tenant's.

        Of more than 1000 pairs of queue and type some are left out.
        """
        names = dict.fromkeys(queues)
        if tenant is None:
            return sorted({kind for (kind,) in self.all_ids("available_types", names)})
        if not self.can_hold(tenant):
            return []
        pairs = by_name(self.all_ids("types_of_tenants", names), "queue", "type")
        tenants = (tenant,) * len(pairs["queue"])
        found = self.all_columns("types_of_tenant", **pairs, tenant=tenants)
        return sorted({kind for (kind,) in found})

    def queues_of_tenant(self, tenant: str) -> list[QueueCounts]:
        """Return the counters of all queues in which a tenant has had jobs, by its own names."""
        found = map(queue_of, self.read(QueueSums, "queues_of_tenant", tenant=tenant))
        return [
            msgspec.structs.replace(queue, name=unscoped(tenant, queue.name)) for queue in found
        ]
