"""Settings of queues: create, read, change, delete; and the removal of jobs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ojs_server.domain.errors import Conflict, invalid
from ojs_server.domain.fields import parse_queue
from ojs_server.domain.jobs.job import STATES, TERMINAL, State
from ojs_server.domain.queues.config import (
    NO_CONFIG,
    QueueConfig,
    as_wire,
    parse_config,
    parse_limits,
)
from ojs_server.domain.suggestions import nearest
from ojs_server.http.access.auth import ADMINISTER, OPERATE, READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.views import timestamp
from ojs_server.http.route import route
from ojs_server.ops.queues.control import Configure, Drop, Purge, SetPaused
from ojs_server.ops.queues.move_jobs import Move
from ojs_server.store.base import Reader
from ojs_server.store.records import QueueCounts, QueueSlice
from ojs_wire.calls import CreateQueueRequest, DeleteQueueRequest, EmptyRequest, PurgeRequest
from ojs_wire.values import format_timestamp, kind_of, parse_duration, parse_timestamp

# How many jobs, of whatever queue, one step of a purge looks through.
SPAN: Final = 2000
STRATEGIES: Final = ("reject", "discard", "move")
# What a worker holds is cancelled, not taken from under it.
PURGEABLE: Final = tuple(state for state in STATES if state is not State.ACTIVE)

Decide = Callable[[QueueConfig], QueueConfig]
# Ids, states, and when each was last touched.
Listed = Sequence[tuple[str, str, int]]


async def create(call: Call) -> Answer:
    """A queue with settings, before its first job."""
    request = await call.read(CreateQueueRequest)
    name = parse_queue("name", request.name)
    strict = call.server.settings.strict
    config = parse_config(request.config or {}, strict=strict, base=NO_CONFIG)
    await call.server.engine.run(Configure(name, lambda base: config, new=True))
    return Answer(await _read(call, name), 201, {"Location": f"/ojs/v1/queues/{name}"})


async def read(call: Call) -> Answer:
    """The settings of a queue, set or not."""
    return Answer(await _read(call, parse_queue("queue", call.params["name"])))


async def replace(call: Call) -> Answer:
    """Replace all settings; the queue need not exist."""
    body, strict = await call.json(), call.server.settings.strict
    config = parse_config(body, strict=strict, base=NO_CONFIG)
    return await _configure(call, lambda base: config)


async def amend(call: Call) -> Answer:
    """Replace the settings that are named, and leave the others."""
    body, strict = await call.json(), call.server.settings.strict
    parse_config(body, strict=strict, base=NO_CONFIG)
    return await _configure(call, lambda base: parse_config(body, strict=strict, base=base))


async def limit(call: Call) -> Answer:
    """Replace a queue's limits, and leave its other settings."""
    body, strict = await call.json(), call.server.settings.strict
    parse_limits(body, strict=strict, base=NO_CONFIG)
    return await _configure(call, lambda base: parse_limits(body, strict=strict, base=base))


async def purge(call: Call) -> Answer:
    """Remove a queue's jobs of certain states, step by step."""
    name = parse_queue("queue", call.params["name"])
    request = await call.read(PurgeRequest, optional=True)
    if request.confirm is not True:
        raise invalid("confirm", "must be true: the jobs are removed for good")
    states = _states(request.states)
    before = await _before(call, request.older_than)
    count = await _purge(call, name, states, before)
    return Answer({"queue": name, "purged_count": count, "states": list(states)})


async def delete(call: Call) -> Answer:
    """Delete a queue. With jobs that are not final it is refused, unless a strategy for them is
    given."""
    name = parse_queue("queue", call.params["name"])
    request = await call.read(DeleteQueueRequest, optional=True)
    asked = call.query().get("strategy") or "reject"
    strategy = asked if request.strategy is None else request.strategy
    if strategy not in STRATEGIES:
        raise invalid(
            "strategy", f"must be one of {', '.join(STRATEGIES)}{nearest(strategy, STRATEGIES)}"
        )
    named = request.target_queue
    target = _target(name, strategy, call.query().get("target_queue") if named is None else named)
    queue = await _counts(call, name)
    alive = sum(queue.counts[state] for state in STATES if state not in TERMINAL) if queue else 0
    if alive and strategy == "reject":
        raise Conflict(
            f"queue {name} has {alive} jobs that are not final",
            details={"resource_type": "queue", "resource_id": name, "jobs": alive},
            hint='send {"strategy": "discard"} to cancel and remove them, or "move" with a '
            "`target_queue`",
        )
    # Nothing is handed out any more while its jobs go.
    await call.server.engine.run(SetPaused(name, True))
    if target is None:
        gone = await _purge(call, name, STATES, None, cancel=True)
    else:
        gone = await _stepwise(call, name, lambda jobs: Move(name, _ids(jobs), target))
    left = (await call.server.engine.run(Drop(name))).left
    return Answer(
        {
            "queue": name,
            "strategy": strategy,
            "target_queue": target,
            "jobs_affected": gone,
            "state": "draining" if left else "deleted",
        },
        202,
    )


async def pause(call: Call) -> Answer:
    """Pause a queue, answered in the flat form of the admin API."""
    return await _set_paused(call, True)


async def resume(call: Call) -> Answer:
    """Resume a queue, answered in the flat form of the admin API."""
    return await _set_paused(call, False)


async def _set_paused(call: Call, paused: bool) -> Answer:
    name, at, moment = await set_paused(call, paused)
    return Answer({"name": name, "paused": paused, at: moment})


async def set_paused(call: Call, paused: bool) -> tuple[str, str, str]:
    """Pause or resume the queue of the path; answers its name, and the moment with its name."""
    await call.read(EmptyRequest, optional=True)
    name = parse_queue("queue", call.params["name"])
    done = await call.server.engine.run(SetPaused(name, paused))
    return name, "paused_at" if paused else "resumed_at", format_timestamp(done.now)


async def _configure(call: Call, decide: Decide) -> Answer:
    name = parse_queue("queue", call.params["name"])
    await call.server.engine.run(Configure(name, decide))
    return Answer(await _read(call, name))


async def _read(call: Call, name: str) -> dict[str, Any]:
    queue = await _counts(call, name)
    config = as_wire((queue.config if queue else None) or NO_CONFIG)
    return {
        "name": name,
        "state": "paused" if queue and queue.paused else "active",
        "config": config,
        # The same under the name that the admin API has for it.
        "configuration": config,
        "created_at": timestamp(queue.created_at if queue else None),
        "updated_at": timestamp(queue.configured_at if queue else None),
    }


async def _counts(call: Call, name: str) -> QueueCounts | None:
    found = await call.server.engine.read(lambda reader: reader.queues([name]))
    return found[0] if found else None


async def _purge(
    call: Call, name: str, states: tuple[str, ...], before: int | None, *, cancel: bool = False
) -> int:
    def step(jobs: Listed) -> Purge | None:
        old = [one for one in jobs if one[1] in states and (before is None or one[2] < before)]
        return Purge(name, _ids(old), states, before, cancel=cancel) if old else None

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


def shown(config: QueueConfig | None) -> Mapping[str, Any]:
    """A queue's settings as other answers show them."""
    return as_wire(config or NO_CONFIG)


ROUTES: Final = (
    route("POST", "/queues", create, ADMINISTER),
    route("DELETE", "/queues/{name}", delete, ADMINISTER),
    route("GET", "/queues/{name}/config", read, READ),
    route("PUT", "/queues/{name}/config", replace, ADMINISTER),
    route("PATCH", "/queues/{name}/config", amend, ADMINISTER),
    route("PUT", "/queues/{name}/rate-limit", limit, ADMINISTER),
    route("DELETE", "/queues/{name}/jobs", purge, ADMINISTER),
    route("POST", "/admin/queues/{name}/pause", pause, OPERATE),
    route("POST", "/admin/queues/{name}/resume", resume, OPERATE),
)
