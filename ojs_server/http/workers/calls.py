"""Workers: FETCH, ACK, FAIL, BEAT, registration, and the list of workers."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import TooLarge, invalid
from ojs_server.domain.fairness.pool import parse_strategy, parse_weights
from ojs_server.domain.fields import parse_queue
from ojs_server.domain.jobs.job import Change, StoredJob
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.jobs.validate import MAX_META
from ojs_server.domain.suggestions import nearest, refuse_lookalikes
from ojs_server.domain.tenants.tenant import scoped, unscoped
from ojs_server.domain.workers.requirements import check_handlers, parse_runtime
from ojs_server.domain.workers.worker import (
    Presence,
    WorkerState,
    parse_reported,
    parse_worker_id,
    presence,
    profile_of,
)
from ojs_server.http import dialects
from ojs_server.http.access.auth import LOOK, WORK
from ojs_server.http.access.authorization import strangers
from ojs_server.http.call import Answer, Call, parsed, typed
from ojs_server.http.compat.function_blocks import parse_blocks
from ojs_server.http.dialects import fetch_answer
from ojs_server.http.hot_call import Asked, HotCall
from ojs_server.http.ids import holder_of, job_id_in, worker_id_of
from ojs_server.http.jobs.views import envelope, left_members, settled, timestamp
from ojs_server.http.paging import Page, page_of
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.route import route
from ojs_server.ops.fairness.fair_claim import ServingOrder
from ojs_server.ops.jobs.settle import Ack, Fail, Repeated
from ojs_server.ops.workers.claim import Claim, FetchedJobs
from ojs_server.ops.workers.fetch import fetch as fetch_or_wait
from ojs_server.ops.workers.heartbeat import Beat, Beaten
from ojs_server.ops.workers.presence import Deregister, Register, unknown_worker
from ojs_server.store.records import Claimed, WorkerLoad
from ojs_wire import codes
from ojs_wire.calls import (
    AckRequest,
    BeatRequest,
    DeregisterRequest,
    FetchRequest,
    FetchTerms,
    NackRequest,
    RegisterRequest,
    WorkerProfile,
)
from ojs_wire.codec import encode
from ojs_wire.values import (
    JOB_TYPE,
    MAX_NAME,
    format_timestamp,
    in_seconds,
    parse_duration,
)

Shown = dict[str, Any]
# Bodies of a FETCH that are longer are not kept.
_SHORT: Final = 4096
_PROFILE = WorkerProfile.__struct_fields__


def _fetch(call: Call, body: bytes) -> Asked:
    read = _read_fetch if len(body) <= _SHORT else _read_fetch.__wrapped__
    claim, said_ms = read(body, call.tenant, strict=call.server.settings.strict)
    wait_ms, headers = wait_of(call, said_ms)
    patiently = partial(wait_for_jobs, call, claim, wait_ms) if wait_ms else None
    return Asked(claim, patiently, (wait_ms, headers))


# Most workers ask the same each time, which is not read again.
@lru_cache(maxsize=256)
def _read_fetch(body: bytes, tenant: str | None, *, strict: bool) -> tuple[Claim, int | None]:
    """Return the claim of a FETCH, and the wait that it asks for."""
    request = typed(parsed(body), FetchRequest, strict=strict)
    worker_id = request.worker_id
    holder = None if worker_id is None else scoped(tenant, parse_worker_id(worker_id))
    return claim_of(tenant, request, holder), request.wait_ms


def _handed_out(call: Call, asked: Asked, jobs: FetchedJobs) -> Answer:
    wait_ms, headers = asked.about
    told = withheld_members(jobs)
    granted = call.server.engine.rules.profile.max_wait_ms
    if wait_ms > granted:
        told["granted_wait_ms"] = granted
    return fetch_answer(call, fetched(call, jobs), told, headers)


# Hands out available jobs; with `wait_ms`, waits for the first.
fetch: Final = HotCall(_fetch, _handed_out)


def claim_of(tenant: str | None, terms: FetchTerms, worker_id: str | None) -> Claim:
    """Return the claim of a FETCH; queues may be left out if it names job types."""
    if terms.queues is None and not terms.job_types:
        raise invalid("queues", "is missing; without `job_types` it is needed")
    return Claim(
        queues=tuple(dict.fromkeys(parse_queue("queues", name) for name in terms.queues or ())),
        count=terms.count or terms.batch_size or 1,
        worker_id=worker_id,
        job_types=_job_types(terms.job_types),
        lease_ms=_lease_ms(terms),
        fetch_id=fetch_id_of(terms.fetch_id),
        tags=None if terms.runtime is None else parse_runtime("runtime", terms.runtime),
        late_ack=terms.late_ack,
        tenant=tenant,
        serving=_serving(terms),
    )


def wait_of(call: Call, said_ms: int | None) -> tuple[int, Mapping[str, str]]:
    """Return the wait that a FETCH asks for in its body, or else prefers, with the headers that
    tell of a preference."""
    wished = preference(call).wait_s
    if said_ms is not None or wished is None:
        return said_ms or 0, {}
    wait_ms = wished * 1000
    return wait_ms, applied(min(wait_ms, call.server.engine.rules.profile.max_wait_ms))


async def wait_for_jobs(call: Call, claim: Claim, wait_ms: int) -> FetchedJobs:
    """Return the jobs of a FETCH as soon as there are any, or none after its wait."""
    wait_ms = min(wait_ms, call.server.engine.rules.profile.max_wait_ms)
    gone = call.disconnected() if wait_ms else None
    return await fetch_or_wait(call.server.engine, claim, wait_ms, gone)


def fetched(call: Call, jobs: FetchedJobs) -> Iterator[bytes]:
    """Jobs as FETCH hands them out."""
    if jobs and call.server.tracer is not None:
        call.server.tracer.fetched(jobs)
    return (envelope(_stored(one.claimed), one.lease, left_members(one.left)) for one in jobs)


def withheld_members(jobs: FetchedJobs) -> dict[str, Any]:
    """Members of the answer to a FETCH without jobs: the worker's `state` or `presence`."""
    return dict(_withheld(jobs))


def withheld_headers(jobs: FetchedJobs) -> dict[str, str]:
    """Return the reasons for withheld jobs as headers, for answers that are a bare list."""
    return {f"OJS-Worker-{name.capitalize()}": word for name, word in _withheld(jobs)}


def _withheld(jobs: FetchedJobs) -> list[tuple[str, str]]:
    reason = jobs.withheld
    if reason is None:
        return []
    named = (("state", reason.state), ("presence", reason.presence))
    return [(name, word) for name, word in named if word is not None]


def _stored(claimed: Claimed) -> StoredJob:
    return StoredJob(claimed.job, claimed.args, claimed.meta, parent_results=claimed.parent_results)


def _ack(call: Call, body: bytes) -> Asked:
    request = call.parsed(body, AckRequest, optional="id" in call.params)
    return Asked(
        Ack(
            job_id_in(call, request.job_id),
            worker_id=holder_of(call, request.worker_id),
            attempt=request.attempt,
            result=result_of(request.result, call.server.settings.max_result_bytes),
            tenant=call.tenant,
        )
    )


def _acknowledged(call: Call, asked: Asked, done: Change | Repeated) -> Answer:
    # A late ACK is about an earlier delivery than the one that is under way.
    attempt = done.after.attempt
    if isinstance(done, Repeated):
        change = Change(done.after, done.after, ())
        return Answer(settled(change, attempt, acknowledged=True, repeated=True))
    return Answer(settled(done, attempt, acknowledged=True))


# The handler succeeded: the job is completed.
ack: Final = HotCall(_ack, _acknowledged)


def result_of(given: object, limit: int) -> bytes | None:
    """Encode a result as it is stored; None without one."""
    if given is msgspec.UNSET:
        return None
    result = encode(given)
    if len(result) > limit:
        raise TooLarge(
            f"`result` has {len(result)} bytes; at most {limit} are allowed",
            code=codes.RESULT_TOO_LARGE,
            details={"field": "result", "size": len(result), "limit": limit},
        )
    return result


def _nack(call: Call, body: bytes) -> Asked:
    request = call.parsed(body, NackRequest, optional="id" in call.params)
    return Asked(
        Fail(
            job_id_in(call, request.job_id),
            parse_fault(request.error),
            worker_id=holder_of(call, request.worker_id),
            attempt=request.attempt,
            requeue=bool(request.requeue),
            tenant=call.tenant,
        )
    )


def _failed(call: Call, asked: Asked, change: Change) -> Answer:
    # The attempt that this call is about, also where the job starts over.
    return Answer(settled(change, change.before.attempt))


# The handler failed: retry, requeue or discard.
nack: Final = HotCall(_nack, _failed)


def _beat(call: Call, body: bytes) -> Asked:
    return _sign_of_life(call, call.parsed(body, BeatRequest, optional="id" in call.params))


def _ping(call: Call, body: bytes) -> Asked:
    return _sign_of_life(call, call.parsed(body, BeatRequest, optional=True), known=True)


def _sign_of_life(call: Call, request: BeatRequest, *, known: bool = False) -> Asked:
    ids = request.active_job_ids
    if ids is None and isinstance(request.active_jobs, list):
        ids = request.active_jobs
    if ids is None and request.job_id is not None:
        ids = [request.job_id]
    reported, draining = parse_reported(request.state, shutdown=bool(request.shutdown))
    op = Beat(
        worker_id=worker_id_of(call, request.worker_id),
        reported=reported,
        draining=draining,
        # An id of another form names no job; it is reported as lost like any other stranger.
        active_ids=None if ids is None else tuple(dict.fromkeys(item[:100] for item in ids)),
        lease_ms=request.visibility_timeout_ms or None,
        extend=request.extend is not False,
        known=known,
        profile=_profile(request),
    )
    # Whose the jobs are that a tenant's worker lists is looked up first.
    looks_up = call.tenant is not None and op.active_ids
    return Asked(op, partial(_beat_of_tenant, call, op) if looks_up else None)


async def _beat_of_tenant(call: Call, op: Beat) -> Beaten:
    listed = op.active_ids or ()
    unknown = await strangers(call, listed)
    own = tuple(job_id for job_id in listed if job_id not in unknown)
    done = await call.server.engine.run(msgspec.structs.replace(op, active_ids=own))
    return msgspec.structs.replace(done, lost=(*done.lost, *sorted(unknown)))


def _beaten(call: Call, asked: Asked, done: Beaten) -> Answer:
    lease_ms = call.server.engine.rules.profile.lease_ms
    return Answer(
        {
            "acknowledged": True,
            "worker_id": unscoped(call.tenant, done.worker.id),
            "state": done.state,
            "directive": "" if done.state is WorkerState.RUNNING else done.state,
            "server_time": format_timestamp(done.now),
            "visibility_timeout": in_seconds(lease_ms),
            "visibility_timeout_ms": lease_ms,
            "jobs_extended": done.extended,
            "jobs_lost": done.lost,
            "cancelled_jobs": done.cancelled,
            "registered": done.registered,
            "last_heartbeat_at": format_timestamp(done.now),
        }
    )


# A sign of life: keeps the listed jobs, answers what the worker should do.
beat: Final = HotCall(_beat, _beaten)
# A BEAT by path, for workers that must be told when they are no longer known.
ping: Final = HotCall(_ping, _beaten)


async def register(call: Call) -> Answer:
    """Register a worker and answer the intervals for it."""
    body = await call.optional_json()
    # A registration may say more than is read, but blocks under another name would be missed.
    others = sorted(body.keys() - {*RegisterRequest.__struct_fields__})
    refuse_lookalikes("", others, ("functionBlocks",))
    request = call.typed(body, RegisterRequest)
    worker_id = (
        call.server.environment.new_id()
        if request.worker_id is None
        else parse_worker_id(request.worker_id)
    )
    kinds = parse_blocks(request.functionBlocks, tenant=call.tenant)
    known = await call.server.engine.run(
        Register(scoped(call.tenant, worker_id), _profile(request), call.principal or None, kinds)
    )
    profile = call.server.engine.rules.profile
    return Answer(
        {
            "ok": True,
            "worker_id": worker_id,
            "state": WorkerState.RUNNING,
            "server_time": format_timestamp(known.now),
            "heartbeat_interval": in_seconds(profile.heartbeat_interval_ms),
            "heartbeat_timeout": (
                None if profile.dead_after_ms is None else in_seconds(profile.dead_after_ms)
            ),
            "visibility_timeout_default": in_seconds(profile.lease_ms),
        }
    )


async def deregister(call: Call) -> Answer:
    """Deregister a worker; its jobs go back to their queues at once."""
    request = await call.read(DeregisterRequest, optional="id" in call.params)
    worker_id = worker_id_of(call, request.worker_id)
    known = await call.server.engine.run(Deregister(worker_id))
    return Answer(
        {
            "ok": True,
            "worker_id": unscoped(call.tenant, worker_id),
            "state": WorkerState.TERMINATED,
            "server_time": format_timestamp(known.now),
        }
    )


async def listing(call: Call) -> Answer:
    """All workers, newest first."""
    shown, pagination = await page_of_workers(call, page_of(call))
    return Answer({"workers": shown, "pagination": pagination})


async def page_of_workers(
    call: Call, page: Page, **fixed: str
) -> tuple[Sequence[Shown], dict[str, Any]]:
    """A page of the workers that the query means; deleted ones only where it asks for them."""
    query = {**call.query(), **fixed}
    loads, now = await call.server.engine.read(lambda reader: (reader.workers(), reader.now()))
    own = [load for load in loads if load.worker.id.startswith(scoped(call.tenant, ""))]
    created = {unscoped(call.tenant, load.worker.id): load.worker.created_at for load in own}
    shown = [_shown(call, load, now) for load in own]
    for field, words in (("state", tuple(WorkerState)), ("presence", tuple(Presence))):
        if word := query.get(field):
            if word not in words:
                raise invalid(field, f"must be one of {', '.join(words)}{nearest(word, words)}")
            shown = [worker for worker in shown if worker[field] == word]
    if not _find_deleted(query) and query.get("presence") != Presence.DELETED:
        shown = [worker for worker in shown if worker["presence"] != Presence.DELETED]
    if queue := query.get("queue"):
        shown = [worker for worker in shown if queue in worker.get("queues", ())]
    if label := query.get("label"):
        shown = [worker for worker in shown if label in worker.get("labels", ())]
    return page.follow(shown, lambda worker: (created[worker["id"]], worker["id"]))


def _find_deleted(query: Mapping[str, str]) -> bool:
    given = query.get("findDeleted") or "false"
    if given not in ("true", "1", "false", "0"):
        raise invalid("findDeleted", "must be true or false")
    return given in ("true", "1")


async def detail(call: Call) -> Answer:
    """Show one worker: its directive, its presence, and the jobs that it holds."""
    return Answer({"worker": await shown_worker(call)})


async def shown_worker(call: Call) -> Shown:
    """Return the worker that the path names, as it is shown."""
    return _shown(call, *await known_worker(call))


async def health(call: Call) -> Answer:
    """200 while the worker takes work, 503 when it does not, with the reason."""
    load, now = await known_worker(call)
    worker = load.worker
    seen = presence(worker, now, call.server.engine.rules.profile.thresholds)
    state = "draining" if worker.draining else worker.state
    well = state == WorkerState.RUNNING and seen is Presence.ONLINE
    return Answer(
        {
            "worker_id": unscoped(call.tenant, worker.id),
            "status": "ok" if well else "unavailable",
            "state": state,
            "presence": seen,
            "active_jobs": len(load.job_ids),
        },
        200 if well else 503,
        {} if well else {"Retry-After": "5"},
    )


def _shown(call: Call, load: WorkerLoad, now: int) -> dict[str, Any]:
    worker = load.worker
    profile = profile_of(worker)
    return {
        **profile,
        "id": unscoped(call.tenant, worker.id),
        "worker_id": unscoped(call.tenant, worker.id),
        "state": worker.state,
        "presence": presence(worker, now, call.server.engine.rules.profile.thresholds),
        "draining": worker.draining,
        "directive": worker.directive,
        "incarnation": worker.incarnation,
        "registered": worker.alive_at is not None,
        "active_jobs": len(load.job_ids),
        "active_job_ids": load.job_ids,
        "created_at": format_timestamp(worker.created_at),
        "last_seen_at": format_timestamp(worker.seen_at),
        **dialects.last_heartbeat(timestamp(worker.beat_at)),
        "terminated_at": None if worker.gone_at is None else format_timestamp(worker.gone_at),
        "deleted_at": None if worker.deleted_at is None else format_timestamp(worker.deleted_at),
    }


async def known_worker(call: Call) -> tuple[WorkerLoad, int]:
    """The worker that the path names."""
    worker_id = call.params["id"]
    if not worker_id.isprintable():
        raise unknown_worker("with such an id")
    loads, now = await call.server.engine.read(
        lambda reader: (reader.workers([scoped(call.tenant, worker_id)]), reader.now())
    )
    if not loads:
        raise unknown_worker(worker_id[:100])
    return loads[0], now


def _profile(request: WorkerProfile) -> Mapping[str, object]:
    if request.metadata and (size := len(encode(request.metadata))) > MAX_META:
        raise TooLarge(
            f"`metadata` has {size} bytes; at most {MAX_META} are allowed",
            details={"field": "metadata", "size": size, "limit": MAX_META},
        )
    check_handlers(request.handlers or ())
    return {name: value for name in _PROFILE if (value := getattr(request, name)) is not None}


def _job_types(names: list[str] | None) -> tuple[str, ...] | None:
    for name in names or ():
        if len(name) > MAX_NAME or not JOB_TYPE.fullmatch(name):
            raise invalid("job_types", "must hold job types, like email.send")
    return tuple(dict.fromkeys(names)) if names else None


def _serving(terms: FetchTerms) -> ServingOrder | None:
    weights = parse_weights("weights", terms.weights or {})
    strategy = parse_strategy("strategy", terms.strategy) or ("weighted" if weights else None)
    # What is wanted anyhow needs no look at the queues.
    if strategy is None or strategy == "strict":
        return None
    return ServingOrder(None, strategy, tuple(sorted(weights.items())))


def fetch_id_of(name: str | None) -> str | None:
    """Return the id that a worker gave its FETCH, by which it can be repeated."""
    if name is not None and not name.isprintable():
        raise invalid("fetch_id", f"must be 1 to {MAX_NAME} printable characters")
    return name


def _lease_ms(request: FetchTerms) -> int | None:
    if request.visibility_timeout_ms:
        return request.visibility_timeout_ms
    if request.visibility_timeout is None:
        return None
    try:
        return parse_duration(request.visibility_timeout, 1000) or None
    except ValueError as error:
        raise invalid("visibility_timeout", str(error)) from None


ROUTES: Final = (
    route("POST", "/workers/fetch", fetch, WORK, waits=True, tenanted=True, produces=True),
    route("POST", "/workers/ack", ack, WORK, tenanted=True, produces=True),
    route("POST", "/workers/nack", nack, WORK, tenanted=True, produces=True),
    route("POST", "/workers/heartbeat", beat, WORK, tenanted=True, produces=True),
    route("POST", "/workers/register", register, WORK, tenanted=True, produces=True),
    route("POST", "/workers/deregister", deregister, WORK, tenanted=True, produces=True),
    route("GET", "/workers", listing, LOOK, tenanted=True),
    route("GET", "/workers/{id}", detail, LOOK | WORK, tenanted=True),
    route("GET", "/workers/{id}/health", health, LOOK | WORK, tenanted=True),
    route("POST", "/workers/{id}/ping", ping, WORK, tenanted=True, produces=True),
)
