"""Jobs with requirements of their worker, and claims that skip jobs."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final

from ojs_server.store.columns import Row
from ojs_server.store.records import Claimed
from ojs_server.store.tables.jobs import in_turn
from ojs_server.store.tables.statements import Writing

# Most jobs of a queue (and type) that a claim searches for ones without requirements.
LOOK_AHEAD: Final = 10_000


class DemandWrites(Writing):
    """Claims of workers that may not run every job."""

    def demands(self, queues: Iterable[str]) -> list[tuple[str, str]]:
        """Return the (queue, requirement) pairs of the available jobs of queues.

        At most `MAX_DEMANDS` are returned.
        """
        return self.all_ids("demands", dict.fromkeys(queues))

    def claim_meeting(
        self,
        queues: Sequence[str],
        job_types: Sequence[str] | None,
        pairs: Sequence[tuple[str, str]],
        limit: int,
    ) -> list[Claimed]:
        """Claim jobs without requirements, or with one of `pairs`.

        Jobs without requirements are searched among the first jobs of each queue and type only, so
        that many with other requirements do not make the claim slow.
        """
        lanes = {queue: lane for lane, queue in enumerate(dict.fromkeys(queues))}
        found: list[tuple[int, int, int, str]] = []
        for queue, lane in lanes.items():
            found += (
                (lane, -row[1], row[2], row[0])
                for row in self._candidates(queue, job_types, pairs, limit)
            )
        found.sort()
        claimed = self.claim_chosen([job_id for *_, job_id in found[:limit]]) if found else []
        return in_turn(claimed, lanes)

    @abstractmethod
    def claim_chosen(self, ids: Sequence[str]) -> list[Claimed]:
        """Activate those of these jobs that are still available and not locked."""

    def _candidates(
        self,
        queue: str,
        job_types: Sequence[str] | None,
        pairs: Sequence[tuple[str, str]],
        limit: int,
    ) -> list[Row]:
        """Return the first jobs of each lane, each with id, priority and sequence."""
        bound = {"queue": queue, "now": self.now, "limit": limit}
        rows: list[Row] = []
        if job_types is None:
            rows += self.all("undemanding", **bound, look_ahead=LOOK_AHEAD)
        for kind in dict.fromkeys(job_types or ()):
            rows += self.all("undemanding_of_type", **bound, type=kind, look_ahead=LOOK_AHEAD)
        for name, demand in pairs:
            if name == queue:
                rows += self.all("demanding", **bound, demand=demand)
        return rows
