"""Workers in the admin form: the list with its totals, one worker, the removal of a silent one."""

from collections import Counter
from typing import Final

from ojs_server.domain.workers.worker import WorkerState, is_stale
from ojs_server.http.access.roles import ADMINISTER, LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import known_as
from ojs_server.http.paging import admin_page
from ojs_server.http.route import Route
from ojs_server.http.workers.registry import page_of_workers, shown_worker
from ojs_server.ops.workers.presence import Deregister
from ojs_server.store.records import WorkerLoad


async def listing(call: Call) -> Answer:
    """List all workers, newest first, with their numbers by kind."""
    page, _ = admin_page(call, ("state", "presence", "queue", "label"))
    items, pagination = await page_of_workers(call, page)
    loads, now = await call.server.engine.read(lambda reader: (reader.workers(), reader.now()))
    timeout_ms = call.server.engine.rules.profile.dead_after_ms
    kinds = Counter(_kind(load, now, timeout_ms) for load in loads)
    summary = {"total": len(loads)} | {kind: kinds[kind] for kind in ("running", "quiet", "stale")}
    # The admin UI expects `queues` in every worker.
    whole = [{"queues": [], **item} for item in items]
    return Answer({"items": whole, "summary": summary, "pagination": pagination})


async def detail(call: Call) -> Answer:
    """Show one worker with the ids of its jobs, its members at the top level."""
    return Answer({"queues": [], **await shown_worker(call)})


async def remove(call: Call) -> Answer:
    """Remove a worker whose heartbeat is overdue; its jobs go back to their queues."""
    worker_id = known_as(call, call.path_params["id"])
    await call.server.engine.run(Deregister(worker_id, silent=True))
    return Answer({"deleted": True, "worker_id": call.path_params["id"]})


def _kind(load: WorkerLoad, now: int, timeout_ms: int | None) -> str:
    if is_stale(load.worker, now, timeout_ms):
        return "stale"
    return "running" if load.worker.state == WorkerState.RUNNING else "quiet"


ROUTES: Final = (
    Route("GET", "/admin/workers", listing, LOOK),
    Route("GET", "/admin/workers/{id}", detail, LOOK),
    Route("DELETE", "/admin/workers/{id}", remove, ADMINISTER, tenanted=True),
)
