"""The order in which jobs of a queue are handed out."""

from typing import Any

import msgspec

from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import State
from ojs_server.store.sqlite.statements import QUERIES
from tests.faulty.planting import put_member, wrap
from tests.simulation.planted.registry import planted


def _enters(change: Any) -> None:
    """Change the job that enters its queue; the change is given it before and after."""

    def make(enter: Any) -> Any:
        return lambda job, now, position: change(job, enter(job, now, position))

    wrap(lifecycle, "_enter_queue", make)


@planted(sees="order", needs="a retry of a job with a priority")
def retries_lose_their_priority() -> None:
    """A claim takes a job that is tried again as if it had the usual priority."""
    for name in ("claim", "claim_types"):
        query = QUERIES[name]
        lane = query.lane.replace(
            "id, priority, seq", "id, CASE attempt WHEN 0 THEN priority ELSE 0 END AS priority, seq"
        )
        put_member(QUERIES, name, msgspec.structs.replace(query, lane=lane))


@planted(sees="order", needs="a scheduled job that falls due behind others")
def promoted_jobs_go_first() -> None:
    """A scheduled job that falls due goes before those that were available already."""
    _enters(
        lambda before, inside: (
            msgspec.structs.replace(inside, seq=before.seq)
            if before.state == State.SCHEDULED
            else inside
        )
    )


@planted(sees="order", needs="a lapse while others wait")
def lapsed_jobs_go_last() -> None:
    """A job whose lease was lost goes behind all that wait."""

    def make(offered: Any) -> Any:
        def last(*given: Any) -> Any:
            change = offered(*given)
            behind = change.after.seq + (1 << 40)
            return msgspec.structs.replace(
                change, after=msgspec.structs.replace(change.after, seq=behind)
            )

        return last

    wrap(lifecycle, "_offered_again", make)
