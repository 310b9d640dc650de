"""Acts of tenants, and about their limits."""

from typing import Any

from tests.simulation.acts import by_hand
from tests.simulation.acts.caller import Acts, Caller
from tests.simulation.acts.streams import job_of

V1 = "/ojs/v1"


async def _enqueue(caller: Caller, what: dict[str, Any]) -> Any:
    body = {
        "id": caller.environment.rising_id(caller.environment.wall_ms()),
        "type": what["type"],
        "args": what["args"],
        "options": what["options"],
    }
    answer = await _send(caller, what, "POST", "/jobs", body)
    return {"id": answer["job"]["id"], "state": answer["job"]["state"]}


async def _get(caller: Caller, what: dict[str, Any]) -> Any:
    """Read a job, perhaps one of another tenant."""
    job_id = job_of(caller, what["key"])
    if job_id is None:
        return None
    answer = await _send(caller, what, "GET", f"/jobs/{job_id}")
    return {"ids": [answer["job"]["id"]]}


async def _cancel(caller: Caller, what: dict[str, Any]) -> Any:
    job_id = job_of(caller, what["key"])
    if job_id is None:
        return None
    answer = await _send(caller, what, "DELETE", f"/jobs/{job_id}")
    return {"ids": [answer["job"]["id"]]}


async def _list(caller: Caller, what: dict[str, Any]) -> Any:
    answer = await _send(caller, what, "GET", "/jobs?limit=100")
    return {"ids": [job["id"] for job in answer["jobs"]]}


async def _search(caller: Caller, what: dict[str, Any]) -> Any:
    answer = await _send(caller, what, "GET", f"/admin/tenants/{what['tenant']}/jobs?limit=100")
    return {"ids": [job["id"] for job in answer["items"]]}


async def _events(caller: Caller, what: dict[str, Any]) -> Any:
    answer = await _send(caller, what, "GET", "/events?limit=500")
    return {"events": [event["id"] for event in answer["events"]]}


async def _limit(caller: Caller, what: dict[str, Any]) -> Any:
    path = f"{V1}/admin/tenants/{what['tenant']}/limits"
    await by_hand.send(caller, "PUT", path, what["limits"])


async def _stats(caller: Caller, what: dict[str, Any]) -> Any:
    answer = await _send(caller, what, "GET", f"/admin/tenants/{what['tenant']}/stats")
    return {"jobs": answer["jobs"]}


async def _send(
    caller: Caller, what: dict[str, Any], method: str, path: str, body: Any = None
) -> Any:
    headers = {"X-OJS-Tenant": what["tenant"]}
    return await by_hand.send(caller, method, V1 + path, body, headers)


ACTS: Acts = {
    "tenant enqueue": _enqueue,
    "tenant get": _get,
    "tenant cancel": _cancel,
    "tenant list": _list,
    "tenant search": _search,
    "tenant events": _events,
    "tenant limit": _limit,
    "tenant stats": _stats,
}
