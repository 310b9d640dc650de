"""`ojs jobs`: list, show, search and watch jobs; retry, cancel and delete them by id or filter."""

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

import click

from ojs_cli import bulk, filters, finding
from ojs_cli.columns import JOBS, counted_attempts
from ojs_cli.confirmation import yes_option
from ojs_cli.failures import NOT_SO, OK, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.output import Column
from ojs_cli.server import segment
from ojs_cli.session import Session
from ojs_cli.text import age, bar, between, cell, printable
from ojs_cli.watching import interval, wait_for, watch, watch_option

Json = dict[str, Any]
ENDED: Final = ("completed", "cancelled", "discarded")
F = Callable[..., Any]

ENTRY = Entry(Section.JOBS, 2, "list, show, search, watch, retry, cancel, delete", aliases=("job",))
command = Noun(
    "jobs",
    help="""Jobs by id or by filter.

    \b
    ojs jobs state:retryable queue:mail
    ojs jobs retry type:mail.* error:Timeout
    """,
)
words = click.argument("words", nargs=-1, metavar="[FILTER]…")
targets = click.argument("words", nargs=-1, metavar="ID…|FILTER…")
scan = click.option(
    "--scan",
    type=click.IntRange(min=1),
    default=finding.SCAN,
    show_default=True,
    metavar="N",
    help="look at this many jobs for what the server cannot look for",
)
number = click.option(
    "-n", "most", type=click.IntRange(min=1), default=50, show_default=True, help="at most"
)
all_of_them = click.option("--all", "everything", is_flag=True, help="all there are")


def sure(function: F) -> F:
    """Add the options of commands that change many jobs."""
    function = yes_option(function)
    return click.option("--dry-run", is_flag=True, help="only say how many it would be")(function)


@command.command("list")
@words
@number
@all_of_them
@scan
@watch_option
@interval
@click.pass_obj
def list_jobs(
    session: Session,
    words: Sequence[str],
    most: int,
    everything: bool,
    scan: int,
    watched: bool,
    interval: float,
) -> None:
    """List jobs, the newest first."""
    job_filter = filters.parse(words, session.environment.wall_ms())

    def look() -> list[Json]:
        found = finding.matching(session.server, job_filter, scan=scan)
        return list(found if everything else islice(found, most))

    if watched:
        watch(session, JOBS, look, interval_s=interval)
        return
    if everything and session.output.form in ("ndjson", "id"):
        for job in finding.matching(session.server, job_filter, scan=scan):
            session.output.item(JOBS, job)
        return
    session.output.listing(JOBS, look())


@command.command("search")
@click.argument("text")
@words
@number
@scan
@click.pass_obj
def search(session: Session, text: str, words: Sequence[str], most: int, scan: int) -> None:
    """Find a text in the arguments, meta, tags and errors of jobs, the newest first."""
    job_filter = filters.parse(words, session.environment.wall_ms())
    sought = text.casefold()
    looked = 0
    found: list[Json] = []
    for job in islice(finding.matching(session.server, job_filter, scan=scan), scan):
        looked += 1
        searched = [job.get(name) for name in ("id", "type", "args", "meta", "tags", "error")]
        if sought in json.dumps(searched, ensure_ascii=False).casefold():
            found.append(job)
            if len(found) == most:
                break
    session.output.listing(JOBS, found)
    if looked == scan:
        session.output.note(f"ojs: looked at the newest {scan} jobs; --scan looks further")


@command.command("show")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.pass_obj
def show(session: Session, ids: Sequence[str]) -> None:
    """Show jobs: what they are, what became of them, and why they failed."""
    for job_id in ids:
        job = finding.job(session.server, job_id)
        session.output.whole(job, _lines(job, session.output.now_ms))
        if session.output.for_people:
            for error in job.get("errors") or ():
                _show_error(session, error)


def _lines(job: Json, now_ms: int) -> list[tuple[str, Any]]:
    names = ("id", "type", "queue", "state", "priority", "tags", "meta", "args", "result")
    lines = [(name, job.get(name)) for name in names if job.get(name) not in (None, [], {})]
    lines.insert(4, ("attempt", f"{counted_attempts(job)} of {job.get('max_attempts', '?')}"))
    if given_back := job.get("releases"):
        lines.insert(5, ("given back", given_back))
    for name in ("worker_id", "workflow_id", "progress", "progress_message", "next_retry_at"):
        lines.append((name, job.get(name)))
    for name in ("created", "scheduled", "enqueued", "started", *ENDED):
        if moment := job.get(f"{name}_at"):
            lines.append((name, f"{moment} ({age(moment, now_ms)} ago)"))
    if job.get("started_at") and job.get("enqueued_at"):
        lines.append(("waited", between(job["enqueued_at"], job["started_at"])))
    return lines


def _show_error(session: Session, error: Json) -> None:
    kind = error.get("type") or error.get("code")
    head = f"attempt {error.get('attempt', '?')}: {kind}: {error.get('message', '')}"
    session.output.write_line(printable(head), style="red")
    if ran := between(error.get("started_at"), error.get("occurred_at")):
        by = f" by {cell(error['worker_id'])}" if error.get("worker_id") else ""
        session.output.write_line(f"  started {cell(error['started_at'])}{by}, ran {ran}")
    backtrace = error.get("backtrace") or ()
    for frame in backtrace if isinstance(backtrace, list) else str(backtrace).splitlines():
        session.output.write_line(f"  {cell(frame)}")


@command.command("result")
@click.argument("id")
@click.option("--wait", is_flag=True, help="wait until the job has ended")
@click.pass_obj
def result(session: Session, id: str, wait: bool) -> int:
    """Print the result of a job as JSON, and nothing else."""
    job_id = finding.job_id(session.server, id)
    if wait:
        watch_ids(session, [job_id], 0.5, shown=False)
    job = finding.job(session.server, job_id)
    if job.get("state") != "completed":
        raise Failure(
            f"job {job_id} is {job.get('state')}, and has no result",
            "--wait waits for it" if job.get("state") not in ENDED else "",
            exit_code=NOT_SO,
        )
    click.echo(json.dumps(job.get("result")))
    return OK


@command.command("move")
@click.argument("id")
@click.option("--priority", type=int, required=True, help="the higher, the sooner")
@click.pass_obj
def move(session: Session, id: str, priority: int) -> None:
    """Give a job that waits another priority."""
    job_id = finding.job_id(session.server, id)
    session.server.call("PATCH", f"/admin/jobs/{segment(job_id)}", {"priority": priority})
    moved = {"id": job_id, "priority": priority}
    session.output.whole(moved, moved.items())


@command.command("watch")
@targets
@interval
@click.pass_obj
def watch_jobs(session: Session, words: Sequence[str], interval: float) -> int:
    """Follow jobs until they have ended; by a filter until interrupted.

    The exit code is 3 where one of them did not complete.
    """
    if words and all(map(finding.is_id, words)):
        return watch_ids(session, words, interval)
    job_filter = filters.parse(words, session.environment.wall_ms())
    watch(
        session,
        WATCHED,
        lambda: list(islice(finding.matching(session.server, job_filter), 30)),
        interval_s=interval,
    )
    return OK


def watch_ids(
    session: Session, ids: Sequence[str], interval_s: float, *, shown: bool = True
) -> int:
    """Follow jobs until all have ended; 3 where one did not complete."""
    whole = [finding.job_id(session.server, job_id) for job_id in ids]

    def look() -> list[Json]:
        return [finding.job(session.server, job_id) for job_id in whole]

    def ended(jobs: list[Json]) -> bool:
        return all(job.get("state") in ENDED for job in jobs)

    if shown:
        jobs = watch(session, WATCHED, look, interval_s=interval_s, ended=ended)
    else:
        jobs = wait_for(look, ended, interval_s)
    return OK if all(job.get("state") == "completed" for job in jobs) else NOT_SO


def _progress(job: Json, _: int = 0) -> str:
    share = job.get("progress")
    if not isinstance(share, int | float):
        return ""
    return f"[{bar(share)}] {share:4.0%} {cell(job.get('progress_message'))}".rstrip()


# Progress comes before the queue, which a narrow terminal cuts off.
WATCHED: Final = (
    *(shown for shown in JOBS if shown.head in ("ID", "TYPE", "STATE")),
    Column("PROGRESS", _progress, lambda job: job.get("progress")),
    *(shown for shown in JOBS if shown.head in ("RUN", "ATT", "QUEUE", "AGE")),
)


@command.command("retry")
@targets
@sure
@click.pass_obj
def retry(session: Session, words: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Give dead jobs fresh attempts, and retryable ones their turn now."""
    return bulk.change(session, bulk.RETRY, words, yes=yes, dry_run=dry_run)


@command.command("cancel")
@targets
@sure
@click.pass_obj
def cancel(session: Session, words: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Cancel jobs; by a filter those that wait, unless it names states."""
    return bulk.change(session, bulk.CANCEL, words, yes=yes, dry_run=dry_run)


@command.command("delete")
@targets
@sure
@click.pass_obj
def delete(session: Session, words: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Remove finished jobs for good."""
    return bulk.change(session, bulk.DELETE, words, yes=yes, dry_run=dry_run)
