"""`ojs backup`: a whole copy of the embedded store."""

from pathlib import Path

import click

from ojs_cli import embedded
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.grammar import Verb
from ojs_cli.progress import Progress
from ojs_cli.session import Session

database = click.option(
    "--database",
    envvar="OJS_DATABASE_URL",
    default="ojs.db",
    show_default=True,
    help="as the server has it  [OJS_DATABASE_URL]",
)


def file_of(database: str) -> Path:
    """The file that a setting names; other databases have programs of their own for this."""
    if database.startswith(("postgresql://", "postgres://")):
        raise Failure(
            "that is a PostgreSQL database, which pg_dump and pg_restore copy",
            "docs/operations.md says how",
            exit_code=MISUSED,
        )
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
    """Copy a server's SQLite database, with state and history, also while the server runs."""
    source = file_of(database)
    embedded.schema_of(source)
    if file.exists():
        raise Failure(f"{file} is there already", "remove it, or name another file")
    copied(session, source, file)
    session.output.note(f"ojs: {file} holds {source} as it was now")


def copied(session: Session, source: Path, target: Path) -> None:
    """Copy with a progress bar, and check the copy."""
    with Progress(session, "pages", None) as progress:
        embedded.copy(source, target, lambda done, _: progress.at(done))
    embedded.schema_of(target)
