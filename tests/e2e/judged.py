"""Lets `ojs-conformance` judge our own server: ``python -m tests.e2e.judged sqlite postgres``.

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

from conformance.case import MAIN
from conformance.cases.access import ROLES, key_of
from conformance.cli import main
from tests.postgres import Run, Server, programs_18

ROOT = Path(__file__).parents[2]
SAMPLE = Path(os.environ.get("OJS_OFFICIAL_SAMPLE", ROOT / "../shared/official-sample"))
REPORTS = ROOT / "build" / "conformance"
STORES = ("sqlite", "postgres")
BRIEF = "--keep-completed 2s --keep-cancelled 2s --keep-discarded 2s --keep-events 2s"


def judge(store: str, reports: Path, more: Sequence[str]) -> int:
    """Judge the server on one store, strictly; published cases too where they are at hand."""
    if store == "sqlite":
        start = _command("-m", "ojs_server", "--port", "{port}", "--database", "{dir}/ojs.db")
        return _judged(start, reports, more, several_nodes=False)
    run = Run()
    try:
        server = Server(programs_18(run.folder), run.folder / "judged", durable=False)
        server.start()
        start = _command("-m", "tests.e2e.judged", "serve", server.url, "{dir}", "{port}")
        return _judged(start, reports, more, several_nodes=True)
    finally:
        run.close()


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
    keys = ",".join(f"{role}:{key_of(role)}" for role in ROLES)
    return {
        MAIN: f"{start} --conformance",
        "keys": f"env OJS_KEYS={keys} {start}",
        "strict": f"{start} --strict",
        "brief": f"{start} {BRIEF}",
    }


def _judged(start: str, reports: Path, more: Sequence[str], *, several_nodes: bool) -> int:
    commands = {**variants(start), **({"nodes": start} if several_nodes else {})}
    options = ["run", "--server-cmd", commands.pop(MAIN), "--jobs", "8"]
    options += [part for name, each in commands.items() for part in ("--variant", f"{name}={each}")]
    published = None if more else _published(options, reports / "published")
    own = main([*options, "--contract", "fail", "--report-dir", str(reports / "own"), *more])
    if published is None:
        return own
    code = published.wait()
    print((reports / "published" / "log").read_text(encoding="utf-8"))
    return max(own, code)


def _published(options: Sequence[str], reports: Path) -> subprocess.Popen[bytes] | None:
    """Judge by the published cases beside the own ones, on a server of their own."""
    if not SAMPLE.is_dir():
        return None
    reports.mkdir(parents=True, exist_ok=True)
    chosen = ["--suites", str(SAMPLE), "--reset-url", "/ojs/v1/admin/reset"]
    command = [sys.executable, "-m", "conformance", *options, *chosen]
    with (reports / "log").open("wb") as log:
        return subprocess.Popen([*command, "--report-dir", str(reports)], cwd=ROOT, stdout=log)


def _command(*parts: str) -> str:
    return shlex.join((sys.executable, *parts))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", url, folder, port, *options]:
            serve(url, folder, port, options)
        case arguments:
            stores = [name for name in arguments if name in STORES]
            rest = [part for part in arguments if part not in STORES]
            if not stores:
                sys.exit(f"say which store: {' or '.join(STORES)}")
            # Both are judged, whatever becomes of the first.
            sys.exit(max([judge(store, REPORTS / store, rest) for store in stores]))
