"""`ojs backup`: a whole copy of a server's database."""

from pathlib import Path

import click

from ojs_cli import dumps, embedded
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.progress import Progress
from ojs_cli.session import Session

ENTRY = Entry(Section.SERVERS, 5, "copy the database of a server, with state and history")
database = click.option(
    "--database",
    envvar="OJS_DATABASE_URL",
    default="ojs.db",
    show_default=True,
    help="as the server has it  [OJS_DATABASE_URL]",
)


def is_postgres(database: str) -> bool:
    """Return True if a setting names a PostgreSQL database."""
    return database.startswith(("postgresql://", "postgres://"))


def postgres(url: str) -> dumps.Database:
    """The PostgreSQL database of a server."""
    try:
        from ojs_server.store.errors import StoreUnavailable
        from ojs_server.store.postgres.connect import address_of
    except ModuleNotFoundError as missing:
        hint = "pip install 'ojs-reference[server]'"
        raise Failure(f"a PostgreSQL database needs {missing.name}", hint) from None
    try:
        return dumps.Database(address_of(url).parameters)
    except StoreUnavailable as error:
        raise Failure(str(error), exit_code=MISUSED) from None


def file_of(database: str) -> Path:
    """The file that a setting names."""
    from ojs_server.store.open import sqlite_path

    try:
        path = sqlite_path(database) if "://" in database else database
    except ValueError as error:
        raise Failure(str(error), exit_code=MISUSED) from None
    return Path(path)


@click.command("backup", cls=Verb)
@click.argument("file", type=click.Path(path_type=Path))
@database
@click.pass_obj
def command(session: Session, file: Path, database: str) -> None:
    """Copy a server's database, with state and history, also while the server runs.

    A PostgreSQL database is copied by pg_dump.
    """
    if is_postgres(database):
        _require_new(file)
        postgres(database).dump(file)
        session.output.note(f"ojs: {file} holds the database as it was now")
        return
    source = file_of(database)
    embedded.schema_of(source)
    _require_new(file)
    copied(session, source, file)
    session.output.note(f"ojs: {file} holds {source} as it was now")


def _require_new(file: Path) -> None:
    if file.exists():
        raise Failure(f"{file} is there already", "remove it, or name another file")


def copied(session: Session, source: Path, target: Path) -> None:
    """Copy with a progress bar, and check the copy."""
    with Progress(session, "pages", None) as progress:
        embedded.copy(source, target, lambda done, _: progress.at(done))
    embedded.schema_of(target)
