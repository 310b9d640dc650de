"""`ojs top`: queues, workers and failures, live."""

import sys

import click

from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.session import Session

ENTRY = Entry(
    Section.SEE,
    1,
    "queues, workers and failures, live, with keys that repair",
    aliases=("monitor",),
)


@click.command("top", cls=Verb)
@click.option(
    "-d",
    "--delay",
    type=click.FloatRange(min=0.25),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="between two looks",
)
@click.option("--once", is_flag=True, help="print the screen once, as without a terminal")
@click.pass_obj
def command(session: Session, delay: float, once: bool) -> None:
    """Queues, workers and failures on one screen, live; `?` lists the keys."""
    from ojs_cli.top.loop import Loop, name_of
    from ojs_cli.top.screen import draw
    from ojs_cli.top.snapshot import look
    from ojs_cli.top.view import View

    output = session.output
    if once or not output.is_terminal or not sys.stdin.isatty():
        now = session.environment.wall_ms()
        found = look(session.server, name_of(session), now)
        width = min(output.width, 120)
        for line in draw(found, View(), width, max(24, len(found.queues) + 12), now)[:-1]:
            line.rstrip()
            output.print(line)
        return
    try:
        from ojs_cli.top.terminal import Screen
    except ModuleNotFoundError:
        raise click.UsageError("the live screen needs Linux or macOS; use --once") from None

    with Screen(output.coloured) as screen:
        Loop(session, screen, delay).run()
