"""`ojs tenants`: list tenants with their limits, and change those."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli import finding
from ojs_cli.columns import age_of, rate_of
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import column
from ojs_cli.session import Session
from ojs_cli.values import configure, dry_run_option, rate, set_option, unset_option

Json = dict[str, Any]
KIND = Kind("/admin/tenants", "items", "tenant")
RATE = "max_enqueue_rate"
TENANTS = (
    column("NAME", "name"),
    column("CONCURRENCY", "limits.max_concurrency", right=True),
    rate_of("ENQUEUE", f"limits.{RATE}"),
    column("DEPTH", "limits.max_queue_depth", right=True),
    column("SCHEDULED", "limits.max_scheduled", right=True),
    column("WEIGHT", "limits.fairness_weight", right=True),
    column("BOOST", "limits.priority_boost", right=True),
    column("CONFIGURED", "configured", wide=True),
    age_of("updated_at", "CHANGED", wide=True),
)

ENTRY = Entry(Section.QUEUES, 5, "list, show, config, delete", aliases=("tenant",))
command = Noun("tenants", help="Tenants: their jobs, limits and shares.")
KIND.add_list(command, TENANTS, "List tenants with their limits.")
KIND.add_delete(
    command,
    "tenant's limits",
    "tenants' limits",
    "Delete the limits of tenants; their jobs stay.",
)


@command.command("show")
@KIND.names
@click.pass_obj
def show(session: Session, names: Sequence[str]) -> None:
    """Show the jobs, rates, use of limits and share of tenants."""
    for name in names:
        KIND.call(session, "GET", name)
        found = KIND.call(session, "GET", name, "/stats")
        lines: list[tuple[str, Any]] = []
        for key, value in found.items():
            if isinstance(value, dict):
                lines += [(f"{key}.{part}", inner) for part, inner in value.items()]
            else:
                lines.append((key, value))
        session.output.whole(found, lines)


@command.command("config")
@click.argument("name", shell_complete=KIND.complete)
@set_option
@unset_option
@dry_run_option
@click.option("--new", is_flag=True, help="also a tenant that has no job yet")
@click.pass_obj
def config(
    session: Session,
    name: str,
    given: Sequence[str],
    unset: Sequence[str],
    dry_run: bool,
    new: bool,
) -> None:
    """Show the limits of a tenant, or change some of them.

    \b
    ojs tenants config acme --set max_concurrency=4 --set max_enqueue_rate=100/minute
    """
    known = [tenant for tenant in session.server.items(*KIND.list) if tenant.get("name") == name]
    if not known and not new:
        raise finding.known(session.server, *KIND.list, name, "tenant")
    found: Json = known[0]["limits"] if known else {}

    def save(changes: Json) -> None:
        if isinstance(changes.get(RATE), str):
            changes = changes | {RATE: rate(changes[RATE], f"--set {RATE}")}
        KIND.call(session, "PUT", name, "/limits", found | changes)

    configure(session, found, given, unset, dry_run=dry_run, save=save)
