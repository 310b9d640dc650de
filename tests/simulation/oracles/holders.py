"""Promises about who has a job: each delivery has one holder."""

from collections import Counter
from itertools import pairwise

from tests.simulation.ledger import Start
from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers
from tests.simulation.oracles.stored import Stored
from tests.simulation.oracles.stories import Delivery, Stories
from tests.simulation.world import World

# Errors of deliveries that the server ended: their handlers may still run.
TAKEN_BACK = frozenset(
    {
        "visibility_timeout",
        "worker_death",
        "shutdown",
        "timeout",
        "stalled",
        "stuck",
        "total_timeout",
        "released",
    }
)


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    wrong = world.ledger.wrong
    for sentence in handed_out_once(told, known):
        wrong("one holder", sentence)
    for sentence in run_as_fetched(world.ledger.starts, told, known):
        wrong("one holder", sentence)
    for sentence in run_one_by_one(world.ledger.starts, told, known):
        wrong("one at a time", sentence)


def handed_out_once(told: Stories, known: Answers) -> list[str]:
    """No two FETCHes get the same delivery (OJS-FET-009); one that is repeated gets its own."""
    given: dict[tuple[str, int, str], tuple[str, str | None]] = {}
    handed: set[tuple[str, int, str]] = set()
    found = []
    for call in known.calls:
        jobs = call.answer.get("jobs", ()) if _is_fetch(call.path) and call.well else ()
        for job in jobs:
            body = call.body
            terms = body if call.path == "/workers/fetch" else body["fetch"]
            worker_id, fetch_id = body.get("worker_id"), terms.get("fetch_id")
            key = (job["id"], job["attempt"], job["started_at"])
            mine = worker_id, fetch_id
            before = given.setdefault(key, mine)
            if key in handed and (before != mine or fetch_id is None):
                found.append(f"{key} was given to {before} and to {mine}")
            handed.add(key)
            story = told.jobs.get(job["id"])
            if story is None or not any(
                (one.attempt, one.worker_id) == (job["attempt"], worker_id)
                for one in story.deliveries
            ):
                found.append(f"{key} was given to {worker_id}, and the log has no such delivery")
    return found


def _is_fetch(path: str) -> bool:
    return path in ("/workers/fetch", "/workers/settle")


def run_as_fetched(starts: list[Start], told: Stories, known: Answers) -> list[str]:
    """A handler runs once for each delivery, and with the worker that was given it."""
    runs: Counter[tuple[str, int, str]] = Counter()
    for start in starts:
        runs[start.job_id, start.attempt, known.workers.get(start.worker, start.worker)] += 1
    found = []
    for (job_id, attempt, worker_id), count in runs.items():
        story = told.jobs.get(job_id)
        deliveries = [
            one
            for one in (story.deliveries if story else ())
            if (one.attempt, one.worker_id) == (attempt, worker_id)
        ]
        if count > len(deliveries):
            found.append(
                f"{worker_id} ran {job_id} {attempt} {count} times, and was given it"
                f" {len(deliveries)} times"
            )
    return found


def run_one_by_one(starts: list[Start], told: Stories, known: Answers) -> list[str]:
    """Two handlers of a job run at a time only if the server had taken the earlier delivery back,
    or its worker had settled it (OJS-VIS-001)."""
    by_job: dict[str, list[Start]] = {}
    for start in starts:
        by_job.setdefault(start.job_id, []).append(start)
    found = []
    for job_id, runs in by_job.items():
        story = told.jobs.get(job_id)
        if story is None:
            continue
        free = list(story.deliveries)
        placed: list[tuple[Start, Delivery]] = []
        for run in runs:
            worker_id = known.workers.get(run.worker, run.worker)
            mine = next(
                (one for one in free if (one.attempt, one.worker_id) == (run.attempt, worker_id)),
                None,
            )
            if mine is not None:
                free.remove(mine)
                placed.append((run, mine))
        placed.sort(key=lambda one: one[1].number)
        for (run, delivery), (later, _) in pairwise(placed):
            is_over = run.ended_at is None or run.ended_at <= later.at
            if not is_over and later.at >= run.at and not _was_taken_back(delivery):
                found.append(
                    f"{job_id} {run.attempt} of {run.worker} runs from {run.at:.3f} to"
                    f" {run.ended_at}, and {later.attempt} of {later.worker} from {later.at:.3f}"
                )
    return found


def _was_taken_back(delivery: Delivery) -> bool:
    ended = delivery.ended
    if ended is None:
        return False
    if ended.type == "job.failed":
        return (delivery.error or {}).get("type") in TAKEN_BACK
    # A worker gives back what it has no place for, or what it was told to stop.
    return ended.type in ("job.released", "job.cancelled", "job.discarded")
