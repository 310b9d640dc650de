"""Checks of work: queues, workers, jobs, cron entries, webhooks, limits."""

from collections.abc import Iterator
from typing import Any, Final

from ojs_cli.commands.doctor.findings import Finding
from ojs_cli.commands.queues import read_queues
from ojs_cli.commands.workers import read_workers
from ojs_cli.server import Server, segment
from ojs_cli.session import Session
from ojs_cli.text import count, moment_ms, span
from ojs_worker.errors import NotFound

Json = dict[str, Any]
STUCK_MS: Final = 600_000
RUNS_LONG_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
# A running server fires entries within seconds.
OVERDUE_MS: Final = 60_000
MOST_LOOKED_AT: Final = 100
RUNS_LOOKED_AT: Final = 5


def queues(session: Session) -> Iterator[Finding]:
    """Look for queues that are paused, not served, or stuck while jobs wait."""
    now = session.environment.wall_ms()
    served = {
        str(name) for worker in read_workers(session.server) for name in worker.get("queues") or ()
    }
    for queue in read_queues(session.server):
        name = queue.get("name")
        waiting = int((queue.get("counts") or {}).get("available") or 0)
        if not waiting:
            continue
        if queue.get("paused"):
            yield (
                f"{name} is paused with {count(waiting, 'job')} waiting",
                f"ojs queues resume {name}",
            )
        elif not {str(name), "*"} & served:
            yield (
                f"nobody serves {name}, where {_waiting(waiting)}",
                f"start a worker with --queues {name}",
            )
        elif (since := moment_ms(queue.get("oldest_available_at"))) and now - since > STUCK_MS:
            yield (
                f"a job has waited in {name} for {span(now - since)}",
                "start more workers, or see `ojs jobs queue:… state:active` for what holds them",
            )


def work(session: Session) -> Iterator[Finding]:
    """Look for workers that have gone with jobs, and for jobs that run for long."""
    for worker in read_workers(session.server):
        if worker.get("presence", "online") != "online":
            held = int(worker.get("active_jobs") or 0)
            yield (
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
        yield (
            f"{count(len(long), 'job')} run for more than an hour, such as {long[-1]['id']}",
            "a timeout (options.timeout_ms) ends what hangs",
        )


def failures(session: Session) -> Iterator[Finding]:
    """Look for jobs that fail, most of them or for good."""
    rates = session.server.get("/admin/stats").get("throughput") or {}
    failed = float(rates.get("failed_per_minute") or 0)
    done = float(rates.get("processed_per_minute") or 0)
    if failed >= 5 and failed > (failed + done) / 10:
        share = failed / (failed + done)
        yield f"{share:.0%} of all attempts fail", "ojs dead --by-error"
    now = session.environment.wall_ms()
    newest = session.server.items("/dead-letter", "jobs", most=100)
    fresh = [job for job in newest if now - (moment_ms(job.get("discarded_at")) or 0) < 3_600_000]
    if fresh:
        least = " or more" if len(fresh) == 100 else ""
        most = count(len(fresh), "job")
        yield f"{most}{least} failed for good in the last hour", "ojs dead since:1h --by-error"


def cron(session: Session) -> Iterator[Finding]:
    """Look for entries that do not fire, and for those whose jobs fail."""
    now = session.environment.wall_ms()
    for entry in session.server.items("/cron", "crons", most=MOST_LOOKED_AT):
        name = entry.get("name")
        if not entry.get("enabled", True):
            continue
        if (due := moment_ms(entry.get("next_run_at"))) and now - due > OVERDUE_MS:
            yield (
                f"{name} should have fired {span(now - due)} ago",
                "look for errors in the servers' logs",
            )
        job = _job(session.server, entry.get("last_job_id"))
        if job.get("state") == "discarded":
            path = f"/cron/{segment(str(name))}/history"
            runs = session.server.items(path, "history", most=RUNS_LOOKED_AT)
            jobs = [_job(session.server, run.get("job_id")) for run in runs]
            ended = [job["state"] for job in jobs if job.get("state") in ("completed", "discarded")]
            error = job.get("error") or {}
            often = f"the last {len(ended)} runs" if len(ended) > 1 else "the last run"
            yield (
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


def webhooks(session: Session) -> Iterator[Finding]:
    """Look for webhooks that cannot be delivered."""
    now = session.environment.wall_ms()
    server = session.server
    hooks = {
        hook.get("id"): hook for hook in server.items("/webhooks/subscriptions", "subscriptions")
    }
    failing: dict[str, list[Json]] = {}
    for status in ("dead", "pending"):
        query: Json = {"status": status}
        for delivery in server.items(
            "/webhooks/deliveries", "deliveries", most=MOST_LOOKED_AT, **query
        ):
            ended = moment_ms(delivery.get("finished_at"))
            lately = ended is not None and now - ended < DAY_MS
            # A single failure may be a restart of the target.
            if lately if status == "dead" else int(delivery.get("attempts") or 0) > 1:
                failing.setdefault(str(delivery.get("subscription_id")), []).append(delivery)
    for id, deliveries in failing.items():
        if id not in hooks:
            continue
        dead = sum(delivery.get("status") == "dead" for delivery in deliveries)
        lost = f", {dead} given up" if dead else ""
        yield (
            f"{_deliveries(len(deliveries))} to {hooks[id].get('url')} failed{lost}: "
            f"{deliveries[0]['error']}",
            f"ojs webhooks test {id}"
            + (f", then ojs webhooks redeliver --dead-of {id}" if dead else ""),
        )


def _deliveries(number: int) -> str:
    return f"{number} {'delivery' if number == 1 else 'deliveries'}"


def limits(session: Session) -> Iterator[Finding]:
    """Look for limits that let nothing start."""
    for limit in session.server.items("/rate-limits", "items", most=1000):
        waiting = int(limit.get("waiting_count") or 0)
        if waiting and (limit.get("concurrency") or {}).get("limit") == 0:
            key = limit.get("key")
            hint = f"ojs limits unset {key}" if limit.get("override") else "raise its concurrency"
            yield f"the limit {key} is 0, and {_waiting(waiting)}", hint


def switches(session: Session) -> Iterator[Finding]:
    """Look for switches that are meant to be on for a while."""
    if session.server.get("/admin/system/maintenance").get("enabled"):
        yield "maintenance is on: nothing is handed out", "turn it off in the dashboard"
    if (session.server.get("/ojs/manifest").get("capabilities") or {}).get("test_hooks"):
        yield (
            "test hooks are on: a key of an admin may wipe everything",
            "start the server without --conformance",
        )


def _waiting(number: int) -> str:
    return f"{count(number, 'job')} {'waits' if number == 1 else 'wait'}"
