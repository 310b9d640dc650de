"""Acts about workers and servers: directives, lists and statistics."""

from typing import Any

import msgspec

from tests.simulation.acts.caller import Acts, Caller

REGISTER = "/ojs/v1/workers/register"


class _Registered(msgspec.Struct):
    worker_id: str


_registered = msgspec.json.Decoder(_Registered)


async def _directive(caller: Caller, what: dict[str, Any]) -> Any:
    worker_id = id_of(caller, what["worker"])
    if worker_id is None:
        return None
    send = getattr(caller.client.workers, what["directive"])
    answer = await send(worker_id)
    return {"id": worker_id, "updated": answer["updated"]}


async def _direct_all(caller: Caller, what: dict[str, Any]) -> Any:
    answer = await caller.client.workers.direct_all(what["directive"])
    return {"updated": answer["updated"]}


async def _list(caller: Caller, what: dict[str, Any]) -> Any:
    return [
        {"id": worker["id"], "state": worker["state"], "presence": worker["presence"]}
        async for worker in caller.client.workers.list()
    ]


async def _get(caller: Caller, what: dict[str, Any]) -> Any:
    worker_id = id_of(caller, what["worker"])
    return None if worker_id is None else await caller.client.workers.get(worker_id)


async def _jobs(caller: Caller, what: dict[str, Any]) -> Any:
    worker_id = id_of(caller, what["worker"])
    return None if worker_id is None else await caller.client.workers.jobs(worker_id)


async def _health(caller: Caller, what: dict[str, Any]) -> Any:
    worker_id = id_of(caller, what["worker"])
    return None if worker_id is None else await caller.client.workers.health(worker_id)


async def _nodes(caller: Caller, what: dict[str, Any]) -> Any:
    return [node async for node in caller.client.admin.nodes()]


async def _statistics(caller: Caller, what: dict[str, Any]) -> Any:
    return await caller.client.admin.stats()


def id_of(caller: Caller, name: str) -> str | None:
    """Return the id that a worker process had when it registered last."""
    for exchange in reversed(caller.ledger.exchanges):
        if (
            exchange.path == REGISTER
            and exchange.who.partition(".")[0] == name
            and exchange.status in (200, 201)
        ):
            return _registered.decode(exchange.reply).worker_id
    return None


ACTS: Acts = {
    "worker directive": _directive,
    "worker direct all": _direct_all,
    "worker list": _list,
    "worker get": _get,
    "worker jobs": _jobs,
    "worker health": _health,
    "worker nodes": _nodes,
    "worker statistics": _statistics,
}
