"""`ojs queues`: list, pause, configure and purge queues."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli import filters, finding
from ojs_cli.bulk import has_dry_runs
from ojs_cli.columns import PAUSABLE, age_of
from ojs_cli.confirmation import confirm, yes_option
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import Column, column
from ojs_cli.server import Server, segment
from ojs_cli.session import Session
from ojs_cli.text import count, span
from ojs_cli.values import configure, dry_run_option, set_option, unset_option
from ojs_cli.watching import interval, list_or_watch, watch_option
from ojs_worker.errors import NotFound

Json = dict[str, Any]
KIND = Kind("/queues", "queues", "queue")


def _state(item: Json, _: int = 0) -> str:
    if item.get("paused"):
        return "paused"
    return str(item.get("state") or item.get("status") or "active")


def _rate(head: str, member: str) -> Column:
    def read(item: Json) -> Any:
        return (item.get("throughput") or {}).get(member)

    def show(item: Json, _: int) -> str:
        return "" if read(item) is None else f"{read(item):.0f}"

    return Column(head, show, read, right=True)


def _quantile(name: str) -> Column:
    def read(item: Json) -> Any:
        return (item.get("latency_ms") or {}).get(name)

    return Column(name.upper(), lambda item, _: span(read(item)), read, wide=True, right=True)


QUEUES = (
    column("NAME", "name"),
    Column("STATE", _state, _state, states=PAUSABLE),
    column("AVAIL", "counts.available", right=True),
    column("ACTIVE", "counts.active", right=True),
    column("RETRY", "counts.retryable", right=True),
    column("DEAD", "counts.discarded", right=True),
    age_of("oldest_available_at", "OLDEST"),
    _rate("IN/M", "enqueued_per_minute"),
    _rate("OUT/M", "processed_per_minute"),
    column("SCHED", "counts.scheduled", wide=True, right=True),
    column("PEND", "counts.pending", wide=True, right=True),
    column("DONE", "counts.completed", wide=True, right=True),
    _quantile("p50"),
    _quantile("p95"),
)

ENTRY = Entry(
    Section.QUEUES,
    1,
    "list, show, pause, resume, config, purge",
    aliases=("queue",),
    flags={"--pause": "pause", "--resume": "resume", "--purge": "purge", "--stats": "show"},
)
command = Noun("queues", help="What waits where; pauses, settings and purges of queues.")


def read_queues(server: Server) -> list[Json]:
    """All queues with their counts, and with their rates where the server tells them."""
    try:
        return server.items("/admin/queues", "items")
    except NotFound:
        return server.items(*KIND.list)


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
@KIND.names
@click.pass_obj
def show(session: Session, names: Sequence[str]) -> None:
    """Show queues with their counts and settings."""
    for name in names:
        part = segment(name)
        with KIND.naming(session, name):
            found = session.server.first("GET", f"/admin/queues/{part}", f"/queues/{part}")
        lines = [(key, value) for key, value in found.items() if not isinstance(value, dict)]
        for group in ("counts", "throughput", "latency_ms", "configuration"):
            values = found.get(group) or {}
            lines += [(f"{group}.{key}", value) for key, value in values.items()]
        session.output.whole(found, lines)


@command.command("pause")
@KIND.names
@click.option("--new", is_flag=True, help="also queues that have no job yet")
@click.pass_obj
def pause(session: Session, names: Sequence[str], new: bool) -> None:
    """Hand out no more jobs of these queues; what runs goes on."""
    if not new:
        # Pausing an unknown queue would create it, even if the name is misspelt.
        known = {str(entry.get("name")) for entry in session.server.items(*KIND.list)}
        for name in names:
            if name not in known:
                raise finding.known(session.server, *KIND.list, name, "queue")
    _switch(session, names, "pause", "paused")


@command.command("resume")
@KIND.names
@click.pass_obj
def resume(session: Session, names: Sequence[str]) -> None:
    """Hand out jobs of these queues again."""
    _switch(session, names, "resume", "active")


def _switch(session: Session, names: Sequence[str], verb: str, state: str) -> None:
    done = []
    for name in names:
        KIND.call(session, "POST", name, f"/{verb}")
        done.append({"name": name, "state": state})
    session.output.listing(
        (column("NAME", "name"), column("STATE", "state", states=PAUSABLE)), done
    )


@command.command("config")
@click.argument("name", shell_complete=KIND.complete)
@set_option
@unset_option
@dry_run_option
@click.pass_obj
def config(
    session: Session, name: str, given: Sequence[str], unset: Sequence[str], dry_run: bool
) -> None:
    """Show the settings of a queue, or change some of them."""
    configure(
        session,
        KIND.call(session, "GET", name, "/config").get("config") or {},
        given,
        unset,
        dry_run=dry_run,
        save=lambda changes: KIND.call(session, "PATCH", name, "/config", changes),
    )


@command.command("purge")
@click.argument("name", shell_complete=KIND.complete)
@click.argument("words", nargs=-1, metavar="[state:…] [older:…]")
@yes_option
@dry_run_option
@click.pass_obj
def purge(session: Session, name: str, words: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Remove the jobs of a queue for good, but those that workers hold."""
    job_filter = filters.parse([f"queue:{name}", *words], session.environment.wall_ms())
    if job_filter.is_local or job_filter.parameters.keys() - {"queue", "states", "until"}:
        raise Failure("purge takes state: and older:", exit_code=MISUSED)
    states = job_filter.parameters.get("states")
    body: Json = {} if states is None else {"states": states.split(",")}
    if "until" in job_filter.parameters:
        body["older_than"] = job_filter.parameters["until"]
    path = f"/queues/{segment(name)}/jobs"
    if dry_run and has_dry_runs(session.server):
        tried = session.server.call("DELETE", path, {**body, "dry_run": True}, timeout_s=600)
        number, exact = int(tried["purged_count"]), True
    else:
        number, exact = finding.count(session.server, job_filter)
    most = count(number, "job") if exact else f"at least {count(number, 'job')}"
    question = f"remove {most} of the queue {name} for good"
    if dry_run:
        session.output.note(f"would {question}")
        return
    confirm(session, question, number, yes=yes, destroys=True)
    answer = session.server.call("DELETE", path, {**body, "confirm": True}, timeout_s=600)
    removed = int(answer.get("purged_count", 0))
    session.output.whole({"name": name, "removed": removed}, ())
    session.output.write_line(f"removed {count(removed, 'job')} of {name}", style="")
