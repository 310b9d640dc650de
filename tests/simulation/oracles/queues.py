"""Promises about queues: pauses, and the order in which jobs are handed out."""

from collections.abc import Iterator
from itertools import groupby

import msgspec

from ojs_server.store.records import POSITION_BITS
from ojs_wire.values import parse_timestamp
from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers, Call
from tests.simulation.oracles.stored import Stored, StoredEvent
from tests.simulation.oracles.stories import Stories
from tests.simulation.world import World

PAUSE, RESUME = "/pause", "/resume"
# A job that is available becomes so, or again, by these events.
JOINING = ("job.enqueued", "dead_letter.retried")
RETURNING = ("job.failed", "job.released")


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    for sentence in [*nothing_while_paused(told), *nothing_after_the_answer(known)]:
        world.ledger.wrong("pause", sentence)
    is_locked = any(fault.kind == "hold" for fault in world.scenario.faults)
    # Jobs that another transaction has locked are passed over; tenants and pools have turns.
    if not is_locked and not _is_shared_out(told):
        for sentence in in_order(told, known):
            world.ledger.wrong("order", sentence)


def _is_shared_out(told: Stories) -> bool:
    return any(
        entry.type.startswith(("tenant.", "pool."))
        or "pool" in entry.data
        or "tenant_id" in entry.data
        for entry in told.log
    )


def nothing_while_paused(told: Stories) -> list[str]:
    """A paused queue hands nothing out (OJS-FET-011, OJS-QUE-010)."""
    found, paused = [], dict[str, StoredEvent]()
    for entry in told.log:
        match entry.type:
            case "queue.paused":
                paused[entry.subject] = entry
            case "queue.resumed":
                paused.pop(entry.subject, None)
            case "job.started" if entry.queue in paused:
                found.append(
                    f"{entry.subject} was handed out at {entry.at} of {entry.queue}, which is"
                    " paused"
                )
    return found


def nothing_after_the_answer(known: Answers) -> list[str]:
    """A FETCH that is sent after the answer to a pause, and answered before anybody sent a resume,
    brings nothing of the queue."""
    found = []
    for pause in known.calls:
        if not (pause.well and pause.path.endswith(PAUSE) and pause.method == "POST"):
            continue
        queue = pause.path.split("/")[-2]
        since = pause.answered_at or 0.0
        until = min(
            (
                call.sent_at
                for call in known.calls
                if call.path.endswith(f"/{queue}{RESUME}")
                and (call.answered_at is None or call.answered_at > pause.sent_at)
            ),
            default=float("inf"),
        )
        for call, fetch_id in _first_fetches(known):
            if since < call.sent_at and (call.answered_at or 0.0) < until:
                for job in call.answer.get("jobs", ()):
                    if job["queue"] == queue:
                        found.append(
                            f"{job['id']} came by FETCH {fetch_id} of {call.sent_at:.3f}, and"
                            f" {queue} was paused at {since:.3f}"
                        )
    return found


def _first_fetches(known: Answers) -> Iterator[tuple[Call, str | None]]:
    """Yield the answered FETCHes that are not repeated ones."""
    seen: set[str] = set()
    for call in known.calls:
        if call.path in ("/workers/fetch", "/workers/settle") and isinstance(call.body, dict):
            terms = call.body if call.path == "/workers/fetch" else call.body.get("fetch") or {}
            fetch_id = terms.get("fetch_id")
            is_first = fetch_id not in seen
            if fetch_id is not None:
                seen.add(fetch_id)
            if is_first and call.well:
                yield call, fetch_id


class Waiting(msgspec.Struct):
    """An available job and its place in its queue."""

    job_id: str
    priority: int
    # The position of the event by which it joined its queue; None behind a backoff, whose end has
    # no event.
    joined: int | None
    since: int
    # The moment from which it is not handed out.
    until: int | None = None


def in_order(told: Stories, known: Answers) -> list[str]:
    """In a queue higher priority goes first, and among equals what joined first; a job that was
    given back has its old place (OJS-FET-008, OJS-QUE-001, OJS-QUE-002, OJS-ENQ-024).

    Jobs that wait for a rate limit are passed over.
    """
    found: list[str] = []
    queues: dict[str, dict[str, Waiting]] = {}
    places: dict[str, Waiting] = {}
    priorities: dict[str, int] = {}
    plain = {job_id: _is_plain(known, job_id) for job_id in told.jobs}
    for _, together in groupby(told.log, key=lambda one: one.transaction):
        started: list[tuple[StoredEvent, Waiting, str]] = []
        for entry in together:
            job_id, queue = entry.subject, entry.queue
            if queue is None or job_id not in told.jobs:
                continue
            waiting = queues.setdefault(queue, {})
            if entry.type in JOINING:
                priority = priorities.setdefault(job_id, _priority(known, job_id, entry))
                places[job_id] = waiting[job_id] = Waiting(
                    job_id, priority, entry.place, entry.place, _end_of(told, known, job_id)
                )
            elif entry.type in RETURNING and job_id in places:
                waiting[job_id] = places[job_id] = msgspec.structs.replace(
                    places[job_id], since=entry.place
                )
            elif entry.type == "job.prioritized":
                priorities[job_id] = entry.data["priority"]
                if job_id in places:
                    places[job_id].priority = entry.data["priority"]
            elif entry.type == "job.started":
                mine = waiting.pop(job_id, None) or places.get(job_id)
                if mine is not None:
                    started.append((entry, mine, queue))
            elif entry.type == "job.retrying" and job_id in places:
                waiting.pop(job_id, None)
                places[job_id] = msgspec.structs.replace(places[job_id], joined=None)
            elif entry.type in ("job.cancelled", "job.discarded", "job.scheduled", "job.completed"):
                waiting.pop(job_id, None)
        for entry, mine, queue in started:
            for other in queues[queue].values():
                if plain[other.job_id] and _goes_before(other, mine, entry):
                    found.append(
                        f"{mine.job_id} ({mine.priority}, {mine.joined}) is handed out of {queue}"
                        f" at {entry.at} before {other.job_id} ({other.priority}, {other.joined})"
                    )
    return found


def _goes_before(other: Waiting, mine: Waiting, started: StoredEvent) -> bool:
    if other.since >> POSITION_BITS >= started.transaction or other.joined is None:
        return False
    if other.until is not None and other.until <= started.at:
        return False
    if other.priority != mine.priority:
        return other.priority > mine.priority
    return mine.joined is not None and other.joined < mine.joined


def _is_plain(known: Answers, job_id: str) -> bool:
    """True if nothing but its place decides when the job is handed out."""
    request = known.request(job_id)
    return bool(request) and "rate_limit" not in request.get("options", {})


def _priority(known: Answers, job_id: str, joined: StoredEvent) -> int:
    """Return the priority that a client gave the job; of others the log tells it."""
    given = known.options(job_id) if known.request(job_id) else joined.data
    priority: int = given.get("priority", 0)
    return priority


def _end_of(told: Stories, known: Answers, job_id: str) -> int | None:
    """Return when the job expires at the earliest: from then on it is passed over."""
    row, options = told.jobs[job_id].row, known.options(job_id)
    if row is None or options.keys() & {"enqueue_ttl", "total_timeout"}:
        return 0
    moments = [row["expires_at"]]
    if "expires_at" in options:
        moments.append(parse_timestamp(options["expires_at"]))
    return min((moment for moment in moments if moment is not None), default=None)
