"""`ojs workflows`: list, show, cancel and retry workflows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ojs_cli import finding
from ojs_cli.columns import age_of
from ojs_cli.drawing import GLYPHS, drawn
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.output import column
from ojs_cli.server import segment
from ojs_cli.session import Session
from ojs_cli.text import bar, between, cell, printable
from ojs_cli.watching import interval
from ojs_worker.errors import NotFound

if TYPE_CHECKING:
    from rich.text import Text

Json = dict[str, Any]
LIST = ("/workflows", "workflows")
ENDED = ("completed", "failed", "cancelled")

STATES = {
    "active": "cyan",
    "running": "green",
    "completed": "green",
    "failed": "bold red",
    "cancelled": "dim",
    "waiting": "dim",
}
WORKFLOWS = (
    column("ID", "id"),
    column("NAME", "name"),
    column("TYPE", "type"),
    column("STATE", "state", states=STATES),
    column("STEPS", "steps_total", right=True),
    column("DONE", "steps_completed", right=True),
    column("FAILED", "steps_failed", right=True),
    age_of("created_at"),
)

ENTRY = Entry(
    Section.JOBS,
    4,
    "list, show, retry, cancel",
    aliases=("workflow",),
    flags={"--cancel": "cancel", "--status": "show"},
)
command = Noun("workflows", help="Sets of jobs that wait for each other.")


@command.command("list")
@click.option("--state", help="those in this state")
@click.option("--name", help="those of this name")
@click.option("-n", "most", type=click.IntRange(min=1), default=50, show_default=True)
@click.pass_obj
def list_workflows(session: Session, state: str | None, name: str | None, most: int) -> None:
    """List workflows, the newest first."""
    found = session.server.items(*LIST, most=most, state=state, name=name)
    session.output.listing(WORKFLOWS, found)


@command.command("show")
@click.argument("id")
@click.option("-w", "--watch", "watched", is_flag=True, help="until it has ended")
@interval
@click.pass_obj
def show(session: Session, id: str, watched: bool, interval: float) -> None:
    """Draw a workflow: each step below the last one that it waits for."""
    output = session.output
    if not output.for_people:
        output.whole(read(session, id), ())
        return
    if watched and output.is_terminal:
        _follow(session, id, interval)
        return
    for line in _lines(read(session, id)):
        output.print(line) if output.coloured else output.write_line(line.plain)


def _follow(session: Session, id: str, interval_s: float) -> None:
    import time

    from rich.console import Group
    from rich.live import Live

    with Live(console=session.output.console, auto_refresh=False) as live:
        while True:
            found = read(session, id)
            live.update(Group(*_lines(found)), refresh=True)
            if found.get("state") in ENDED:
                return
            time.sleep(interval_s)


def read(session: Session, id: str) -> Json:
    """Read a workflow; for an unknown one, the failure has a similar id."""
    try:
        answer = session.server.get(f"/workflows/{segment(id)}")
    except NotFound as error:
        if not error.code:
            raise
        raise finding.known(session.server, *LIST, id, "workflow") from None
    found = answer.get("workflow", answer)
    assert isinstance(found, dict)
    return found


def _lines(workflow: Json) -> Iterator["Text"]:
    from rich.text import Text

    total = int(workflow.get("steps_total") or 0)
    done = int(workflow.get("steps_completed") or 0)
    state = str(workflow.get("state"))
    head = Text()
    head.append(printable(str(workflow.get("name") or workflow.get("id"))), "bold")
    head.append(f"  {workflow.get('type')}  ", "dim")
    head.append(state, STATES.get(state, ""))
    head.append(f"  [{bar(done / total if total else 0)}] {done}/{total}")
    if failed := workflow.get("steps_failed"):
        head.append(f"  {failed} failed", "bold red")
    yield head
    steps = workflow.get("steps") or workflow.get("jobs") or ()
    for line in drawn(steps):
        yield _step(line.branches, line.step, line.also)


def _step(branches: str, step: Json, also: Sequence[str]) -> "Text":
    from rich.text import Text

    state = str(step.get("state"))
    style = STATES.get(state, "")
    text = Text()
    text.append(branches, "dim")
    text.append(f"{GLYPHS.get(state, '?')} ", style)
    text.append(printable(str(step.get("id") or step.get("name") or step.get("index"))), "bold")
    text.append(f"  {printable(str(step.get('type') or ''))}")
    text.append(f"  {state}", style)
    if spent := between(step.get("started_at"), step.get("completed_at")):
        text.append(f"  {spent}", "dim")
    if also:
        text.append(f"  after {printable(', '.join(also))} too", "dim")
    error = step.get("error")
    if isinstance(error, dict):
        text.append(f"  {cell(error.get('message'))}", "red")
    return text


@command.command("cancel")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.pass_obj
def cancel(session: Session, ids: Sequence[str]) -> None:
    """Cancel workflows; what workers hold may finish."""
    rows = []
    for job_id in ids:
        read(session, job_id)
        session.server.call("DELETE", f"/workflows/{segment(job_id)}")
        rows.append({"id": job_id, "state": "cancelled"})
    session.output.listing((column("ID", "id"), column("STATE", "state", states=STATES)), rows)


@command.command("retry")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.pass_obj
def retry(session: Session, ids: Sequence[str]) -> None:
    """Let failed workflows go on where they failed."""
    rows = []
    for job_id in ids:
        read(session, job_id)
        answer = session.server.call("POST", f"/workflows/{segment(job_id)}/retry")
        rows.append({"id": job_id, "state": answer.get("workflow", answer).get("state")})
    session.output.listing((column("ID", "id"), column("STATE", "state", states=STATES)), rows)
