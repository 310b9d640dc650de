"""Faults of pools."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain.fairness.pool import Pool, PoolOrder
from ojs_server.ops.limits import claim_limits
from tests.faulty.fault import fault
from tests.faulty.planting import after, put


@fault("OJS-FAI-004")
def every_pool_is_strict() -> None:
    """A pool takes from its first queue for as long as that has something."""

    def first(self: PoolOrder, queues: Sequence[str]) -> str:
        return queues[0]

    put(PoolOrder, "_regular", first)


@fault("OJS-FAI-006")
def pools_run_one_more() -> None:
    """One more job of a pool runs than its concurrency allows."""

    def more(pool: Pool | None) -> Pool | None:
        if pool is None or pool.concurrency is None:
            return pool
        return msgspec.structs.replace(pool, concurrency=pool.concurrency + 1)

    after(claim_limits, "pool_of", lambda pool, *_: more(pool))
