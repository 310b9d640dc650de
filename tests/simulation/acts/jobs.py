"""Acts about jobs: enqueue, change and read."""

import asyncio
from typing import Any

from ojs_worker.errors import JobCancelled, JobFailed, WaitTimeout
from tests.simulation.acts.caller import Acts, Caller
from tests.simulation.acts.calls import by_hand, first_of, options_of


async def _enqueue(caller: Caller, what: dict[str, Any]) -> Any:
    job = await caller.client.enqueue(what["type"], what["args"], **options_of(what))
    return {"id": job.id, "state": job.job.state}


async def _enqueue_by_hand(caller: Caller, what: dict[str, Any]) -> Any:
    status, _ = await by_hand(caller, "POST", "/jobs", what["job"])
    return status


async def _batch(caller: Caller, what: dict[str, Any]) -> Any:
    requests = [
        caller.client.request(job["type"], job["args"], **options_of(job)) for job in what["jobs"]
    ]
    jobs = await caller.client.enqueue_many(requests, idempotency_key=what.get("key"))
    return [job.id for job in jobs]


async def _enqueue_each(caller: Caller, what: dict[str, Any]) -> Any:
    answer = await caller.client.jobs.enqueue_each(what["jobs"])
    return [item["status"] for item in answer["items"]]


async def _get(caller: Caller, what: dict[str, Any]) -> Any:
    job = await caller.client.get(what["job"])
    return {"state": job.state, "attempt": job.attempt}


async def _watch(caller: Caller, what: dict[str, Any]) -> Any:
    """Read a job again and again."""
    seen = []
    for _ in range(what["times"]):
        job = await caller.client.get(what["job"])
        seen.append((job.state, job.attempt))
        await asyncio.sleep(what["pause_s"])
    return seen


async def _result(caller: Caller, what: dict[str, Any]) -> Any:
    try:
        result = await caller.client.result(what["job"], timeout_s=what["timeout_s"])
    except (JobFailed, JobCancelled, WaitTimeout) as error:
        return {"end": type(error).__name__}
    return {"end": "completed", "result": result}


async def _list(caller: Caller, what: dict[str, Any]) -> Any:
    return len(await first_of(caller.client.jobs.list(**what["filter"]), 300))


async def _search(caller: Caller, what: dict[str, Any]) -> Any:
    return len(await first_of(caller.client.jobs.search(**what["filter"]), 300))


async def _history(caller: Caller, what: dict[str, Any]) -> Any:
    return len(await caller.client.jobs.history(what["job"]))


async def _retries(caller: Caller, what: dict[str, Any]) -> Any:
    return len(await caller.client.jobs.retries(what["job"]))


async def _cancel(caller: Caller, what: dict[str, Any]) -> Any:
    return (await caller.client.cancel(what["job"])).state


async def _cancel_many(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.jobs.cancel_many(what.get("jobs", ()), **what.get("filter", {}))


async def _activate(caller: Caller, what: dict[str, Any]) -> Any:
    return (await caller.client.jobs.activate(what["job"])).state


async def _prioritize(caller: Caller, what: dict[str, Any]) -> Any:
    return (await caller.client.jobs.prioritize(what["job"], what["priority"])).priority


ACTS: Acts = {
    "enqueue": _enqueue,
    "enqueue by hand": _enqueue_by_hand,
    "batch": _batch,
    "enqueue each": _enqueue_each,
    "get": _get,
    "watch": _watch,
    "result": _result,
    "list": _list,
    "search": _search,
    "history": _history,
    "retries": _retries,
    "cancel": _cancel,
    "cancel many": _cancel_many,
    "activate": _activate,
    "prioritize": _prioritize,
}
