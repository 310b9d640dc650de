"""Let `ojs-conformance` judge this project.

    python -m tests.e2e.judged sqlite postgres worker over-grpc

The judge starts servers by command lines, in several variants. For PostgreSQL each folder that the
judge gives a server stands for a database of its own, which `serve` makes before it starts one.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
from psycopg import sql

from conformance.cases.access import APPLICATION, ROLES, key_of
from conformance.commands.cli import main
from conformance.variants import MAIN
from tests import postgres_programs
from tests.postgres import Run, Server

ROOT = Path(__file__).parents[2]
SAMPLE = Path(os.environ.get("OJS_OFFICIAL_SAMPLE", ROOT / "../shared/official-sample"))
REPORTS = ROOT / "build" / "conformance"
STORES = ("sqlite", "postgres")
WORKER = "worker"
OVER = "over-grpc"
BRIEF = "--keep-completed 2s --keep-cancelled 2s --keep-discarded 2s --keep-events 2s"
HOOKS = "--webhook-private --webhook-plain"
SMALL = "--max-streams 2 --stream-buffer 20 --max-dead-letters 3"
TIMES = (
    "--heartbeat-timeout 3s --worker-unreachable-threshold 1s --worker-delete-threshold 8s "
    "--worker-check-interval 200ms"
)
OVER_GRPC = (
    *("dead_letter", "enqueue", "errors", "fetch", "idempotency", "jobs", "lifecycle"),
    *("queues", "retry", "settle", "unique", "workflows"),
)
GRPC = "--grpc-port {grpc_port}"
DISORDERED = "--worker-unreachable-threshold 2s --worker-offline-threshold 1s"


class Beside:
    """A run of the judge beside another one; what it says is shown at its end."""

    def __init__(self, arguments: Sequence[str], reports: Path) -> None:
        reports.mkdir(parents=True, exist_ok=True)
        self._log = reports / "log"
        with self._log.open("wb") as log:
            command = [sys.executable, "-m", "conformance", *arguments]
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log)

    def end(self) -> int:
        """Wait for its end, and show it."""
        code = self._process.wait()
        print(self._log.read_text(encoding="utf-8", errors="replace"))
        return code


def judge(store: str, reports: Path, more: Sequence[str]) -> int:
    """Judge the server on one store, strictly; published cases too where they are at hand."""
    if store == "sqlite":
        start = _command("-m", "ojs_server", "--port", "{port}", "--database", "{dir}/ojs.db")
        return _judged(start, reports, more, several_nodes=False)
    run = Run()
    try:
        programs = postgres_programs.chosen(run.folder)
        server = Server(programs, run.folder / "judged", durable=False)
        server.start()
        start = _command("-m", "tests.e2e.judged", "serve", server.url, "{dir}", "{port}")
        return _judged(start, reports, more, several_nodes=True)
    finally:
        run.close()


def judge_grpc(reports: Path) -> int:
    """Judge the server by what gRPC carries of the cases whose calls it has words for."""
    start = _command("-m", "ojs_server", "--port", "{port}", "--database", "{dir}/ojs.db")
    options = ["run", "--binding", "grpc", "--server-cmd", variants(start)[MAIN], "--jobs", "8"]
    suites = [part for name in OVER_GRPC for part in ("--suite", name)]
    return main([*options, *suites, "--report-dir", str(reports)])


def judging_worker(reports: Path, more: Sequence[str]) -> Beside:
    """Judge the worker strictly, with short times and many cases at once: it mostly waits."""
    options = ["worker", "--time-scale", "0.1", "--jobs", "6", "--contract", "fail"]
    options += ["--fail-on", "should"]
    demo = [sys.executable, "-m", "ojs_worker", "demo"]
    return Beside([*options, "--report-dir", str(reports), *more, "--", *demo], reports)


def serve(server_url: str, folder: str, port: str, options: Sequence[str]) -> None:
    """Become a job server on the database that belongs to a folder."""
    name = Path(folder).name.replace("-", "_")
    with (
        suppress(psycopg.errors.DuplicateDatabase),
        psycopg.connect(server_url, autocommit=True) as connection,
    ):
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    database = f"{server_url.rpartition('/')[0]}/{name}"
    given = ["--port", port, "--database", database, *options]
    os.execv(sys.executable, [sys.executable, "-m", "ojs_server", *given])


def variants(start: str) -> dict[str, str]:
    """The commands of one server in every way in which cases ask for it."""
    keys = ",".join(f"{role}:{key_of(role)}" for role in (*ROLES, APPLICATION))
    return {
        MAIN: f"{start} --conformance --session-grace 1s {GRPC}",
        "keys": f"env OJS_KEYS={keys} {start} {GRPC}",
        "strict": f"{start} --strict",
        "brief": f"{start} {BRIEF}",
        "hooks": f"{start} {HOOKS}",
        "small": f"{start} {SMALL} {GRPC}",
        "zones": f"env PYTHONTZPATH={{dir}}/zones {start}",
        "blackboard": f"{start} --profile blackboard {TIMES}",
        "board": f"{start} --profile blackboard",
        "jobmanager": f"{start} --profile jobmanager {TIMES}",
        "jobmanager_keys": f"env OJS_KEYS={keys} {start} --profile jobmanager",
        "jobmanager_sessions": f"{start} --profile jobmanager --session-grace 1s",
        "zeebe": f"{start} --profile zeebe --max-streams 2 {GRPC}",
        "disordered": f"{start} {DISORDERED}",
    }


def _judged(start: str, reports: Path, more: Sequence[str], *, several_nodes: bool) -> int:
    commands = {**variants(start), **({"nodes": start} if several_nodes else {})}
    options = ["run", "--server-cmd", commands.pop(MAIN), "--jobs", "8", "--fail-on", "should"]
    options += [part for name, each in commands.items() for part in ("--variant", f"{name}={each}")]
    published = None if more else _published(options, reports / "published")
    own = main([*options, "--contract", "fail", "--report-dir", str(reports / "own"), *more])
    if published is None:
        return own
    return max(own, published.end())


def _published(options: Sequence[str], reports: Path) -> Beside | None:
    """Judge by the published cases beside the own ones, on a server of their own."""
    if not SAMPLE.is_dir():
        return None
    chosen = ["--suites", str(SAMPLE), "--reset-url", "/ojs/v1/admin/reset"]
    return Beside([*options, *chosen, "--report-dir", str(reports)], reports)


def _command(*parts: str) -> str:
    return shlex.join((sys.executable, *parts))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", url, folder, port, *options]:
            serve(url, folder, port, options)
        case arguments:
            chosen = [name for name in arguments if name in (*STORES, WORKER, OVER)]
            rest = [part for part in arguments if part not in chosen]
            if not chosen:
                sys.exit(f"say what to judge: {', '.join((*STORES, WORKER, OVER))}")
            stores = [name for name in chosen if name in STORES]
            # Options that select cases of servers select none of workers.
            with_worker = WORKER in chosen and not (stores and rest)
            worker = judging_worker(REPORTS / WORKER, rest) if with_worker else None
            # All are judged, whatever becomes of the first.
            codes = [judge(name, REPORTS / name, rest) for name in stores]
            codes += [judge_grpc(REPORTS / OVER)] if OVER in chosen and not rest else []
            sys.exit(max([*codes, *([worker.end()] if worker else [])]))
