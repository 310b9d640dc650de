"""`ojs queues`: list, pause, configure and purge queues."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import click

from ojs_cli import filters, finding
from ojs_cli.columns import QUEUES
from ojs_cli.confirmation import confirm, yes_option
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.grammar import Noun
from ojs_cli.names import completer
from ojs_cli.output import column
from ojs_cli.server import Server, segment
from ojs_cli.session import Session
from ojs_cli.text import count
from ojs_cli.values import configure, dry_run_option, set_option, unset_option
from ojs_cli.watching import interval, list_or_watch, watch_option
from ojs_worker.errors import NotFound

Json = dict[str, Any]
LIST = ("/queues", "queues")

command = Noun("queues", help="What waits where; pauses, settings and purges of queues.")
complete = completer(*LIST)
names = click.argument("names", nargs=-1, required=True, metavar="NAME…", shell_complete=complete)


def read_queues(server: Server) -> list[Json]:
    """All queues with their counts, and with their rates where the server tells them."""
    try:
        return server.items("/admin/queues", "items")
    except NotFound:
        return server.items(*LIST)


@command.command("list")
@click.option("--paused", is_flag=True, help="only those that are paused")
@watch_option
@interval
@click.pass_obj
def list_queues(session: Session, paused: bool, watched: bool, interval: float) -> None:
    """List queues: those that are paused first, then those in which most waits."""

    def look() -> list[Json]:
        found = [
            queue for queue in read_queues(session.server) if queue.get("paused") or not paused
        ]
        return sorted(found, key=_trouble)

    list_or_watch(session, QUEUES, look, watched=watched, interval_s=interval)


def _trouble(queue: Json) -> Any:
    counts = queue.get("counts") or {}
    return not queue.get("paused"), -int(counts.get("available") or 0), str(queue.get("name"))


@command.command("show")
@names
@click.pass_obj
def show(session: Session, names: Sequence[str]) -> None:
    """Show queues with their counts and settings."""
    for name in names:
        part = segment(name)
        with _naming(session, name):
            found = session.server.first("GET", f"/admin/queues/{part}", f"/queues/{part}")
        lines = [(key, value) for key, value in found.items() if not isinstance(value, dict)]
        for group in ("counts", "throughput", "latency_ms", "configuration"):
            values = found.get(group) or {}
            lines += [(f"{group}.{key}", value) for key, value in values.items()]
        session.output.whole(found, lines)


@command.command("pause")
@names
@click.option("--new", is_flag=True, help="also queues that have no job yet")
@click.pass_obj
def pause(session: Session, names: Sequence[str], new: bool) -> None:
    """Hand out no more jobs of these queues; what runs goes on."""
    if not new:
        # Pausing an unknown queue would create it, even if the name is misspelt.
        known = {str(entry.get("name")) for entry in session.server.items(*LIST)}
        for name in names:
            if name not in known:
                raise finding.known(session.server, *LIST, name, "queue")
    _switch(session, names, "pause", "paused")


@command.command("resume")
@names
@click.pass_obj
def resume(session: Session, names: Sequence[str]) -> None:
    """Hand out jobs of these queues again."""
    _switch(session, names, "resume", "active")


def _switch(session: Session, names: Sequence[str], verb: str, state: str) -> None:
    done = []
    for name in names:
        with _naming(session, name):
            session.server.call("POST", f"/queues/{segment(name)}/{verb}")
        done.append({"name": name, "state": state})
    session.output.listing((column("NAME", "name"), column("STATE", "state", states=True)), done)


@command.command("config")
@click.argument("name", shell_complete=complete)
@set_option
@unset_option
@dry_run_option
@click.pass_obj
def config(
    session: Session, name: str, given: Sequence[str], unset: Sequence[str], dry_run: bool
) -> None:
    """Show the settings of a queue, or change some of them."""
    path = f"/queues/{segment(name)}/config"
    with _naming(session, name):
        found = session.server.get(path).get("config") or {}
    configure(
        session,
        found,
        given,
        unset,
        dry_run=dry_run,
        save=lambda changes: session.server.call("PATCH", path, changes),
    )


@command.command("purge")
@click.argument("name", shell_complete=complete)
@click.argument("words", nargs=-1, metavar="[state:…] [older:…]")
@yes_option
@click.pass_obj
def purge(session: Session, name: str, words: Sequence[str], yes: bool) -> None:
    """Remove the jobs of a queue for good, but those that workers hold."""
    job_filter = filters.parse([f"queue:{name}", *words], session.environment.wall_ms())
    if job_filter.is_local or job_filter.parameters.keys() - {"queue", "states", "until"}:
        raise Failure("purge takes state: and older:", exit_code=MISUSED)
    states = job_filter.parameters.get("states")
    body: Json = {"confirm": True}
    body |= {} if states is None else {"states": states.split(",")}
    if "until" in job_filter.parameters:
        body["older_than"] = job_filter.parameters["until"]
    number, exact = finding.count(session.server, job_filter)
    most = count(number, "job") if exact else f"at least {count(number, 'job')}"
    question = f"remove {most} of the queue {name} for good"
    confirm(session, question, number, yes=yes, destroys=True)
    answer = session.server.call("DELETE", f"/queues/{segment(name)}/jobs", body, timeout_s=600)
    removed = int(answer.get("purged_count", 0))
    session.output.whole({"name": name, "removed": removed}, ())
    session.output.write_line(f"removed {count(removed, 'job')} of {name}", style="")


def _naming(session: Session, name: str) -> AbstractContextManager[None]:
    return finding.naming(session.server, *LIST, name, "queue")
