"""The `parent_results` of workflow jobs."""

import json
from typing import Any

import pytest

from ojs_server.domain.workflows.lifecycle import Outcome, advance, start
from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.domain.workflows.plan import NodeState, Plan
from ojs_server.domain.workflows.results import gather, parents_of, sources


def job(name: str, *depends_on: str) -> dict[str, Any]:
    return {"type": name, "args": []} | (
        {"id": name, "depends_on": list(depends_on)} if depends_on else {}
    )


def told(body: object, *failing: str) -> dict[str, Any]:
    """Run it to the end; answer what each job that ran was told, by its type.

    A job's result is its own type in capitals, a failed one's error is its type.
    """
    plan = parse_workflow(body).plan
    effects = start(plan)
    waiting = list(effects.enqueue)
    heard: dict[str, Any] = {}
    while waiting:
        launch = waiting.pop(0)
        assert launch.parents == parents_of(plan, launch.node)
        name = type_of(plan, launch.node)
        needed = sources(plan, effects.progress, launch.parents)
        results = {
            node: json.dumps(type_of(plan, node).upper()).encode()
            for node in needed
            if effects.progress.nodes[node] is NodeState.COMPLETED
        }
        errors = {
            node: json.dumps(type_of(plan, node)).encode()
            for node in needed
            if effects.progress.nodes[node] is NodeState.FAILED
        }
        heard[name] = json.loads(gather(plan, effects.progress, launch.parents, results, errors))
        outcome: Outcome = NodeState.FAILED if name in failing else NodeState.COMPLETED
        effects = advance(plan, effects.progress, launch.node, outcome)
        waiting += effects.enqueue
    return heard


def type_of(plan: Plan, node: int) -> str:
    return plan.nodes[node].job_type or ""


def test_a_step_hears_all_steps_before_it() -> None:
    assert told({"type": "chain", "steps": [job("a"), job("b"), job("c")]}) == {
        "a": [],
        "b": ["A"],
        "c": ["A", "B"],
    }


def test_members_of_a_group_hear_nothing() -> None:
    assert told({"type": "group", "jobs": [job("a"), job("b")]}) == {"a": [], "b": []}


@pytest.mark.parametrize(("failing", "second"), [("", "B"), ("b", {"error": "b"})])
def test_a_callback_hears_all_members(failing: str, second: object) -> None:
    body = {
        "type": "batch",
        "jobs": [job("a"), job("b")],
        "callbacks": {"on_complete": job("back")},
    }
    assert told(body, failing)["back"] == ["A", second]


def test_a_step_of_a_graph_hears_those_it_waited_for_each_at_its_place() -> None:
    steps = [
        {"id": "z", **job("z")},
        {"id": "a", **job("a")},
        job("d", "b"),
        {"id": "x", **job("x")},
        job("b", "a"),
    ]
    heard = told({"steps": steps})
    assert heard["b"] == [None, "A"]
    assert heard["d"] == [None, "A", None, None, "B"]


def test_two_ways_to_one_step_tell_it_once() -> None:
    first = {"id": "a", **job("a")}
    heard = told({"steps": [first, job("b", "a"), job("c", "a"), job("d", "b", "c")]})
    assert heard["d"] == ["A", "B", "C"]


def test_a_nested_group_is_heard_by_member_and_a_nested_chain_by_its_last_step() -> None:
    inner = {"type": "group", "jobs": [job("b"), {"type": "chain", "steps": [job("c"), job("d")]}]}
    heard = told({"type": "chain", "steps": [job("a"), inner, job("e")]})
    assert heard["e"] == ["A", {"0": "B", "1": "D"}]
    # The first jobs of a nested definition get the results from before it, and the others those of
    # their own predecessors.
    assert heard["b"] == heard["c"] == ["A"]
    assert heard["d"] == ["C"]


def test_a_nested_chain_that_failed_tells_its_error() -> None:
    chain = {"type": "chain", "steps": [job("a"), job("b"), job("c")]}
    unborn = {"steps": [{"id": "u", **job("u")}, {**chain, "id": "v", "depends_on": ["u"]}]}
    body = {
        "type": "batch",
        "jobs": [chain, unborn],
        "callbacks": {"on_failure": {"type": "chain", "steps": [job("back")]}},
    }
    assert told(body, "b", "u")["back"] == [{"error": "b"}, {"0": {"error": "u"}, "1": None}]


def test_a_result_that_was_never_given_is_null() -> None:
    plan = parse_workflow({"type": "chain", "steps": [job("a"), job("b")]}).plan
    progress = advance(plan, start(plan).progress, 1, NodeState.COMPLETED).progress
    assert gather(plan, progress, (1, None), {}, {}) == b"[null,null]"
