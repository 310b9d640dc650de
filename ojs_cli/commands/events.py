"""`ojs events`: list past events, or follow new ones."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.output import Column, column
from ojs_cli.server import Server
from ojs_cli.session import Session
from ojs_cli.text import cell
from ojs_cli.watching import interval

Json = dict[str, Any]
PAGE: Final = 1000


def _detail(item: Json, _: int = 0) -> str:
    data = item.get("data") or {}
    names = ("job_type", "queue", "worker_id", "attempt", "progress_percent", "next_retry_at")
    parts = [str(data[name]) for name in names if data.get(name) is not None]
    error = data.get("error") or data.get("last_error")
    if isinstance(error, dict):
        parts.append(f"{error.get('type') or error.get('code')}: {error.get('message')}")
    return cell(" ".join(parts))


def _clock(item: Json, _: int) -> str:
    return str(item.get("time", ""))[11:23]


EVENTS = (
    Column("TIME", _clock, lambda item: item.get("time")),
    column("TYPE", "type"),
    column("SUBJECT", "subject"),
    Column("DETAIL", _detail, _detail, cut=True),
)

ENTRY = Entry(Section.SEE, 5, "what happens, as it happens", aliases=("event",))
command = Noun(
    "events",
    help="""What has happened, and what happens.

    \b
    ojs events tail --type 'job.failed,worker.*'
    """,
)
types = click.option("--type", "types", metavar="TYPE,…", help="these types; `*` ends a prefix")
queues = click.option("--queue", "queues", metavar="NAME,…", help="of these queues")
subject = click.option("--job", "subject", metavar="ID", help="of this job, workflow or worker")


@command.command("list")
@types
@queues
@subject
@click.option("-n", "most", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.pass_obj
def list_events(
    session: Session, types: str | None, queues: str | None, subject: str | None, most: int
) -> None:
    """List the newest events, the oldest of them first."""
    found: list[Json] = []
    query = {"types": types, "queues": queues}
    for page in session.server.pages("/events", "items", **query, page=1, limit=PAGE):
        found += [event for event in page["items"] if subject in (None, event.get("subject"))]
        if len(found) >= most:
            break
    session.output.listing(EVENTS, found[:most][::-1])


@command.command("tail")
@types
@queues
@subject
@click.option("--after", metavar="ID", help="go on behind this event")
@click.option("--all", "everything", is_flag=True, help="from the oldest that is kept")
@interval
@click.pass_obj
def tail(
    session: Session,
    types: str | None,
    queues: str | None,
    subject: str | None,
    after: str | None,
    everything: bool,
    interval: float,
) -> None:
    """Follow the events; none is missed, and none comes twice."""
    place = after or (None if everything else _newest(session.server))
    query = {"types": types, "queues": queues}
    for event in follow(session.server, place, query, interval):
        if subject in (None, event.get("subject")):
            session.output.item(EVENTS, event)


def follow(
    server: Server, after: str | None, query: dict[str, Any], interval_s: float
) -> Iterator[Json]:
    """Yield events from a place on, for ever."""
    while True:
        page = server.get("/events", **query, after=after, limit=PAGE)
        found: Sequence[Json] = page.get("events") or ()
        yield from found
        after = page.get("cursor") or after
        if not page.get("has_more"):
            time.sleep(interval_s)


def _newest(server: Server) -> str | None:
    """The newest event there is."""
    found = server.get("/events", page=1, limit=1).get("items") or ()
    return str(found[0]["id"]) if found else None
