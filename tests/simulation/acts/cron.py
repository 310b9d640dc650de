"""Acts about cron entries."""

from typing import Any

from ojs_worker.client.records import CronEntry
from tests.simulation.acts.caller import Acts, Caller


async def _put(caller: Caller, what: dict[str, Any]) -> Any:
    entry = await caller.client.put_cron(
        what["name"], what["expression"], what["type"], what["args"], overlap=what["overlap"]
    )
    return _shown(entry)


async def _pause(caller: Caller, what: dict[str, Any]) -> Any:
    return _shown(await caller.client.cron.pause(what["name"]))


async def _resume(caller: Caller, what: dict[str, Any]) -> Any:
    return _shown(await caller.client.cron.resume(what["name"]))


async def _delete(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.delete_cron(what["name"])


async def _trigger(caller: Caller, what: dict[str, Any]) -> Any:
    return {"id": (await caller.client.trigger_cron(what["name"])).id}


async def _get(caller: Caller, what: dict[str, Any]) -> Any:
    return _shown(await caller.client.get_cron(what["name"]))


async def _history(caller: Caller, what: dict[str, Any]) -> Any:
    return [
        {"scheduled_at": run.scheduled_at, "outcome": run.outcome, "job_id": run.job_id}
        async for run in caller.client.cron.history(what["name"])
    ]


def _shown(entry: CronEntry) -> dict[str, Any]:
    return {
        "next": entry.next_run_at,
        "runs": entry.run_count,
        "enabled": entry.enabled,
        "updated": entry.updated_at,
    }


ACTS: Acts = {
    "cron put": _put,
    "cron pause": _pause,
    "cron resume": _resume,
    "cron delete": _delete,
    "cron trigger": _trigger,
    "cron get": _get,
    "cron history": _history,
}
