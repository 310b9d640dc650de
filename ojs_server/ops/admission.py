"""What a claim may take: the limits of queues are asked before it, those of keys after it."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from ojs_server.domain import limit as limits
from ojs_server.domain.limit import Limit
from ojs_server.domain.rate_limit import OF_QUEUE
from ojs_server.ops.gates import guarded
from ojs_server.ops.matching import Wants
from ojs_server.ops.work import Work
from ojs_server.store.records import Claimed

# How often one claim looks again because jobs were turned away.
ROUNDS: Final = 100


class Admission:
    """The claims of one transaction."""

    def __init__(self, work: Work, queues: Sequence[str]) -> None:
        """Lock what the limits of these queues are judged by, if any has limits."""
        self._work = work
        configs = work.tx.configs
        self._limited = {name for name in queues if name in configs and configs[name].limits}
        # Also those of which only the depth is bounded: it falls, and this is their turn.
        work.gates.settle(guarded(configs, queues) if configs else ())
        # Read under the lock: whoever claims from these queues has committed, or waits for us.
        self._loads = work.tx.queue_loads(self._limited) if self._limited else {}

    def take(self, queues: Sequence[str], wants: Wants, limit: int) -> list[Claimed]:
        """Claim up to so many jobs that every limit allows."""
        if self._limited.isdisjoint(queues):
            return self._take(queues, wants, limit)
        taken: list[Claimed] = []
        for names in self._stretches(queues):
            left = limit - len(taken)
            if left <= 0:
                break
            (first, *_) = names
            if first in self._limited:
                taken += self._take_limited(first, wants, left)
            else:
                taken += self._take(names, wants, left)
        return taken

    def _stretches(self, queues: Sequence[str]) -> Iterator[list[str]]:
        """The queues in their order: those with limits alone, those between them together."""
        free: list[str] = []
        for name in queues:
            if name in self._limited:
                if free:
                    yield free
                yield [name]
                free = []
            else:
                free.append(name)
        if free:
            yield free

    def _take_limited(self, queue: str, wants: Wants, limit: int) -> list[Claimed]:
        row = self._row(queue)
        free = limits.room(row, self._work.now)
        taken: list[Claimed] = []
        if free.count != 0:
            most = limit if free.count is None else min(limit, free.count)
            taken = self._take([queue], wants, most)
            row = limits.start(row, self._work.now, len(taken)) if taken else row
            free = limits.room(row, self._work.now)
        # Whoever waits here is woken when time allows more.
        opens_at = free.opens_at if free.count == 0 else None
        self._work.expect_here(opens_at)
        self._work.gates.put(msgspec.structs.replace(row, active=0, opens_at=opens_at))
        return taken

    def _row(self, queue: str) -> Limit:
        """The queue's limit, with the jobs that run now: counted by the store, and by us."""
        load = self._loads.get(queue)
        active = (load.active if load else 0) + self._work.pending(queue, "active")
        return msgspec.structs.replace(
            self._work.gates.row(OF_QUEUE + queue),
            policy=self._work.tx.configs[queue].policy,
            active=active,
        )

    def _take(self, queues: Sequence[str], wants: Wants, limit: int) -> list[Claimed]:
        work = self._work
        kept: list[Claimed] = []
        for _ in range(ROUNDS):
            claimed = wants.claim(work.tx, queues, limit - len(kept))
            if not any(one.job.rate_key is not None for one in claimed):
                return kept + claimed
            admitted, back = work.gates.admit(claimed)
            kept += admitted
            if len(kept) >= limit or not (work.gates.settle() or back):
                return kept
        for queue in queues:
            work.wakes[queue] += 1
        return kept
