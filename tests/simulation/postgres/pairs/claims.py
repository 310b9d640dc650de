"""FETCH against what changes the jobs that it looks for."""

import re
from typing import Final

from ojs_server.ops.jobs.priority import Prioritize
from ojs_server.ops.queues.control import Purge, SetPaused
from ojs_server.ops.queues.move_jobs import Move
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.workers.claim import Claim
from tests.ops.bench import Bench, enqueue
from tests.simulation.postgres.outcome import Outcome
from tests.simulation.postgres.pair import Pair

_FETCHED: Final = re.compile(r"FetchedJob\(claimed=Claimed\(job=Job\(id='([^']+)'")
FAR = 1 << 50
# Takes what is left after a duel.
REST = (Claim(("q", "r"), 9, "wz"),)


def three(bench: Bench) -> list[str]:
    """Three jobs that can be claimed."""
    return [bench.put() for _ in range(3)]


def _due(bench: Bench) -> str:
    job = bench.put(retry={"max_attempts": 3, "jitter": False, "initial_interval": "PT1S"})
    bench.take()
    bench.fail(job)
    return job


def _two_queues(bench: Bench) -> None:
    for queue in ("q", "r"):
        bench.put(queue=queue)
        bench.put(queue=queue)


def claim(worker: str, count: int = 2, *queues: str) -> tuple[Claim]:
    """A batch of one FETCH."""
    return (Claim(queues or ("q",), count, worker),)


def handed_out(text: str) -> list[str]:
    """The ids of the jobs that a FETCH was answered."""
    return _FETCHED.findall(text)


def _handed_out_once(jobs: list[str], outcome: Outcome) -> list[str]:
    """A FETCH passes over the jobs that are being moved; they can be had after that."""
    texts = (outcome.results[1], *(row for row in outcome.rows if row.startswith("after: ")))
    found = [handed_out(text) for text in texts]
    expected = [[jobs[2]], jobs[:2]]
    return [] if found == expected else [f"handed out are {found}, not {expected}"]


PAIRS = (
    Pair(
        "claim and claim",
        three,
        lambda jobs: claim("wa"),
        lambda jobs: claim("wb"),
        afterwards=REST,
    ),
    Pair(
        "claims of two queues in opposite orders",
        _two_queues,
        lambda known: claim("wa", 3, "q", "r"),
        lambda known: claim("wb", 3, "r", "q"),
        afterwards=REST,
    ),
    Pair(
        "claim and enqueue",
        three,
        lambda jobs: claim("wa", 9),
        lambda jobs: (enqueue(), enqueue(priority=5)),
        afterwards=REST,
    ),
    Pair(
        "claims that promote one retry",
        _due,
        lambda job: claim("wa"),
        lambda job: claim("wb"),
        later_ms=60_000,
        afterwards=REST,
    ),
    Pair(
        "claim and sweep that promote one retry",
        _due,
        lambda job: claim("wa"),
        lambda job: (Sweep(0, FAR),),
        later_ms=60_000,
        afterwards=REST,
        passes=(0,),
    ),
    Pair(
        "pause and claim",
        three,
        lambda jobs: (SetPaused("q", True),),
        lambda jobs: claim("wb"),
        afterwards=REST,
    ),
    Pair(
        "priority and claim",
        three,
        lambda jobs: (Prioritize(jobs[2], 7),),
        lambda jobs: claim("wb", 1),
        afterwards=REST,
    ),
    Pair(
        "move and claim",
        three,
        lambda jobs: (Move((jobs[0], jobs[1]), "q", "r"),),
        lambda jobs: claim("wb", 2, "q", "r"),
        afterwards=REST,
        third=_handed_out_once,
    ),
    Pair(
        "purge and claim",
        three,
        lambda jobs: (Purge(tuple(jobs), "q", ("available",)),),
        lambda jobs: claim("wb", 2),
    ),
)
