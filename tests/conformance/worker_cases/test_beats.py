"""The interval of BEATs is judged by the worker's delays, and not by those of the suite."""

from collections.abc import Sequence
from itertools import accumulate

import pytest

from conformance.play.worker_stage import WorkerStage
from conformance.played.calls import Kind
from conformance.played.record import WorkerRequest
from conformance.processes.worker import times
from conformance.verdicts.reply import CheckFailed
from conformance.worker_cases.beats import come_at_the_interval

# At a tenth of the usual times the interval is 0.5 s, and six BEATs may take 4 s.
SCALE = 0.1


def beats(gaps: Sequence[float], unread: Sequence[float]) -> list[WorkerRequest]:
    return [
        WorkerRequest(
            number=number, at=at, unread_s=late, kind=Kind.BEAT, method="POST", path="/heartbeat"
        )
        for number, (at, late) in enumerate(zip(accumulate([1000, *gaps]), unread, strict=True))
    ]


@pytest.mark.parametrize(
    ("gaps", "unread"),
    [
        ([0.5] * 5, [0] * 6),
        ([0.78] * 5, [0] * 6),
        # Each was read late, and the worker waited for its answer.
        ([0.86] * 5, [0, 0.1, 0.05, 0.05, 0.1, 0.05]),
        # The first was read late, the others were not.
        ([0.05, *[0.25] * 4], [0.4, 0, 0, 0, 0, 0]),
    ],
)
def test_a_worker_that_beats_in_time_passes(gaps: list[float], unread: list[float]) -> None:
    come_at_the_interval(WorkerStage(["worker"], times(SCALE)), beats(gaps, unread))


@pytest.mark.parametrize(
    ("gaps", "unread"),
    [
        ([0.86] * 5, [0] * 6),
        # Four times the interval, on a machine under load.
        ([2.0] * 5, [0.3] * 6),
        # The delay of the first BEAT is before all intervals.
        ([0.86] * 5, [5, 0, 0, 0, 0, 0]),
        ([0.2] * 5, [0] * 6),
        ([0.2] * 5, [0, 5, 5, 5, 5, 5]),
    ],
)
def test_a_worker_that_beats_too_rarely_or_too_often_fails(
    gaps: list[float], unread: list[float]
) -> None:
    with pytest.raises(CheckFailed, match="BEATs at intervals of"):
        come_at_the_interval(WorkerStage(["worker"], times(SCALE)), beats(gaps, unread))
