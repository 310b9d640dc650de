"""`ojs schemas`: list and register schemas of arguments, and try them."""

from collections.abc import Sequence
from typing import Any

import click

from ojs_cli.columns import age_of
from ojs_cli.commands.enqueue import job_arguments
from ojs_cli.confirmation import confirm_delete, yes_option
from ojs_cli.failures import NOT_SO, OK, REFUSED, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.kinds import Kind
from ojs_cli.output import column
from ojs_cli.server import segment
from ojs_cli.session import Session
from ojs_cli.values import document
from ojs_worker.errors import Refused

Json = dict[str, Any]
KIND = Kind("/schemas", "schemas", "schema of", word="type")
SCHEMAS = (
    column("TYPE", "type"),
    column("VERSION", "version"),
    column("MODE", "mode"),
    age_of("created_at"),
    column("URI", "uri", cut=True),
)
WRONG = (column("PATH", "path"), column("RULE", "keyword"), column("WHAT", "message", cut=True))
BREAKS = (column("WHERE", "pointer"), column("RULE", "rule"), column("WHAT", "message", cut=True))
DONE = (column("TYPE", "type"), column("VERSION", "version"), column("DONE", "done"))

ENTRY = Entry(
    Section.JOBS,
    6,
    "of arguments: list, show, register, validate, compare, delete",
    aliases=("schema",),
)
command = Noun(
    "schemas",
    help="""Schemas of the arguments of job types.

    \b
    ojs schemas register mail.send 2 @mail.json --mode strict
    ojs schemas validate mail.send '{"to": "a@example.org"}'
    """,
)
type_argument = click.argument("type", shell_complete=KIND.complete)
schema_argument = click.argument("schema", metavar="JSON|@FILE|-")


@command.command("list")
@click.argument("type", required=False, shell_complete=KIND.complete)
@click.pass_obj
def list_schemas(session: Session, type: str | None) -> None:
    """List schemas, or the versions of one type; the newest version first."""
    if type is None:
        found = session.server.items(*KIND.list)
    else:
        found = KIND.call(session, "GET", type, "/versions").get("versions") or []
    session.output.listing(SCHEMAS, found)


@command.command("show")
@type_argument
@click.argument("version", required=False)
@click.pass_obj
def show(session: Session, type: str, version: str | None) -> None:
    """Print a schema: the newest one, or that of a version."""
    found = KIND.call(session, "GET", type, "" if version is None else f"/{segment(version)}")
    schema = found.get("schema") or {}
    session.output.document(schema.get("schema", schema))


@command.command("register")
@click.argument("type")
@click.argument("version")
@schema_argument
@click.option("--mode", type=click.Choice(("off", "warn", "strict")), help="for what does not fit")
@click.pass_obj
def register(session: Session, type: str, version: str, schema: str, mode: str | None) -> None:
    """Register a version of a schema, which is not changed later."""
    body = {"type": type, "version": version, "schema": document(schema, "schema")}
    body |= {} if mode is None else {"mode": mode}
    try:
        answer = session.server.call("POST", "/schemas", body)
    except Refused as error:
        breaks = error.details.get("breaking_changes")
        if not isinstance(breaks, list):
            raise
        session.output.listing(BREAKS, breaks)
        raise Failure(str(error), "give it the next major version", exit_code=REFUSED) from None
    session.output.listing(SCHEMAS, [answer])


@command.command("validate")
@type_argument
@click.argument("args", nargs=-1, metavar="[ARG]…")
@click.option("--args", "args_text", metavar="JSON|@FILE|-", help="all arguments as JSON")
@click.option("--version", help="of the schema; default: the newest")
@click.pass_obj
def validate(
    session: Session, type: str, args: Sequence[str], args_text: str | None, version: str | None
) -> int:
    """List what is wrong with arguments; the exit code is 3 if anything is."""
    body = {"args": job_arguments(args, args_text), "version": version}
    found = KIND.call(session, "POST", type, "/validate", body)
    session.output.listing(WRONG, found.get("validation_errors") or [], _rest(found))
    return OK if found.get("valid") else NOT_SO


@command.command("compare")
@type_argument
@schema_argument
@click.option("--version", help="of the schema; default: the next minor one")
@click.pass_obj
def compare(session: Session, type: str, schema: str, version: str | None) -> int:
    """List what a schema would break if it was registered; the exit code is 3 if anything."""
    body = {"schema": document(schema, "schema"), "version": version}
    found = KIND.call(session, "POST", type, "/compatibility", body)
    session.output.listing(BREAKS, found.get("breaking_changes") or [], _rest(found))
    return OK if found.get("compatible") else NOT_SO


@command.command("delete")
@type_argument
@click.argument("version")
@yes_option
@click.pass_obj
def delete(session: Session, type: str, version: str, yes: bool) -> None:
    """Delete a version of a schema."""
    confirm_delete(session, "schema", "schemas", [f"{type} {version}"], yes=yes)
    KIND.call(session, "DELETE", type, f"/{segment(version)}")
    session.output.listing(DONE, [{"type": type, "version": version, "done": "deleted"}])


def _rest(answer: Json) -> Json:
    """The members that are no list."""
    return {name: value for name, value in answer.items() if not isinstance(value, list)}
