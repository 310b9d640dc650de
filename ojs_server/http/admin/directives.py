"""Calls of operators: directives to workers, and the reset of conformance runs."""

from typing import Final

from ojs_server.domain.errors import NotFound, invalid
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.workers.worker import Directive
from ojs_server.http.access.roles import ADMINISTER
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import known_as
from ojs_server.http.route import Route
from ojs_server.ops.admin.maintenance import Reset
from ojs_server.ops.workers.presence import Direct, unknown_worker
from ojs_wire.calls import DirectiveRequest, EmptyRequest


async def quiet(call: Call) -> Answer:
    """Tell one worker to take no more jobs and to finish those it has."""
    return await _direct_one(call, Directive.QUIET)


async def resume(call: Call) -> Answer:
    """Tell one quiet worker to take jobs again."""
    return await _direct_one(call, Directive.RESUME)


async def terminate(call: Call) -> Answer:
    """Tell one worker to finish its jobs within its grace period and to end."""
    return await _direct_one(call, Directive.TERMINATE)


async def direct_all(call: Call) -> Answer:
    """Give a directive to every worker that is not gone, or to the one that is named."""
    request = await call.read_of_many(DirectiveRequest, optional=False)
    if request.directive not in tuple(Directive):
        raise invalid(
            "directive",
            f"must be one of {', '.join(Directive)}{nearest(request.directive, tuple(Directive))}",
        )
    directive = Directive(request.directive)
    one = None if request.worker_id is None else known_as(call, request.worker_id)
    answer = {"directive": directive}
    if request.dry_run:
        return Answer({**answer, "updated": await _present(call, one), "dry_run": True})
    done = await call.server.engine.run(Direct(directive, one))
    return Answer({**answer, "updated": done.updated})


async def _present(call: Call, worker_id: str | None) -> int:
    """Count the workers that a directive would reach; raises if the one that is named is gone."""
    ids = None if worker_id is None else [worker_id]
    loads = await call.server.engine.read(lambda reader: reader.workers(ids))
    present = sum(load.worker.gone_at is None for load in loads)
    if worker_id is not None and not present:
        raise unknown_worker(worker_id)
    return present


async def reset(call: Call) -> Answer:
    """Delete everything; the route exists in conformance runs only."""
    if not call.server.settings.conformance:
        raise NotFound("there is no such path")
    await call.read(EmptyRequest, optional=True)
    await call.server.engine.run(Reset())
    return Answer({"reset": True})


async def _direct_one(call: Call, directive: Directive) -> Answer:
    await call.read(EmptyRequest, optional=True)
    await call.server.engine.run(Direct(directive, known_as(call, call.path_params["id"])))
    return Answer({"worker_id": call.path_params["id"], "directive": directive, "updated": 1})


ROUTES: Final = (
    Route("POST", "/admin/workers/directive", direct_all, ADMINISTER),
    Route("POST", "/admin/workers/{id}/quiet", quiet, ADMINISTER, tenanted=True),
    Route("POST", "/admin/workers/{id}/resume", resume, ADMINISTER, tenanted=True),
    Route("POST", "/admin/workers/{id}/terminate", terminate, ADMINISTER, tenanted=True),
    Route("POST", "/admin/reset", reset, ADMINISTER),
)
