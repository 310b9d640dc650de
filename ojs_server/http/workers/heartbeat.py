"""BEAT: a worker's sign of life, and the server's directive to it."""

from functools import partial
from typing import Final

import msgspec

from ojs_server.domain.tenants.tenant import unscoped
from ojs_server.domain.workers.worker import WorkerState, parse_reported
from ojs_server.http.access.authorization import strangers
from ojs_server.http.access.roles import WORK
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.hot_call import HotCall, Prepared
from ojs_server.http.ids import worker_id_of
from ojs_server.http.route import Route
from ojs_server.http.workers.registry import profile_in
from ojs_server.ops.workers.heartbeat import Beat, Beaten
from ojs_wire.calls import BeatRequest
from ojs_wire.values import format_timestamp, in_seconds


def _beat(call: Call, body: bytes) -> Prepared:
    return _sign_of_life(call, call.parsed(body, BeatRequest, optional="id" in call.path_params))


def _ping(call: Call, body: bytes) -> Prepared:
    return _sign_of_life(call, call.parsed(body, BeatRequest, optional=True), known=True)


def _sign_of_life(call: Call, request: BeatRequest, *, known: bool = False) -> Prepared:
    op = beat_of(call, request, known=known)
    # First look up which of the listed jobs belong to the tenant.
    looks_up = call.tenant is not None and op.active_ids
    return Prepared(op, partial(carry_out, call, op) if looks_up else None)


def beat_of(call: AnyCall, request: BeatRequest, *, known: bool = False) -> Beat:
    """Return the operation of a BEAT."""
    ids = request.active_job_ids
    if ids is None and isinstance(request.active_jobs, list):
        ids = request.active_jobs
    if ids is None and request.job_id is not None:
        ids = [request.job_id]
    reported, draining = parse_reported(request.state, shutdown=bool(request.shutdown))
    return Beat(
        worker_id=worker_id_of(call, request.worker_id),
        reported=reported,
        draining=draining,
        # Invalid ids are reported as lost, like those of other workers' jobs.
        active_ids=None if ids is None else tuple(dict.fromkeys(item[:100] for item in ids)),
        lease_ms=request.visibility_timeout_ms or None,
        extend=request.extend is not False,
        known=known,
        profile=profile_in(call, request),
    )


async def carry_out(call: AnyCall, op: Beat) -> Beaten:
    """Carry out a BEAT; jobs of other tenants are lost to it."""
    listed = op.active_ids or ()
    unknown = await strangers(call, listed)
    if not unknown:
        return await call.server.engine.run(op)
    own = tuple(job_id for job_id in listed if job_id not in unknown)
    done = await call.server.engine.run(msgspec.structs.replace(op, active_ids=own))
    return msgspec.structs.replace(done, lost=(*done.lost, *sorted(unknown)))


def _beaten(call: Call, prepared: Prepared, done: Beaten) -> Answer:
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


# Renews the leases of the listed jobs, and answers the state that the worker should take.
beat: Final = HotCall(_beat, _beaten)
# A BEAT by path, for workers that must learn when they are no longer known.
ping: Final = HotCall(_ping, _beaten)


ROUTES: Final = (
    Route("POST", "/workers/heartbeat", beat, WORK, tenanted=True, produces=True),
    Route("POST", "/workers/{id}/ping", ping, WORK, tenanted=True, produces=True),
)
