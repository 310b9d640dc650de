"""Acts about webhooks. A subscription is known by its path at the target."""

from typing import Any

from tests.simulation.acts.caller import Acts, Caller
from tests.simulation.hook import PORT


async def _subscribe(caller: Caller, what: dict[str, Any]) -> Any:
    members = {name: what[name] for name in ("filter", "secret", "format") if name in what}
    made = await caller.client.webhooks.subscribe(
        f"http://hook:{PORT}/{what['name']}", what["events"], **members
    )
    return {"id": made["id"]}


async def _change(caller: Caller, what: dict[str, Any]) -> Any:
    hook_id = id_of(caller, what["name"])
    if hook_id is None:
        return None
    await caller.client.webhooks.change(hook_id, **what["members"])
    return {"id": hook_id}


async def _delete(caller: Caller, what: dict[str, Any]) -> Any:
    hook_id = id_of(caller, what["name"])
    if hook_id is None:
        return None
    await caller.client.webhooks.delete(hook_id)
    return {"id": hook_id}


async def _rotate(caller: Caller, what: dict[str, Any]) -> Any:
    hook_id = id_of(caller, what["name"])
    if hook_id is None:
        return None
    await caller.client.webhooks.rotate_secret(hook_id, what["secret"])
    return {"id": hook_id}


async def _test(caller: Caller, what: dict[str, Any]) -> Any:
    hook_id = id_of(caller, what["name"])
    if hook_id is None:
        return None
    found = await caller.client.webhooks.test(hook_id)
    return {"id": hook_id, "success": found["success"], "status": found["status_code"]}


async def _deliveries(caller: Caller, what: dict[str, Any]) -> Any:
    hook_id = id_of(caller, what["name"])
    if hook_id is None:
        return None
    number = 0
    async for _ in caller.client.webhooks.deliveries(subscription_id=hook_id):
        number += 1
    return {"id": hook_id, "number": number}


async def _replay(caller: Caller, what: dict[str, Any]) -> Any:
    """Have the newest delivery sent again, if it has ended."""
    hook_id = id_of(caller, what["name"])
    if hook_id is None:
        return None
    async for delivery in caller.client.webhooks.deliveries(subscription_id=hook_id):
        if delivery["status"] != "pending":
            await caller.client.webhooks.retry(delivery["id"])
            return {"id": hook_id, "delivery": delivery["id"]}
    return None


def id_of(caller: Caller, name: str) -> str | None:
    """Return the id of a subscription, if its making was answered."""
    for told in caller.ledger.told:
        if told.kind == "hook subscribe" and told.what["name"] == name and told.outcome == "ok":
            found: str = told.answer["id"]
            return found
    return None


ACTS: Acts = {
    "hook subscribe": _subscribe,
    "hook change": _change,
    "hook delete": _delete,
    "hook rotate": _rotate,
    "hook test": _test,
    "hook deliveries": _deliveries,
    "hook replay": _replay,
}
