"""References to earlier answers and captured variables."""

from typing import Any

import pytest

from conformance.language.template import (
    Scope,
    Unresolved,
    fill_json,
    fill_matcher,
    fill_path,
    fill_text,
    has_reference,
)
from conformance.language.values import Missing

JOB = {"id": "j-1", "n": 3.0, "half": 0.5, "ok": True, "gone": None, "tags": ["a"]}


@pytest.fixture
def scope() -> Scope:
    made = Scope(frozenset({"job_id", "late", "lost"}))
    made.bodies["one"] = {"job": JOB, "jobs": [JOB, {"id": "j-2", "a.b": 1}]}
    made.bodies["dead"] = Missing("step 'dead' got no answer")
    made.capture("job_id", "$.job.id", made.bodies["one"])
    made.capture("lost", "$.job.nope", made.bodies["one"])
    return made


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("/jobs/{{steps.one.response.body.job.id}}/ack", "/jobs/j-1/ack"),
        ("{{ steps.one.response.body.jobs[1].id }}", "j-2"),
        ("{{steps.one.response.body.jobs[?(@.id=='j-2')].a.b}}", "1"),
        ("n={{steps.one.response.body.job.n}}", "n=3"),
        ("{{steps.one.response.body.job.half}}", "0.5"),
        ("{{steps.one.response.body.job.ok}}", "true"),
        ("{{steps.one.response.body.job.tags}}", '["a"]'),
        ("{{job_id}}-${job_id}-${ job_id }", "j-1-j-1-j-1"),
        ("Dear {{name}}, you owe ${amount}", "Dear {{name}}, you owe ${amount}"),
        ("plain", "plain"),
    ],
)
def test_fill_text(scope: Scope, text: str, filled: str) -> None:
    assert fill_text(text, scope) == filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{steps.two.response.body.id}}", "step 'two' has no answer"),
        ("{{steps.dead.response.body.id}}", "step 'dead' got no answer"),
        ("{{steps.one.response.body.job.nope}}", "$.job has no key 'nope'"),
        ("{{steps.one.response.body.job.gone}}", "it is null"),
        ("{{steps.one.response.body.jobs[7].id}}", "$.jobs has 2 elements, no [7]"),
        ("{{steps.one.response.body.jobs[x]}}", "path '$.jobs[x]': '[x]' is no bracket"),
        (
            "{{steps.one.body.id}}",
            "a reference has the form steps.<id>.response.body.<path>",
        ),
        ("${late}", "no earlier step captured it"),
        ("${lost}", "$.job has no key 'nope'"),
    ],
)
def test_a_reference_to_nothing_is_refused(scope: Scope, text: str, message: str) -> None:
    with pytest.raises(Unresolved) as caught:
        fill_text(text, scope)
    assert caught.value.why.startswith(message)
    assert caught.value.reference in text


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("{{steps.one.response.body.job.n}}", 3.0),
        ("{{steps.one.response.body.job}}", JOB),
        ("{{steps.one.response.body}}", {"job": JOB, "jobs": [JOB, {"id": "j-2", "a.b": 1}]}),
        ({"{{job_id}}": ["${job_id}", 1, None]}, {"j-1": ["j-1", 1, None]}),
        ("x{{steps.one.response.body.job.n}}", "x3"),
        ("{{name}}", "{{name}}"),
    ],
)
def test_fill_json_keeps_the_type_of_a_whole_reference(
    scope: Scope, value: Any, filled: Any
) -> None:
    assert fill_json(value, scope) == filled


def test_fill_matcher_compares_answers_and_never_obeys_them(scope: Scope) -> None:
    scope.bodies["sly"] = {"id": "any"}
    filled = fill_matcher({"$.id": "{{steps.sly.response.body.id}}", "$.n": "~2"}, scope)
    assert filled == {"$.id": {"$eq": "any"}, "$.n": "~2"}


def test_a_request_path_may_not_keep_a_reference(scope: Scope) -> None:
    assert fill_path("/jobs/${job_id}", scope) == "/jobs/j-1"
    with pytest.raises(Unresolved) as caught:
        fill_path("/jobs/{{jobid}}", scope)
    assert str(caught.value) == "{{jobid}}: no step captures a variable of that name"


def test_an_answer_that_looks_like_a_reference_is_left_alone(scope: Scope) -> None:
    scope.bodies["sly"] = {"id": "{{other}}"}
    assert fill_path("/jobs/{{steps.sly.response.body.id}}", scope) == "/jobs/{{other}}"


def test_has_reference() -> None:
    assert has_reference("a ${b}")
    assert has_reference("{{b}}")
    assert not has_reference("{b} $b {}")


def test_scopes_do_not_share_what_they_know() -> None:
    Scope().bodies["one"] = 1
    assert Scope().bodies == {}
