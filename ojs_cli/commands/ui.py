"""`ojs ui`: the dashboard before any server."""

import click

from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.session import Session
from ojs_wire.extras import explain

ENTRY = Entry(Section.PROGRAMS, 4, "serve the dashboard of any server")


@click.command("ui", cls=Verb)
@click.option("--port", type=click.IntRange(0, 65535), help="on the loopback")
@click.pass_obj
def command(session: Session, port: int | None) -> int:
    """Serve the dashboard of any server on this machine."""
    try:
        from ojs_ui.__main__ import main
    except ModuleNotFoundError as missing:
        return explain("ojs ui", "server", missing)
    # The pages are those of one server, the first of several.
    words = ["--url", session.config.url.split(",")[0].strip()]
    return main(words if port is None else [*words, "--port", str(port)])
