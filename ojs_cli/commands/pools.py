"""`ojs pools`: list pools of workers, and say which queues they serve."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli.failures import MISUSED, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import Column, column
from ojs_cli.session import Session
from ojs_cli.text import cell

Json = dict[str, Any]
KIND = Kind("/admin/pools", "items", "pool", wraps=("pool",))


def _queues(item: Json, _: int = 0) -> str:
    weights = item.get("weights") or {}
    names = (
        f"{name}={weights[name]}" if name in weights else str(name)
        for name in item.get("queues") or ()
    )
    return cell(",".join(names))


POOLS = (
    column("NAME", "name"),
    column("STRATEGY", "strategy"),
    column("WORKERS", "active_workers", right=True),
    column("ACTIVE", "active_jobs", right=True),
    column("CONCURRENCY", "concurrency", right=True),
    Column("QUEUES", _queues, _queues, cut=True),
    column("ISOLATED", "isolated", wide=True),
)

ENTRY = Entry(
    Section.QUEUES,
    4,
    "groups of workers with queues of their own: list, show, add, delete",
    aliases=("pool",),
)
command = Noun("pools", help="Pools: groups of workers that serve queues of their own.")
KIND.add_list(command, POOLS, "List pools.")
KIND.add_show(command, "Show pools.")
KIND.add_delete(
    command,
    "pool",
    "pools",
    "Delete pools; their workers serve the queues that they name themselves.",
)


@command.command("add")
@click.argument("name")
@click.argument("queues", nargs=-1, required=True, metavar="QUEUE[=WEIGHT]…")
@click.option(
    "--strategy",
    type=click.Choice(("strict", "round-robin", "weighted", "least-loaded")),
    help="the order of its queues",
)
@click.option("--concurrency", type=click.IntRange(min=0), help="so many of its jobs at a time")
@click.option("--isolated", is_flag=True, help="other workers do not serve its queues")
@click.pass_obj
def add(
    session: Session,
    name: str,
    queues: Sequence[str],
    strategy: str | None,
    concurrency: int | None,
    isolated: bool,
) -> None:
    """Make a pool, or replace the one of that name.

    \b
    ojs pools add critical email=3 sms --concurrency 20
    """
    weighted = [_weighted(queue) for queue in queues]
    body: Json = {"queues": [queue for queue, _ in weighted], "isolated": isolated}
    if weights := {queue: weight for queue, weight in weighted if weight is not None}:
        body["weights"] = weights
    options = {
        "strategy": strategy or ("weighted" if weights else None),
        "concurrency": concurrency,
    }
    body |= {key: value for key, value in options.items() if value is not None}
    answer = KIND.call(session, "PUT", name, body=body)
    session.output.listing(POOLS, [KIND.of(answer)])


def _weighted(word: str) -> tuple[str, int | None]:
    queue, equals, weight = word.partition("=")
    if equals and not weight.isdecimal():
        raise Failure(f"{word!r}: write QUEUE=WEIGHT, such as email=3", exit_code=MISUSED)
    return queue, int(weight) if equals else None
