"""Play all schedules of a pair, and judge their outcomes by the two serial ones."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from tests.simulation.postgres.arena import Arena, Play
from tests.simulation.postgres.outcome import Outcome
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.schedule import Schedule, schedules

# The results of a FETCH, and of a sweep, that found nothing.
NOTHING: Final = (": ()", "matured=0, lapsed=0, dead=0, noticed=0, removed=0, more=False)")
_OF_WORKER: Final = re.compile(r'workers |outcomes |events \{.*"type":"worker\.')


class Finding(msgspec.Struct, frozen=True):
    """A play that came to what it must not, with what is wrong and its steps."""

    pair: str
    schedule: str
    wrong: list[str]
    trace: list[str]


class Verdict(msgspec.Struct):
    """The count of the plays of a pair."""

    pair: str
    plays: int = 0
    # Plays in which one side waited for a lock of the other.
    blocked: int = 0
    deadlocks: int = 0
    # Plays whose outcome is that of the first batch before the second one, and the other way round.
    first_second: int = 0
    second_first: int = 0
    # Plays with an outcome of their own that the pair allows.
    third: int = 0
    findings: list[Finding] = []


class Judge:
    """Knows the serial outcomes of one pair."""

    def __init__(self, arena: Arena, pair: Pair) -> None:
        self.arena = arena
        self.pair = pair
        arena.enter(pair)
        self.serial = arena.serial()
        self._alone: dict[int, Outcome] = {}
        self.verdict = Verdict(pair.name)

    @property
    def lengths(self) -> tuple[int, int]:
        """The number of steps that each batch takes by itself."""
        first, second = self.serial
        return (first.steps[0], second.steps[1])

    def schedules(self) -> Iterable[Schedule]:
        """Every schedule; where the one that comes later takes more steps, these, too."""
        most = [max(each.steps[side] for each in self.serial) for side in (0, 1)]
        return schedules((most[0], most[1]))

    def play(self, schedule: Schedule) -> Play:
        """Play a schedule, and count its outcome."""
        play = self.arena.play(schedule)
        self.count(play)
        return play

    def count(self, play: Play) -> None:
        """Judge one play."""
        verdict = self.verdict
        verdict.plays += 1
        verdict.blocked += play.played.blocked > 0
        verdict.deadlocks += play.played.deadlocks
        first, second = (one.outcome for one in self.serial)
        wrong = self.wrong(play)
        if wrong:
            self.blame(verdict.findings, str(play.schedule), wrong, play)
        elif play.outcome == first:
            verdict.first_second += 1
        elif play.outcome == second:
            verdict.second_first += 1
        else:
            verdict.third += 1

    def wrong(self, play: Play) -> list[str]:
        """Tell what is wrong with a play, if anything."""
        pair, outcome = self.pair, play.outcome.apart_from(self.pair.apart)
        serial = [one.outcome.apart_from(pair.apart) for one in self.serial]
        if outcome in serial or any(self._passed_over(side, outcome) for side in pair.passes):
            return play.faults
        if pair.third is not None:
            return play.faults + pair.third(self.arena.known, outcome)
        differences = [outcome.differences(one) for one in serial]
        return play.faults + min(differences, key=len)

    def _passed_over(self, side: int, outcome: Outcome) -> bool:
        """True if a side has found nothing, and the other one was as if it were alone."""
        alone = self.alone(1 - side).apart_from(self.pair.apart)
        expected = {*alone.rows}
        return (
            outcome.results[side].endswith(NOTHING)
            and outcome.results[1 - side] == alone.results[1 - side]
            and expected <= {*outcome.rows}
            and all(_OF_WORKER.match(row) for row in {*outcome.rows} - expected)
        )

    def alone(self, side: int) -> Outcome:
        """Return the outcome of one batch without the other."""
        if side not in self._alone:
            self._alone[side] = self.arena.play_alone(side).outcome
        return self._alone[side]

    def blame(self, findings: list[Finding], schedule: str, wrong: list[str], play: Play) -> None:
        """Keep a play that went wrong."""
        findings.append(Finding(self.pair.name, schedule, wrong, play.played.trace))
