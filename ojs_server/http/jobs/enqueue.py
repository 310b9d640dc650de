"""ENQUEUE of one job, or of a batch."""

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

import msgspec

from ojs_server.domain.errors import InvalidRequest, OjsError, QueueFull
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.jobs.uniform_batch import parse_uniform
from ojs_server.domain.jobs.validate import Draft, hash_of, parse_draft
from ojs_server.http import dialects
from ojs_server.http.access.roles import ENQUEUE
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call, parsed
from ojs_server.http.hot_call import HotCall, Prepared
from ojs_server.http.jobs.batches import checked_batch, receipt_for
from ojs_server.http.jobs.views import (
    array,
    envelopes,
    job_answer,
    minimal_answer,
    minimal_jobs,
    warnings,
)
from ojs_server.http.limits import rate_limits
from ojs_server.http.prefer_header import HEADER, MAX_TIMEOUT_S, applied, preference
from ojs_server.http.route import Route
from ojs_server.ops.jobs.blocking_enqueue import BLOCK_MS
from ojs_server.ops.jobs.blocking_enqueue import enqueue as enqueue_or_wait
from ojs_server.ops.jobs.enqueue import Enqueue, Enqueued
from ojs_wire.calls import BatchRequest

_PATIENCE: Final = b"ojs-block-timeout"
_PLAIN_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def checking(call: AnyCall) -> Callable[[object], Draft]:
    """Return the function that checks the jobs of this request."""
    strict, any_type = call.server.settings.strict, call.any_type
    tenant, request_id = call.tenant, call.sent_request_id
    return lambda body: parse_draft(
        body, strict=strict, any_type=any_type, tenant=tenant, request_id=request_id
    )


def _enqueue(call: Call, body: bytes) -> Prepared:
    op = enqueue_of(call, parsed(body))
    terms = _terms(call)
    # The answer names the rest of the rate limit, which needs another read.
    wait = partial(_store_within, call, op, terms) if op.drafts[0].shape.rate_limit else None
    return Prepared(op, wait, terms)


def enqueue_of(call: AnyCall, request: Mapping[str, Any]) -> Enqueue:
    """Return the operation of a request for one job."""
    draft = checking(call)(request)
    receipt = receipt_for(call, "enqueue")
    return Enqueue((draft,), receipt, hash_of(request) if receipt else b"")


async def store(call: AnyCall, op: Enqueue) -> Enqueued:
    """Store a job of a client that does not say how long it waits for room in the queue."""
    monotonic = call.server.environment.monotonic
    started = monotonic()
    done = await enqueue_or_wait(call.server.engine, op, _usual_wait_ms(call), call.disconnected)
    trace(call, done.jobs)
    call.server.metrics.observe_enqueue(op.drafts[0].queue, monotonic() - started)
    return done


def trace(call: AnyCall, jobs: Sequence[StoredJob]) -> None:
    """Add the jobs that a request stored to the traces."""
    if jobs and call.server.tracer is not None:
        call.server.tracer.enqueued(jobs)


def _stored(call: Call, prepared: Prepared, done: Enqueued) -> Answer:
    trace(call, done.jobs)
    stored = done.jobs[0]
    terms: _Terms = prepared.about
    location = {"Location": f"/ojs/v1/jobs/{stored.job.id}", **terms.headers}
    if done.pressure is not None:
        location |= pressure_headers(done)
    warned = warnings(done.complaints) if done.complaints else {}
    answer = minimal_answer if terms.minimal else job_answer
    if done.created:
        return Answer(answer(stored, **warned), 201, location)
    return Answer(answer(stored, deduplicated=True, **warned), 200, location)


class _Terms(msgspec.Struct):
    """The time that a producer waits for room in a queue, whether it needs no whole job in the
    answer, and the headers that report both."""

    wait_ms: int
    minimal: bool = False
    headers: Mapping[str, str] = {}


async def _store_within(call: Call, op: Enqueue, terms: _Terms) -> Enqueued:
    """Store a job within its rate limit, and add headers with the rest of the limit."""
    done = await enqueue_or_wait(call.server.engine, op, terms.wait_ms, call.disconnected)
    terms.headers = {**await rate_limits.headers(call, op.drafts[0]), **terms.headers}
    return done


def _wait_for_room(
    call: Call, prepared: Prepared, error: BaseException
) -> Coroutine[Any, Any, Enqueued] | None:
    if not (isinstance(error, QueueFull) and error.blocks and prepared.about.wait_ms > 0):
        return None
    op, wait_ms = cast(Enqueue, prepared.operation), prepared.about.wait_ms
    return enqueue_or_wait(call.server.engine, op, wait_ms, call.disconnected)


def _measure(call: Call, prepared: Prepared, seconds: float) -> None:
    op = cast(Enqueue, prepared.operation)
    call.server.metrics.observe_enqueue(op.drafts[0].queue, seconds)


# Stores one job; the answer is sent after it is on disk.
enqueue: Final = HotCall(_enqueue, _stored, _wait_for_room, _measure)


def _enqueue_batch(call: Call, content: bytes) -> Prepared:
    body = parsed(content)
    call.check_members(body, BatchRequest)
    drafts = _drafts(call, checked_batch(body.get("jobs")))
    receipt = receipt_for(call, "batch")
    op = Enqueue(drafts, receipt, hash_of(body) if receipt else b"")
    return Prepared(op, about=_terms(call))


def _stored_batch(call: Call, prepared: Prepared, done: Enqueued) -> Answer:
    trace(call, done.jobs)
    shown = minimal_jobs if prepared.about.minimal else envelopes
    return Answer(
        array(
            "jobs",
            shown(done.jobs, done.earlier),
            count=len(done.jobs),
            **dialects.batch_counts(len(done.jobs)),
            **warnings(done.complaints, many=True),
        ),
        201 if done.created else 200,
        {
            "X-OJS-Batch-Size": str(len(done.jobs)),
            **pressure_headers(done),
            **prepared.about.headers,
        },
    )


# Stores up to a thousand jobs, all or none.
enqueue_batch: Final = HotCall(_enqueue_batch, _stored_batch, _wait_for_room, _measure)


def _drafts(call: Call, jobs: Sequence[object]) -> Sequence[Draft]:
    if call.tenant is None and call.sent_request_id is None:
        uniform = parse_uniform(jobs, strict=call.server.settings.strict, any_type=call.any_type)
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


def _terms(call: Call) -> _Terms:
    """Return how long a producer waits for room where a queue blocks it, and what it prefers."""
    most_ms = call.server.engine.rules.profile.max_wait_ms
    if _PATIENCE not in call.fields and HEADER not in call.fields:
        return _Terms(_usual_wait_ms(call))
    preferred = preference(call)
    preferred_ms: int | None = None
    text = call.header(_PATIENCE)
    if text is None:
        preferred_ms = preferred.wait_ms(most_ms)
        wait_ms = BLOCK_MS if preferred_ms is None else preferred_ms
    elif _PLAIN_SECONDS.fullmatch(text) and float(text) <= MAX_TIMEOUT_S:
        wait_ms = round(float(text) * 1000)
    else:
        raise InvalidRequest(
            f"OJS-Block-Timeout must be a number of seconds from 0 to {MAX_TIMEOUT_S}",
            details={"header": "OJS-Block-Timeout"},
        )
    headers = applied(preferred_ms, minimal=preferred.minimal)
    return _Terms(min(wait_ms, most_ms), preferred.minimal, headers)


def _usual_wait_ms(call: AnyCall) -> int:
    return min(BLOCK_MS, call.server.engine.rules.profile.max_wait_ms)


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


ROUTES: Final = (
    Route("POST", "/jobs", enqueue, ENQUEUE, tenanted=True, produces=True),
    Route("POST", "/jobs/batch", enqueue_batch, ENQUEUE, tenanted=True, produces=True),
)
