"""Claiming for a worker that has said what it is able to: it is given no job that asks for more."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain.demand import Ability, read_demand
from ojs_server.store.base import MAX_DEMANDS, Tx
from ojs_server.store.records import Claimed


class Wants(msgspec.Struct, frozen=True):
    """Which jobs of its queues a claim may take."""

    job_types: tuple[str, ...] | None = None
    ability: Ability | None = None

    def claim(self, tx: Tx, queues: Sequence[str], limit: int) -> list[Claimed]:
        """Take them. Only where a waiting job asks for too much, the others are told apart."""
        if self.ability is None:
            return tx.claim(queues, self.job_types, limit)
        waiting = tx.demands(queues)
        met = [(queue, demand) for queue, demand in waiting if self._may_take(demand)]
        if len(met) == len(waiting) < MAX_DEMANDS:
            return tx.claim(queues, self.job_types, limit)
        return tx.claim_meeting(queues, self.job_types, met, limit)

    def _may_take(self, text: str) -> bool:
        demand = read_demand(text)
        if self.job_types is not None and demand.type not in self.job_types:
            return False
        return self.ability is not None and self.ability.meets(demand)
