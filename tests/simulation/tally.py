"""Sums over many scenarios, kept in a file, so that a run that was ended goes on where it was."""

import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tests.simulation.play import Outcome
from tests.simulation.scenario import Scenario

# Findings of one oracle that are kept with their sentence; the others are only counted.
MOST_KEPT: Final = 20
ROOT: Final = Path(__file__).parents[2]


def oracle_of(wrong: str) -> str:
    """Return the name of the oracle that has said a sentence."""
    return wrong.split(":", 1)[0]


class Finding(msgspec.Struct, frozen=True):
    """A scenario in which something was wrong."""

    seed: int
    nodes: int | None
    profile: str
    oracle: str
    wrong: str
    version: str


class Tally(msgspec.Struct):
    """The sums."""

    # Seeds from `first` up to this one are done, and those in `ahead`.
    next_seed: int = 0
    ahead: list[int] = []
    seeds: int = 0
    shared_seeds: int = 0
    operations: int = 0
    # Operations in worlds of two nodes or more.
    shared_operations: int = 0
    steps: int = 0
    simulated_s: float = 0.0
    # Real time, over all processes that played side by side.
    took_s: float = 0.0
    fired: dict[str, int] = {}
    reached: dict[str, int] = {}
    failed: int = 0
    by_oracle: dict[str, int] = {}
    findings: list[Finding] = []
    versions: dict[str, int] = {}

    def add(self, scenario: Scenario, outcome: Outcome, asked: int | None, version: str) -> None:
        """Add the outcome of a scenario; `asked` is the number of nodes that was asked for."""
        nodes = scenario.options.nodes
        self.seeds += 1
        self.operations += outcome.operations
        if nodes > 1:
            self.shared_seeds += 1
            self.shared_operations += outcome.operations
        self.steps += outcome.steps
        self.simulated_s += outcome.seconds
        _count(self.fired, outcome.fired)
        _count(self.reached, outcome.reached)
        _count(self.versions, {version: 1})
        if outcome.wrongs:
            self.failed += 1
        for oracle, wrong in {oracle_of(one): one for one in reversed(outcome.wrongs)}.items():
            _count(self.by_oracle, {oracle: 1})
            if self.by_oracle[oracle] <= MOST_KEPT:
                profile = scenario.options.profile
                self.findings.append(
                    Finding(scenario.seed, asked, profile, oracle, wrong[:500], version)
                )

    def passed(self, seed: int) -> None:
        """Note that a seed need not be played again."""
        self.ahead.append(seed)
        while self.next_seed in self.ahead:
            self.ahead.remove(self.next_seed)
            self.next_seed += 1

    def left(self) -> Iterator[int]:
        """Yield the seeds that are not done, without end."""
        seed, done = self.next_seed, set(self.ahead)
        while True:
            if seed not in done:
                yield seed
            seed += 1

    def line(self) -> str:
        """The sums in a line."""
        speed = self.operations / self.took_s if self.took_s else 0.0
        return (
            f"{self.seeds:,} seeds, {self.operations:,} operations "
            f"({self.shared_operations:,} with 2 nodes or more), {self.steps:,} steps, "
            f"{self.simulated_s / 3600:.1f} simulated hours in {self.took_s:,.0f} s, "
            f"{speed:.0f} operations/s; {self.failed} failed"
        )

    def markdown(self) -> str:
        """The sums as tables."""
        rows = {
            "seeds": f"{self.seeds:,}",
            "seeds with 2 nodes or more": f"{self.shared_seeds:,}",
            "operations": f"{self.operations:,}",
            "operations with 2 nodes or more": f"{self.shared_operations:,}",
            "steps": f"{self.steps:,}",
            "simulated time": f"{self.simulated_s / 3600:,.1f} h",
            "real time": f"{self.took_s / 3600:,.2f} h",
            "faults fired": f"{sum(self.fired.values()):,}",
            "failed": f"{self.failed:,}",
        }
        parts = [_table(("sum", "value"), rows)]
        parts.append(_table(("fault", "fired"), _numbers(self.fired)))
        subjects: dict[str, dict[str, int]] = {}
        for name, count in self.reached.items():
            subject, _, rest = name.partition(" ")
            subjects.setdefault(subject, {})[rest] = count
        parts += [
            _table((subject, "reached"), _numbers(counts))
            for subject, counts in sorted(subjects.items())
        ]
        if self.findings:
            findings = {_name(one): _cell(one.wrong) for one in self.findings}
            parts.append(_table(("seed", "nodes", "profile", "oracle", "wrong"), findings))
        return "\n".join(parts)


def _name(finding: Finding) -> str:
    nodes = "drawn" if finding.nodes is None else str(finding.nodes)
    return " | ".join((str(finding.seed), nodes, finding.profile, finding.oracle))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _count(sums: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        sums[name] = sums.get(name, 0) + count


def _numbers(counts: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{count:,}" for name, count in Counter(counts).most_common()}


def _table(heads: tuple[str, ...], rows: Mapping[str, str]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(lines) + "\n"


def load(path: Path) -> Tally:
    """Return the sums of a file, or new ones."""
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=Tally)
    return Tally()


def save(tally: Tally, path: Path) -> None:
    """Write the sums, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(tally), indent=1))
    beside.replace(path)


def version() -> str:
    """Return the commit that is played, with a `+` if files were changed since."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
