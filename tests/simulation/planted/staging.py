"""Mistakes in storing what programs have staged."""

from ojs_server.loops import staged as loop
from ojs_server.ops.jobs import staged
from ojs_server.store.sqlite.transaction import SqliteTx
from tests.faulty.planting import put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="staging", needs="a notice of a program that is lost", like="0070")
def lost_notices_leave_staged_jobs() -> None:
    """A node looks for staged jobs only when it is told."""
    put(loop, "SLOW_POLL_S", 1e6)


@planted(sees="staging", needs="a staged job that is no job", like="0070")
def refused_jobs_are_forgotten() -> None:
    """A staged job that is refused is removed, and nobody is told."""
    put(staged, "_outcome", lambda work, op, verdict: None)


@planted(sees="staging", needs="a commit that fails after the rows are removed", like="0070")
def rolled_back_takings_are_final() -> None:
    """A staged job counts as stored once a node has begun to store it."""
    gone: set[str] = set()

    def make(take: object) -> object:
        def remembered(self: SqliteTx, ids: list[str]) -> set[str]:
            taken: set[str] = take(self, ids)  # type: ignore[operator]
            taken -= gone
            gone.update(taken)
            return taken

        return remembered

    wrap(SqliteTx, "take_staged", make)
