"""Promises about deliveries and their times: attempts, backoff, schedules and expiry."""

from typing import Any

from ojs_server.domain.jobs.retry import RetryPolicy, parse_policy
from ojs_wire.values import parse_duration, parse_timestamp
from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers
from tests.simulation.oracles.stored import Stored, StoredEvent
from tests.simulation.oracles.stories import Delivery, Story
from tests.simulation.world import World

# Codes of errors by which a handler ends its job for good.
FINAL = frozenset({"discard", "dead_letter", "fail"})
# Calls by which a client puts a job into its queue before the end of its backoff.
RETRYING = ("/retry",)


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    is_free = any("late_ack" in _terms(call.body) for call in known.calls)
    for story in told.jobs.values():
        request = known.request(story.job_id)
        if not request:
            continue
        for sentence in attempts(story, request, is_free=is_free):
            world.ledger.wrong("attempts", sentence)
        for sentence in waits(story, known):
            world.ledger.wrong("waits", sentence)
        for sentence in expiry(story, request):
            world.ledger.wrong("expiry", sentence)


def _terms(body: Any) -> dict[str, Any]:
    return body if isinstance(body, dict) else {}


def attempts(story: Story, request: dict[str, Any], *, is_free: bool) -> list[str]:
    """Of a job's deliveries as many may fail as its policy says; those that were given back do not
    count. Each failure is retried after the delay of the policy (OJS-RET-004 to 011, 018).

    `is_free` is true if a worker fetched in the mode in which lost leases do not count.
    """
    options = request.get("options", {})
    policy = parse_policy(options.get("retry"))
    most = max(1, policy.max_attempts)
    given_back = 0
    found: list[str] = []
    name = f"{story.job_id} of {most} attempts"
    entries = story.entries
    by_start = {delivery.started.place: delivery for delivery in story.deliveries}
    current: Delivery | None = None
    for number, entry in enumerate(entries):
        following = entries[number + 1] if number + 1 < len(entries) else None
        current = by_start.get(entry.place, current)
        failed = 0 if current is None else current.attempt - given_back
        is_end = current is not None and current.ended is entry
        match entry.type:
            case "job.released":
                given_back += 1
            case "job.scheduled" | "job.enqueued" if is_end:
                given_back += 1
            case "dead_letter.retried" | "job.deleted" | "dead_letter.deleted":
                given_back, current = 0, None
            case "job.failed" if current is not None:
                kind = (current.error or {}).get("type")
                if is_free and kind == "visibility_timeout":
                    return found
                if failed > most:
                    found.append(f"{name}: delivery {current.attempt} is one too many")
                if _goes_on(entry, following) and failed >= most:
                    found.append(f"{name}: is offered again after attempt {current.attempt}")
            case "job.retrying" if current is not None:
                if failed >= most:
                    found.append(f"{name}: is retried after attempt {current.attempt}")
                delay = (entry.moment("next_retry_at") or 0) - entry.at
                least, longest = delays(policy, failed)
                if not least - 1 <= delay <= longest + 1:
                    found.append(f"{name}: attempt {failed} is followed by a delay of {delay} ms")
            case "job.discarded" if current is not None and current.ended is not None:
                if current.ended.transaction == entry.transaction and failed < most:
                    found += _too_early(name, entry, current, policy, entries)
    return found


def _goes_on(failed: StoredEvent, following: StoredEvent | None) -> bool:
    """True if nothing of the same transaction follows a failure: the job is available again."""
    return following is None or following.transaction != failed.transaction


def _too_early(
    name: str,
    entry: StoredEvent,
    current: Delivery,
    policy: RetryPolicy,
    entries: list[StoredEvent],
) -> list[str]:
    """A job is discarded with attempts left only if its error or a limit says so."""
    error = current.error or {}
    together = [one.type for one in entries if one.transaction == entry.transaction]
    names = {error.get("type"), error.get("code")}
    if (
        error.get("retryable") is False
        or names & set(policy.non_retryable_errors)
        or str(error.get("code")).lower() in FINAL
        or str(error.get("type")) == "Discard"
        or "job.total_timeout" in together
        or "job.expired" in together
    ):
        return []
    return [f"{name}: is discarded after attempt {current.attempt}, with {error}"]


def delays(policy: RetryPolicy, failed: int) -> tuple[float, float]:
    """Return the shortest and longest delay after so many failures, by OJS-RET-007 and 008."""
    first, factor = float(policy.initial_ms), policy.coefficient
    match policy.strategy:
        case "exponential":
            delay = first * factor ** (failed - 1)
        case "linear":
            delay = first * failed
        case "constant":
            delay = first
        case "polynomial":
            delay = first * float(failed) ** factor
    delay = min(delay, policy.max_ms)
    if not policy.jitter:
        return delay, delay
    return delay * 0.5, min(delay * 1.5, policy.max_ms)


def waits(story: Story, known: Answers) -> list[str]:
    """A job is not handed out before its time, or the end of its backoff (OJS-LIF-004,
    OJS-RET-009), unless a client retried it."""
    found = []
    due: int | None = None
    state = ""
    for entry in story.entries:
        match entry.type:
            case "job.scheduled":
                due, state = entry.moment("scheduled_at"), "scheduled"
            case "job.retrying":
                due, state = entry.moment("next_retry_at"), "retryable"
            case "job.enqueued" | "job.started" if due is not None:
                if entry.at < due and not (
                    entry.type == "job.enqueued" and state == "retryable" and _retried(known)
                ):
                    found.append(
                        f"{story.job_id} is {state} until {due}, and {entry.type} at {entry.at}"
                    )
                due = None
            case "job.cancelled" | "job.discarded" | "dead_letter.retried":
                due = None
    return found


def _retried(known: Answers) -> bool:
    return any(call.method == "POST" and call.path.endswith(RETRYING) for call in known.calls)


def expiry(story: Story, request: dict[str, Any]) -> list[str]:
    """A job is not handed out once its `expires_at` or time to live is over, and does not expire
    before (OJS-FET-010, OJS-VIS-018 to 025)."""
    options, created = request.get("options", {}), story.created
    if created is None or created.type not in ("job.enqueued", "job.scheduled"):
        return []
    if options.get("pending"):
        return []
    limits: list[int] = []
    if "expires_at" in options:
        limits.append(parse_timestamp(options["expires_at"]))
    for name in ("enqueue_ttl", "total_timeout"):
        if name in options:
            limits.append(created.at + milliseconds(options[name]))
    found: list[str] = []
    for entry in story.entries:
        match entry.type:
            case "dead_letter.retried" | "job.deleted" | "dead_letter.deleted":
                return found
            case "job.started" if limits and entry.at >= min(limits):
                found.append(f"{story.job_id} expires at {min(limits)}, and starts at {entry.at}")
            case "job.expired" if not limits or entry.at < min(limits):
                found.append(f"{story.job_id} expires at {entry.at}, its limits are {limits}")
    return found


def milliseconds(written: Any) -> int:
    """Return a duration of a request: seconds, or in the form of ISO 8601."""
    return parse_duration(written) if isinstance(written, str) else round(1000 * float(written))
