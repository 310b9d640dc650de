"""`ojs doctor`: checks a deployment, and tells how to repair what it finds."""

from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, Final

import click

from ojs_cli.commands.queues import read_queues
from ojs_cli.commands.status import unhealthy
from ojs_cli.failures import NOT_SO, OK
from ojs_cli.grammar import Verb
from ojs_cli.output import column
from ojs_cli.server import Server, segment
from ojs_cli.session import Session
from ojs_cli.text import count, moment_ms, span
from ojs_worker.errors import NotFound, PermissionDenied, ServerTrouble

Json = dict[str, Any]
Finding = tuple[str, str, str]
Check = Callable[[Session], Iterator[Finding]]
# A clock that is further away than this makes ages and delays wrong that people notice.
SKEW_MS: Final = 2000
STUCK_MS: Final = 600_000
RUNS_LONG_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
# A server that is there fires within seconds.
OVERDUE_MS: Final = 60_000
MOST_LOOKED_AT: Final = 100
RUNS_LOOKED_AT: Final = 5
CHECKS = (
    column("CHECK", "check"),
    column("RESULT", "result", states=True),
    column("WHAT", "what", cut=True),
    column("HOW TO MEND IT", "hint", cut=True),
)


@click.command("doctor", cls=Verb)
@click.pass_obj
def command(session: Session) -> int:
    """Look for what is wrong with a deployment, and say how to mend it. Changes nothing.

    The exit code is 3 where something is wrong.
    """
    found: list[Json] = []
    away = ""
    for name, check in _CHECKS.items():
        if away:
            # Each further check would wait as long for the same answer.
            found.append(_row(name, "unknown", away, ""))
            continue
        try:
            wrong = list(check(session))
        except NotFound:
            if check is _server:
                # Whatever answers there is no server of the protocol.
                raise
            found.append(_row(name, "unknown", "the server has no such call", ""))
        except PermissionDenied:
            found.append(_row(name, "unknown", "this key may not see it", "use an operator's key"))
        except ServerTrouble as error:
            away = str(error)
            found.append(_row(name, "unknown", away, "mend the server or its store first"))
        else:
            found += [_row(name, *one) for one in wrong] or [_row(name, "ok", "", "")]
    session.output.listing(CHECKS, found)
    return NOT_SO if any(one["result"] == "wrong" for one in found) else OK


def _row(check: str, result: str, what: str, hint: str) -> Json:
    return {"check": check, "result": result, "what": what, "hint": hint}


def _wrong(what: str, hint: str) -> Finding:
    return ("wrong", what, hint)


def _server(session: Session) -> Iterator[Finding]:
    manifest = session.server.get("/ojs/manifest")
    level = manifest.get("conformance_level")
    if not isinstance(level, int) or level < 1:
        yield _wrong(f"the manifest says conformance level {level}", "expect 1 or more")
    health = session.server.health()
    if health.get("status") not in ("ok", "healthy"):
        yield _wrong(unhealthy(health), "see the server's log")


def _store(session: Session) -> Iterator[Finding]:
    detail = session.server.health("/health/detail")
    store = detail.get("store") or {}
    if (detail.get("backend") or {}).get("connection") == "disconnected":
        yield _wrong("the database does not answer", "start it, or look at the way to it")
    elif store.get("writable") is False:
        yield _wrong("the store takes no writes", "look for a full disk or a lost database")
    if lost := store.get("lost_connections"):
        yield _wrong(f"{lost} connections to the database were lost", "see the server's log")
    if (waiting := int(store.get("waiting_writes") or 0)) > 1000:
        yield _wrong(f"{waiting} writes wait", "the database is slower than what comes in")


def _clock(session: Session) -> Iterator[Finding]:
    wall_ms = session.environment.wall_ms
    before = wall_ms()
    heard = _heard(session)
    after = wall_ms()
    if heard is None:
        return
    # The header has whole seconds.
    early, late = before - heard - 1000, heard - after
    if max(early, late) > SKEW_MS:
        ahead = "behind" if early > late else "ahead of"
        away = span(max(early, late))
        yield _wrong(f"the server's clock is {away} {ahead} this machine's", "let both follow NTP")


def _heard(session: Session) -> int | None:
    """The server's time, as every answer over HTTP tells it."""
    import httpx

    from ojs_worker.tls import tls_of
    from ojs_worker.transport import base_url

    where = f"{base_url(session.config.url)}/ojs/v1/health"
    try:
        answer = httpx.get(where, verify=tls_of(session.config) or True, timeout=10)
        return round(parsedate_to_datetime(answer.headers["date"]).timestamp() * 1000)
    except (httpx.HTTPError, KeyError, ValueError):
        return None


def _queues(session: Session) -> Iterator[Finding]:
    now = session.environment.wall_ms()
    served = {
        str(name) for worker in _workers(session.server) for name in worker.get("queues") or ()
    }
    for queue in read_queues(session.server):
        name = queue.get("name")
        waiting = int((queue.get("counts") or {}).get("available") or 0)
        if not waiting:
            continue
        if queue.get("paused"):
            yield _wrong(
                f"{name} is paused with {count(waiting, 'job')} waiting",
                f"ojs queues resume {name}",
            )
        elif not {str(name), "*"} & served:
            yield _wrong(
                f"nobody serves {name}, where {_waiting(waiting)}",
                f"start a worker with --queues {name}",
            )
        elif (since := moment_ms(queue.get("oldest_available_at"))) and now - since > STUCK_MS:
            yield _wrong(
                f"a job has waited in {name} for {span(now - since)}",
                "start more workers, or see `ojs jobs queue:… state:active` for what holds them",
            )


def _work(session: Session) -> Iterator[Finding]:
    for worker in _workers(session.server):
        if worker.get("presence", "online") != "online":
            held = int(worker.get("active_jobs") or 0)
            yield _wrong(
                f"{worker['id']} is {worker.get('presence')} and holds {count(held, 'job')}",
                "its jobs go back when their leases end; see why it ended",
            )
    now = session.environment.wall_ms()
    long = [
        job
        for job in session.server.items("/jobs", "jobs", most=1000, states="active")
        if (start := moment_ms(job.get("started_at"))) and now - start > RUNS_LONG_MS
    ]
    if long:
        yield _wrong(
            f"{count(len(long), 'job')} run for more than an hour, such as {long[-1]['id']}",
            "a timeout (options.timeout_ms) ends what hangs",
        )


def _failures(session: Session) -> Iterator[Finding]:
    rates = session.server.get("/admin/stats").get("throughput") or {}
    failed = float(rates.get("failed_per_minute") or 0)
    done = float(rates.get("processed_per_minute") or 0)
    if failed >= 5 and failed > (failed + done) / 10:
        share = failed / (failed + done)
        yield _wrong(f"{share:.0%} of all attempts fail", "ojs dead --by-error")
    now = session.environment.wall_ms()
    newest = session.server.items("/dead-letter", "jobs", most=100)
    fresh = [job for job in newest if now - (moment_ms(job.get("discarded_at")) or 0) < 3_600_000]
    if fresh:
        most = f"{len(fresh)} jobs" if len(fresh) > 1 else "1 job"
        least = " or more" if len(fresh) == 100 else ""
        yield _wrong(
            f"{most}{least} failed for good in the last hour", "ojs dead since:1h --by-error"
        )


def _cron(session: Session) -> Iterator[Finding]:
    now = session.environment.wall_ms()
    for entry in session.server.items("/cron", "crons", most=MOST_LOOKED_AT):
        name = entry.get("name")
        if not entry.get("enabled", True):
            continue
        if (due := moment_ms(entry.get("next_run_at"))) and now - due > OVERDUE_MS:
            yield _wrong(
                f"{name} should have fired {span(now - due)} ago",
                "look for errors in the servers' logs",
            )
        job = _job(session.server, entry.get("last_job_id"))
        if job.get("state") == "discarded":
            path = f"/cron/{segment(str(name))}/history"
            runs = session.server.items(path, "history", most=RUNS_LOOKED_AT)
            jobs = [_job(session.server, run.get("job_id")) for run in runs]
            ended = [one["state"] for one in jobs if one.get("state") in ("completed", "discarded")]
            error = job.get("error") or {}
            often = f"the last {len(ended)} runs" if len(ended) > 1 else "the last run"
            yield _wrong(
                f"{'the last run' if 'completed' in ended else often} of {name} failed: "
                f"{error.get('message') or error.get('type') or 'for an unknown reason'}",
                f"ojs jobs show {job['id']}",
            )


def _job(server: Server, id: Any) -> Json:
    """A job of a run; empty if it has been removed, or there was none."""
    if not isinstance(id, str):
        return {}
    try:
        answer = server.get(f"/jobs/{segment(id)}")
    except NotFound:
        return {}
    found = answer.get("job", answer)
    return found if isinstance(found, dict) else {}


def _webhooks(session: Session) -> Iterator[Finding]:
    now = session.environment.wall_ms()
    server = session.server
    hooks = {one.get("id"): one for one in server.items("/webhooks/subscriptions", "subscriptions")}
    failing: dict[str, list[Json]] = {}
    for status in ("dead", "pending"):
        query: Json = {"status": status}
        for one in server.items("/webhooks/deliveries", "deliveries", most=MOST_LOOKED_AT, **query):
            ended = moment_ms(one.get("finished_at"))
            lately = ended is not None and now - ended < DAY_MS
            # One failure alone may be a restart at the other end.
            if lately if status == "dead" else int(one.get("attempts") or 0) > 1:
                failing.setdefault(str(one.get("subscription_id")), []).append(one)
    for id, ones in failing.items():
        if id not in hooks:
            continue
        dead = sum(one.get("status") == "dead" for one in ones)
        lost = f", {dead} given up" if dead else ""
        yield _wrong(
            f"{_deliveries(len(ones))} to {hooks[id].get('url')} failed{lost}: {ones[0]['error']}",
            f"ojs webhooks test {id}"
            + (f", then ojs webhooks redeliver --dead-of {id}" if dead else ""),
        )


def _deliveries(number: int) -> str:
    return f"{number} {'delivery' if number == 1 else 'deliveries'}"


def _limits(session: Session) -> Iterator[Finding]:
    for limit in session.server.items("/rate-limits", "items", most=1000):
        waiting = int(limit.get("waiting_count") or 0)
        if waiting and (limit.get("concurrency") or {}).get("limit") == 0:
            key = limit.get("key")
            hint = f"ojs limits unset {key}" if limit.get("override") else "raise its concurrency"
            yield _wrong(f"the limit {key} is 0, and {_waiting(waiting)}", hint)


def _switches(session: Session) -> Iterator[Finding]:
    if session.server.get("/admin/system/maintenance").get("enabled"):
        yield _wrong("maintenance is on: nothing is handed out", "turn it off in the dashboard")
    if (session.server.get("/ojs/manifest").get("capabilities") or {}).get("test_hooks"):
        yield _wrong(
            "test hooks are on: a key of an admin may wipe everything",
            "start the server without --conformance",
        )


def _waiting(number: int) -> str:
    return f"{count(number, 'job')} {'waits' if number == 1 else 'wait'}"


def _workers(server: Server) -> list[Json]:
    return server.items("/workers", "workers", most=1000)


_CHECKS: Final[dict[str, Check]] = {
    "server": _server,
    "store": _store,
    "clock": _clock,
    "queues": _queues,
    "work": _work,
    "failures": _failures,
    "cron": _cron,
    "webhooks": _webhooks,
    "limits": _limits,
    "switches": _switches,
}
