"""`ojs limits`: list rate limits, and override them for a while."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli.columns import rate_of, until
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import Column, column
from ojs_cli.session import Session
from ojs_cli.values import later, rate

Json = dict[str, Any]
KIND = Kind("/rate-limits", "items", "rate key", word="key")


def _running(item: Json, _: int = 0) -> str:
    limit = (item.get("concurrency") or {}).get("limit")
    return str(item.get("active") or 0) + ("" if limit is None else f"/{limit}")


def _state(item: Json, _: int = 0) -> str:
    return "open" if item.get("open", True) else "closed"


LIMITS = (
    column("KEY", "key"),
    Column("STATE", _state, _state),
    Column("RUNNING", _running, _running, right=True),
    rate_of("RATE", "rate"),
    column("STARTED", "rate.current_count", right=True),
    rate_of("THROTTLE", "throttle"),
    column("WAITING", "waiting_count", right=True),
    until("held_until", "HELD"),
    column("OVERRIDE", "override", cut=True),
)

ENTRY = Entry(
    Section.QUEUES,
    3,
    "rate limits by key: list, show, set, unset",
    aliases=("limit", "rate-limit", "rate-limits"),
)
command = Noun("limits", help="Rate limits by key: what runs, what waits; overrides for a while.")
KIND.add_show(command, "Show rate keys.")


@command.command("list")
@click.option("--waiting", is_flag=True, help="only those that hold jobs back")
@click.pass_obj
def list_limits(session: Session, waiting: bool) -> None:
    """List rate keys: those with the most waiting jobs first."""
    found = [
        limit
        for limit in session.server.items(*KIND.list)
        if limit.get("waiting_count") or not waiting
    ]
    found.sort(key=lambda limit: (-int(limit.get("waiting_count") or 0), str(limit.get("key"))))
    session.output.listing(LIMITS, found)


@command.command("set")
@click.argument("key", shell_complete=KIND.complete)
@click.option("--concurrency", type=click.IntRange(min=0), help="so many jobs at a time")
@click.option("--rate", "starts", metavar="N/PERIOD", help="so many starts, such as 100/minute")
@click.option("--throttle", metavar="N/PERIOD", help="so many starts, evenly apart")
@click.option("--for", "length", metavar="DURATION", help="how long, such as 1h")
@click.pass_obj
def set_limit(
    session: Session,
    key: str,
    concurrency: int | None,
    starts: str | None,
    throttle: str | None,
    length: str | None,
) -> None:
    """Override the limits that the jobs of a key name, for a while or until `unset`.

    \b
    ojs limits set stripe-api --rate 20/minute --for 1h
    """
    body: Json = {}
    if concurrency is not None:
        body["concurrency"] = concurrency
    if starts is not None:
        body["rate"] = rate(starts, "--rate")
    if throttle is not None:
        body["throttle"] = rate(throttle, "--throttle")
    if not body:
        hint = "give --concurrency, --rate or --throttle; `ojs limits unset` ends an override"
        raise Failure("which limit?", hint, exit_code=MISUSED)
    if length is not None:
        body["expires_at"] = later(length, "--for")
    session.output.listing(LIMITS, [KIND.call(session, "PUT", key, body=body)])


@command.command("unset")
@KIND.names
@click.pass_obj
def unset(session: Session, names: Sequence[str]) -> None:
    """End overrides; the limits that the jobs name apply again."""
    session.output.listing(LIMITS, [KIND.call(session, "DELETE", key) for key in names])
