"""`ojs dead`: list, retry and delete dead letters."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import click

from ojs_cli import bulk, filters
from ojs_cli.columns import ARGS, ATTEMPTS, ERROR, JOB_ID, age_of
from ojs_cli.commands.jobs import all_of_them, number, sure, targets, words
from ojs_cli.filters import Filter
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.output import column
from ojs_cli.server import Server
from ojs_cli.session import Session

Json = dict[str, Any]
DEAD = (
    JOB_ID,
    column("TYPE", "type"),
    column("QUEUE", "queue"),
    ATTEMPTS,
    age_of("discarded_at", "DEAD"),
    ERROR,
    ARGS,
)
GROUPS = (
    column("TYPE", "type"),
    column("ERROR", "error"),
    column("COUNT", "count", right=True),
    column("LAST", "last"),
    column("SAMPLE", "sample", wide=True),
)

ENTRY = Entry(
    Section.JOBS,
    3,
    "jobs that have failed for good: list, retry, delete",
    aliases=("dead-letter", "dead-letters", "deadletter"),
    flags={"--retry": "retry", "--delete": "delete", "--purge": "delete"},
)
command = Noun(
    "dead",
    help="""Jobs that have failed for good.

    \b
    ojs dead error:SmtpTimeout since:1h
    ojs dead retry queue:mail
    """,
)


@command.command("list")
@words
@number
@all_of_them
@click.option("--by-error", is_flag=True, help="grouped by type and error")
@click.pass_obj
def list_dead(
    session: Session, words: Sequence[str], most: int, everything: bool, by_error: bool
) -> None:
    """List dead jobs, the latest first."""
    job_filter = filters.parse(words, session.environment.wall_ms())
    found = _matching(session.server, job_filter)
    jobs = list(found if everything or by_error else islice(found, most))
    if by_error:
        session.output.listing(GROUPS, _grouped(jobs))
    else:
        session.output.listing(DEAD, jobs)


@command.command("retry")
@targets
@sure
@click.pass_obj
def retry(session: Session, words: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Give dead jobs fresh attempts."""
    return bulk.change(session, bulk.RETRY_DEAD, words, yes=yes, dry_run=dry_run)


@command.command("delete")
@targets
@sure
@click.pass_obj
def delete(session: Session, words: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Remove dead jobs for good."""
    return bulk.change(session, bulk.DELETE_DEAD, words, yes=yes, dry_run=dry_run)


def _matching(server: Server, job_filter: Filter) -> Any:
    filters = {name: value for name, value in job_filter.parameters.items() if name != "states"}
    for page in server.pages("/dead-letter", "jobs", **filters):
        yield from (job for job in page["items"] if job_filter.matches(job))


def _grouped(jobs: Sequence[Json]) -> list[Json]:
    counts: Counter[tuple[str, str]] = Counter()
    newest: dict[tuple[str, str], Json] = {}
    for job in jobs:
        error = job.get("error") or {}
        key = (str(job.get("type")), str(error.get("type") or error.get("code") or ""))
        counts[key] += 1
        newest.setdefault(key, job)
    return [
        {
            "type": key[0],
            "error": key[1],
            "count": number,
            "last": newest[key].get("discarded_at"),
            "sample": newest[key].get("id"),
        }
        for key, number in counts.most_common()
    ]
