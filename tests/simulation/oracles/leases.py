"""Promises about leases: a job is taken back only from a worker that was silent for long enough.

All times are the server's own, as it told them in its answers and wrote them to its log.
"""

import msgspec

from ojs_wire.values import parse_timestamp
from tests.simulation.ledger import Start
from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers, Call
from tests.simulation.oracles.attempts import milliseconds
from tests.simulation.oracles.stored import Stored, StoredEvent
from tests.simulation.oracles.stories import Delivery, Stories, Story
from tests.simulation.world import World

# Silence after which a worker is dead, as the server told it at its registration.
DEAD_AFTER_MS = 30_000
# The share of a lease that a BEAT may leave as it is.
KEPT = 0.02
# A FETCH that was answered later has waited; its worker may be gone since.
AT_ONCE_S = 0.5
# Longest time by which a lease may be over, on a server that nothing disturbs (OJS-VIS-006).
LATE_MS = 1500
# Seconds in which a handler has stopped once its worker was told to stop it.
STOPS_S = 1.0


class Heard(msgspec.Struct):
    """The answers of the server to one worker."""

    # Moments at which the server had heard of the worker.
    signs: list[int] = []
    # BEATs: when, and the jobs whose leases they renewed.
    beats: list[tuple[int, frozenset[str]]] = []
    deregistered: bool = False
    # True if the worker had a session, whose end is judged in `sessions.py`.
    sessions: bool = False


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    heard = _heard(known)
    for session in world.ledger.sessions:
        heard.setdefault(session.worker_id, Heard()).sessions = True
    ends = _leases(known)
    calm = not world.scenario.faults
    for story in told.jobs.values():
        for delivery in story.deliveries:
            of_worker = heard.get(delivery.worker_id or "", Heard())
            for sentence in taken_back(story, delivery, of_worker, ends, known, calm=calm):
                world.ledger.wrong("leases", sentence)
    for sentence in [*renewed(told, heard), *answered(told, known)]:
        world.ledger.wrong("leases", sentence)
    for sentence in let_go(world.ledger.starts, known):
        world.ledger.wrong("let go", sentence)


def taken_back(
    story: Story,
    delivery: Delivery,
    heard: Heard,
    ends: dict[tuple[str, int], int],
    known: Answers,
    *,
    calm: bool,
) -> list[str]:
    """A delivery is taken back by its lease, the death of its worker or a time limit only once
    that is over (OJS-VIS-003 to 016, OJS-WRK-032)."""
    entry, error = delivery.ended, delivery.error or {}
    if entry is None or entry.type != "job.failed":
        return []
    options = known.options(story.job_id)
    name = f"{story.job_id} {delivery.attempt} of {delivery.worker_id}"
    started = delivery.started.at
    lease_end = ends.get((story.job_id, started))
    beats = [at for at, jobs in heard.beats if story.job_id in jobs and started <= at <= entry.at]
    match error.get("type"):
        case "visibility_timeout" if lease_end is not None and "heartbeat_timeout" not in options:
            length = lease_end - started
            until = max([lease_end, *(at + length * (1 - KEPT) for at in beats)])
            if entry.at < until - 1:
                return [f"{name} had its lease until {until:.0f}, and lost it at {entry.at}"]
            if calm and entry.at > max(_extended(story, delivery, lease_end)) + LATE_MS:
                return [f"{name} had its lease until {until:.0f}, and kept it until {entry.at}"]
        case "stalled":
            until = max([started, *beats]) + milliseconds(options["heartbeat_timeout"]) * (1 - KEPT)
            if entry.at < until - 1:
                return [f"{name} is stalled at {entry.at}, which it could be from {until} on"]
        case "timeout" if _judged_by_server(story, entry):
            limit = options.get("timeout_ms", 0) + 1000 * options.get("grace_period", 0)
            if limit and entry.at < started + limit:
                return [f"{name} may run for {limit} ms, and did from {started} to {entry.at}"]
        case "worker_death" if not heard.sessions:
            # A job that was handed to a FETCH that had waited says nothing about its worker.
            sign = max((at for at in heard.signs if at <= entry.at), default=started)
            if entry.at < sign + DEAD_AFTER_MS:
                return [f"{name}: its worker was heard at {sign}, and is dead at {entry.at}"]
        case "shutdown":
            if not heard.deregistered:
                return [f"{name} is given back by a worker that did not leave"]
    return []


def _judged_by_server(story: Story, failed: StoredEvent) -> bool:
    """True if the server found that time was over: a worker that stops its handler says so, too."""
    return any(
        entry.type == "job.timeout" and entry.transaction == failed.transaction
        for entry in story.entries
    )


def _extended(story: Story, delivery: Delivery, lease_end: int) -> list[int]:
    """Return all ends of a lease that the log has."""
    ended = delivery.ended
    return [
        lease_end,
        *(
            entry.moment("visible_until") or 0
            for entry in story.entries
            if entry.type == "job.heartbeat"
            and delivery.started.place < entry.place
            and (ended is None or entry.place < ended.place)
        ),
    ]


def renewed(told: Stories, heard: dict[str, Heard]) -> list[str]:
    """A BEAT renews the leases of jobs that its worker holds, and of no others (OJS-WRK-009)."""
    found = []
    for worker_id, one in heard.items():
        for at, jobs in one.beats:
            for job_id in jobs:
                story = told.jobs.get(job_id)
                if story is None or not any(
                    delivery.worker_id == worker_id
                    and delivery.started.at <= at
                    and (delivery.ended is None or at <= delivery.ended.at)
                    for delivery in story.deliveries
                ):
                    found.append(f"a BEAT of {worker_id} at {at} renewed {job_id}, not held by it")
    return found


def answered(told: Stories, known: Answers) -> list[str]:
    """The answer to a BEAT has each listed job once: renewed, lost or cancelled; and none is lost
    that its worker holds (OJS-WRK-010 to 012)."""
    found = []
    for call in known.calls:
        if not (call.well and call.path == "/workers/heartbeat"):
            continue
        listed = call.body.get("active_job_ids", ())
        answer, at = call.answer, parse_timestamp(call.answer["server_time"])
        shown = [*answer["jobs_extended"], *answer["jobs_lost"], *answer["cancelled_jobs"]]
        if sorted(shown) != sorted(set(listed)):
            found.append(f"a BEAT lists {listed}, and is answered with {shown}")
        for job_id in answer["jobs_lost"]:
            story = told.jobs.get(job_id)
            for delivery in story.deliveries if story else ():
                if (
                    delivery.worker_id == call.body["worker_id"]
                    and delivery.started.at < at
                    and (delivery.ended is None or at < delivery.ended.at)
                ):
                    found.append(
                        f"a BEAT of {delivery.worker_id} at {at} says that {job_id} is lost, which"
                        f" it holds since {delivery.started.at}"
                    )
    return found


def let_go(starts: list[Start], known: Answers) -> list[str]:
    """A worker that hears that a job is lost or cancelled stops its handler; one that has sent
    another call since was not frozen."""
    calls: dict[str, list[Call]] = {}
    for call in known.calls:
        calls.setdefault(call.who, []).append(call)
    found = []
    for run in starts:
        if run.ended_at is None or run.outcome == "stopped":
            continue
        mine = calls.get(run.worker, ())
        for call in mine:
            told_at = call.answered_at
            if not (call.well and call.path == "/workers/heartbeat" and told_at is not None):
                continue
            if not run.at < call.sent_at < told_at < run.ended_at - STOPS_S:
                continue
            gone = [*call.answer["jobs_lost"], *call.answer["cancelled_jobs"]]
            if run.job_id in gone and any(
                told_at < later.sent_at < run.ended_at - STOPS_S for later in mine
            ):
                found.append(
                    f"{run.worker} heard at {told_at:.3f} that {run.job_id} is gone, and ran on"
                    f" with attempt {run.attempt} until {run.ended_at:.3f}"
                )
                break
    return found


def _heard(known: Answers) -> dict[str, Heard]:
    heard: dict[str, Heard] = {}
    for call in known.calls:
        if call.method != "POST" or not isinstance(call.body, dict):
            continue
        worker_id = call.body.get("worker_id")
        if worker_id is None or not call.path.startswith("/workers/"):
            continue
        one = heard.setdefault(worker_id, Heard())
        if call.path == "/workers/deregister":
            one.deregistered = True
        if not call.well:
            continue
        match call.path:
            case "/workers/register":
                one.signs.append(parse_timestamp(call.answer["server_time"]))
            case "/workers/heartbeat":
                at = parse_timestamp(call.answer["server_time"])
                one.signs.append(at)
                if "visibility_timeout_ms" not in call.body:
                    one.beats.append((at, frozenset(call.answer["jobs_extended"])))
            case "/workers/fetch" | "/workers/settle" if call.took_s < AT_ONCE_S:
                one.signs += [
                    parse_timestamp(job["started_at"]) for job in call.answer.get("jobs", ())
                ]
    return heard


def _leases(known: Answers) -> dict[tuple[str, int], int]:
    """Return the ends of the leases that FETCHes gave, by job and start."""
    ends: dict[tuple[str, int], int] = {}
    for call in known.calls:
        if call.well and call.path in ("/workers/fetch", "/workers/settle"):
            for job in call.answer.get("jobs", ()):
                key = job["id"], parse_timestamp(job["started_at"])
                if "lease_expires_at" in job:
                    # A repeated FETCH shows what a BEAT may have renewed.
                    ends.setdefault(key, parse_timestamp(job["lease_expires_at"]))
    return ends
