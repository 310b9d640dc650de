"""Steps of one workflow that end at the same time."""

from typing import Any

from ojs_server.ops.jobs.settle import Ack, Fail
from ojs_server.ops.workflows.operations import CancelWorkflow, Retry
from tests.ops.bench import Bench
from tests.ops.flows import Flows, callbacks, chain, group, job
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.claims import REST
from tests.simulation.postgres.pairs.settling import BOOM

ONCE: dict[str, Any] = {"retry": {"max_attempts": 1}}


def _joined(bench: Bench) -> list[str]:
    """Two members of a group that a step follows."""
    Flows(bench).start(chain(group(job(**ONCE), job(**ONCE)), job("then")))
    return bench.take_ids("w", 2)


def _batch(bench: Bench) -> list[str]:
    Flows(bench).start(
        callbacks(
            job(**ONCE),
            job(**ONCE),
            on_complete=job("done"),
            on_success=job("well"),
            on_failure=job("no"),
        )
    )
    return bench.take_ids("w", 2)


def _chain(bench: Bench) -> tuple[str, str]:
    flow = Flows(bench).start(chain(job("one"), job("two")))
    (first,) = bench.take_ids("w")
    return flow, first


def _failed(bench: Bench) -> tuple[str, str]:
    flow = Flows(bench).start(group(job(**ONCE)))
    (step,) = bench.take_ids("w")
    bench.fail(step)
    return flow, step


def _ends(jobs: list[str]) -> tuple[Ack]:
    return (Ack(jobs[0], "w", 1),)


PAIRS = (
    Pair(
        "the last steps of a group",
        _joined,
        _ends,
        lambda jobs: (Ack(jobs[1], "w", 1),),
        afterwards=REST,
    ),
    Pair(
        "the last steps of a batch",
        _batch,
        _ends,
        lambda jobs: (Ack(jobs[1], "w", 1),),
        afterwards=REST,
    ),
    Pair(
        "a step of a batch ends, and one fails",
        _batch,
        _ends,
        lambda jobs: (Fail(jobs[1], BOOM, "w", 1),),
        afterwards=REST,
    ),
    Pair(
        "a step of a chain ends, and the chain is cancelled",
        _chain,
        lambda known: (Ack(known[1], "w", 1),),
        lambda known: (CancelWorkflow(known[0]),),
        afterwards=REST,
    ),
    Pair(
        "two cancels of a workflow",
        _chain,
        lambda known: (CancelWorkflow(known[0]),),
        afterwards=REST,
    ),
    Pair(
        "two retries of a workflow",
        _failed,
        lambda known: (Retry(known[0], frozenset({known[1]})),),
        afterwards=REST,
    ),
)
