"""``python -m tests.fuzz --requests 200000 --store postgres --seed 7``: raw bytes at the server.

Exit 0 where every connection was answered or ended in time, nothing was answered with a status
above 499 but 503, and the server is alive with nothing in its log; 1 otherwise. `--only N` plays
one shot again and shows it.
"""

import argparse
import asyncio
import itertools
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.fuzz.playing import BOUND_S, MOST_FAULTS, Player, Tally
from tests.fuzz.served import Served, served
from tests.fuzz.shots import Shooter
from tests.postgres import Run, Server
from tests.postgres_programs import chosen

# Number of shots after which the server is started again, in case one of them closed it.
PORTION: Final = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    with (
        _database(options.store) as database,
        tempfile.TemporaryDirectory() as folder,
        served(database, Path(folder) / "log") as server,
    ):
        tally = asyncio.run(_played(server, options))
        faults = [*tally.faults, *server.faults()]
    print(report_of(tally, time.monotonic() - began))
    for fault in faults:
        print(f"FAULT {fault}")
    return 1 if faults else 0


async def _played(server: Served, options: argparse.Namespace) -> Tally:
    shooter = Shooter(options.seed, f"{server.host}:{server.port}")
    player = Player(shooter, server.host, server.port, options.bound)
    if options.only is not None:
        shot = shooter.shot(options.only)
        print(shot.kind, shot.pieces)
        await player.play([options.only], 1)
        return player.tally
    for first in itertools.count(options.first, PORTION):
        await player.play(range(first, first + PORTION), options.at_once)
        server.open_again()
        done = player.tally.requests
        print(f"{done} requests, {len(player.tally.faults)} faults", flush=True)
        if done >= options.requests or len(player.tally.faults) >= MOST_FAULTS:
            break
    return player.tally


def report_of(tally: Tally, took_s: float) -> str:
    """A tally in words."""
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(tally.statuses.items()))
    kinds = ", ".join(f"{kind}: {n}" for kind, n in sorted(tally.kinds.items()))
    return (
        f"{tally.requests} requests on {tally.shots} connections in {took_s:.0f} s, "
        f"the slowest {tally.slowest_s:.1f} s, {len(tally.faults)} faults\n"
        f"  answers  {statuses}\n  shots    {kinds}"
    )


@contextmanager
def _database(store: str) -> Iterator[str]:
    if store == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/ojs.db"
        return
    run = Run()
    try:
        server = Server(chosen(run.folder), run.folder / "fuzz", durable=False)
        server.start()
        yield server.url
    finally:
        run.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000, help="how many, at least")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first shot")
    parser.add_argument("--only", type=int, help="play this shot alone, and show it")
    parser.add_argument("--at-once", type=int, default=16, help="connections at a time")
    parser.add_argument("--bound", type=float, default=BOUND_S, help="seconds for each of them")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
