"""The command line of the simulation."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.simulation.commands import corpus, planted, replay, seeds, shrink
from tests.simulation.draw import PROFILES
from tests.simulation.tally import ROOT, load

STATE: Final = ROOT / "build" / "simulation" / "state.json"
Print = Callable[[str], None]
DESCRIPTION: Final = """\
Simulate whole systems: nodes, workers, clients, network and disks in one process per seed.

Exit 0 if nothing was wrong (with --planted: if each bug was found), 1 otherwise.
"""


def main(arguments: Sequence[str] | None = None, output: Print = print) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    if options.totals:
        output(load(options.state).markdown())
        return 0
    if options.replay is not None:
        return replay.seed(options, output)
    if options.replay_file is not None:
        return replay.file(options.replay_file, output)
    if options.corpus:
        return corpus.run(options.jobs, output)
    if options.shrink is not None:
        return shrink.run(options, output)
    if options.planted is not None:
        return planted.run(options, output)
    if options.long:
        return seeds.resumed(options, output)
    return seeds.run(options, output)


def _span(given: str) -> range:
    first, _, last = given.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--seeds", type=_span, default=range(20), metavar="A:B", help="from A, before B"
    )
    what.add_argument(
        "--long", action="store_true", help="on from the last seed of --state, and keep the sums"
    )
    what.add_argument("--totals", action="store_true", help="print the sums of --state")
    what.add_argument("--replay", type=int, metavar="SEED", help="play one seed, with its trace")
    what.add_argument("--replay-file", type=Path, metavar="FILE", help="play a kept scenario")
    what.add_argument("--corpus", action="store_true", help="play all kept scenarios")
    what.add_argument(
        "--shrink", metavar="SEED", help="make a failing scenario smaller; or that of a file"
    )
    parser.add_argument(
        "--profile", choices=("mixed", *PROFILES), default="mixed", help="faults of one sort alone"
    )
    parser.add_argument("--storm", type=float, metavar="S", help="end each storm after S seconds")
    parser.add_argument("--nodes", type=int, metavar="N", help="nodes; else a number is drawn")
    parser.add_argument(
        "--planted", metavar="NAME", help="plant a bug, and play until it is found; `all` for all"
    )
    parser.add_argument("--oracle", metavar="NAME", help="with --shrink: what has to see it")
    parser.add_argument("--digests", action="store_true", help="print the digest of each seed")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="seeds side by side")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin no seed after so many")
    parser.add_argument("--runs", type=int, default=200, help="of --shrink, at most")
    parser.add_argument("--state", type=Path, default=STATE, help="of --long and --totals")
    parser.add_argument("--into", type=Path, metavar="FILE", help="where --shrink writes")
    return parser
