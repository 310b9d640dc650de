"""Checks of a deployment: its servers, its store, their clocks."""

from collections import Counter
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any, Final

from ojs_cli.commands.doctor.findings import Check, Finding, Unchecked
from ojs_cli.commands.nodes import read_nodes
from ojs_cli.commands.status import unhealthy
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.server import segment
from ojs_cli.session import Session
from ojs_cli.text import moment_ms, span
from ojs_worker.errors import NotFound

# Users notice wrong ages and delays if clocks differ by more.
SKEW_MS: Final = 2000
# Servers that died earlier have been replaced, or are not needed.
DIED_LATELY_MS: Final = 3_600_000
NTP: Final = "let all machines follow NTP"


def schema_of(database: str) -> Check:
    """Make the check of the schema of a database against the one of this program."""

    def schema(session: Session) -> Iterator[Finding]:
        from ojs_server.store.errors import SchemaError, StoreUnavailable
        from ojs_server.store.open import check_schema

        try:
            check_schema(database)
        except ModuleNotFoundError as missing:
            hint = "pip install 'ojs-reference[server]'"
            raise Failure(f"--database needs {missing.name}", hint) from None
        except SchemaError as error:
            # Messages of this error have the form "problem; remedy".
            what, _, hint = str(error).partition("; ")
            yield what, hint
        except StoreUnavailable as error:
            yield str(error), "start the database, or name another by --database"
        except ValueError as error:
            raise Failure(str(error), exit_code=MISUSED) from None

    return schema


def server(session: Session) -> Iterator[Finding]:
    """Check the manifest and the health of the server."""
    manifest = session.server.get("/ojs/manifest")
    level = manifest.get("conformance_level")
    if not isinstance(level, int) or level < 1:
        yield f"the manifest says conformance level {level}", "expect 1 or more"
    health = session.server.health()
    if health.get("status") not in ("ok", "healthy"):
        yield unhealthy(health), "see the server's log"


def store(session: Session) -> Iterator[Finding]:
    """Check that the store takes writes, and keeps up with them."""
    detail = session.server.health("/health/detail")
    state = detail.get("store") or {}
    if (detail.get("backend") or {}).get("connection") == "disconnected":
        yield "the database does not answer", "start it, or look at the way to it"
    elif state.get("writable") is False:
        yield "the store takes no writes", "look for a full disk or a lost database"
    if lost := state.get("lost_connections"):
        yield f"{lost} connections to the database were lost", "see the server's log"
    for holder in state.get("vacuum_holders") or ():
        yield _held_by(holder)
    if (waiting := int(state.get("waiting_writes") or 0)) > 1000:
        yield f"{waiting} writes wait", "the database is slower than what comes in"


def _held_by(holder: dict[str, Any]) -> Finding:
    """Name what keeps the database from removing old rows, and how to end it."""
    name, user = holder.get("name"), holder.get("user")
    match holder.get("kind"):
        case "session":
            what = f"the session {name} ({holder.get('application') or 'unnamed'}, user {user})"
            hint = f"have it end its transaction, or SELECT pg_terminate_backend({name})"
        case "prepared":
            what = f"the prepared transaction {name} of user {user}"
            hint = "COMMIT PREPARED or ROLLBACK PREPARED with its identifier"
        case _:
            what = f"the replication slot {name}"
            hint = f"bring its reader back, or SELECT pg_drop_replication_slot('{name}')"
    held = "at least " * bool(holder.get("at_least")) + span(1000 * int(holder.get("held_s") or 0))
    return f"{what} has kept PostgreSQL from removing old rows for {held}", hint


def nodes(session: Session) -> Iterator[Finding]:
    """Check that the servers of the database are there, and of one version."""
    now = session.environment.wall_ms()
    found = read_nodes(session.server)
    for node in found:
        silent_ms = now - (moment_ms(node.get("last_seen_at")) or 0)
        if node.get("state") == "unreachable" and silent_ms < DIED_LATELY_MS:
            yield (
                f"the server {node['id']} was last seen {span(silent_ms)} ago",
                f"look at its process and log on {node.get('host')}",
            )
    online = (str(node.get("version")) for node in found if node.get("state") == "online")
    versions = Counter(online)
    if len(versions) > 1:
        several = ", ".join(f"{version} ({number})" for version, number in sorted(versions.items()))
        yield f"the servers are of different versions: {several}", "upgrade those that are older"


def clock(session: Session) -> Iterator[Finding]:
    """Compare the clocks of the server and of its database with this machine's."""
    wall_ms = session.environment.wall_ms
    compared = False
    for clock_of, look in (("server", _server_ms), ("database", _database_ms)):
        before = wall_ms()
        interval = look(session)
        after = wall_ms()
        if interval is None:
            continue
        compared = True
        least, most = interval
        early, late = before - most, least - after
        if max(early, late) > SKEW_MS:
            ahead = "behind" if early > late else "ahead of"
            yield f"the {clock_of}'s clock is {span(max(early, late))} {ahead} this machine's", NTP
            # Skip the database: an embedded one has the clock of its server.
            return
    if not compared:
        raise Unchecked("the server does not tell its time")


def _server_ms(session: Session) -> tuple[int, int] | None:
    """The server's time, as every answer over HTTP tells it, in whole seconds."""
    import httpx

    from ojs_worker.transport import urls_of
    from ojs_worker.transport.tls import tls_of

    for url in urls_of(session.config.url):
        where = f"{url}/ojs/v1/health"
        try:
            answer = httpx.get(where, verify=tls_of(session.config) or True, timeout=10)
            date_ms = round(parsedate_to_datetime(answer.headers["date"]).timestamp() * 1000)
        except (httpx.HTTPError, KeyError, ValueError):
            continue
        return date_ms, date_ms + 1000
    return None


def _database_ms(session: Session) -> tuple[int, int] | None:
    """The time of the database, as the statistics of a queue tell it; None without queues."""
    try:
        for queue in session.server.items("/queues", "queues", most=1):
            found = session.server.get(f"/queues/{segment(str(queue.get('name')))}/stats")
            computed_ms = moment_ms(found.get("computed_at"))
            return None if computed_ms is None else (computed_ms, computed_ms)
    except NotFound:
        pass
    return None
