"""Claims and ends of jobs under limits, which one row for many jobs decides."""

import re
from typing import Any, Final

from ojs_server.domain.limits.rate_limit import Policy
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.ops.jobs.settle import Ack, Cancel
from ojs_server.ops.limits.reopening import Override, Reopen
from ojs_server.ops.tenants.administration import SaveTenant
from tests.ops.bench import Bench, enqueue
from tests.ops.limits.test_queue_limits import configure
from tests.simulation.postgres.outcome import Outcome
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.claims import REST, claim, handed_out

ONE: dict[str, Any] = {"rate_limit": {"key": "k", "concurrency": 1}}
ACME: dict[str, Any] = {"meta": {"tenant_id": "acme"}}
SECOND: dict[str, Any] = {"rate_limit": {"key": "k", "rate": 1, "period": "second"}}
_STORED: Final = re.compile(r"StoredJob\(job=Job\(id='([^']+)'")


def _keyed(bench: Bench) -> list[str]:
    """A job that runs, and two that it keeps waiting."""
    jobs = [bench.put(**ONE) for _ in range(3)]
    bench.take("w")
    return jobs


def _free(bench: Bench) -> list[str]:
    return [bench.put(**ONE) for _ in range(3)]


def _in_queue(bench: Bench) -> list[str]:
    bench.do(configure(concurrency=1))
    jobs = [bench.put() for _ in range(3)]
    bench.take("w")
    return jobs


def _closed(bench: Bench) -> list[str]:
    jobs = [bench.put(**SECOND) for _ in range(3)]
    bench.take("w", 3)
    return jobs


def _bounded(bench: Bench) -> None:
    bench.do(configure(backpressure={"max_depth": 2}))
    bench.put()


def _dropping(bench: Bench) -> list[str]:
    """A full queue, in which a new job takes the place of the oldest one."""
    bench.do(configure(backpressure={"max_depth": 2, "strategy": "drop_oldest"}))
    return [bench.put(), bench.put()]


def _both_dropped(jobs: list[str], outcome: Outcome) -> list[str]:
    """The places of the new jobs are those of their transactions, whoever waited for the other."""
    new = {job for text in outcome.results for job in _STORED.findall(text)}
    (after,) = (handed_out(row) for row in outcome.rows if row.startswith("after: "))
    dropped = sum('"type":"job.discarded"' in row for row in outcome.rows)
    if sorted(after) == sorted(new) and len(new) == dropped == 2:
        return []
    return [f"stored: {new}, handed out: {after}, dropped: {dropped}"]


def _each_handed_out_once(jobs: list[str], outcome: Outcome) -> list[str]:
    """A FETCH that began before an enqueue leaves its job to the next one."""
    (new,) = _STORED.findall(outcome.results[1])
    fetched = handed_out(outcome.results[0])
    (after,) = (handed_out(row) for row in outcome.rows if row.startswith("after: "))
    found, expected = (fetched, after), ([jobs[1]], [new])
    return [] if found == expected else [f"handed out are {found}, not {expected}"]


def _tenant(bench: Bench) -> None:
    """A tenant that may have one job running and three waiting."""
    bench.do(SaveTenant("acme", Tenant(max_concurrency=1, max_queue_depth=3)))
    for _ in range(2):
        bench.put(**ACME)


def _next_but_one_is_free(jobs: list[str], outcome: Outcome) -> list[str]:
    """A release passes over the job that is being cancelled, whose cancel frees the next one."""
    released = [row for row in outcome.rows if '"type":"rate_limit.released"' in row]
    after = [handed_out(row) for row in outcome.rows if row.startswith("after: ")]
    states = {
        state: sum(row.startswith("jobs ") and f'"state":"{state}"' in row for row in outcome.rows)
        for state in ("completed", "cancelled")
    }
    if len(released) == 1 and after == [[jobs[2]]] and states == {"completed": 1, "cancelled": 1}:
        return []
    return [f"released: {released}, handed out after that: {after}, ended: {states}"]


PAIRS = (
    Pair(
        "claims under a key's concurrency",
        _free,
        lambda jobs: claim("wa"),
        lambda jobs: claim("wb"),
        afterwards=REST,
    ),
    Pair(
        "ACK that frees a key, and claim",
        _keyed,
        lambda jobs: (Ack(jobs[0], "w", 1),),
        lambda jobs: claim("wb"),
        afterwards=REST,
    ),
    Pair(
        "ACK that frees a key, and cancel of the next",
        _keyed,
        lambda jobs: (Ack(jobs[0], "w", 1),),
        lambda jobs: (Cancel(jobs[1]),),
        afterwards=REST,
        third=_next_but_one_is_free,
    ),
    Pair(
        "ACK that frees a key, and enqueue",
        _keyed,
        lambda jobs: (Ack(jobs[0], "w", 1),),
        lambda jobs: (enqueue(**ONE),),
        afterwards=REST,
    ),
    Pair(
        "change of a key's limit, and ACK",
        _keyed,
        lambda jobs: (Override("k", Policy(concurrency=2)),),
        lambda jobs: (Ack(jobs[0], "w", 1),),
        afterwards=REST,
    ),
    Pair(
        "reopening and reopening",
        _closed,
        lambda jobs: (Reopen(),),
        later_ms=5_000,
        afterwards=REST,
    ),
    Pair(
        "reopening and claim",
        _closed,
        lambda jobs: (Reopen(),),
        lambda jobs: claim("wb"),
        later_ms=5_000,
        afterwards=REST,
    ),
    Pair(
        "ACK and claim under a queue's concurrency",
        _in_queue,
        lambda jobs: (Ack(jobs[0], "w", 1),),
        lambda jobs: claim("wb"),
        afterwards=REST,
    ),
    Pair(
        "claims under a queue's concurrency",
        lambda bench: [bench.do(configure(concurrency=1)), *(bench.put() for _ in range(3))],
        lambda jobs: claim("wa"),
        lambda jobs: claim("wb"),
        afterwards=REST,
    ),
    Pair(
        "enqueues that drop the oldest",
        _dropping,
        lambda jobs: (enqueue(),),
        afterwards=REST,
        third=_both_dropped,
    ),
    Pair(
        "a claim, and an enqueue that drops the oldest",
        _dropping,
        lambda jobs: claim("wa"),
        lambda jobs: (enqueue(),),
        afterwards=REST,
        third=_each_handed_out_once,
    ),
    Pair(
        "claims of one tenant",
        _tenant,
        lambda known: claim("wa"),
        lambda known: claim("wb"),
        afterwards=REST,
    ),
    Pair(
        "enqueues of one tenant",
        _tenant,
        lambda known: (enqueue(**ACME),),
        afterwards=REST,
    ),
    Pair(
        "enqueues into a full queue",
        _bounded,
        lambda known: (enqueue(),),
        afterwards=REST,
    ),
)
