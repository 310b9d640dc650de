"""`ojs outbox`: the outbox in a program's database, and the relay that sends it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from ojs_cli.failures import MISUSED, NOT_FOUND, Failure
from ojs_cli.grammar import Entry, Noun, Section
from ojs_cli.output import column
from ojs_cli.session import Session

if TYPE_CHECKING:
    from ojs_worker.outbox.rows import Rows

# Most rows that are listed.
LISTED = 1000
FAILURES = (
    column("ID", "id", right=True),
    column("JOB", "job_id", wide=True),
    column("TYPE", "job_type"),
    column("ERROR", "error", cut=True),
)
database_option = click.option(
    "--database",
    envvar="OJS_OUTBOX_DATABASE",
    required=True,
    metavar="URL",
    help="the program's, as SQLAlchemy has it  [OJS_OUTBOX_DATABASE]",
)

ENTRY = Entry(Section.PROGRAMS, 3, "jobs in a program's database: create, run, status, retry")
command = Noun(
    "outbox",
    help="""The outbox in a program's database, and the relay that sends it.

    \b
    ojs outbox create --database postgresql://shop@db.example.org/shop
    ojs outbox run --database mysql://shop@db.example.org/shop --url https://ojs.example.org
    """,
)


@contextmanager
def opened(database: str) -> "Iterator[Rows]":
    """Open the rows of an outbox, and turn errors of its database into failures."""
    try:
        from ojs_worker.outbox.rows import DatabaseError, Rows, open_database

        rows = Rows(open_database(database))
    except ImportError as missing:
        raise _without(missing) from None
    except ValueError as error:
        raise Failure(str(error), exit_code=MISUSED) from None
    try:
        yield rows
    except DatabaseError as error:
        reason = getattr(error, "orig", None) or error
        raise Failure(
            f"the outbox's database: {reason}", "`ojs outbox create` makes the table"
        ) from None
    finally:
        rows.close()


def _without(missing: ImportError) -> Failure:
    if isinstance(missing, ModuleNotFoundError):
        # The driver, which the program chooses.
        return Failure(f"the outbox's database needs {missing.name}", f"pip install {missing.name}")
    return Failure(str(missing))


@command.command("create")
@database_option
def create(database: str) -> None:
    """Create the tables of an outbox; migrations take their statements from the SDK."""
    with opened(database) as rows:
        rows.create()


@command.command("list")
@database_option
@click.pass_obj
def list_(session: Session, database: str) -> None:
    """List the rows whose jobs the server refused, with the reasons."""
    with opened(database) as rows:
        found = [msgspec.to_builtins(failure) for failure in rows.failures(LISTED)]
    session.output.listing(FAILURES, found)


@command.command("status")
@database_option
@click.pass_obj
def status(session: Session, database: str) -> None:
    """Count the rows that wait and that failed, with the age of the oldest one in seconds."""
    with opened(database) as rows:
        figures = rows.figures()
    shown = {
        "pending": figures.pending,
        "oldest_s": round(figures.lag_s(session.environment.now()), 3),
        "failed": figures.failed,
    }
    session.output.whole(shown, shown.items())


@command.command("retry")
@click.argument("ids", nargs=-1, type=int, metavar="[ID…]")
@database_option
@click.pass_obj
def retry(session: Session, ids: Sequence[int], database: str) -> None:
    """Send rows that failed again: those of these ids, or all."""
    with opened(database) as rows:
        number = rows.retry(ids or None)
    if ids and not number:
        raise Failure("none of these rows has failed", exit_code=NOT_FOUND)
    session.output.note(f"ojs: {number} {'row waits' if number == 1 else 'rows wait'} again")


@command.command("run")
@database_option
@click.option("--batch", type=click.IntRange(1, 1000), default=100, show_default=True, help="rows")
@click.option("--poll", default="1s", show_default=True, metavar="TIME", help="between two looks")
@click.option(
    "--keep", default="24h", show_default=True, metavar="TIME", help="rows that were sent"
)
@click.option("--health-port", type=click.IntRange(0, 65535), help="for probes and metrics")
@click.option("--health-host", default="0.0.0.0", show_default=True, help="address for probes")
@click.option(
    "--log-format", type=click.Choice(("text", "json")), default="text", show_default=True
)
@click.pass_obj
def run(
    session: Session,
    database: str,
    batch: int,
    poll: str,
    keep: str,
    health_port: int | None,
    health_host: str,
    log_format: str,
) -> None:
    """Send the rows of an outbox to the server until SIGTERM or SIGINT."""
    import asyncio

    from ojs_worker.durations import milliseconds
    from ojs_worker.logs import set_up
    from ojs_worker.transport.tls import tls_of

    config = session.config
    set_up(log_format, "info")

    async def relay_until_stopped() -> None:
        from ojs_worker.outbox.relay import Relay
        from ojs_worker.outbox.serving import serve

        relay = Relay(
            database,
            config.url,
            config.auth_token,
            tls=tls_of(config),
            batch=batch,
            poll_s=milliseconds(poll, "--poll") / 1000,
            keep_s=milliseconds(keep, "--keep") / 1000,
            environment=session.environment,
        )
        await serve(relay, health_host=health_host, health_port=health_port)

    try:
        asyncio.run(relay_until_stopped())
    except ImportError as missing:
        raise _without(missing) from None
    except (ValueError, OSError) as error:
        raise Failure(str(error), exit_code=MISUSED) from None
