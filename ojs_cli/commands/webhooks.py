"""`ojs webhooks`: list and change webhooks, and send failed deliveries again."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli.columns import PAUSABLE, age_of, listed, until
from ojs_cli.confirmation import confirm, yes_option
from ojs_cli.failures import MISUSED, NOT_SO, OK, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import Column, column
from ojs_cli.server import segment
from ojs_cli.session import Session
from ojs_cli.text import count

Json = dict[str, Any]
KIND = Kind(
    "/webhooks/subscriptions", "subscriptions", "webhook", word="id", wraps=("subscription",)
)
DELIVERIES_AT = ("/webhooks/deliveries", "deliveries")


def _state(item: Json, _: int = 0) -> str:
    return "active" if item.get("active", True) else "paused"


WEBHOOKS = (
    column("ID", "id"),
    Column("STATE", _state, _state, states=PAUSABLE),
    age_of("created_at"),
    column("URL", "url", cut=True),
    listed("EVENTS", "events"),
    listed("QUEUES", "filter.queues", wide=True),
    listed("TYPES", "filter.job_types", wide=True),
    column("FORMAT", "format", wide=True),
)
DELIVERIES = (
    column("ID", "id"),
    column("STATUS", "status", states={"cancelled": "dim"}),
    column("EVENT", "event_type"),
    column("TRIES", "attempts", right=True),
    column("CODE", "status_code", right=True),
    age_of("created_at"),
    until("next_attempt_at", "NEXT"),
    column("ERROR", "error", cut=True),
    column("WEBHOOK", "subscription_id", wide=True),
    column("EVENT ID", "event_id", wide=True),
)
STATUSES = ("pending", "delivered", "dead", "cancelled")

ENTRY = Entry(
    Section.SERVERS,
    2,
    "list, add, test, pause, deliveries, redeliver, delete",
    aliases=("webhook",),
)
command = Noun(
    "webhooks",
    help="""Webhooks: events posted to URLs, and what became of each delivery.

    \b
    ojs webhooks add https://example.org/hook 'job.*' --queue mail
    ojs webhooks deliveries --status dead
    """,
)
argument = click.argument("id", shell_complete=KIND.complete)
KIND.add_list(command, WEBHOOKS, "List webhooks, the newest first.")
KIND.add_show(command, "Show webhooks.")
KIND.add_delete(
    command,
    "webhook",
    "webhooks",
    "Delete webhooks with their secrets; deliveries under way are cancelled.",
)


@command.command("add")
@click.argument("target", metavar="URL")
@click.argument("events", nargs=-1, required=True, metavar="EVENT…")
@click.option("-q", "--queue", "queues", multiple=True, help="only events of this queue")
@click.option("--type", "job_types", multiple=True, help="only events of this job type")
@click.option("--format", "form", type=click.Choice(("ojs", "cloudevents")), help="of the body")
@click.pass_obj
def add(
    session: Session,
    target: str,
    events: Sequence[str],
    queues: Sequence[str],
    job_types: Sequence[str],
    form: str | None,
) -> None:
    """Post events to a URL: EVENT is a name, a prefix such as `job.*`, or `*`.

    The secret that signs them is shown once.
    """
    body: Json = {"url": target, "events": list(events)}
    chosen = {"queues": list(queues), "job_types": list(job_types)}
    if chosen := {name: values for name, values in chosen.items() if values}:
        body["filter"] = chosen
    if form is not None:
        body["format"] = form
    _with_secret(session, session.server.call("POST", KIND.path, body))


@command.command("rotate")
@argument
@click.pass_obj
def rotate(session: Session, id: str) -> None:
    """Sign with a new secret, which is shown once; the old one is valid for a day."""
    _with_secret(session, KIND.call(session, "POST", id, "/rotate-secret"))


def _with_secret(session: Session, answer: Json) -> None:
    found = KIND.of(answer)
    session.output.whole(found, found.items())
    session.output.note("ojs: keep the secret, it is not shown again")


@command.command("test")
@argument
@click.pass_obj
def test(session: Session, id: str) -> int:
    """Post a test event now, and show the answer; the exit code is 3 if it was refused."""
    found = KIND.call(session, "POST", id, "/test")
    session.output.whole(found, found.items())
    return OK if found.get("success") else NOT_SO


@command.command("pause")
@KIND.names
@click.pass_obj
def pause(session: Session, names: Sequence[str]) -> None:
    """Send nothing until resumed; events of that time are never sent."""
    _switch(session, names, active=False)


@command.command("resume")
@KIND.names
@click.pass_obj
def resume(session: Session, names: Sequence[str]) -> None:
    """Send events again, from now on."""
    _switch(session, names, active=True)


def _switch(session: Session, ids: Sequence[str], *, active: bool) -> None:
    body = {"active": active}
    changed = [KIND.of(KIND.call(session, "PATCH", id, body=body)) for id in ids]
    session.output.listing(WEBHOOKS, changed)


@command.command("deliveries")
@click.argument("id", required=False, shell_complete=KIND.complete)
@click.option("--status", type=click.Choice(STATUSES), help="only these")
@click.option("-n", "most", type=click.IntRange(min=1), default=50, show_default=True)
@click.pass_obj
def deliveries(session: Session, id: str | None, status: str | None, most: int) -> None:
    """List deliveries of all webhooks or of one, the newest first."""
    query: Json = {"subscription_id": id, "status": status}
    session.output.listing(DELIVERIES, session.server.items(*DELIVERIES_AT, most, **query))


@command.command("redeliver")
@click.argument("ids", nargs=-1, metavar="[DELIVERY]…")
@click.option("--dead-of", metavar="ID", help="all that were given up of a webhook")
@yes_option
@click.pass_obj
def redeliver(session: Session, ids: Sequence[str], dead_of: str | None, yes: bool) -> None:
    """Send deliveries that have ended once more, by id or all that a webhook missed."""
    if bool(ids) == bool(dead_of):
        hint = "name deliveries, or a webhook by --dead-of"
        raise Failure("which deliveries?", hint, exit_code=MISUSED)
    if dead_of is not None:
        KIND.call(session, "GET", dead_of)
        query: Json = {"subscription_id": dead_of, "status": "dead"}
        ids = [str(found["id"]) for found in session.server.items(*DELIVERIES_AT, **query)]
        if ids:
            question = f"send {len(ids)} {'delivery' if len(ids) == 1 else 'deliveries'} again"
            confirm(session, question, len(ids), yes=yes, destroys=False)
    path = DELIVERIES_AT[0]
    again = [session.server.call("POST", f"{path}/{segment(id)}/retry") for id in ids]
    session.output.listing(DELIVERIES, [found.get("delivery", found) for found in again])
    session.output.note(f"ojs: {count(len(again), 'event')} will be sent")
