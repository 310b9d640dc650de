"""`ojs workers`: list workers with their jobs, and send them directives."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli import finding
from ojs_cli.columns import JOBS, age_of, listed
from ojs_cli.confirmation import confirm, yes_option
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import Column, column
from ojs_cli.server import Server, segment
from ojs_cli.session import Session
from ojs_cli.text import cell, count
from ojs_cli.watching import interval, list_or_watch, watch_option

Json = dict[str, Any]
KIND = Kind("/workers", "workers", "worker", word="id", wraps=("worker",))

STATES = {
    "running": "green",
    "online": "green",
    "quiet": "yellow",
    "stale": "bold red",
    "unreachable": "bold red",
    "offline": "bold red",
}


def _presence(item: Json, _: int = 0) -> str:
    """Return the presence of a worker if it is gone, else its state."""
    presence = item.get("presence")
    if presence not in (None, "online"):
        return str(presence)
    directive = item.get("directive")
    state = str(item.get("state") or "")
    return f"{state} (asked to {directive})" if directive else state


def _busy(item: Json, _: int = 0) -> str:
    places = item.get("concurrency")
    held = item.get("active_jobs", 0)
    return f"{held}/{places}" if places else cell(held)


WORKERS = (
    column("ID", "id"),
    Column("STATE", _presence, _presence, states=STATES),
    Column("BUSY", _busy, _busy, right=True),
    age_of("last_seen_at", "SEEN"),
    listed("QUEUES", "queues"),
    column("HOST", "hostname", wide=True),
    column("PID", "pid", wide=True, right=True),
    column("VERSION", "version", wide=True),
    column("LABELS", "labels", wide=True),
    age_of("started_at", "UP", wide=True),
)

ENTRY = Entry(
    Section.QUEUES,
    2,
    "list, show, quiet, resume, terminate",
    aliases=("worker-list",),
    flags={"--quiet": "quiet", "--resume": "resume", "--terminate": "terminate"},
)
command = Noun("workers", help="Who works, on what; directives to workers.")
targets = click.argument("ids", nargs=-1, metavar="ID…", shell_complete=KIND.complete)
of_host = click.option("--host", help="all workers of a host")


def read_workers(server: Server) -> list[Json]:
    """All workers that are there."""
    return server.items(*KIND.list)


@command.command("list")
@click.option("--stale", is_flag=True, help="only those that are not well")
@watch_option
@interval
@click.pass_obj
def list_workers(session: Session, stale: bool, watched: bool, interval: float) -> None:
    """List workers: what they hold, how many places they have, when they were seen."""

    def look() -> list[Json]:
        found = read_workers(session.server)
        return [worker for worker in found if not stale or not _is_well(worker)]

    list_or_watch(session, WORKERS, look, watched=watched, interval_s=interval)


def _is_well(worker: Json) -> bool:
    return worker.get("presence", "online") == "online" and worker.get("state") == "running"


@command.command("show")
@click.argument("id", shell_complete=KIND.complete)
@click.pass_obj
def show(session: Session, id: str) -> None:
    """Show a worker and the jobs that it holds."""
    worker = KIND.of(KIND.call(session, "GET", id))
    session.output.whole(worker, [item for item in worker.items() if item[1] is not None])
    if session.output.for_people:
        held = [
            finding.job(session.server, job_id) for job_id in worker.get("active_job_ids") or ()
        ]
        if held:
            session.output.table(JOBS, held)


@command.command("quiet")
@targets
@of_host
@click.pass_obj
def quiet(session: Session, ids: Sequence[str], host: str | None) -> None:
    """Ask workers to take no more jobs."""
    _direct(session, "quiet", _selected(session, ids, host))


@command.command("resume")
@targets
@of_host
@click.pass_obj
def resume(session: Session, ids: Sequence[str], host: str | None) -> None:
    """Ask workers to take jobs again."""
    _direct(session, "resume", _selected(session, ids, host))


@command.command("terminate")
@targets
@of_host
@yes_option
@click.pass_obj
def terminate(session: Session, ids: Sequence[str], host: str | None, yes: bool) -> None:
    """Ask workers to finish what they hold, and to end."""
    chosen = _selected(session, ids, host)
    question = f"end {count(len(chosen), 'worker')}"
    confirm(session, question, len(chosen), yes=yes, destroys=True, sample=chosen[:5])
    _direct(session, "terminate", chosen)


def _selected(session: Session, ids: Sequence[str], host: str | None) -> list[str]:
    if host is not None and not ids:
        found = read_workers(session.server)
        ids = [str(worker["id"]) for worker in found if worker.get("hostname") == host]
        if not ids:
            hosts = sorted({str(worker.get("hostname")) for worker in found})
            raise Failure(f"no worker is on the host {host}", f"there are {', '.join(hosts)}")
    if not ids or (host is not None and len(ids) == 0):
        raise Failure("which workers?", "name them, or their --host", exit_code=MISUSED)
    return list(ids)


def _direct(session: Session, directive: str, ids: Sequence[str]) -> None:
    done = []
    for job_id in ids:
        with KIND.naming(session, job_id):
            session.server.call("POST", f"/admin/workers/{segment(job_id)}/{directive}")
        done.append({"id": job_id, "asked": directive})
    session.output.listing((column("ID", "id"), column("ASKED", "asked")), done)
