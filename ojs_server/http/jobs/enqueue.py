"""Jobs: enqueue one or many, read, cancel, activate, result."""

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from ojs_server.domain.errors import InvalidRequest, NotReady, OjsError, QueueFull, invalid
from ojs_server.domain.jobs.job import TERMINAL, Change, Lease, StoredJob
from ojs_server.domain.jobs.lifecycle import policy_of
from ojs_server.domain.jobs.progress import shown
from ojs_server.domain.jobs.uniform_batch import parse_uniform
from ojs_server.domain.jobs.validate import Draft, hash_of, parse_draft
from ojs_server.http import dialects
from ojs_server.http.access.auth import ENQUEUE, READ
from ojs_server.http.call import Answer, Call, parsed
from ojs_server.http.hot_call import Asked, HotCall
from ojs_server.http.ids import job_id_of
from ojs_server.http.jobs.batches import checked_batch, receipt_for
from ojs_server.http.jobs.progress import with_progress
from ojs_server.http.jobs.views import (
    array,
    changed_answer,
    enqueued_at,
    envelopes,
    job_answer,
    progress_members,
    warnings,
)
from ojs_server.http.limits import rate_limits
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.route import route
from ojs_server.ops.jobs.enqueue import Enqueue, Enqueued
from ojs_server.ops.jobs.settle import Activate, Cancel, missing
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_server.ops.limits.blocking_enqueue import BLOCK_MS
from ojs_server.ops.limits.blocking_enqueue import enqueue as enqueue_or_wait
from ojs_wire.calls import BatchRequest, EmptyRequest
from ojs_wire.codec import decode, encode

MAX_TIMEOUT_S = 1_000_000
_PATIENCE: Final = b"ojs-block-timeout"
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_PLAIN_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SECONDS = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def checking(call: Call) -> Callable[[object], Draft]:
    """Return the function that checks the jobs of this request."""
    strict, tenant, request_id = call.server.settings.strict, call.tenant, call.sent_request_id
    return lambda body: parse_draft(body, strict=strict, tenant=tenant, request_id=request_id)


def _enqueue(call: Call, body: bytes) -> Asked:
    value = parsed(body)
    draft = checking(call)(value)
    receipt = receipt_for(call, "enqueue")
    op = Enqueue((draft,), receipt, hash_of(value) if receipt else b"")
    wait_ms, headers = _patience(call)
    patience = _Patience(wait_ms, headers)
    # What is left of a limit is looked up for the answer.
    patiently = partial(_store_within, call, op, patience) if draft.shape.rate_limit else None
    return Asked(op, patiently, patience)


def _stored(call: Call, asked: Asked, done: Enqueued) -> Answer:
    if call.server.tracer is not None:
        call.server.tracer.enqueued(done.jobs)
    stored = done.jobs[0]
    location = {
        "Location": f"/ojs/v1/jobs/{stored.job.id}",
        **pressure_headers(done),
        **asked.about.headers,
    }
    warned = warnings(done.complaints)
    flat = dialects.flat(call)
    if done.created:
        return Answer(job_answer(stored, flat=flat, **warned), 201, location)
    return Answer(job_answer(stored, flat=flat, deduplicated=True, **warned), 200, location)


class _Patience(msgspec.Struct):
    """The time that a producer waits for room in a queue, and the headers that say so."""

    wait_ms: int
    headers: Mapping[str, str]


async def _store_within(call: Call, op: Enqueue, patience: _Patience) -> Enqueued:
    """Store a job within its rate limit, and add headers with the rest of the limit."""
    done = await enqueue_or_wait(call.server.engine, op, patience.wait_ms, call.disconnected)
    patience.headers = {**await rate_limits.headers(call, op.drafts[0]), **patience.headers}
    return done


def _wait_for_room(
    call: Call, asked: Asked, error: BaseException
) -> Coroutine[Any, Any, Enqueued] | None:
    if not (isinstance(error, QueueFull) and error.blocks and asked.about.wait_ms > 0):
        return None
    op, wait_ms = cast(Enqueue, asked.operation), asked.about.wait_ms
    return enqueue_or_wait(call.server.engine, op, wait_ms, call.disconnected)


def _measure(call: Call, asked: Asked, seconds: float) -> None:
    op = cast(Enqueue, asked.operation)
    call.server.metrics.observe_enqueue(op.drafts[0].queue, seconds)


# Stores one job; the answer leaves after it is on disk.
enqueue: Final = HotCall(_enqueue, _stored, _wait_for_room, _measure)


def _enqueue_batch(call: Call, content: bytes) -> Asked:
    body = parsed(content)
    call.check_members(body, BatchRequest)
    drafts = _drafts(call, checked_batch(body.get("jobs")))
    receipt = receipt_for(call, "batch")
    op = Enqueue(drafts, receipt, hash_of(body) if receipt else b"")
    return Asked(op, about=_Patience(*_patience(call)))


def _stored_batch(call: Call, asked: Asked, done: Enqueued) -> Answer:
    if call.server.tracer is not None:
        call.server.tracer.enqueued(done.jobs)
    return Answer(
        array(
            "jobs",
            envelopes(done.jobs, done.earlier),
            count=len(done.jobs),
            **dialects.batch_counts(len(done.jobs)),
            **warnings(done.complaints, many=True),
        ),
        201 if done.created else 200,
        {
            "X-OJS-Batch-Size": str(len(done.jobs)),
            **pressure_headers(done),
            **asked.about.headers,
        },
    )


# Stores up to a thousand jobs, all or none.
enqueue_batch: Final = HotCall(_enqueue_batch, _stored_batch, _wait_for_room, _measure)


def _drafts(call: Call, jobs: Sequence[object]) -> Sequence[Draft]:
    if call.tenant is None and call.sent_request_id is None:
        uniform = parse_uniform(jobs, strict=call.server.settings.strict)
        if uniform is not None:
            return uniform
    draft_of = checking(call)
    drafts = []
    for index, item in enumerate(jobs):
        try:
            drafts.append(draft_of(item))
        except OjsError as error:
            details = {"index": index, **(error.details or {})}
            message = f"jobs[{index}]: {error.message}"
            raise type(error)(message, details=details, code=error.answer_code) from None
    require_own_ids(drafts)
    return tuple(drafts)


def require_own_ids(drafts: Iterable[Draft]) -> None:
    """Refuse a batch in which two jobs have the same id."""
    ids = [draft.id for draft in drafts if draft.id]
    if len(set(ids)) != len(ids):
        raise InvalidRequest("two jobs of the batch have the same `id`", details={"field": "id"})


async def read(call: Call) -> Answer:
    """The whole job as it is now, and how far it has come."""
    job_id = await job_id_of(call)
    found = await call.server.engine.read(lambda reader: with_progress(reader, job_id))
    if found is None:
        raise missing(job_id)
    stored, lease, known = found
    beside = progress_members(shown(stored.job, known))
    return Answer(job_answer(stored, lease, beside, flat=dialects.flat(call)))


async def cancel(call: Call) -> Answer:
    """Cancel at once, whatever the job does."""
    if call.scope["method"] == "POST":
        await call.read(EmptyRequest, optional=True)
    change = await call.server.engine.run(Cancel(await job_id_of(call)))
    return await changed(call, change)


async def activate(call: Call) -> Answer:
    """Put a pending job into its queue."""
    await call.read(EmptyRequest, optional=True)
    change = await call.server.engine.run(Activate(await job_id_of(call)))
    return await changed(call, change, activated_at=enqueued_at(change))


async def changed(call: Call, change: Change, **more: Any) -> Answer:
    """Answer a job after a transition: a summary, or the whole job where an SDK reads one."""
    found = None
    if dialects.flat(call):
        found = await call.server.engine.read(lambda reader: reader.job(change.after.id))
    if found is None:
        # Without the header, or removed in between.
        return Answer(changed_answer(change, **more))
    # What happened since the transition is left out, and none of these has a result.
    whole = replace(found[0], job=change.after, result=None)
    beside = encode({"previous_state": change.before.state, **more})[1:-1]
    return Answer(job_answer(whole, None, beside, flat=True))


async def retries(call: Call) -> Answer:
    """The attempts that failed so far, and how many there may be."""
    stored, _ = await load_job(call)
    job = stored.job
    failures: list[dict[str, Any]] = decode(job.errors or b"[]")
    counts = {"job_id": job.id, "attempt": job.attempt, "max_attempts": job.max_attempts}
    return Answer(dialects.failed_attempts(failures, policy_of(job).as_wire()) | counts)


async def result(call: Call) -> Answer:
    """The result of a finished job; `wait=true` waits for it up to `timeout` seconds, and a
    preferred wait as long as it says."""
    stored, _ = await load_job(call)
    wished, said_s = preference(call), _wait(call)
    preferred_ms = None
    if said_s is None:
        preferred_ms = wished.wait_ms(call.server.engine.rules.profile.max_wait_ms)
    wait_s = said_s or (preferred_ms or 0) / 1000
    if stored.job.state not in TERMINAL and wait_s > 0:
        stored = await wait_for_end(call.server.engine, stored, wait_s)
    job = stored.job
    if job.state not in TERMINAL:
        if said_s and not wished.respond_async:
            raise NotReady(
                f"job {job.id} is {job.state} after {said_s:g} s",
                details={"job_id": job.id, "state": job.state},
            )
        headers = applied(preferred_ms, respond_async=wished.respond_async)
        told = {"job_id": job.id, "state": job.state}
        return Answer(told, 202, {"Retry-After": "1", **headers})
    body = encode({"job_id": job.id, "state": job.state})[:-1]
    body += b',"result":' + (stored.result or b"null")
    if job.error is not None:
        body += b',"error":' + job.error
    return Answer(body + b"}", headers=applied(preferred_ms))


def _patience(call: Call) -> tuple[int, Mapping[str, str]]:
    """Return how long a producer waits for room where a queue blocks it, with the headers that tell
    of a preference."""
    most_ms = call.server.engine.rules.profile.max_wait_ms
    text = call.header(_PATIENCE)
    headers: Mapping[str, str] = {}
    if text is None:
        preferred_ms = preference(call).wait_ms(most_ms)
        wait_ms = BLOCK_MS if preferred_ms is None else preferred_ms
        headers = applied(preferred_ms)
    elif _PLAIN_SECONDS.fullmatch(text) and float(text) <= MAX_TIMEOUT_S:
        wait_ms = round(float(text) * 1000)
    else:
        raise InvalidRequest(
            f"OJS-Block-Timeout must be a number of seconds from 0 to {MAX_TIMEOUT_S}",
            details={"header": "OJS-Block-Timeout"},
        )
    return min(wait_ms, most_ms), headers


def pressure_headers(done: Enqueued) -> Mapping[str, str]:
    """Return headers with the depth and bound of a queue, once it is full enough to report it."""
    pressure = done.pressure
    if pressure is None:
        return {}
    return {
        "X-OJS-Queue-Depth": str(pressure.depth),
        "X-OJS-Queue-Bound": str(pressure.bound),
        "X-OJS-Queue-Pressure": f"{min(1, pressure.ratio):.3g}",
    }


async def load_job(call: Call) -> tuple[StoredJob, Lease | None]:
    """Return the job that the path names, and its holder."""
    job_id = await job_id_of(call)
    found = await call.server.engine.read(lambda reader: reader.job(job_id))
    if found is None:
        raise missing(job_id)
    return found


def _wait(call: Call) -> float | None:
    """Return the seconds that the query asks to wait; None if it asks for no wait."""
    query = call.query()
    word = query.get("wait")
    wait = _TRUTH.get("false" if word is None else word.lower())
    if wait is None:
        raise invalid("wait", f"must be one of {', '.join(_TRUTH)}")
    text = query.get("timeout", "30")
    if not _SECONDS.fullmatch(text) or not 0 <= float(text) <= MAX_TIMEOUT_S:
        raise invalid("timeout", f"must be a number of seconds from 0 to {MAX_TIMEOUT_S}")
    if word is None:
        return None
    return min(float(text), call.server.engine.rules.profile.max_wait_ms / 1000) if wait else 0


ROUTES: Final = (
    route("POST", "/jobs", enqueue, ENQUEUE, tenanted=True, produces=True),
    route("POST", "/jobs/batch", enqueue_batch, ENQUEUE, tenanted=True, produces=True),
    route("GET", "/jobs/{id}", read, READ, tenanted=True),
    route("DELETE", "/jobs/{id}", cancel, ENQUEUE, tenanted=True),
    route("POST", "/jobs/{id}/activate", activate, ENQUEUE, tenanted=True),
    route("GET", "/jobs/{id}/result", result, READ, waits=True, tenanted=True),
    route("GET", "/jobs/{id}/retries", retries, READ, tenanted=True),
)
