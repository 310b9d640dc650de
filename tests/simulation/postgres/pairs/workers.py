"""Workers that come, go and die."""

from ojs_server.domain.workers.worker import Directive, WorkerState
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.workers import presence
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.sessions import DropSession, OpenSession
from ojs_server.ops.workers.signs_of_life import SignsOfLife
from tests.ops.bench import Bench
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.claims import FAR, REST, claim

MINUTE = 60_000


def beating(bench: Bench) -> list[str]:
    """A worker that beats, with two jobs."""
    jobs = [bench.put() for _ in range(2)]
    bench.take("w", 2)
    bench.beat("w", jobs)
    return jobs


def _idle(bench: Bench) -> None:
    bench.put()
    bench.do(presence.Register("w", {}))


def _session(bench: Bench) -> tuple[list[str], int]:
    """A worker with a session, two jobs, and one more to be had."""
    jobs = beating(bench)
    session = bench.do(OpenSession("w")).session
    bench.put()
    return jobs, session


def _beat(jobs: list[str]) -> tuple[Beat]:
    return (Beat("w", WorkerState.RUNNING, False, tuple(jobs)),)


PAIRS = (
    Pair(
        "BEAT and the death of the worker",
        beating,
        _beat,
        lambda jobs: (Sweep(0, FAR),),
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "ACK and the death of the worker",
        beating,
        lambda jobs: (Ack(jobs[1], "w", 1),),
        lambda jobs: (Sweep(0, FAR),),
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "signs of life and the death of the worker",
        beating,
        lambda jobs: (SignsOfLife({"w": FAR}),),
        lambda jobs: (Sweep(0, FAR),),
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "deregistration and FETCH",
        _idle,
        lambda known: (presence.Deregister("w"),),
        lambda known: claim("w"),
        afterwards=REST,
    ),
    Pair(
        "deregistration and BEAT",
        beating,
        lambda jobs: (presence.Deregister("w"),),
        _beat,
        afterwards=REST,
    ),
    Pair(
        "removal and BEAT of a silent worker",
        beating,
        lambda jobs: (presence.Delete("w"),),
        _beat,
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "quiet and FETCH",
        _idle,
        lambda known: (presence.Direct(Directive.QUIET, "w"),),
        lambda known: claim("w"),
        afterwards=REST,
    ),
    Pair(
        "end of a session and FETCH",
        _session,
        lambda known: (DropSession("w", known[1]),),
        lambda known: claim("w"),
        afterwards=REST,
    ),
    Pair(
        "first BEAT and registration",
        lambda bench: None,
        lambda known: (Beat("w", WorkerState.RUNNING, False, ()),),
        lambda known: (presence.Register("w", {"hostname": "two"}),),
    ),
    Pair(
        "registration and registration",
        lambda bench: None,
        lambda known: (presence.Register("w", {"hostname": "one"}),),
        lambda known: (presence.Register("w", {"hostname": "two"}),),
    ),
)
