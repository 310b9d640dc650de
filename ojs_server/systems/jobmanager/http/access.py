"""Rights of the job manager's callers: workers belong to the principals that made them."""

from ojs_server.domain.errors import Denied
from ojs_server.domain.workers.worker import Worker, is_deleted, parse_worker_id
from ojs_server.http.call import Call
from ojs_server.ops.workers.presence import unknown_worker


def require_admin(call: Call, why: str) -> None:
    """Raise Denied unless the caller is an administrator."""
    if not call.server.settings.keys.is_admin(call.principal):
        raise Denied(why, hint="use a key of an administrator")


async def require_worker(call: Call, worker_id: str) -> str:
    """Return the id of a worker that exists and is the caller's; an administrator may use all."""
    if not await _is_own(call, worker_id):
        require_admin(call, _of_another(worker_id))
    return worker_id


async def require_own_worker(call: Call, worker_id: str) -> str:
    """Return the id of a worker that exists and is the caller's, also where that is an
    administrator: what a worker does for itself, nobody does in its name."""
    if not await _is_own(call, worker_id):
        raise Denied(_of_another(worker_id), hint="use the key that made the worker")
    return worker_id


async def _is_own(call: Call, worker_id: str) -> bool:
    parse_worker_id(worker_id)
    worker = await worker_of(call, worker_id)
    if worker is None or is_deleted(worker):
        raise unknown_worker(worker_id)
    return worker.principal == (call.principal or None)


def _of_another(worker_id: str) -> str:
    return f"worker {worker_id} is another principal's"


async def worker_of(call: Call, worker_id: str) -> Worker | None:
    """Return a worker, if it is known."""
    return await call.server.engine.read(lambda reader: reader.worker(worker_id))
