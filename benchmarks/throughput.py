"""Measure jobs a second over HTTP: the server and the baseline on both stores, in turns.

python -m benchmarks.throughput --load PROGRAM [--jobs N] [--runs N] [--core N] [--check] [--peer]

PROGRAM is a load generator that takes -url, -n, -c and -phases, and prints a line of JSON with
`phase` and `jobs_per_s` when a phase ends. With --check the run fails where the server has become
slower against the floor. It compares processor time: a ratio means the same on every machine, a
time does not, and jobs a second tell most about what else the machine does.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import msgspec

from benchmarks.peers import PROCRASTINATE
from benchmarks.stand import (
    STORES,
    Served,
    StoreKind,
    database,
    database_cpu_s,
    running,
    write_down,
)

PHASES: Final = ("enqueue", "drain", "lifecycle", "bulk")
# Factors of the number of jobs: batches are so fast that their phase would be too short.
TIMES: Final = {"bulk": 5}
# The server modules to measure, by name.
SUBJECTS: Final = {"floor": "benchmarks.floor", "server": "ojs_server"}
# Least processor time per job of the floor, as a share of that of the server and its database: a
# quarter to a half below the results of five runs on an idle machine.
LEAST: Final[dict[StoreKind, dict[str, float]]] = {
    "sqlite": {"enqueue": 0.50, "drain": 0.37, "lifecycle": 0.40, "bulk": 0.27},
    "postgres": {"enqueue": 0.50, "drain": 0.35, "lifecycle": 0.36, "bulk": 0.34},
}


class Line(msgspec.Struct):
    """The load generator's report on a phase."""

    phase: str
    jobs_per_s: float
    errors: int = 0


class Sample(msgspec.Struct, frozen=True):
    """One phase of one run."""

    jobs_per_s: float
    cpu_us: float
    database_us: float

    def whole_us(self) -> float:
        """Of both."""
        return self.cpu_us + self.database_us


class Figures(msgspec.Struct, frozen=True):
    """All runs of one phase, the medians; CPU in microseconds for each job.

    `of_floor` and `cpu_of_floor` are medians of the ratios of runs that followed each other.
    """

    subject: str
    store: StoreKind
    phase: str
    jobs_per_s: float
    lowest: float
    highest: float
    cpu_us: float
    database_us: float
    of_floor: float
    cpu_of_floor: float


def run(
    program: str,
    served: Served,
    address: str,
    jobs: int,
    connections: int,
    phases: Sequence[str] = PHASES,
) -> dict[str, Sample]:
    """Every phase once."""
    found: dict[str, Sample] = {}
    for times, some in groupby(phases, key=lambda phase: TIMES.get(phase, 1)):
        found |= _load(program, served, address, jobs * times, connections, some)
    return found


def _load(
    program: str,
    served: Served,
    address: str,
    jobs: int,
    connections: int,
    phases: Iterable[str],
) -> dict[str, Sample]:
    """Phases with as many jobs each."""
    command = (
        *(program, "-url", f"http://127.0.0.1:{served.port}", "-n", str(jobs)),
        *("-c", str(connections), "-phases", ",".join(phases)),
    )
    found: dict[str, Sample] = {}
    before = served.cpu_s(), database_cpu_s(address)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for text in process.stdout:
            line = msgspec.json.decode(text, type=Line)
            after = served.cpu_s(), database_cpu_s(address)
            if line.errors:
                raise RuntimeError(f"{line.errors} errors in the phase {line.phase}: {text!r}")
            used = [(new - old) * 1e6 / jobs for new, old in zip(after, before, strict=True)]
            found[line.phase] = Sample(line.jobs_per_s, *used)
            before = after
    return found


Runs = dict[str, list[dict[str, Sample]]]


def figures(store: StoreKind, runs: Runs) -> list[Figures]:
    """Medians, spreads and ratios."""
    found = []
    for subject, mine in runs.items():
        for phase in PHASES:
            rates = [run[phase].jobs_per_s for run in mine]
            pairs = [
                (sample[phase], floor[phase])
                for sample, floor in zip(mine, runs["floor"], strict=True)
            ]
            found.append(
                Figures(
                    subject=subject,
                    store=store,
                    phase=phase,
                    jobs_per_s=statistics.median(rates),
                    lowest=min(rates),
                    highest=max(rates),
                    cpu_us=statistics.median(run[phase].cpu_us for run in mine),
                    database_us=statistics.median(run[phase].database_us for run in mine),
                    of_floor=statistics.median(
                        sample.jobs_per_s / floor.jobs_per_s for sample, floor in pairs
                    ),
                    cpu_of_floor=statistics.median(
                        floor.whole_us() / sample.whole_us() for sample, floor in pairs
                    ),
                )
            )
    return found


def measure(
    program: str, store: StoreKind, jobs: int, connections: int, runs: int, core: int | None = None
) -> list[Figures]:
    """Measure the baseline and the server in turns, each on a fresh store."""
    samples: Runs = {subject: [] for subject in SUBJECTS}
    for _ in range(runs):
        for subject, module in SUBJECTS.items():
            with database(store) as address, running(module, address, core=core) as served:
                samples[subject].append(run(program, served, address, jobs, connections))
    return figures(store, samples)


def show(found: Sequence[Figures]) -> None:
    """Print a table."""
    print(
        f"{'':<8}{'store':<10}{'phase':<11}{'jobs/s':>8}{'lowest to highest':>20}"
        f"{'CPU µs/job':>12}{'database':>10}  of floor, in CPU"
    )
    for result in found:
        print(
            f"{result.subject:<8}{result.store:<10}{result.phase:<11}{result.jobs_per_s:>8,.0f}"
            f"{f'{result.lowest:,.0f} to {result.highest:,.0f}':>20}"
            f"{result.cpu_us:>12.0f}{result.database_us:>10.0f}{result.of_floor:>10.0%}"
            f"{result.cpu_of_floor:>8.0%}"
        )


def needs_load_generator(parser: argparse.ArgumentParser) -> None:
    """Make the load generator a required argument, and check that it exists."""
    parser.add_argument(
        "--load", required=True, type=_program, metavar="PROGRAM", help="the load generator"
    )


def _program(name: str) -> str:
    if shutil.which(name) is None:
        raise argparse.ArgumentTypeError(
            f"{name!r} is no program; name a load generator (make bench LOAD=...)"
        )
    return name


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where a ratio is too small."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    needs_load_generator(parser)
    parser.add_argument(
        "--jobs", type=int, default=10_000, help="in each phase; five times as many in batches"
    )
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--core", type=int, help="the core that server and floor have; any, unless it is named"
    )
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    parser.add_argument("--check", action="store_true", help="fail where the server is slower")
    parser.add_argument("--peer", action="store_true", help="one worker of procrastinate as well")
    given = parser.parse_args(arguments)
    found = [
        result
        for store in given.store or STORES
        for result in measure(
            given.load, store, given.jobs, given.connections, given.runs, given.core
        )
    ]
    show(found)
    if given.peer and (why := PROCRASTINATE.missing()) is None:
        rate = PROCRASTINATE.measure(given.connections)
        print(f"one worker of procrastinate on PostgreSQL: {rate:,.0f} jobs/s")
    elif given.peer:
        print(f"procrastinate was not measured: {why}")
    write_down("throughput", found)
    slower = [result for result in found if result.cpu_of_floor < LEAST[result.store][result.phase]]
    for row in slower if given.check else ():
        print(
            f"{row.store}: {row.phase} has come down to {row.cpu_of_floor:.0%} of the floor's "
            f"speed; at least {LEAST[row.store][row.phase]:.0%}",
            file=sys.stderr,
        )
    return 1 if given.check and slower else 0


if __name__ == "__main__":
    sys.exit(main())
