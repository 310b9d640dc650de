"""`ojs doctor`: checks a deployment, and tells how to repair what it finds."""

from collections.abc import Mapping
from typing import Any, Final

import click

from ojs_cli.commands.doctor import access, deployment, work
from ojs_cli.commands.doctor.findings import Check, Unchecked
from ojs_cli.failures import NOT_SO, OK
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.output import column
from ojs_cli.session import Session
from ojs_worker.errors import NotFound, PermissionDenied, ServerTrouble, Unreachable

Json = dict[str, Any]
COLUMNS = (
    column("CHECK", "check"),
    column("RESULT", "result", states={"ok": "green", "wrong": "bold red"}),
    column("WHAT", "what", cut=True),
    column("HOW TO MEND IT", "hint", cut=True),
)
CHECKS: Final[Mapping[str, Check]] = {
    "server": deployment.server,
    "store": deployment.store,
    "nodes": deployment.nodes,
    "clock": deployment.clock,
    "queues": work.queues,
    "work": work.work,
    "failures": work.failures,
    "cron": work.cron,
    "webhooks": work.webhooks,
    "limits": work.limits,
    "switches": work.switches,
    "access": access.access,
}

ENTRY = Entry(Section.SEE, 2, "what is wrong with a deployment, and how to mend it")


@click.command("doctor", cls=Verb)
@click.option(
    "--database",
    envvar="OJS_DATABASE_URL",
    help="check the schema of this database, too, as the server names it  [OJS_DATABASE_URL]",
)
@click.pass_obj
def command(session: Session, database: str | None) -> int:
    """Look for what is wrong with a deployment, and say how to mend it. Changes nothing.

    The exit code is 3 where something is wrong.
    """
    checks = dict(CHECKS)
    if database is not None:
        # First, because a server may refuse to start on an older schema.
        checks = {"schema": deployment.schema_of(database), **checks}
    found: list[Json] = []
    away = ""
    for name, check in checks.items():
        if away:
            # Each further check would wait for the same timeout.
            found.append(_row(name, "unknown", away, ""))
            continue
        try:
            wrong = list(check(session))
        except NotFound:
            if check is deployment.server:
                # The URL leads to something that is no OJS server.
                raise
            found.append(_row(name, "unknown", "the server has no such call", ""))
        except Unchecked as error:
            found.append(_row(name, "unknown", str(error), ""))
        except PermissionDenied:
            found.append(_row(name, "unknown", "this key may not see it", "use an operator's key"))
        except Unreachable as error:
            if not found:
                raise
            away = str(error)
            found.append(_row(name, "wrong", away, "start a server with `ojs server`"))
        except ServerTrouble as error:
            away = str(error)
            found.append(_row(name, "unknown", away, "mend the server or its store first"))
        else:
            found += [_row(name, "wrong", *problem) for problem in wrong] or [
                _row(name, "ok", "", "")
            ]
    session.output.listing(COLUMNS, found)
    return NOT_SO if any(row["result"] == "wrong" for row in found) else OK


def _row(check: str, result: str, what: str, hint: str) -> Json:
    return {"check": check, "result": result, "what": what, "hint": hint}
