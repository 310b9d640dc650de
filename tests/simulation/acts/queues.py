"""Acts of operators: queues, limits and maintenance; `operating` takes back what they leave."""

from typing import Any

from tests.simulation.acts.caller import Acts, Caller


async def _pause(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.queues.pause(what["queue"])


async def _resume(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.queues.resume(what["queue"])


async def _configure(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.queues.set_config(what["queue"], **what["config"])


async def _queue_stats(caller: Caller, what: dict[str, Any]) -> Any:
    return (await caller.client.queues.stats(what["queue"]))["queue"]


async def _override(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.rate_limits.override(what["key"], **what["limit"])


async def _restore(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.rate_limits.restore(what["key"])


async def _begin_maintenance(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.admin.set_maintenance(True, reason=what["reason"])


async def _end_maintenance(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.admin.set_maintenance(False)


ACTS: Acts = {
    "pause": _pause,
    "resume": _resume,
    "configure": _configure,
    "queue stats": _queue_stats,
    "override": _override,
    "restore": _restore,
    "begin maintenance": _begin_maintenance,
    "end maintenance": _end_maintenance,
}
