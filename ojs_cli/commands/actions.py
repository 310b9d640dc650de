"""`ojs actions`: list changes by people."""

from typing import Any

import click

from ojs_cli import filters
from ojs_cli.columns import age_of
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.output import column
from ojs_cli.session import Session

ACTIONS = (
    column("TIME", "time"),
    column("WHO", "who.name"),
    column("ROLE", "who.role"),
    column("CALL", "call"),
    column("TARGET", "target"),
    column("OUTCOME", "outcome"),
    age_of("time", wide=True),
    column("VIA", "who.via", wide=True),
    column("TENANT", "who.tenant", wide=True),
    column("ADDRESS", "who.address", wide=True),
    column("REQUEST", "request_id", wide=True),
)
ENTRY = Entry(Section.SEE, 6, "what people and their keys changed", aliases=("action",))


@click.command("actions", cls=Verb)
@click.option("--by", "name", metavar="NAME", help="by this key or person")
@click.option("--call", metavar="CALL", help="of this call, as it is listed")
@click.option("--target", metavar="NAME", help="on the queue, job or other thing of this name")
@click.option("--since", metavar="DURATION", help="not before, such as 24h or a timestamp")
@click.option("--until", metavar="DURATION", help="before, such as 1h or a timestamp")
@click.option("-n", "most", type=click.IntRange(min=1), default=50, show_default=True)
@click.pass_obj
def command(
    session: Session, /, since: str | None, until: str | None, most: int, **of: Any
) -> None:
    """List changes that people and the keys of operators and admins made, the newest first."""
    now = session.environment.wall_ms()
    for name, given in (("since", since), ("until", until)):
        if given is not None:
            of[name] = filters.moment(f"--{name}", given, now)
    session.output.listing(ACTIONS, session.server.items("/admin/actions", "actions", most, **of))
