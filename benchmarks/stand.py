"""A server process on a fresh store, and the report of its figures, for all measurements."""

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
import psycopg

from tests import postgres_programs
from tests.postgres import Run, Server

StoreKind = Literal["sqlite", "postgres"]
STORES: Final[tuple[StoreKind, ...]] = ("sqlite", "postgres")
# Measured values, by names that end with the unit.
Values = dict[str, float]

REPORTS: Final = Path("build/benchmarks")
_LISTENS = re.compile(r"listens on http://[^:]+:(\d+)")
_GRPC = re.compile(r"serves gRPC on [^:]+:(\d+)")


@contextmanager
def database(
    kind: StoreKind, programs: Path | None = None, settings: Sequence[str] = ()
) -> Iterator[str]:
    """A fresh database that keeps its commits through a crash, gone at the end.

    PostgreSQL is the chosen one unless its programs are named; it ships with all but `settings`.
    """
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="ojs-bench-") as folder:
            yield f"{folder}/bench.db"
        return
    run = Run()
    try:
        programs = programs or postgres_programs.chosen(run.folder)
        server = Server(programs, run.folder / "bench", durable=True, settings=settings)
        server.start()
        yield server.near_url
    finally:
        run.close()


def cpu_s(process: int) -> float:
    """Return the seconds of processor time that a process has used; as Linux tells it."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Served(msgspec.Struct, frozen=True):
    """A process that serves on a port."""

    port: int
    process: int
    # Its database.
    address: str
    # The port for gRPC; 0 without it.
    grpc: int = 0

    def cpu_s(self) -> float:
        """Seconds of processor time that it has used."""
        return cpu_s(self.process)

    def database_cpu_s(self) -> float:
        """Seconds that a PostgreSQL server and all its processes have used; 0 for a file."""
        if "://" not in self.address:
            return 0.0
        with psycopg.connect(self.address) as connection:
            server = _parent(connection.info.backend_pid)
        total = 0.0
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = entry.read_text(encoding="utf-8").rpartition(")")[2].split()
                if server in (int(entry.parent.name), int(fields[1])):
                    ended = fields[13:15] if int(entry.parent.name) == server else ()
                    total += sum(map(int, (*fields[11:13], *ended)))
        return total / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.process}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def running(
    module: str, address: str, *options: str, core: int | None = None, keys: str = ""
) -> Iterator[Served]:
    """Run a module as a server process, optionally on one core, and end it after the block."""
    process = subprocess.Popen(
        (sys.executable, "-m", module, "--port", "0", "--database", address, *options),
        env=os.environ | ({"OJS_KEYS": keys} if keys else {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        if core is not None:
            # The threads that it starts later inherit this.
            os.sched_setaffinity(process.pid, {core})
        grpc = 0
        for line in process.stdout:
            if serves := _GRPC.search(line):
                grpc = int(serves[1])
            if listens := _LISTENS.search(line):
                yield Served(int(listens[1]), process.pid, address, grpc)
                return
        raise RuntimeError(f"the server did not start; it exited {process.wait()}")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def serving(store: StoreKind, *options: str, keys: str = "") -> Iterator[Served]:
    """Run the server on a fresh store for the block."""
    with (
        database(store) as address,
        running("ojs_server", address, *options, keys=keys) as served,
    ):
        yield served


def _parent(process: int) -> int:
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return int(stat.rpartition(")")[2].split()[1])


class Report(msgspec.Struct, frozen=True):
    """The results of one run, and its circumstances."""

    commit: str
    machine: str
    # Source of PostgreSQL's programs, such as `wheel`; a benchmark may run others.
    postgres: str
    # Load average of the machine over the 15 minutes before the end of the run.
    load: float
    figures: Sequence[msgspec.Struct]


def write_down(name: str, found: Sequence[msgspec.Struct]) -> None:
    """Keep the figures of a run for programs."""
    described = subprocess.run(
        ("git", "describe", "--always", "--dirty"), capture_output=True, text=True, check=False
    )
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    postgres = os.environ.get(postgres_programs.VARIABLE) or "wheel"
    report = Report(
        described.stdout.strip(), machine, postgres, round(os.getloadavg()[2], 1), found
    )
    REPORTS.mkdir(parents=True, exist_ok=True)
    path = REPORTS / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    print(f"written to {path}")
