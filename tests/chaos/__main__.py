"""``python -m tests.chaos``: kills databases and nodes under load; `make chaos`.

Every job of every round is accounted for; the first line of tests/chaos/accounting.py says how.
Exit 0 where no promise was broken, 1 where one was or the servers did not come back, 2 where it
was ended, or the time was over, before all kills were done; with --state the same command goes on.
"""

import argparse
import asyncio
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import psycopg

from conformance.language.nearest import nearest
from tests.chaos.cluster import Cluster
from tests.chaos.file_kinds import FILES
from tests.chaos.files import Files
from tests.chaos.kinds import FAILOVERS, KILLS, planned
from tests.chaos.rounds import Size, file_stage, play, stage
from tests.chaos.tally import Tally, lines_of, load, save
from tests.e2e.node import Node
from tests.postgres import Run
from tests.postgres_programs import DISTRIBUTION, MISSING, distribution, of_wheel

# Kills in a round, whose history is in memory.
ROUND: Final = {"kills": 20, "failovers": 5, "blows": 20}
Print = Callable[[str], None]


def main(arguments: Sequence[str] | None = None, output: Print = print) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    known = {*KILLS, *FAILOVERS, *FILES}
    chosen = options.kinds.split(",") if options.kinds else list(known)
    for kind in chosen:
        if kind not in known:
            output(f"no kill is called {kind!r} ({nearest(kind, known)})")
            return 2
    tally = load(options.state, random.randrange(10**9) if options.seed is None else options.seed)
    output(f"seed {tally.seed}, {sum(tally.kills.values())} kills done before")
    run, code = Run(), 1
    try:
        code = asyncio.run(_campaign(options, chosen, tally, run.folder, output))
    except* (TimeoutError, RuntimeError, psycopg.Error) as group:
        for error in _leaves(group):
            output(f"STOPPED: {type(error).__name__}: {error}")
        code = 1
    except* asyncio.CancelledError:
        output("ended by a signal; the round that was played is not counted")
        code = 2
    finally:
        run.close()
    for line in tally.lines():
        output(line)
    return 1 if tally.stories else code


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


async def _campaign(
    options: argparse.Namespace,
    chosen: list[str],
    tally: Tally,
    folder: Path,
    output: Print,
) -> int:
    """Play rounds until there were enough kills; 2 where the time was over before."""
    campaign = asyncio.current_task()
    assert campaign is not None
    for sig in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sig, campaign.cancel)
    end = time.monotonic() + 60 * options.minutes
    for phase, wanted, all_kinds in (
        ("kills", options.kills, KILLS),
        ("failovers", options.failovers, FAILOVERS),
        ("blows", options.blows, FILES),
    ):
        kinds = [kind for kind in all_kinds if kind in chosen]
        if not kinds or tally.done(kinds) >= wanted:
            continue
        async with _stage(options, phase, folder) as (database, nodes):
            while (left := wanted - tally.done(kinds)) > 0:
                if time.monotonic() > end:
                    output("the time is over")
                    return 2
                number = tally.rounds.get(phase, 0)
                luck = random.Random(f"{tally.seed}:{phase}:{number}")
                begun = time.monotonic()
                plan = planned(kinds, min(left, ROUND[phase]), tally.done(kinds), luck)
                size = Size(options.producers, options.workers, options.programs)
                played = await play(database, nodes, f"{phase}-{number}", plan, luck, size)
                stories = tally.add(phase, played, time.monotonic() - begun)
                save(tally, options.state)
                for story in stories:
                    output("\n".join(lines_of(story)))
                output(
                    f"{phase} {tally.done(kinds)} of {wanted}: {played.jobs} jobs in "
                    f"{time.monotonic() - begun:.1f} s, {len(stories)} broken promises"
                )
    return 0


def _stage(
    options: argparse.Namespace, phase: str, folder: Path
) -> AbstractAsyncContextManager[tuple[Cluster | Files, list[Node]]]:
    if phase == "blows":
        return file_stage(folder)
    return stage(
        _programs(options.postgres, folder),
        folder,
        nodes=options.nodes,
        flush_ms=options.flush_ms,
        standby=phase == "failovers",
    )


def _programs(name: str, folder: Path) -> Path:
    found = distribution() if name == DISTRIBUTION else of_wheel(folder)
    if found is None:
        raise RuntimeError(MISSING)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="of one PostgreSQL")
    parser.add_argument(
        "--failovers", type=int, default=10, metavar="N", help="to a synchronous standby"
    )
    parser.add_argument("--blows", type=int, default=20, metavar="N", help="to a SQLite database")
    parser.add_argument(
        "--kinds",
        default="",
        metavar="A,B",
        help=f"only these: {', '.join([*KILLS, *FAILOVERS, *FILES])}",
    )
    parser.add_argument(
        "--postgres",
        choices=(DISTRIBUTION, "newer"),
        default=DISTRIBUTION,
        help="the distribution's, or the newer one that the tests bring",
    )
    parser.add_argument("--seed", type=int, help="of all that is left to chance; else a new one")
    parser.add_argument(
        "--state", type=Path, metavar="FILE", help="where the sums are kept, to go on later"
    )
    parser.add_argument("--minutes", type=float, default=60, help="no round begins after so many")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--producers", type=int, default=Size().producers)
    parser.add_argument("--workers", type=int, default=Size().workers)
    parser.add_argument("--programs", type=int, default=Size().programs)
    parser.add_argument(
        "--flush-ms", type=float, default=5, help="what a commit takes at least, as on a slow disk"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(output=lambda line: print(line, flush=True)))
