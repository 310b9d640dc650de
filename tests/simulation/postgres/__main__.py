"""``python -m tests.simulation.postgres [PAIR …] [--all] [--planted]``: play duels, and tell what
they came to. Without a name the pairs are listed."""

import argparse
import sys
import time
from collections.abc import Iterable
from typing import Final

from tests.simulation.postgres.arena import Arena
from tests.simulation.postgres.cuts import Cutter
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.all import PAIRS
from tests.simulation.postgres.place import arena
from tests.simulation.postgres.planted import PLANTED, found_by
from tests.simulation.postgres.verdict import Finding, Judge

_HEAD: Final = (
    "interleavings", "blocked", "deadlocks", "a;b", "b;a", "allowed", "differing",
    "cuts", "doubts", "stored", "undone", "wrong", "seconds",
)  # fmt: skip
_NAME_WIDTH: Final = 52


def main(arguments: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.postgres")
    parser.add_argument("pair", nargs="*", help="the name of a pair, or a part of it")
    parser.add_argument("--all", action="store_true", help="play all pairs")
    parser.add_argument("--no-cuts", action="store_true", help="cut no connections")
    parser.add_argument("--planted", action="store_true", help="plant known faults instead")
    given = parser.parse_args(arguments)
    chosen = [
        pair
        for name, pair in PAIRS.items()
        if given.all or any(part in name for part in given.pair)
    ]
    if given.planted:
        return _planted(given.pair)
    if not chosen:
        print(*PAIRS, sep="\n")
        return 2
    with arena() as made:
        return _play(made, chosen, cuts=not given.no_cuts)


def _play(made: Arena, pairs: Iterable[Pair], *, cuts: bool) -> int:
    print(_row("pair", _HEAD))
    findings: list[Finding] = []
    sums = [0.0] * len(_HEAD)
    for pair in pairs:
        started = time.monotonic()
        judge = Judge(made, pair)
        for schedule in judge.schedules():
            judge.play(schedule)
        cutter = Cutter(judge)
        if cuts:
            for cut, schedule in cutter.cuts():
                cutter.play(cut, schedule)
        seen, lost = judge.verdict, cutter.verdict
        findings += seen.findings + lost.findings
        figures = (
            *(seen.plays, seen.blocked, seen.deadlocks, seen.first_second, seen.second_first),
            *(seen.third, len(seen.findings)),
            *(lost.plays, lost.doubts, lost.stored, lost.undone, len(lost.findings)),
            time.monotonic() - started,
        )
        sums = [total + figure for total, figure in zip(sums, figures, strict=True)]
        print(_row(pair.name, (f"{figure:.0f}" for figure in figures)), flush=True)
    print(_row("all", (f"{figure:.0f}" for figure in sums)))
    for finding in findings:
        print(f"\n{finding.pair}, {finding.schedule}:", *finding.wrong, sep="\n  ")
        print("  steps:", ", ".join(finding.trace))
    return 1 if findings else 0


def _row(name: str, cells: Iterable[str]) -> str:
    widths = (max(7, len(word)) for word in _HEAD)
    return name.ljust(_NAME_WIDTH) + " ".join(
        cell.rjust(width) for cell, width in zip(cells, widths, strict=True)
    )


def _planted(parts: list[str]) -> int:
    missed = 0
    with arena() as made:
        for fault in PLANTED:
            if parts and not any(part in fault.name for part in parts):
                continue
            finding, plays = found_by(made, fault)
            missed += finding is None
            verdict = f"found after {plays} plays" if finding else f"NOT FOUND in {plays} plays"
            print(f"{fault.name}: {verdict} of {fault.pair}", flush=True)
            if finding is not None:
                print("  ", finding.schedule, finding.wrong[0][:200])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
