"""The store contract's part about tenants and pools of queues, which `base.py` takes in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ojs_server.domain.choice import Candidate
from ojs_server.domain.pool import Pool
from ojs_server.domain.tenant import Tenant
from ojs_server.store.records import Claimed, Lane, QueueCounts, Stamped


class SharingTx(Protocol):
    """In a write transaction."""

    def tenants_waiting(self, queues: Mapping[str, str], limit: int) -> list[tuple[str, str]]:
        """Up to `limit` tenants of each queue that wait there, with the queue, after a name."""

    def waiting(self, lanes: Sequence[Lane], limit: int) -> list[Candidate]:
        """The first `limit` jobs of each lane that a claim may take, without locking them."""

    def claim_chosen(self, ids: Sequence[str]) -> list[Claimed]:
        """Make those of these jobs active that are still available and that nobody has locked."""

    def begin_tenancy(self) -> None:
        """The first job of a tenant is being stored; every transaction after this one knows."""

    def save_tenant(self, name: str, tenant: Tenant) -> None:
        """Configure a tenant."""

    def delete_tenant(self, name: str) -> None:
        """Forget what was set for a tenant."""

    def save_pool(self, name: str, pool: Pool) -> None:
        """Make or change a pool."""

    def delete_pool(self, name: str) -> None:
        """Forget a pool."""


class SharingReader(Protocol):
    """Outside of a transaction."""

    def tenants_of(self, ids: Iterable[str]) -> dict[str, str | None]:
        """Whose those of these jobs are that exist."""

    def tenants(self) -> list[tuple[str, Tenant | None, Stamped | None]]:
        """Every tenant that was configured or ever had jobs, by name."""

    def waits(self) -> dict[str, int]:
        """How many milliseconds the jobs of each queue that run now had waited, on average."""

    def pools(self) -> list[tuple[str, Pool, Stamped]]:
        """Every pool, by name."""

    def available_types(self, queues: Iterable[str], tenant: str | None) -> list[str]:
        """The types of the jobs in queues that can be handed out, or of a tenant's.

        Of more than 1000 pairs of queue and type some are left out.
        """

    def queues_of_tenant(self, tenant: str) -> list[QueueCounts]:
        """The queues in which a tenant has ever had jobs, each with what is its own."""
