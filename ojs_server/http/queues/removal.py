"""Removal of jobs of a queue, and of the queue itself."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ojs_server.domain.errors import Conflict, invalid, unconfirmed
from ojs_server.domain.fields import parse_queue
from ojs_server.domain.jobs.job import STATES, TERMINAL, State
from ojs_server.domain.suggestions import nearest
from ojs_server.http.access.roles import ADMINISTER
from ojs_server.http.call import Answer, Call
from ojs_server.http.queues.config import queue_counts
from ojs_server.http.route import Route
from ojs_server.ops.queues.control import Drop, Purge, SetPaused
from ojs_server.ops.queues.move_jobs import Move
from ojs_server.store.base import Reader
from ojs_server.store.records import QueueSlice
from ojs_wire.calls import DeleteQueueRequest, PurgeRequest
from ojs_wire.values import kind_of, parse_duration, parse_timestamp

# Jobs, of any queue, that one step of a purge looks through.
SPAN: Final = 2000
STRATEGIES: Final = ("reject", "discard", "move")
# Active jobs must be cancelled, not removed while a worker holds them.
PURGEABLE: Final = tuple(state for state in STATES if state is not State.ACTIVE)
# Ids, states, and the times of their last changes.
Listed = Sequence[tuple[str, str, int]]


async def purge(call: Call) -> Answer:
    """Remove a queue's jobs of certain states, step by step."""
    name = parse_queue("queue", call.path_params["name"])
    request = await call.read_of_many(PurgeRequest)
    dry_run = request.dry_run is True
    if request.confirm is not True and not dry_run:
        raise unconfirmed("a purge removes jobs for good")
    states = _states(request.states)
    before = await _before(call, request.older_than)
    count = await _purge(call, name, states, before, dry_run=dry_run)
    tried = {"dry_run": True} if dry_run else {}
    return Answer({"queue": name, "purged_count": count, "states": list(states), **tried})


async def delete(call: Call) -> Answer:
    """Delete a queue. With jobs that are not final it is refused, unless a strategy for them is
    given."""
    name = parse_queue("queue", call.path_params["name"])
    request = await call.read_of_many(DeleteQueueRequest)
    in_query = call.query_params.get("strategy") or "reject"
    strategy = in_query if request.strategy is None else request.strategy
    if strategy not in STRATEGIES:
        raise invalid(
            "strategy", f"must be one of {', '.join(STRATEGIES)}{nearest(strategy, STRATEGIES)}"
        )
    named = request.target_queue
    if named is None:
        named = call.query_params.get("target_queue")
    target = _target(name, strategy, named)
    queue = await queue_counts(call, name)
    alive = sum(queue.counts[state] for state in STATES if state not in TERMINAL) if queue else 0
    if alive and strategy == "reject":
        raise Conflict(
            f"queue {name} has {alive} jobs that are not final",
            details={"resource_type": "queue", "resource_id": name, "jobs": alive},
            hint='send {"strategy": "discard"} to cancel and remove them, or "move" with a '
            "`target_queue`",
        )
    answer = {"queue": name, "strategy": strategy, "target_queue": target}
    if request.dry_run:
        jobs = sum(queue.counts.values()) if queue else 0
        return Answer({**answer, "jobs_affected": jobs, "state": "deleted", "dry_run": True}, 202)
    # Pause the queue, so that no jobs are handed out while they are removed.
    await call.server.engine.run(SetPaused(name, True))
    if target is None:
        gone = await _purge(call, name, STATES, None, cancel=True)
    else:
        gone = await _stepwise(call, name, lambda jobs: Move(_ids(jobs), name, target))
    left = (await call.server.engine.run(Drop(name))).left
    state = "draining" if left else "deleted"
    return Answer({**answer, "jobs_affected": gone, "state": state}, 202)


async def _purge(
    call: Call,
    name: str,
    states: tuple[str, ...],
    before: int | None,
    *,
    cancel: bool = False,
    dry_run: bool = False,
) -> int:
    def step(jobs: Listed) -> Purge | None:
        old = [job for job in jobs if job[1] in states and (before is None or job[2] < before)]
        if not old:
            return None
        return Purge(_ids(old), name, states, before, cancel=cancel, dry_run=dry_run)

    return await _stepwise(call, name, step)


async def _stepwise(call: Call, name: str, step: Callable[[Listed], Purge | Move | None]) -> int:
    """Look through all jobs in steps, each a transaction of its own; answers how many have gone."""
    engine = call.server.engine
    after, count = "", 0
    while (span := await engine.read(partial(_span, name, after))) is not None:
        if span.jobs and (op := step(span.jobs)) is not None:
            count += (await engine.run(op)).count
        after = span.last
    return count


def _ids(jobs: Listed) -> tuple[str, ...]:
    return tuple(job_id for job_id, _, _ in jobs)


def _target(name: str, strategy: str, given: str | None) -> str | None:
    """Return the queue that the jobs are moved to; it is checked even if there are no jobs."""
    target = None if given is None else parse_queue("target_queue", given)
    if strategy != "move":
        return None
    if target is None:
        raise invalid("target_queue", "is missing; it is needed with the strategy `move`")
    if target == name:
        raise invalid("target_queue", "must be another queue than the one that is deleted")
    return target


def _span(name: str, after: str, reader: Reader) -> QueueSlice | None:
    return reader.span(name, after, SPAN)


def _states(given: object) -> tuple[str, ...]:
    if given is None:
        return PURGEABLE
    if not isinstance(given, list) or not given:
        raise invalid("states", f"must be an array of states, not {kind_of(given)}")
    for state in given:
        if state not in PURGEABLE:
            hint = nearest(state, PURGEABLE) if isinstance(state, str) else ""
            raise invalid(
                "states",
                f"holds {str(state)[:50]!r}; allowed: {', '.join(PURGEABLE)}{hint}. A job that a "
                "worker holds is to be cancelled first",
            )
    return tuple(dict.fromkeys(given))


async def _before(call: Call, given: object) -> int | None:
    """`older_than`: a duration back from now, or a moment."""
    if given is None:
        return None
    now = await call.server.engine.read(lambda reader: reader.now())
    try:
        if isinstance(given, str) and given[:1].isdigit() and "t" in given.lower():
            return parse_timestamp(given)
        return now - parse_duration(given, 1000)
    except ValueError as error:
        raise invalid("older_than", str(error)) from None


ROUTES: Final = (
    Route("DELETE", "/queues/{name}", delete, ADMINISTER),
    Route("DELETE", "/queues/{name}/jobs", purge, ADMINISTER),
)
