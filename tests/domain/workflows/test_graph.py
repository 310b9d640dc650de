"""Workflow steps that name their dependencies, and the callbacks among them in public SDKs."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.domain.workflows.plan import Plan, WorkflowKind


def step(name: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "job", "args": [], "depends_on": list(depends_on), **more}


def plan(*steps: object, **more: Any) -> Plan:
    return parse_workflow({"steps": list(steps), **more}).plan


def names(found: Plan) -> dict[str, list[str]]:
    """Return the needs of each node by id."""
    return {
        node.id: [found.nodes[need].id for need in node.needs]
        for node in found.nodes
        if node.scope == 0
    }


def test_steps_need_what_they_name_in_any_order() -> None:
    found = plan(step("ship", "pack", "pay", "pack"), step("pay"), step("pack", "pay"))
    assert found.root.kind is WorkflowKind.DAG
    assert names(found) == {"ship": ["pack", "pay"], "pay": [], "pack": ["pay"]}


def test_a_step_without_depends_on_waits_for_nothing() -> None:
    bare = {"id": "a", "type": "job", "args": []}
    assert names(plan(bare, type="dag")) == {"a": []}


def test_a_step_may_be_a_definition() -> None:
    inner = {"id": "b", "depends_on": ["a"], "type": "group", "jobs": [{"type": "j", "args": []}]}
    found = plan(step("a"), inner)
    assert names(found) == {"a": [], "b": ["a"]}
    assert [node.id for node in found.nodes] == ["", "a", "b", "b.0"]


def test_marked_callbacks_make_it_a_batch() -> None:
    marked = [
        step("on_success", "a", "b", options={"callback_type": "on_success", "queue": "q"}),
        step("after", options={"callback_type": "on_complete"}),
    ]
    definition = parse_workflow({"steps": [step("a"), *marked, step("b", "a")]}, strict=True)
    found = definition.plan
    assert found.root.kind is WorkflowKind.BATCH
    assert [found.nodes[at].id for at in found.root.members] == ["a", "b"]
    assert [(found.nodes[at].id, found.nodes[at].fires) for at in found.root.callbacks] == [
        ("on_success", "on_success"),
        ("after", "on_complete"),
    ]
    needs = names(found)
    assert needs["on_success"] == needs["after"] == ["a", "b"]
    draft = definition.drafts[3]
    assert draft is not None
    assert (draft.queue, b"callback_type" in draft.shape.spec) == ("q", False)


def test_a_marked_callback_may_wait_for_some_only() -> None:
    found = plan(step("a"), step("b"), step("x", "b", options={"callback_type": "on_failure"}))
    assert names(found)["x"] == ["b"]


@pytest.mark.parametrize("name", ["on-complete", "on-success", "on-failure", "on_success"])
def test_callbacks_are_known_by_their_names(name: str) -> None:
    found = plan(step("job-0"), step("job-1"), step(name, "job-1", "job-0"))
    assert found.root.kind is WorkflowKind.BATCH
    assert found.nodes[3].fires == name.replace("-", "_")
    assert names(found)[name] == ["job-1", "job-0"]


def test_all_three_named_callbacks_wait_for_the_jobs_only() -> None:
    three = [step(name, "a") for name in ("on-complete", "on-success", "on-failure")]
    found = plan(step("a"), *three)
    assert (found.root.members, found.root.callbacks) == ((1,), (2, 3, 4))


@pytest.mark.parametrize(
    "steps",
    [
        [step("a"), step("b"), step("on-success", "a")],  # waits for some only
        [step("on-success")],  # for none
        [step("a"), step("on-success", "a"), step("b", "on-success")],  # is waited for
        [step("a"), step("on-success", "a"), step("on-failure", "on-success", "a")],
    ],
)
def test_a_callbacks_name_alone_makes_none(steps: list[dict[str, Any]]) -> None:
    found = plan(*steps)
    assert found.root.kind is WorkflowKind.DAG
    assert len(found.root.members) == len(steps)


def test_callbacks_may_also_stand_beside_the_steps() -> None:
    found = plan(step("a"), callbacks={"on_failure": {"type": "alarm", "args": []}})
    assert found.root.kind is WorkflowKind.BATCH
    assert (found.nodes[2].job_type, found.nodes[2].needs) == ("alarm", (1,))


@pytest.mark.parametrize(
    ("steps", "circle"),
    [
        ([step("a", "b"), step("b", "a")], "a → b → a"),
        ([step("a", "a")], "a → a"),
        ([step("x"), step("a", "c"), step("b", "a"), step("c", "b", "x")], "a → b → c → a"),
    ],
)
def test_a_circle_is_shown(steps: list[dict[str, Any]], circle: str) -> None:
    with pytest.raises(
        InvalidRequest, match="`steps` depend on each other in a circle: "
    ) as refused:
        plan(*steps)
    shown = refused.value.message.rpartition(": ")[2].split(" → ")
    assert shown[0] == shown[-1]
    turned = circle.split(" → ")[:-1]
    at = turned.index(shown[0])
    assert shown[:-1] == turned[at:] + turned[:at]


def test_a_step_without_an_id_is_named_by_its_place() -> None:
    first, second = {"type": "a", "args": []}, {"type": "b", "args": [], "depends_on": ["0"]}
    nodes = plan(first, second).nodes
    assert [(node.id, node.needs) for node in nodes[1:]] == [("0", ()), ("1", (1,))]


def test_a_long_circle_is_cut() -> None:
    circle = [step(f"s{at}", f"s{(at + 1) % 500}") for at in range(500)]
    with pytest.raises(InvalidRequest, match="circle") as refused:
        plan(*circle)
    assert " → … → " in refused.value.message
    assert len(refused.value.message) < 300


def test_a_circle_inside_a_nested_definition_is_found() -> None:
    inner = {"steps": [step("b", "b")]}
    with pytest.raises(InvalidRequest, match=r"`jobs\[0\]\.steps` depend .*: b → b"):
        parse_workflow({"type": "group", "jobs": [inner]})


@pytest.mark.parametrize(
    ("steps", "path", "message"),
    [
        ([], "steps", "at least one job"),
        ([5], "steps[0]", "must be an object, not a number"),
        ([step("1"), {"type": "a", "args": []}], "steps[1].id", r"which is the id of `steps\[0\]`"),
        ([step("a"), step("a")], "steps[1].id", r"which is the id of `steps\[0\]`"),
        ([step("a", depends_on="b")], "steps[0].depends_on", "must be an array of step ids"),
        ([step("a", depends_on=[1])], "steps[0].depends_on", "must be an array of step ids"),
        (
            [step("build"), step("test", "biuld")],
            "steps[1].depends_on",
            'names "biuld", which is no step; did you mean "build"',
        ),
        (
            [step("a", "x"), step("x", options={"callback_type": "on_success"})],
            "steps[0].depends_on",
            'names "x", which is a callback',
        ),
        (
            [step("a"), step("x", options={"callback_type": "on_sucess"})],
            "steps[1].options.callback_type",
            'did you mean "on_success"',
        ),
        (
            [step("a"), step("x", options={"callback_type": 5})],
            "steps[1].options.callback_type",
            "is not a callback",
        ),
        (
            [step("x", options={"callback_type": "on_success"})],
            "steps",
            "at least one job that is no callback",
        ),
        (
            [
                step("a"),
                step("x", options={"callback_type": "on_success"}),
                step("y", options={"callback_type": "on_success"}),
            ],
            "steps[2]",
            r"is on_success, as is `steps\[1\]`",
        ),
        ([step("a", options=5)], "steps[0].options", "must be an object"),
    ],
)
def test_a_wrong_graph_is_refused_where_it_is_wrong(
    steps: list[object], path: str, message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message) as refused:
        plan(*steps)
    assert refused.value.details is not None
    assert [error["path"] for error in refused.value.details["validation_errors"]] == [path]


def test_dependencies_are_bounded() -> None:
    first = [f"s{place}" for place in range(150)]
    steps = [step(name) for name in first] + [step(f"t{place}", *first) for place in range(70)]
    with pytest.raises(InvalidRequest, match="more than 10000 dependencies") as refused:
        parse_workflow({"steps": steps})
    (problem,) = (refused.value.details or {})["validation_errors"]
    assert problem["path"] == "steps"
