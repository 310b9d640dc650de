"""Measure jobs a second over HTTP: the server and the baseline on both stores, in turns.

python -m benchmarks.throughput --load PROGRAM [--jobs N] [--runs N] [--connections N,N] [--core N]
    [--store sqlite|postgres] [--check] [--peer]

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
from benchmarks.stand import STORES, Served, StoreKind, database, running, write_down

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
    connections: int
    phase: str
    jobs_per_s: float
    lowest: float
    highest: float
    cpu_us: float
    database_us: float
    of_floor: float
    cpu_of_floor: float


def run(
    generator: str, served: Served, jobs: int, connections: int, phases: Sequence[str] = PHASES
) -> dict[str, Sample]:
    """Every phase once."""
    found: dict[str, Sample] = {}
    for times, some in groupby(phases, key=lambda phase: TIMES.get(phase, 1)):
        found |= _load(generator, served, jobs * times, connections, some)
    return found


def _load(
    generator: str, served: Served, jobs: int, connections: int, phases: Iterable[str]
) -> dict[str, Sample]:
    """Phases with as many jobs each."""
    command = (
        *(generator, "-url", f"http://127.0.0.1:{served.port}", "-n", str(jobs)),
        *("-c", str(connections), "-phases", ",".join(phases)),
    )
    found: dict[str, Sample] = {}
    before = served.cpu_s(), served.database_cpu_s()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for text in process.stdout:
            line = msgspec.json.decode(text, type=Line)
            after = served.cpu_s(), served.database_cpu_s()
            if line.errors:
                raise RuntimeError(f"{line.errors} errors in the phase {line.phase}: {text!r}")
            used = [(new - old) * 1e6 / jobs for new, old in zip(after, before, strict=True)]
            found[line.phase] = Sample(line.jobs_per_s, *used)
            before = after
    return found


Runs = dict[str, list[dict[str, Sample]]]


def figures(store: StoreKind, connections: int, runs: Runs) -> list[Figures]:
    """Medians, spreads and ratios."""
    found = []
    for subject, mine in runs.items():
        for phase in PHASES:
            rates = [one[phase].jobs_per_s for one in mine]
            pairs = [
                (one[phase], floor[phase]) for one, floor in zip(mine, runs["floor"], strict=True)
            ]
            found.append(
                Figures(
                    subject=subject,
                    store=store,
                    connections=connections,
                    phase=phase,
                    jobs_per_s=statistics.median(rates),
                    lowest=min(rates),
                    highest=max(rates),
                    cpu_us=statistics.median(one[phase].cpu_us for one in mine),
                    database_us=statistics.median(one[phase].database_us for one in mine),
                    of_floor=statistics.median(
                        one.jobs_per_s / floor.jobs_per_s for one, floor in pairs
                    ),
                    cpu_of_floor=statistics.median(
                        floor.whole_us() / one.whole_us() for one, floor in pairs
                    ),
                )
            )
    return found


def measure(
    generator: str, store: StoreKind, jobs: int, connections: int, runs: int, core: int | None
) -> list[Figures]:
    """Measure the baseline and the server in turns, each on a fresh store."""
    samples: Runs = {subject: [] for subject in SUBJECTS}
    for _ in range(runs):
        for subject, module in SUBJECTS.items():
            with database(store) as address, running(module, address, core=core) as served:
                samples[subject].append(run(generator, served, jobs, connections))
    return figures(store, connections, samples)


def show(found: Sequence[Figures]) -> None:
    """Print a table."""
    print(
        f"{'':<8}{'store':<10}{'lines':>5} {'phase':<11}{'jobs/s':>8}{'lowest to highest':>20}"
        f"{'CPU µs/job':>12}{'database':>10}  of floor, in CPU"
    )
    for one in found:
        print(
            f"{one.subject:<8}{one.store:<10}{one.connections:>5} {one.phase:<11}"
            f"{one.jobs_per_s:>8,.0f}{f'{one.lowest:,.0f} to {one.highest:,.0f}':>20}"
            f"{one.cpu_us:>12.0f}{one.database_us:>10.0f}{one.of_floor:>10.0%}"
            f"{one.cpu_of_floor:>8.0%}"
        )


def program(name: str) -> str:
    """Return the name of a load generator; end the run where there is no such program."""
    if shutil.which(name) is None:
        raise SystemExit(f"{name!r} is no program; name a load generator (make bench LOAD=...)")
    return name


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where a ratio is too small."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--load", required=True, metavar="PROGRAM", help="the load generator")
    parser.add_argument(
        "--jobs", type=int, default=10_000, help="in each phase; five times as many in batches"
    )
    parser.add_argument("--connections", default="32", help="how many; several with commas")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--core", type=int, help="the core that server and floor have; any, unless it is named"
    )
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    parser.add_argument("--check", action="store_true", help="fail where the server is slower")
    parser.add_argument("--peer", action="store_true", help="one worker of procrastinate as well")
    given = parser.parse_args(arguments)
    generator = program(given.load)
    counts = [int(count) for count in given.connections.split(",")]
    found = [
        one
        for store in given.store or STORES
        for count in counts
        for one in measure(generator, store, given.jobs, count, given.runs, given.core)
    ]
    show(found)
    if given.peer and (why := PROCRASTINATE.missing()) is None:
        rate = PROCRASTINATE.measure(counts[-1])
        print(f"one worker of procrastinate on PostgreSQL: {rate:,.0f} jobs/s")
    elif given.peer:
        print(f"procrastinate was not measured: {why}")
    write_down("throughput", found)
    slower = [one for one in found if one.cpu_of_floor < LEAST[one.store][one.phase]]
    for one in slower if given.check else ():
        print(
            f"{one.store}: {one.phase} has come down to {one.cpu_of_floor:.0%} of the floor's "
            f"speed; at least {LEAST[one.store][one.phase]:.0%}",
            file=sys.stderr,
        )
    return 1 if given.check and slower else 0


if __name__ == "__main__":
    sys.exit(main())
