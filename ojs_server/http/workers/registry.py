"""Registration of workers, their list, and their health."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.errors import TooLarge, invalid
from ojs_server.domain.jobs.validate import MAX_META
from ojs_server.domain.suggestions import nearest, refuse_lookalikes
from ojs_server.domain.tenants.tenant import scoped, unscoped
from ojs_server.domain.workers.requirements import check_handlers
from ojs_server.domain.workers.worker import (
    Presence,
    WorkerState,
    parse_worker_id,
    presence,
    profile_of,
)
from ojs_server.http import dialects
from ojs_server.http.access.roles import LOOK, WORK
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import worker_id_of
from ojs_server.http.paging import Page, page_of
from ojs_server.http.route import Route
from ojs_server.http.workers.function_blocks import parse_blocks
from ojs_server.ops.workers.presence import Deregister, Register, unknown_worker
from ojs_server.store.records import WorkerLoad
from ojs_wire.calls import DeregisterRequest, RegisterRequest, WorkerProfile
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp, in_seconds, timestamp

Shown = dict[str, Any]
_PROFILE = WorkerProfile.__struct_fields__


async def register(call: Call) -> Answer:
    """Register a worker and answer the intervals for it."""
    body = await call.optional_json()
    # Unknown members are allowed, except misspelt function blocks, which would be missed.
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
        Register(
            scoped(call.tenant, worker_id), profile_in(call, request), call.principal or None, kinds
        )
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
    request = await call.read(DeregisterRequest, optional="id" in call.path_params)
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
    found, pagination = await page_of_workers(call, page_of(call))
    return Answer({"workers": found, "pagination": pagination})


async def page_of_workers(
    call: Call, page: Page, **fixed: str
) -> tuple[Sequence[Shown], dict[str, Any]]:
    """A page of the workers that the query means; deleted ones only where it asks for them."""
    loads, now = await read_workers(call)
    rows = [(load.worker.created_at, shown(call, load, now)) for load in loads]
    return select(page, rows, {**call.query_params, **fixed}, tuple(WorkerState))


async def read_workers(call: Call) -> tuple[Sequence[WorkerLoad], int]:
    """Return the workers that the caller may see, and the time."""
    loads, now = await call.server.engine.read(lambda reader: (reader.workers(), reader.now()))
    return [load for load in loads if load.worker.id.startswith(scoped(call.tenant, ""))], now


def select(
    page: Page, rows: Sequence[tuple[int, Shown]], query: Mapping[str, str], states: Sequence[str]
) -> tuple[Sequence[Shown], dict[str, Any]]:
    """Return a page of those of these workers, each with the time of its creation, that the query
    means; deleted ones only where it asks for them."""
    created = {worker["id"]: created_at for created_at, worker in rows}
    found = [worker for _, worker in rows]
    for field, words in (("state", states), ("presence", tuple(Presence))):
        if word := query.get(field):
            if word not in words:
                raise invalid(field, f"must be one of {', '.join(words)}{nearest(word, words)}")
            found = [worker for worker in found if worker[field] == word]
    if not _find_deleted(query) and query.get("presence") != Presence.DELETED:
        found = [worker for worker in found if worker["presence"] != Presence.DELETED]
    if queue := query.get("queue"):
        found = [worker for worker in found if queue in worker.get("queues", ())]
    if label := query.get("label"):
        found = [worker for worker in found if label in worker.get("labels", ())]
    return page.follow(found, lambda worker: (created[worker["id"]], worker["id"]))


def _find_deleted(query: Mapping[str, str]) -> bool:
    given = query.get("findDeleted") or "false"
    if given not in ("true", "1", "false", "0"):
        raise invalid("findDeleted", "must be true or false")
    return given in ("true", "1")


async def detail(call: Call) -> Answer:
    """Show one worker: its directive, its presence, and the jobs that it holds."""
    return Answer({"worker": shown(call, *await known_worker(call))})


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


def shown(call: Call, load: WorkerLoad, now: int) -> Shown:
    """Return a worker as it is shown, what it says about itself included."""
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
    """Return the worker that the path names, and the time."""
    worker_id = call.path_params["id"]
    if not worker_id.isprintable():
        raise unknown_worker("with such an id")
    loads, now = await call.server.engine.read(
        lambda reader: (reader.workers([scoped(call.tenant, worker_id)]), reader.now())
    )
    if not loads:
        raise unknown_worker(worker_id[:100])
    return loads[0], now


def profile_in(call: AnyCall, request: WorkerProfile) -> Mapping[str, object]:
    """Return the members of a request that describe its worker."""
    if request.metadata and (size := len(encode(request.metadata))) > MAX_META:
        raise TooLarge(
            f"`metadata` has {size} bytes; at most {MAX_META} are allowed",
            details={"field": "metadata", "size": size, "limit": MAX_META},
        )
    check_handlers(request.handlers or (), any_type=call.any_type)
    return {name: value for name in _PROFILE if (value := getattr(request, name)) is not None}


ROUTES: Final = (
    Route("POST", "/workers/register", register, WORK, tenanted=True, produces=True),
    Route("POST", "/workers/deregister", deregister, WORK, tenanted=True, produces=True),
    Route("GET", "/workers", listing, LOOK, tenanted=True),
    Route("GET", "/workers/{id}", detail, LOOK | WORK, tenanted=True),
    Route("GET", "/workers/{id}/health", health, LOOK | WORK, tenanted=True),
)
