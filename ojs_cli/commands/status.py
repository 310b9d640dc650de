"""`ojs status`: the version, health and problems of the server."""

from typing import Any

import click

from ojs_cli.commands.queues import read_queues
from ojs_cli.failures import NOT_SO, OK
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.session import Session
from ojs_cli.text import count, printable, span
from ojs_worker.errors import NotFound, PermissionDenied, ServerTrouble

Json = dict[str, Any]
ENTRY = Entry(Section.SEE, 3, "what the server is, how it does, and what is wrong")


@click.command("status", cls=Verb)
@click.option("--exit-code", "strict", is_flag=True, help="3 where something is wrong")
@click.pass_obj
def command(session: Session, strict: bool) -> int:
    """Show the server, its health, and what is wrong with it."""
    server = session.server
    manifest = server.get("/ojs/manifest")
    health = server.health()
    statistics = _or_none(lambda: server.get("/admin/stats"))
    queues = _or_none(lambda: read_queues(server)) or []
    wrong = troubles(health, statistics or {}, queues)
    found = {
        "url": server.url,
        "manifest": manifest,
        "health": health,
        "statistics": statistics,
        "wrong": wrong,
    }
    session.output.whole(found, _lines(server.url, manifest, health, statistics or {}))
    for line in wrong:
        session.output.write_line(f"wrong  {printable(line)}", style="bold red")
    return NOT_SO if strict and wrong else OK


def _lines(url: str, manifest: Json, health: Json, statistics: Json) -> list[tuple[str, Any]]:
    name = f"{manifest.get('name') or 'server'} {manifest.get('version') or ''}".strip()
    backend = health.get("backend") or {}
    jobs = statistics.get("jobs") or {}
    rates = statistics.get("throughput") or {}
    uptime = health.get("uptime_seconds")
    return [
        ("server", f"{name} at {url}"),
        ("level", manifest.get("conformance_level")),
        ("health", health.get("status")),
        ("store", backend.get("type") or manifest.get("backend")),
        ("up", None if uptime is None else span(float(uptime) * 1000)),
        ("jobs", "  ".join(f"{state} {number:,}" for state, number in jobs.items() if number)),
        ("queues", statistics.get("queues")),
        ("workers", statistics.get("workers")),
        ("in", _rate(rates.get("enqueued_per_minute"))),
        ("out", _rate(rates.get("processed_per_minute"))),
        ("failed", _rate(rates.get("failed_per_minute"))),
    ]


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:,.0f}/min"


def troubles(health: Json, statistics: Json, queues: list[Json]) -> list[str]:
    """Return what is wrong with the server, a sentence for each problem."""
    found = []
    if health.get("status") not in ("ok", "healthy"):
        found.append(unhealthy(health))
    waiting = {
        str(queue["name"]): int((queue.get("counts") or {}).get("available") or 0)
        for queue in queues
    }
    found += [
        f"the queue {queue['name']} is paused, with {_jobs(waiting[queue['name']])}"
        for queue in queues
        if queue.get("paused") and waiting[queue["name"]]
    ]
    if statistics.get("workers") == 0 and sum(waiting.values()):
        found.append(f"there is no worker, with {_jobs(sum(waiting.values()))}")
    return found


def unhealthy(health: Json) -> str:
    """Say in a sentence that a server is not healthy, with the cause that it gives."""
    why = (health.get("backend") or {}).get("error")
    text = f"the server says that it is {health.get('status')}"
    return f"{text}: {why}" if why else text


def _jobs(number: int) -> str:
    return f"{count(number, 'job')} waiting"


def _or_none(read: Any) -> Any:
    """Return what `read` returns; None if the server lacks it or cannot answer, or the key may
    not see it."""
    try:
        return read()
    except (NotFound, PermissionDenied):
        return None
    except ServerTrouble as error:
        if error.status != 503:
            raise
        # The health of the server gives the reason.
        return None
