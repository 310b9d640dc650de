"""`ojs cron`: list and change cron entries."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli.columns import PAUSABLE, age_of, until
from ojs_cli.commands.enqueue import job_arguments
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import Column, column
from ojs_cli.server import segment
from ojs_cli.session import Session

Json = dict[str, Any]
KIND = Kind("/cron", "crons", "cron entry", wraps=("cron_job", "cron"))


def _state(item: Json, _: int = 0) -> str:
    return "active" if item.get("enabled", True) else "paused"


CRON = (
    column("NAME", "name"),
    column("EXPRESSION", "expression"),
    column("TYPE", "type"),
    Column("STATE", _state, _state, states=PAUSABLE),
    until("next_run_at", "NEXT"),
    age_of("last_run_at", "LAST"),
    column("RUNS", "run_count", right=True),
    column("ZONE", "timezone", wide=True),
    column("OVERLAP", "overlap_policy", wide=True),
    column("QUEUE", "queue", wide=True),
)
CRON_RUNS = (
    column("AT", "triggered_at"),
    column("OUTCOME", "outcome"),
    column("REASON", "reason"),
    column("JOB", "job_id"),
)
DONE = (column("NAME", "name"), column("DONE", "done"), column("JOB", "job_id"))

ENTRY = Entry(
    Section.JOBS,
    5,
    "what runs by the clock: list, add, run, pause, resume, delete",
    aliases=("crons",),
    flags={"--pause": "pause", "--resume": "resume", "--trigger": "run", "--delete": "delete"},
)
command = Noun("cron", help="What runs by the clock.")
KIND.add_show(command, "Show entries.")
KIND.add_delete(command, "cron entry", "cron entries", "Delete entries.")


@command.command("list")
@click.pass_obj
def list_cron(session: Session) -> None:
    """List entries, the next to fire first."""
    entries = session.server.items(*KIND.list)
    entries.sort(key=lambda entry: (entry.get("next_run_at") or "~", str(entry.get("name"))))
    session.output.listing(CRON, entries)


@command.command("history")
@click.argument("name", shell_complete=KIND.complete)
@click.option("-n", "most", type=click.IntRange(min=1), default=20, show_default=True)
@click.pass_obj
def history(session: Session, name: str, most: int) -> None:
    """List when an entry fired, and what became of it."""
    KIND.call(session, "GET", name)
    runs = session.server.items(f"/cron/{segment(name)}/history", "history", most=most)
    session.output.listing(CRON_RUNS, runs)


@command.command("add")
@click.argument("name")
@click.argument("expression")
@click.argument("type")
@click.argument("args", nargs=-1, metavar="[ARG]…")
@click.option("--args", "args_text", metavar="JSON|@FILE|-", help="all arguments as JSON")
@click.option("-q", "--queue", help="the queue of its jobs")
@click.option("--zone", help="the time zone of the expression")
@click.option("--overlap", type=click.Choice(("allow", "skip", "cancel_previous", "enqueue")))
@click.option("--description", help="what it is for")
@click.pass_obj
def add(
    session: Session,
    name: str,
    expression: str,
    type: str,
    args: Sequence[str],
    args_text: str | None,
    queue: str | None,
    zone: str | None,
    overlap: str | None,
    description: str | None,
) -> None:
    """Register an entry, or replace the one of that name."""
    template: Json = {"type": type, "args": job_arguments(args, args_text)}
    if queue is not None:
        template["options"] = {"queue": queue}
    body: Json = {"name": name, "expression": expression, "job_template": template}
    options = {"timezone": zone, "overlap_policy": overlap, "description": description}
    body |= {key: value for key, value in options.items() if value is not None}
    answer = session.server.call("POST", "/cron", body)
    session.output.listing(CRON, [KIND.of(answer)])


@command.command("run")
@KIND.names
@click.pass_obj
def run(session: Session, names: Sequence[str]) -> None:
    """Run entries now."""
    _each(session, names, "POST", "/trigger", "triggered")


@command.command("pause")
@KIND.names
@click.pass_obj
def pause(session: Session, names: Sequence[str]) -> None:
    """Let entries fire no more."""
    _each(session, names, "POST", "/pause", "paused")


@command.command("resume")
@KIND.names
@click.pass_obj
def resume(session: Session, names: Sequence[str]) -> None:
    """Let entries fire again."""
    _each(session, names, "POST", "/resume", "resumed")


def _each(session: Session, names: Sequence[str], method: str, part: str, done: str) -> None:
    rows = []
    for name in names:
        answer = KIND.call(session, method, name, part)
        job = answer.get("job") or {}
        rows.append({"name": name, "done": done, "job_id": job.get("id")})
    session.output.listing(DONE, rows)
