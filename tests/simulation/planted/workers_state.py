"""States of workers, as the server keeps them."""

from ojs_server.domain.admin.server_node import ServerNode
from ojs_server.domain.workers import fetch_policy
from ojs_server.http.workers.sessions import Session
from ojs_server.ops import sweep
from ojs_server.ops.workers import heartbeat
from ojs_server.ops.workers.sessions import DropSession
from ojs_worker.running import machine
from tests.faulty.planting import put, put_member, wrap
from tests.simulation.planted.registry import planted


@planted(sees="quiet workers", needs="a FETCH of a worker that was told to be quiet")
def quiet_workers_get_jobs() -> None:
    """A worker that is quiet, or was told to be, gets jobs."""
    put(fetch_policy, "may_fetch", lambda worker: True)


@planted(sees="directives", needs="a directive in the answer to a BEAT that is lost")
def directives_are_told_once() -> None:
    """A directive is forgotten once a BEAT was answered with it, whether or not it arrived."""
    put(heartbeat, "standing_directive", lambda directive, reported: None)


@planted(
    sees="living workers",
    needs="a session whose end is noticed after the next began",
    like="546cab37",
)
def an_old_session_ends_the_new_one() -> None:
    """The end of an earlier session of a worker counts as that of its present one."""
    wrap(
        DropSession,
        "carry_out",
        lambda drop: (
            lambda self, work: drop(
                DropSession(self.worker_id, session=self.load(work).session), work
            )
        ),
    )


@planted(sees="sessions", needs="a worker that ends its session")
def ends_of_sessions_are_not_noticed() -> None:
    """A worker that has dropped its session lives on as long as it beats, or for its timeout."""

    async def nothing(self: Session) -> None:
        pass

    put(Session, "_drop", nothing)


@planted(sees="living workers", needs="a worker that is silent for a while")
def workers_die_early() -> None:
    """A worker is declared dead after a third of the time."""
    wrap(
        sweep,
        "_missed",
        lambda missed: (
            lambda op, until, patience_ms, load: missed(
                op, until, patience_ms and patience_ms // 3, load
            )
        ),
    )


@planted(sees="living workers", needs="a worker that is told to end")
def workers_do_not_end() -> None:
    """A worker that is told to end is quiet, and lives on."""
    put_member(machine.DIRECTIVES, "terminate", machine.State.QUIET)


@planted(sees="living nodes", needs="a node that was killed")
def dead_nodes_are_online() -> None:
    """A server that announces nothing any more is listed as one that is online."""
    put(ServerNode, "is_silent", lambda self, now: False)
