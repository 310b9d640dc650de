"""`ojs stats`: counts of jobs by minute, hour or day."""

from typing import Any

import click

from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.output import Column, column
from ojs_cli.session import Session
from ojs_cli.text import span, sparkline

STATS = (
    Column("TIME", lambda item, _: str(item.get("timestamp", ""))[:16].replace("T", " ")),
    column("IN", "enqueued", right=True),
    column("OUT", "processed", right=True),
    column("FAILED", "failed", right=True),
    Column("P50", lambda item, _: span(item.get("latency_p50_ms")), right=True),
    Column("P99", lambda item, _: span(item.get("latency_p99_ms")), right=True),
)
ENTRY = Entry(Section.SEE, 4, "what went in and out, by the minute or the hour", aliases=("stat",))


@click.command("stats", cls=Verb)
@click.option(
    "--period", type=click.Choice(("1m", "5m", "1h", "1d")), default="5m", show_default=True
)
@click.option("--since", metavar="DURATION", help="how far back, such as 24h")
@click.option("--queue", help="of one queue")
@click.pass_obj
def command(session: Session, period: str, since: str | None, queue: str | None) -> None:
    """Show how many jobs came, completed and failed, by the minute, the hour or the day."""
    found = session.server.get("/admin/stats/history", period=period, since=since, queue=queue)
    entries: list[dict[str, Any]] = found.get("data") or []
    session.output.listing(STATS, entries, {"period": period, "queue": queue})
    session.output.write_line(
        "out  " + sparkline([float(entry.get("processed") or 0) for entry in entries])
    )
