"""Sums of a run, kept in a file, so that a run that was ended goes on where it was."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.chaos.history import WRITES, Act, Fate, told
from tests.chaos.rounds import Played


class Story(msgspec.Struct, frozen=True):
    """A broken promise with every exchange about its job."""

    round: str
    wrong: str
    job: str
    said: str
    lines: list[str]


class Tally(msgspec.Struct):
    """The sums over all rounds of a run."""

    seed: int
    rounds: dict[str, int] = {}
    kills: dict[str, int] = {}
    jobs: int = 0
    # Number of those that were enqueued in transactions of programs.
    rows: int = 0
    exchanges: dict[str, int] = {}
    deliveries: int = 0
    # Writes whose client never heard of their outcome at the first try, by call.
    broken: dict[str, int] = {}
    unavailable: dict[str, int] = {}
    # Answers in the 500s that say something else than 503, and an example of each.
    unexpected: dict[str, int] = {}
    examples: dict[str, str] = {}
    least_in_flight: int | None = None
    writes_in_flight: int = 0
    # COMMITs that PostgreSQL was at when the kill came.
    commits_in_flight: int = 0
    kills_at_commit: int = 0
    unanswered_commits: int = 0
    seconds: float = 0.0
    stories: list[Story] = []

    def done(self, kinds: Iterable[str]) -> int:
        """The kills of these kinds."""
        return sum(count for kind, count in self.kills.items() if kind in kinds)

    def add(self, phase: str, played: Played, seconds: float) -> list[Story]:
        """Add a round; returns its stories."""
        name = f"{phase} {self.rounds.get(phase, 0)}"
        self.rounds[phase] = self.rounds.get(phase, 0) + 1
        self.jobs += played.jobs
        self.rows += played.rows
        self.seconds += seconds
        self.unanswered_commits += played.unanswered_commits
        exchanges, strikes = played.history.exchanges, played.history.strikes
        _count(self.kills, Counter(one.kind for one in strikes))
        _count(self.exchanges, Counter(one.act.value for one in exchanges))
        self.deliveries += sum(len(one.handed) for one in exchanges)
        writes = [one for one in exchanges if one.act in WRITES or one.act is Act.FETCH]
        _count(self.broken, Counter(one.act for one in writes if one.fate is Fate.BROKEN))
        silent = [one for one in exchanges if one.fate is Fate.UNAVAILABLE]
        _count(self.unavailable, Counter(one.act for one in silent if one.status == 503))
        for one in silent:
            if one.status != 503:
                kind = f"{one.status} to {one.act}"
                _count(self.unexpected, Counter([kind]))
                self.examples.setdefault(kind, one.said)
        for strike in strikes:
            least = self.least_in_flight
            self.least_in_flight = min(strike.writes, strike.writes if least is None else least)
            self.writes_in_flight += strike.writes
            self.commits_in_flight += strike.commits
            self.kills_at_commit += strike.commits > 0
        stories = [
            Story(name, one.wrong, one.job, one.said, told(exchanges, strikes, one.job))
            for one in played.violations
        ]
        self.stories += stories
        return stories

    def lines(self) -> list[str]:
        """The sums in words."""
        kills = sum(self.kills.values())
        mean = round(self.writes_in_flight / kills) if kills else 0
        lines = [
            f"seed {self.seed}: {kills} kills in {self.seconds:.0f} s ({_listed(self.kills)})",
            f"jobs: {self.jobs}, {self.rows} of them in transactions of programs, handed out "
            f"{self.deliveries} times; {_listed(self.exchanges)}",
            f"writes in flight at a kill: at least {self.least_in_flight or 0}, {mean} on average",
            f"COMMITs under way: {self.commits_in_flight}, in {self.kills_at_commit} kills; "
            f"COMMITs without an answer, by the nodes' logs: {self.unanswered_commits}",
            f"connections that broke during a call: {_listed(self.broken)}",
            f"calls answered 503: {_listed(self.unavailable)}",
        ]
        if self.unexpected:
            lines.append(f"other answers in the 500s: {_listed(self.unexpected)}")
            lines += [f"  {kind}: {said}" for kind, said in self.examples.items()]
        found = Counter(story.wrong for story in self.stories)
        lines.append(f"broken promises: {_listed(found) if found else 'none'}")
        return lines


def lines_of(story: Story) -> list[str]:
    """A story in lines."""
    return [
        f"{story.wrong.upper()} in round {story.round}: {story.job}: {story.said}",
        *story.lines,
    ]


def load(path: Path | None, seed: int) -> Tally:
    """The tally in the file, or a new one."""
    if path is None or not path.exists():
        return Tally(seed)
    return msgspec.json.decode(path.read_bytes(), type=Tally)


def save(tally: Tally, path: Path | None) -> None:
    """Replace the file in one step."""
    if path is not None:
        new = path.with_suffix(f"{path.suffix}.new")
        new.write_bytes(msgspec.json.format(msgspec.json.encode(tally), indent=1))
        new.replace(path)


def _count(sums: dict[str, int], more: Counter[str]) -> None:
    for name, number in more.items():
        sums[str(name)] = sums.get(str(name), 0) + number


def _listed(sums: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(sums.items())) or "none"
