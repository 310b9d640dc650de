"""Programs that enqueue in transactions of their own."""

import json
from typing import Any

from ojs_server.store.errors import StoreUnreachable
from ojs_server.store.records import Staged
from tests.simulation.acts.caller import Acts, Caller


async def _stage(caller: Caller, what: dict[str, Any]) -> Any:
    """Stage jobs, and commit or roll back; the answer has the ids of committed jobs."""
    if caller.stage is None:
        return None
    jobs = [Staged(job["id"], None, json.dumps(job), 0) for job in what["jobs"]]
    try:
        caller.stage(jobs, commits=what["commits"])
    except StoreUnreachable:
        return []
    return [job.id for job in jobs] if what["commits"] else []


ACTS: Acts = {"stage": _stage}
