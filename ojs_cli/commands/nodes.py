"""`ojs nodes`: list the servers of a database."""

from typing import Any

import click

from ojs_cli.columns import age_of
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.output import column
from ojs_cli.server import Server
from ojs_cli.session import Session
from ojs_cli.watching import interval, list_or_watch, watch_option

Json = dict[str, Any]
LIST = ("/admin/nodes", "items")

NODES = (
    column("ID", "id"),
    column("STATE", "state", states={"online": "green", "unreachable": "bold red"}),
    age_of("last_seen_at", "SEEN"),
    age_of("started_at", "UP"),
    column("VERSION", "version"),
    column("FETCHES", "waiting_fetches", right=True),
    column("STREAMS", "event_streams", right=True),
    column("HOST", "host"),
    column("PID", "pid", wide=True, right=True),
    column("ANSWERS", "is_this", wide=True),
)

ENTRY = Entry(
    Section.SERVERS,
    1,
    "the servers of a database: where they run, and since when",
    aliases=("node",),
)
command = Noun("nodes", help="The servers of a database: where they run, and since when.")


def read_nodes(server: Server) -> list[Json]:
    """All servers of the database that have not been stopped."""
    return server.items(*LIST)


@command.command("list")
@watch_option
@interval
@click.pass_obj
def list_nodes(session: Session, watched: bool, interval: float) -> None:
    """List servers that have not been stopped, the newest first; those that died for a day."""
    list_or_watch(
        session, NODES, lambda: read_nodes(session.server), watched=watched, interval_s=interval
    )
