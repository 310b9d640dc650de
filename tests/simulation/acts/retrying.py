"""Acts about jobs that failed or ended: retry and delete them, one by one or many."""

from typing import Any

from tests.simulation.acts.caller import Acts, Caller
from tests.simulation.acts.calls import first_of


async def _retry(caller: Caller, what: dict[str, Any]) -> Any:
    return (await caller.client.jobs.retry(what["job"])).state


async def _retry_many(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.jobs.retry_many(what.get("jobs", ()), **what.get("filter", {}))


async def _delete_many(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.jobs.delete_many(what.get("jobs", ()), **what.get("filter", {}))


async def _revive(caller: Caller, what: dict[str, Any]) -> Any:
    return (await caller.client.dead.retry(what["job"])).state


async def _revive_dead(caller: Caller, what: dict[str, Any]) -> Any:
    """Retry dead letters as an operator does, who reads the list before."""
    dead = await first_of(caller.client.dead.list(), what["count"])
    if not dead:
        return 0
    await caller.client.dead.retry_many([job.id for job in dead])
    return len(dead)


async def _delete_dead(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.dead.delete(what["job"])


ACTS: Acts = {
    "retry": _retry,
    "retry many": _retry_many,
    "delete many": _delete_many,
    "revive": _revive,
    "revive dead": _revive_dead,
    "delete dead": _delete_dead,
}
