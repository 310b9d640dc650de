"""Plays in which one side loses its connection at a step: all of its batch is stored, or nothing.

What its node says must be what the rows say, and the other side goes on.
"""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from tests.simulation.postgres.arena import Play
from tests.simulation.postgres.duel import Duel, Watch
from tests.simulation.postgres.schedule import Schedule, serial
from tests.simulation.postgres.side import Side
from tests.simulation.postgres.verdict import Finding, Judge


class How(StrEnum):
    """The moment at which a connection ends, and who ends it."""

    BEFORE = "cut before"
    AFTER = "cut after"
    TERMINATED_BEFORE = "terminated before"
    TERMINATED_AFTER = "terminated after"

    @property
    def terminates(self) -> bool:
        """True if the database ends it."""
        return self in (How.TERMINATED_BEFORE, How.TERMINATED_AFTER)

    @property
    def answers(self) -> bool:
        """True if the statement is carried out, and only its answer is lost."""
        return self in (How.AFTER, How.TERMINATED_AFTER)


class Cut(msgspec.Struct, frozen=True):
    """One lost connection."""

    side: int
    step: int
    how: How

    def __str__(self) -> str:
        return f"{'ab'[self.side]} {self.how} step {self.step}"


class CutVerdict(msgspec.Struct):
    """The count of plays with a lost connection."""

    plays: int = 0
    # Plays in which the node had to ask for the outcome of its COMMIT.
    doubts: int = 0
    stored: int = 0
    undone: int = 0
    findings: list[Finding] = []


class Cutting(Watch):
    """Cuts a connection at a step."""

    def __init__(self, duel: Duel, cut: Cut) -> None:
        self._duel = duel
        self._cut = cut
        self.done = False

    def _is_at(self, side: Side, step: int) -> bool:
        return not self.done and side is self._duel.sides[self._cut.side] and step == self._cut.step

    def before(self, side: Side, step: int) -> bool:
        """Cut the connection, or see to it that the answer to the step does not arrive."""
        link = side.held
        if link is None or not self._is_at(side, step):
            return False
        if self._cut.how.answers:
            link.muted = True
            return False
        self.done = True
        self._duel.cut(side, link, terminate=self._cut.how.terminates)
        return True

    def after(self, side: Side, step: int) -> None:
        """Cut the connection when the step has been carried out."""
        if self._is_at(side, step):
            self.done = True
            link = side.last_link
            self._duel.await_answer(link)
            self._duel.cut(side, link, terminate=self._cut.how.terminates)


class Cutter:
    """Cuts the connections of a pair."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._arena = judge.arena
        self.verdict = CutVerdict()

    def cuts(self) -> Iterator[tuple[Cut, Schedule]]:
        """Every step of each side, in turns while the other has not begun and is half done."""
        lengths = self._judge.lengths
        for side in (0, 1):
            # Of several operations each may be carried out by itself after that.
            if len(self._arena.batches()[side]) > 1:
                continue
            half = max(1, lengths[1 - side] // 2)
            for step in range(1, lengths[side] + 1):
                for place, how in enumerate(How):
                    late = (step + place) % 2
                    schedule = Schedule(1 - side, half, 1 << 20) if late else serial(side)
                    yield Cut(side, step, how), schedule

    def play(self, cut: Cut, schedule: Schedule) -> Play:
        """Play a schedule with a cut, and judge what came of it.

        A batch that decides after the other one may take fewer steps, and is not cut then.
        """
        tries: list[Cutting] = []

        def watch() -> Cutting:
            tries.append(Cutting(self._arena.duel, cut))
            return tries[-1]

        play = self._arena.play(schedule, watch)
        if tries[-1].done:
            self._count(cut, play)
        return play

    def _count(self, cut: Cut, play: Play) -> None:
        verdict = self.verdict
        verdict.plays += 1
        doubted = self._arena.doubts[cut.side]
        verdict.doubts += doubted
        text = play.outcome.results[cut.side]
        if "Unavailable:" in text:
            alone = self._judge.alone(1 - cut.side)
            verdict.undone += 1
            apart = self._judge.pair.apart
            outcome = play.outcome.without(cut.side).apart_from(apart)
            wrong = outcome.differences(alone.apart_from(apart))
        else:
            verdict.stored += 1
            wrong = self._judge.wrong(play)
        if wrong:
            self._judge.blame(verdict.findings, f"{play.schedule}, {cut}", wrong, play)
