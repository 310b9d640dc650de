"""Jobs in a second over HTTP: the server on both stores beside the floor, in turns.

python -m benchmarks.throughput --load PROGRAM [--jobs N] [--runs N] [--at-least RATIO]

PROGRAM is a load generator that takes -url, -n, -c and -phases, and prints a line of JSON with
`phase` and `jobs_per_s` when a phase ends. With --at-least the run fails where the server on SQLite
reaches less than this part of the floor: a ratio means the same on every machine, a time does not.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks.stand import Served, StoreKind, database, running, write_down

PHASES: Final = ("enqueue", "drain", "lifecycle", "bulk")
# What is measured: a name, the module that serves, and its store.
SUBJECTS: Final[tuple[tuple[str, str, StoreKind], ...]] = (
    ("floor", "benchmarks.floor", "sqlite"),
    ("sqlite", "ojs_server", "sqlite"),
    ("postgres", "ojs_server", "postgres"),
)


class Line(msgspec.Struct):
    """What the load generator says of a phase."""

    phase: str
    jobs_per_s: float
    errors: int = 0


class Sample(msgspec.Struct, frozen=True):
    """One phase of one run."""

    jobs_per_s: float
    cpu_ms: float


class Figures(msgspec.Struct, frozen=True):
    """All runs of one phase; CPU is the server's, in milliseconds for each job."""

    commit: str
    machine: str
    subject: str
    phase: str
    jobs_per_s: float
    lowest: float
    highest: float
    cpu_ms: float
    of_floor: float | None


def run(program: str, served: Served, jobs: int, connections: int) -> dict[str, Sample]:
    """Every phase once."""
    command = (
        *(program, "-url", f"http://127.0.0.1:{served.port}", "-n", str(jobs)),
        *("-c", str(connections), "-phases", ",".join(PHASES)),
    )
    found: dict[str, Sample] = {}
    before = served.cpu_s()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for text in process.stdout:
            line = msgspec.json.decode(text, type=Line)
            after = served.cpu_s()
            if line.errors:
                raise RuntimeError(f"{line.errors} errors in the phase {line.phase}: {text!r}")
            found[line.phase] = Sample(line.jobs_per_s, (after - before) * 1000 / jobs)
            before = after
    return found


def figures(samples: dict[str, list[dict[str, Sample]]]) -> list[Figures]:
    """Medians, spreads and ratios."""
    commit = subprocess.run(
        ("git", "describe", "--always", "--dirty"), capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    floor = {
        phase: statistics.median(one[phase].jobs_per_s for one in samples["floor"])
        for phase in PHASES
    }
    found = []
    for subject, runs in samples.items():
        for phase in PHASES:
            rates = [one[phase].jobs_per_s for one in runs]
            rate = statistics.median(rates)
            found.append(
                Figures(
                    commit=commit,
                    machine=machine,
                    subject=subject,
                    phase=phase,
                    jobs_per_s=rate,
                    lowest=min(rates),
                    highest=max(rates),
                    cpu_ms=statistics.median(one[phase].cpu_ms for one in runs),
                    of_floor=rate / floor[phase] if subject == "sqlite" else None,
                )
            )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where a ratio is too small."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--load", required=True, metavar="PROGRAM", help="the load generator")
    parser.add_argument("--jobs", type=int, default=10_000, help="in each phase")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--at-least", type=float, default=0.0, metavar="RATIO")
    given = parser.parse_args(arguments)
    samples: dict[str, list[dict[str, Sample]]] = {subject: [] for subject, _, _ in SUBJECTS}
    for _ in range(given.runs):
        for subject, module, store in SUBJECTS:
            with database(store) as address, running(module, address) as served:
                samples[subject].append(run(given.load, served, given.jobs, given.connections))
    found = figures(samples)
    print(
        f"{'':<10}{'phase':<11}{'jobs/s':>8}{'lowest to highest':>20}{'CPU ms/job':>12}  of floor"
    )
    for one in found:
        print(
            f"{one.subject:<10}{one.phase:<11}{one.jobs_per_s:>8,.0f}"
            f"{f'{one.lowest:,.0f} to {one.highest:,.0f}':>20}{one.cpu_ms:>12.3f}"
            + (f"{one.of_floor:>10.0%}" if one.of_floor is not None else "")
        )
    write_down("throughput", found)
    short = [one for one in found if one.of_floor is not None and one.of_floor < given.at_least]
    for one in short:
        print(f"{one.phase} reaches {one.of_floor:.0%} of the floor", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
