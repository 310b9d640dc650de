"""Parsing workflow requests: chains, groups, batches and nested definitions."""

from typing import Any

import msgspec
import pytest

from ojs_server.domain.errors import InvalidRequest, ValidationError
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.workflows.parse import MAX_NODES, Definition, parse_workflow
from ojs_server.domain.workflows.plan import Callback, Node, WorkflowKind

ID = "01900000-0000-7000-8000-000000000001"


def job(kind: str = "job", **more: Any) -> dict[str, Any]:
    return {"type": kind, "args": [], **more}


def nodes(body: object) -> list[Node]:
    return list(parse_workflow(body).plan.nodes)


def draft(definition: Definition, index: int) -> Draft:
    found = definition.drafts[index]
    assert found is not None
    return found


@pytest.mark.parametrize("member", ["steps", "jobs"])
def test_a_chain_waits_step_by_step(member: str) -> None:
    root, *steps = nodes({"type": "chain", member: [job("a"), job("b"), job("c")]})
    assert (root.kind, root.members, root.callbacks) == (WorkflowKind.CHAIN, (1, 2, 3), ())
    assert [(step.id, step.job_type, step.needs) for step in steps] == [
        ("0", "a", ()),
        ("1", "b", (1,)),
        ("2", "c", (2,)),
    ]


def test_a_group_waits_for_nothing() -> None:
    root, *members = nodes({"workflow_type": "group", "jobs": [job("a"), job("b", id="second")]})
    assert root.kind is WorkflowKind.GROUP
    assert [(member.id, member.needs) for member in members] == [("0", ()), ("second", ())]


def test_a_batch_has_callbacks_that_wait_for_all() -> None:
    callbacks = {"on_failure": job("f"), "on_success": job("s"), "on_complete": None}
    root, *parts = nodes({"type": "batch", "jobs": [job(), job()], "callbacks": callbacks})
    assert (root.kind, root.members, root.callbacks) == (WorkflowKind.BATCH, (1, 2), (3, 4))
    assert [(part.id, part.job_type, part.needs, part.fires) for part in parts[2:]] == [
        ("on_success", "s", (1, 2), Callback.ON_SUCCESS),
        ("on_failure", "f", (1, 2), Callback.ON_FAILURE),
    ]


def test_definitions_nest_and_members_stand_side_by_side() -> None:
    inner = {"type": "group", "jobs": [job("b"), {"steps": [job("c", id="x")]}]}
    found = nodes({"type": "chain", "steps": [job("a"), inner, job("d")]})
    assert [(node.id, node.kind or node.job_type, node.scope, node.needs) for node in found] == [
        ("", WorkflowKind.CHAIN, None, ()),
        ("0", "a", 0, ()),
        ("1", WorkflowKind.GROUP, 0, (1,)),
        ("2", "d", 0, (2,)),
        ("1.0", "b", 2, ()),
        ("1.1", WorkflowKind.DAG, 2, ()),
        ("1.1.x", "c", 5, ()),
    ]


def test_a_job_may_be_called_as_a_form_is() -> None:
    assert nodes({"type": "group", "jobs": [job("batch")]})[1].job_type == "batch"


def test_a_definition_is_kept_whole_as_json() -> None:
    body = {"type": "batch", "id": ID, "name": "n", "jobs": [job()], "callbacks": {}}
    body["callbacks"] = {"on_complete": {"type": "chain", "steps": [job(), job()]}}
    definition = parse_workflow(body)
    assert (definition.id, definition.name) == (ID, "n")
    assert definition.request_hash == parse_workflow(dict(reversed(body.items()))).request_hash
    assert parse_workflow({"steps": [job(id="a")]}).request_hash is None
    assert msgspec.json.decode(msgspec.json.encode(definition), type=Definition) == definition


def test_a_members_id_is_the_steps_and_not_the_jobs() -> None:
    definition = parse_workflow({"type": "chain", "steps": [job(id=ID)]})
    assert definition.plan.nodes[1].id == ID
    assert draft(definition, 1).id is None
    assert (
        b"depends_on"
        not in draft(parse_workflow({"steps": [job(id="a", depends_on=[])]}), 1).shape.spec
    )


def test_options_of_the_workflow_lie_beneath_those_of_its_jobs() -> None:
    options = {"queue": "bulk", "timeout": 5, "priority": 1, "tags": None}
    inner = {"type": "group", "jobs": [job()], "options": {"queue": "inner"}}
    members = [
        job(),
        job(queue="own"),
        job(options={"queue": "own", "timeout_ms": 900, "priority": None}),
        inner,
    ]
    definition = parse_workflow({"type": "group", "jobs": members, "options": options})
    found = [
        (draft(definition, at).queue, draft(definition, at).shape.limits.run_ms)
        for at in (1, 2, 3, 5)
    ]
    assert found == [("bulk", 5000), ("own", 5000), ("own", 900), ("inner", 5000)]
    assert [draft(definition, at).shape.priority for at in (1, 2, 3, 5)] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("first", "priorities"),
    [
        (job(options={"priority": 5}), [5, 5, 7]),
        (job(priority=5, options={"queue": "x"}), [5, 5, 7]),
        (job(priority=5), [5, 5, 7]),
        (job(), [0, 0, 7]),
    ],
)
def test_a_chain_keeps_the_priority_of_its_first_step(
    first: dict[str, Any], priorities: list[int]
) -> None:
    definition = parse_workflow({"type": "chain", "steps": [first, job(), job(priority=7)]})
    assert [draft(definition, at).shape.priority for at in (1, 2, 3)] == priorities
    alone = parse_workflow({"type": "group", "jobs": [first, job()]})
    assert draft(alone, 2).shape.priority == 0


def deep(levels: int) -> dict[str, Any]:
    body = job()
    for _ in range(levels):
        body = {"type": "group", "jobs": [body]}
    return body


def test_nesting_has_a_limit() -> None:
    assert len(nodes(deep(5))) == 6
    with pytest.raises(InvalidRequest, match=r"`(jobs\[0\]\.?){5}` is nested 6 deep; at most 5"):
        parse_workflow(deep(6))


def test_the_number_of_nodes_has_a_limit() -> None:
    assert len(nodes({"type": "group", "jobs": [job()] * MAX_NODES})) == MAX_NODES + 1
    inner = {"type": "group", "jobs": [job()] * (MAX_NODES // 2)}
    for jobs, place in (([job()] * (MAX_NODES + 1), "jobs"), ([inner, inner], "jobs[1].jobs")):
        with pytest.raises(InvalidRequest, match="more than 1000 jobs") as refusal:
            parse_workflow({"type": "group", "jobs": jobs})
        assert (refusal.value.details or {})["validation_errors"][0]["path"] == place


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ([], "", "must be a JSON object, not an array"),
        ({}, "steps", "is missing$"),
        ({"jobs": [job()]}, "steps", "`type` must say that `jobs` is a group or a batch"),
        ({"type": "chain"}, "steps", "is missing$"),
        ({"type": "group", "name": "x"}, "jobs", "is missing$"),
        ({"type": "chain", "steps": []}, "steps", "at least one job"),
        ({"type": "chain", "steps": {}}, "steps", "must be an array, not an object"),
        ({"type": "chain", "steps": [job()], "jobs": [job()]}, "jobs", "combined with `steps`"),
        ({"type": "group", "steps": [job()], "jobs": [job()]}, "steps", "combined with `jobs`"),
        ({"steps": [job()], "jobs": [job()]}, "jobs", "combined with `steps`"),
        ({"type": "chian", "steps": [job()]}, "type", 'did you mean "chain"'),
        ({"type": "saga", "steps": [job()]}, "type", "one of chain, group, batch, dag"),
        ({"type": 5, "steps": [job()]}, "type", "one of chain, group, batch, dag"),
        ({"type": "batch", "jobs": [job()]}, "callbacks", "at least one of on_complete"),
        ({"type": "batch", "jobs": [job()], "callbacks": {}}, "callbacks", "at least one of"),
        ({"type": "batch", "jobs": [job()], "callbacks": []}, "callbacks", "not an array"),
        (
            {"type": "batch", "jobs": [job()], "callbacks": {"on_sucess": job()}},
            "callbacks.on_sucess",
            'did you mean "on_success"',
        ),
        (
            {"type": "group", "jobs": [job()], "callbacks": {"on_success": job()}},
            "callbacks",
            "is for a batch, not for a group",
        ),
        ({"type": "chain", "steps": [job()], "options": 5}, "options", "must be an object"),
        ({"type": "chain", "steps": [job(id=5)]}, "steps[0].id", "must be a string"),
        ({"type": "chain", "steps": [job(id="")]}, "steps[0].id", "1 to 255 characters"),
        (
            {"type": "group", "jobs": [job(id="a"), job(), job(id="a")]},
            "jobs[2].id",
            r"which is the id of `jobs\[0\]`",
        ),
        (
            {"type": "chain", "steps": [job(), job(depends_on=["0"])]},
            "steps[1].depends_on",
            "is only allowed in a workflow without `type`",
        ),
        (
            {"type": "group", "jobs": [{"type": "chain"}]},
            "jobs[0].steps",
            "is missing",
        ),
        ({"type": "chain", "steps": [job()], "id": "wf_1"}, "id", "lower-case UUIDv7"),
        ({"type": "chain", "steps": [job()], "id": 1}, "id", "lower-case UUIDv7"),
        ({"type": "chain", "steps": [job()], "name": "x" * 256}, "name", "at most 255"),
        ({"type": "chain", "steps": [job()], "name": 1}, "name", "must be a string"),
    ],
)
def test_a_wrong_request_is_refused_where_it_is_wrong(
    body: object, path: str, message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message) as refused:
        parse_workflow(body)
    assert refused.value.answer_code.name == "invalid_workflow"
    assert refused.value.details is not None
    assert [error["path"] for error in refused.value.details["validation_errors"]] == [path]


def test_all_wrong_jobs_are_named_at_once() -> None:
    wrong = [job(), {"type": "a"}, 5, job(retry={"max_attempts": -1}), job(meta={"x": "y" * 70000})]
    body = {"type": "batch", "jobs": wrong, "callbacks": {"on_success": job(options=5)}}
    with pytest.raises(
        InvalidRequest, match=r"`jobs\[1\].args`: .* missing \(and 4 more\)"
    ) as all_:
        parse_workflow(body)
    assert all_.value.details is not None
    assert [error["path"] for error in all_.value.details["validation_errors"]] == [
        "jobs[1].args",
        "jobs[2]",
        "jobs[3].retry.max_attempts",
        "jobs[4].meta",
        "callbacks.on_success.options",
    ]
    with pytest.raises(InvalidRequest) as many:
        parse_workflow({"type": "group", "jobs": [5] * 100})
    assert many.value.details is not None
    assert len(many.value.details["validation_errors"]) == 20


def test_a_single_wrong_job_is_the_only_one() -> None:
    with pytest.raises(
        InvalidRequest, match=r"^`steps\[0\]`: a job must be a JSON object, .* null$"
    ):
        parse_workflow({"type": "chain", "steps": [None]})


def test_unknown_members_are_refused_only_when_strict() -> None:
    inner = {"type": "group", "jobs": [job()], "jbos": 1}
    body = {"type": "chain", "steps": [inner]}
    assert parse_workflow(body).plan.root.kind is WorkflowKind.CHAIN
    with pytest.raises(ValidationError, match=r'`steps\[0\].jbos` is not known; .* "jobs"'):
        parse_workflow(body, strict=True)
    with pytest.raises(InvalidRequest, match=r"options.qeueu"):
        parse_workflow({"type": "chain", "steps": [job(options={"qeueu": "x"})]}, strict=True)


def test_wrong_options_of_the_whole_are_named_once() -> None:
    options = {"queue": "Q", "unique": {"args_keys": ["order"]}}
    body = {"type": "group", "jobs": [job(), job()], "options": options}
    with pytest.raises(InvalidRequest) as refused:
        parse_workflow(body)
    (problem, *more) = (refused.value.details or {})["validation_errors"]
    assert problem["path"] == "options.queue"
    assert more == []


def test_a_unique_policy_of_the_whole_looks_into_each_job() -> None:
    options = {"unique": {"args_keys": ["order"]}}
    one = {"type": "t", "args": [{"order": 1}]}
    with pytest.raises(InvalidRequest) as refused:
        parse_workflow({"type": "group", "jobs": [one, job()], "options": options})
    (problem,) = (refused.value.details or {})["validation_errors"]
    assert problem["path"] == "jobs[1].unique.args_keys"


def test_each_job_has_the_request_that_makes_it() -> None:
    body = {"type": "chain", "steps": [job("a", id="x"), job("b")], "options": {"queue": "q"}}
    definition = parse_workflow(body)
    assert definition.requests == (
        None,
        b'{"type":"a","args":[],"options":{"queue":"q"}}',
        b'{"type":"b","args":[],"options":{"queue":"q"}}',
    )


def test_a_step_of_another_tenant_is_named() -> None:
    other = job(meta={"tenant_id": "beta"})
    with pytest.raises(InvalidRequest) as refusal:
        parse_workflow({"type": "chain", "steps": [job(), other]}, tenant="acme")
    (problem,) = (refusal.value.details or {})["validation_errors"]
    assert problem["path"] == "steps[1].meta.tenant_id"
    definition = parse_workflow({"type": "chain", "steps": [job(), other]})
    assert [draft and draft.tenant for draft in definition.drafts] == [None, None, "beta"]
