"""Watching: a table that is refreshed in place, or lines for what has changed."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import click

from ojs_cli.output import Column
from ojs_cli.session import Session
from ojs_cli.text import identity

Json = dict[str, Any]
INTERVAL_S = 1.0
interval = click.option(
    "--interval",
    type=click.FloatRange(min=0.05),
    default=INTERVAL_S,
    show_default=True,
    metavar="SECONDS",
    help="between two looks",
)
watch_option = click.option("-w", "--watch", "watched", is_flag=True, help="look again and again")


def list_or_watch(
    session: Session,
    columns: Sequence[Column],
    look: Callable[[], list[Json]],
    *,
    watched: bool,
    interval_s: float,
) -> None:
    """Write a list once, or refresh it until interrupted."""
    if watched:
        watch(session, columns, look, interval_s=interval_s)
    else:
        session.output.listing(columns, look())


def watch(
    session: Session,
    columns: Sequence[Column],
    look: Callable[[], list[Json]],
    *,
    interval_s: float,
    ended: Callable[[list[Json]], bool] = lambda items: False,
) -> list[Json]:
    """Poll until it has ended or is interrupted; returns the last state."""
    output = session.output
    seen: dict[Any, str] = {}
    in_place = output.is_terminal and output.for_people
    with _live(session) if in_place else nullcontext() as live:
        while True:
            items = look()
            if live is not None:
                live.update(output.grid(columns, items), refresh=True)
            else:
                for item in items:
                    known = repr(item)
                    if seen.get(identity(item)) != known:
                        seen[identity(item)] = known
                        output.item(columns, item)
            if ended(items):
                return items
            time.sleep(interval_s)


def _live(session: Session) -> Any:
    from rich.live import Live

    return Live(console=session.output.console, auto_refresh=False)


def wait_for(
    look: Callable[[], list[Json]], ended: Callable[[list[Json]], bool], interval_s: float
) -> list[Json]:
    """Poll silently until it has ended."""
    while not ended(items := look()):
        time.sleep(interval_s)
    return items
