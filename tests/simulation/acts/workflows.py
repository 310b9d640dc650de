"""Acts about workflows. A workflow is known by the name that its start gave it."""

from typing import Any

from ojs_worker import batch, chain, group
from ojs_worker.client.flows import Flow
from ojs_worker.client.requests import JobRequest
from tests.simulation.acts import by_hand
from tests.simulation.acts.caller import Acts, Caller

WORKFLOWS = "/ojs/v1/workflows"


async def _start(caller: Caller, what: dict[str, Any]) -> Any:
    flow = _flow(caller, what["flow"])
    assert isinstance(flow, Flow)
    started = await caller.client.start(flow)
    return {"id": started.id, "state": started.state}


async def _start_graph(caller: Caller, what: dict[str, Any]) -> Any:
    """Start a workflow whose steps name those that they wait for."""
    flow_id = caller.environment.rising_id(caller.environment.wall_ms())
    body = {"id": flow_id, **what["flow"]}
    answer = await by_hand.send(caller, "POST", WORKFLOWS, body, what.get("headers"))
    return {"id": answer["workflow"]["id"], "state": answer["workflow"]["state"]}


async def _get(caller: Caller, what: dict[str, Any]) -> Any:
    flow_id = id_of(caller, what["name"])
    if flow_id is None:
        return None
    found = await caller.client.get_workflow(flow_id)
    return {
        "id": flow_id,
        "state": found.state,
        "completed": found.steps_completed,
        "failed": found.steps_failed,
    }


async def _progress(caller: Caller, what: dict[str, Any]) -> Any:
    flow_id = id_of(caller, what["name"])
    if flow_id is None:
        return None
    found = await caller.client.workflows.progress(flow_id)
    return {"id": flow_id, "state": found.state, "progress": found.progress}


async def _cancel(caller: Caller, what: dict[str, Any]) -> Any:
    flow_id = id_of(caller, what["name"])
    if flow_id is None:
        return None
    found = await caller.client.cancel_workflow(flow_id)
    return {"id": flow_id, "state": found.state}


async def _retry(caller: Caller, what: dict[str, Any]) -> Any:
    flow_id = id_of(caller, what["name"])
    if flow_id is None:
        return None
    found = await caller.client.workflows.retry(flow_id)
    return {"id": flow_id, "state": found.state}


async def _list(caller: Caller, what: dict[str, Any]) -> Any:
    return [flow.id async for flow in caller.client.workflows.list(state=what.get("state"))]


def id_of(caller: Caller, name: str) -> str | None:
    """Return the id of a workflow that was started under a name, if that was answered."""
    for told in caller.ledger.told:
        if (
            told.kind in ("flow start", "flow start graph")
            and told.what["name"] == name
            and told.outcome == "ok"
        ):
            found: str = told.answer["id"]
            return found
    return None


def _flow(caller: Caller, body: dict[str, Any]) -> Flow | JobRequest:
    if "args" in body:
        return caller.client.request(body["type"], body["args"], **body.get("options", {}))
    members = [_flow(caller, member) for member in body["members"]]
    name = body.get("name")
    if body["type"] == "chain":
        return chain(*members, name=name)
    if body["type"] == "group":
        return group(*members, name=name)
    callbacks: dict[str, Any] = {
        key: _flow(caller, callback) for key, callback in body["callbacks"].items()
    }
    return batch(*members, name=name, **callbacks)


ACTS: Acts = {
    "flow start": _start,
    "flow start graph": _start_graph,
    "flow get": _get,
    "flow progress": _progress,
    "flow cancel": _cancel,
    "flow retry": _retry,
    "flow list": _list,
}
