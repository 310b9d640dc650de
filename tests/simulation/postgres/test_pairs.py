"""Dangerous pairs, in a few of the orders in which they can meet; the command plays all."""

from typing import Final

import pytest

from tests.simulation.postgres.arena import Arena
from tests.simulation.postgres.cuts import Cutter
from tests.simulation.postgres.pairs.all import PAIRS
from tests.simulation.postgres.planted import PLANTED, Fault, found_by
from tests.simulation.postgres.schedule import Schedule
from tests.simulation.postgres.verdict import Judge

CHOSEN: Final = (
    *("claim and claim", "claim and enqueue", "claims that promote one retry"),
    *("ACK and a sweep after the lease", "ACK and cancel", "cancel and claim"),
    *("FAIL into dead letters and bulk retry", "bulk retries in opposite orders"),
    *("unique and unique", "unique keys in opposite orders", "replacement and ACK"),
    *("the last steps of a group", "a step of a chain ends, and the chain is cancelled"),
    *("fire and fire", "BEAT and the death of the worker", "deregistration and FETCH"),
    *("claims under a key's concurrency", "ACK that frees a key, and claim"),
)
TO_THE_END: Final = 1 << 20
FEW: Final = 7
QUICK: Final = (
    "unique keys are looked up without their lock",
    "unique keys are locked in the order of the request",
    "claims do not lock the jobs that they pick",
    "the log is read beyond open transactions",
    "a COMMIT without an answer counts as undone",
)


@pytest.mark.parametrize("name", CHOSEN)
def test_two_batches_come_to_what_they_would_one_after_the_other(arena: Arena, name: str) -> None:
    judge = Judge(arena, PAIRS[name])
    lengths = judge.lengths
    judge.play(Schedule(0, 1, TO_THE_END))
    for side in (0, 1):
        # It has its locks, and has not stored anything yet.
        judge.play(Schedule(side, lengths[side] - 2, TO_THE_END))
    assert judge.verdict.findings == []


@pytest.mark.parametrize("name", ["ACK and FAIL", "fire and fire"])
def test_a_batch_whose_connection_is_lost_is_stored_whole_or_not_at_all(
    arena: Arena, name: str
) -> None:
    """And its node tells which."""
    cutter = Cutter(Judge(arena, PAIRS[name]))
    for cut, schedule in list(cutter.cuts())[::FEW]:
        cutter.play(cut, schedule)
    verdict = cutter.verdict
    assert verdict.findings == []
    assert verdict.stored > 0
    assert verdict.undone > 0
    assert verdict.doubts > 0


@pytest.mark.parametrize(
    "fault", [one for one in PLANTED if one.name in QUICK], ids=lambda one: one.name
)
def test_a_planted_fault_is_found(arena: Arena, fault: Fault) -> None:
    finding, _ = found_by(arena, fault)
    assert finding is not None
    assert finding.wrong


def test_every_fault_is_planted_in_a_pair() -> None:
    assert {fault.pair for fault in PLANTED} <= {*PAIRS}
    assert {*QUICK} <= {fault.name for fault in PLANTED}
