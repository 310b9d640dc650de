"""Workers in the admin form: the list with its totals, one worker, the removal of a stale one."""

from typing import Any, Final

from ojs_server.domain.workers.staleness import STALE, STANDINGS, has_left, standing, standings
from ojs_server.domain.workers.worker import WorkerState, is_deleted
from ojs_server.http.access.roles import ADMINISTER, LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import known_as
from ojs_server.http.paging import admin_page
from ojs_server.http.route import Route
from ojs_server.http.workers.registry import known_worker, read_workers, select, shown
from ojs_server.ops.workers.presence import Delete
from ojs_server.store.records import WorkerLoad


async def listing(call: Call) -> Answer:
    """List the workers that have not left, newest first, and count them by state."""
    page, query = admin_page(call, ("state", "presence", "queue", "label"))
    loads, now = await read_workers(call)
    counts = standings((load.worker for load in loads), now, call.server.engine.rules.profile)
    summary = {
        "total": counts.total(),
        "running": counts[WorkerState.RUNNING],
        "quiet": counts[WorkerState.QUIET] + counts[WorkerState.TERMINATE],
        "stale": counts[STALE],
    }
    left_too = query.get("state") == WorkerState.TERMINATED
    rows = [
        (load.worker.created_at, _shown(call, load, now))
        for load in loads
        if left_too or not has_left(load.worker) or is_deleted(load.worker)
    ]
    items, pagination = select(page, rows, query, STANDINGS)
    return Answer({"items": items, "summary": summary, "pagination": pagination})


async def detail(call: Call) -> Answer:
    """Show one worker with the ids of its jobs, its members at the top level."""
    return Answer(_shown(call, *await known_worker(call)))


async def remove(call: Call) -> Answer:
    """Remove a stale worker; its jobs go back to their queues."""
    worker_id = known_as(call, call.path_params["id"])
    await call.server.engine.run(Delete(worker_id, stale=True))
    return Answer({"deleted": True, "worker_id": call.path_params["id"]})


def _shown(call: Call, load: WorkerLoad, now: int) -> dict[str, Any]:
    state = standing(load.worker, now, call.server.engine.rules.profile)
    # The admin UI expects `queues` in every worker.
    return {"queues": [], **shown(call, load, now), "state": state}


ROUTES: Final = (
    Route("GET", "/admin/workers", listing, LOOK),
    Route("GET", "/admin/workers/{id}", detail, LOOK),
    Route("DELETE", "/admin/workers/{id}", remove, ADMINISTER, tenanted=True),
)
