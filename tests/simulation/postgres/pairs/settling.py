"""Ends of jobs against each other, and against what brings jobs back."""

from ojs_server.domain.jobs.progress import ProgressReport
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.ops.jobs.bulk import Bulk
from ojs_server.ops.jobs.progress import Advance
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail, Remove, Revive
from ojs_server.ops.queues.control import Purge
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.workers.heartbeat import Beat
from tests.ops.bench import Bench
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.claims import FAR, REST, claim

DAY = 86_400_000
BOOM = parse_fault("boom")


def two_active(bench: Bench) -> list[str]:
    """Two jobs of one worker, with leases that end soon."""
    jobs = [bench.put() for _ in range(2)]
    bench.take("w", 2, lease_ms=1_000)
    return jobs


def one_active(bench: Bench) -> str:
    """A job on its last attempt."""
    job = bench.put(retry={"max_attempts": 1})
    bench.take("w", lease_ms=1_000)
    return job


def _dead(bench: Bench) -> list[str]:
    jobs = [bench.put(retry={"max_attempts": 1}) for _ in range(2)]
    bench.take("w", 2)
    for job in jobs:
        bench.fail(job)
    return jobs


# Statistics and the tally of events are counted up to the oldest open transaction.
COUNTED_LATER = ("event_tally", "statistics")


PAIRS = (
    Pair(
        "ACK and a sweep after the lease",
        two_active,
        lambda jobs: (Ack(jobs[0], "w", 1),),
        lambda jobs: (Sweep(0, FAR),),
        later_ms=2_000,
        afterwards=REST,
    ),
    Pair(
        "BEAT and a sweep after the lease",
        two_active,
        lambda jobs: (Beat("w", WorkerState.RUNNING, False, tuple(jobs)),),
        lambda jobs: (Sweep(0, FAR),),
        later_ms=2_000,
        afterwards=REST,
    ),
    Pair(
        "sweep and sweep after the leases",
        two_active,
        lambda jobs: (Sweep(0, FAR),),
        later_ms=2_000,
        afterwards=REST,
    ),
    Pair(
        "ACK and ACK",
        two_active,
        lambda jobs: (Ack(jobs[0], "w", 1), Ack(jobs[1], "w", 1)),
        lambda jobs: (Ack(jobs[1], "w", 1), Ack(jobs[0], "w", 1)),
    ),
    Pair(
        "ACK and FAIL",
        one_active,
        lambda job: (Ack(job, "w", 1),),
        lambda job: (Fail(job, BOOM, "w", 1),),
    ),
    Pair(
        "ACK and cancel",
        two_active,
        lambda jobs: (Ack(jobs[0], "w", 1),),
        lambda jobs: (Cancel(jobs[1]), Cancel(jobs[0])),
    ),
    Pair(
        "ACK and progress",
        two_active,
        lambda jobs: (Ack(jobs[0], "w", 1),),
        lambda jobs: (Advance(jobs[0], ProgressReport(0.5)),),
    ),
    Pair(
        "FAIL into dead letters and bulk retry",
        one_active,
        lambda job: (Fail(job, BOOM, "w", 1),),
        lambda job: (Bulk("retry", (job,)),),
        afterwards=REST,
    ),
    Pair(
        "bulk retries in opposite orders",
        _dead,
        lambda jobs: (Bulk("retry", tuple(jobs)),),
        lambda jobs: (Bulk("retry", tuple(reversed(jobs))),),
        afterwards=REST,
    ),
    Pair(
        "retry and removal of a dead letter",
        _dead,
        lambda jobs: (Revive(jobs[0]),),
        lambda jobs: (Remove(jobs[0]),),
        afterwards=REST,
    ),
    Pair(
        "retry and retention of a dead letter",
        _dead,
        lambda jobs: (Revive(jobs[1]),),
        lambda jobs: (Sweep(0, FAR, prune=True),),
        later_ms=1000 * DAY,
        afterwards=REST,
        apart=COUNTED_LATER,
    ),
    Pair(
        "bulk cancels in opposite orders",
        two_active,
        lambda jobs: (Bulk("cancel", tuple(jobs)),),
        lambda jobs: (Bulk("cancel", tuple(reversed(jobs))),),
    ),
    Pair(
        "ACK and purge",
        two_active,
        lambda jobs: (Ack(jobs[1], "w", 1),),
        lambda jobs: (Purge(tuple(jobs), "q", ("active",), cancel=True),),
    ),
    Pair(
        "cancel and claim",
        lambda bench: [bench.put(), bench.put()],
        lambda jobs: (Cancel(jobs[0]),),
        lambda jobs: claim("wb", 2),
    ),
)
