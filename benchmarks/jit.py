"""Compare the distribution's PostgreSQL as it ships to the same with JIT off, in turns.

python -m benchmarks.jit --load PROGRAM [--jobs N] [--runs N] [--check]

With --check the run fails where the first does less than 85 % of the second's jobs for the same
processor time, of the server and the database: jobs a second tell what else the machine does, too.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec
import psycopg

from benchmarks.stand import Served, database, running, write_down
from benchmarks.throughput import Sample, needs_load_generator, run
from tests import postgres_programs

SHIPPED: Final = "as it ships"
WITHOUT: Final = "jit=off"
SETTINGS: Final[dict[str, Sequence[str]]] = {SHIPPED: (), WITHOUT: (WITHOUT,)}
PHASES: Final = ("enqueue", "drain", "lifecycle")
LEAST: Final = 0.85
# Runs by name; each maps its phases to figures.
Samples = dict[str, list[dict[str, Sample]]]


class Figures(msgspec.Struct, frozen=True):
    """Medians of one phase: jobs a second, and ratios of runs that followed each other."""

    postgres: str
    phase: str
    shipped: float
    without: float
    ratio: float
    cpu_ratio: float


def version_of(address: str) -> str:
    """Return the version of a server; raise if it was built without JIT."""
    with psycopg.connect(address) as connection:
        ((version, has_jit),) = connection.execute(
            "SELECT current_setting('server_version'), pg_jit_available()"
        ).fetchall()
    if not has_jit:
        raise RuntimeError("this PostgreSQL has no JIT; install the package that brings it")
    return str(version)


def measure(program: str, programs: Path, jobs: int, connections: int, runs: int) -> list[Figures]:
    """Run every phase on both servers in turns, as the speed of a machine changes with time."""
    samples: Samples = {name: [] for name in SETTINGS}
    with ExitStack() as opened:
        places: dict[str, tuple[Served, str]] = {}
        for name, settings in SETTINGS.items():
            address = opened.enter_context(database("postgres", programs, settings))
            places[name] = (opened.enter_context(running("ojs_server", address)), address)
        version = version_of(places[SHIPPED][1])
        for number in range(runs):
            # Alternate, so that neither has an advantage from its order.
            for name in sorted(SETTINGS, reverse=bool(number % 2)):
                samples[name].append(run(program, *places[name], jobs, connections, PHASES))
    return figures(version, samples)


def figures(version: str, samples: Samples) -> list[Figures]:
    """Medians of each phase."""
    found = []
    for phase in PHASES:
        shipped, without = (
            [sample[phase] for sample in samples[name]] for name in (SHIPPED, WITHOUT)
        )
        pairs = list(zip(shipped, without, strict=True))
        found.append(
            Figures(
                postgres=version,
                phase=phase,
                shipped=statistics.median(sample.jobs_per_s for sample in shipped),
                without=statistics.median(sample.jobs_per_s for sample in without),
                ratio=statistics.median(a.jobs_per_s / b.jobs_per_s for a, b in pairs),
                cpu_ratio=statistics.median(b.whole_us() / a.whole_us() for a, b in pairs),
            )
        )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where a ratio is too small."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.jit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    needs_load_generator(parser)
    parser.add_argument("--jobs", type=int, default=2_000, help="in each phase")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--check", action="store_true", help="fail where a ratio is too small")
    given = parser.parse_args(arguments)
    programs = postgres_programs.distribution()
    if programs is None:
        parser.error(postgres_programs.MISSING)
    found = measure(given.load, programs, given.jobs, given.connections, given.runs)
    print(f"PostgreSQL {found[0].postgres}, jobs/s")
    print(f"{'phase':<11}{SHIPPED:>12}{WITHOUT:>10}  ratio, in CPU")
    for result in found:
        print(
            f"{result.phase:<11}{result.shipped:>12,.0f}{result.without:>10,.0f}{result.ratio:>7.0%}"
            f"{result.cpu_ratio:>8.0%}"
        )
    write_down("jit", found)
    slow = [result for result in found if result.cpu_ratio < LEAST]
    for result in slow if given.check else ():
        print(
            f"{result.phase}: {result.cpu_ratio:.0%} in CPU; at least {LEAST:.0%}", file=sys.stderr
        )
    return 1 if given.check and slow else 0


if __name__ == "__main__":
    sys.exit(main())
