"""`ojs restore`: a backup in the place of a server's database."""

from pathlib import Path

import click

from ojs_cli import dumps, embedded
from ojs_cli.commands.backup import copied, database, file_of, is_postgres, postgres
from ojs_cli.confirmation import confirm, yes_option
from ojs_cli.failures import CONFLICT, Failure
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.session import Session

ENTRY = Entry(Section.SERVERS, 6, "put such a copy back, while no server runs")


@click.command("restore", cls=Verb)
@click.argument("file", type=click.Path(path_type=Path))
@database
@yes_option
@click.pass_obj
def command(session: Session, file: Path, database: str, yes: bool) -> None:
    """Put a backup in the place of a server's database, while no server runs.

    What happened after the backup is gone: jobs that were finished since run again.
    """
    if is_postgres(database):
        _restore_postgres(session, file, database, yes)
        return
    from ojs_server.store.errors import StoreUnavailable
    from ojs_server.store.sqlite.lock import FileLock

    embedded.schema_of(file)
    # Resolved like in the server, which locks the target of a link.
    target = file_of(database).resolve()
    try:
        lock = FileLock(target, session.environment.process)
    except StoreUnavailable as error:
        raise Failure(str(error), "stop the server first", exit_code=CONFLICT) from None
    try:
        if target.exists():
            confirm(session, f"replace {target}", 1, yes=yes, destroys=True)
        fresh = target.with_name(f"{target.name}.restored")
        copied(session, file, fresh)
        for name in ("-wal", "-shm"):
            # The old database's files, which SQLite would apply to the new one.
            target.with_name(target.name + name).unlink(missing_ok=True)
        fresh.replace(target)
    finally:
        lock.release()
    session.output.note(f"ojs: {target} is as it was in {file}")


def _restore_postgres(session: Session, file: Path, database: str, yes: bool) -> None:
    target = postgres(database)
    dumps.require_tables(file, target.schema)
    target.require_no_server()
    question = f"replace the job server's tables in the schema {target.schema}"
    confirm(session, question, 1, yes=yes, destroys=True)
    target.restore(file)
    session.output.note(f"ojs: the database is as it was in {file}")
